"""A long conversation is reminded of what it said itself, and of others where its user points there."""

import json
from contextlib import nullcontext
from decimal import Decimal
from uuid import UUID

import pytest

from parlour.infra.errors import ProviderUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.records import backfill
from parlour.search.index import embedding_job
from parlour.search.index.embedding_job import EmbeddingDependencies
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from tests.approval_harness import QUESTION, ApprovalHarness
from tests.conversation_harness import ConversationHarness, WordEmbedder, text_answer

PERMIT_TEXT = "The crane's permit number is KX-4471 and it ends in May."
TELLING = f"{PERMIT_TEXT} {'The lane stayed open for all who came, and nobody had to wait at the gate. ' * 3}".strip()
"""Too long to be in the compacted history word for word, as the deliveries are."""

ASKED = "What was the crane's permit number?"
_ANSWERED = "The permit number is KX-4471 until May."
_FIRST_REPLY = (
    "(SELECT m.id FROM messages m JOIN turns t ON t.id = m.turn_id WHERE t.number = 1 AND m.direction = 'outbound')"
)
CUT_AFTER = 17
"""Turns of two messages after which the next one finds its history cut, though nobody wrote the summary that the cut
waits for."""


class Away(WordEmbedder):
    """An embedder whose service does not answer."""

    def embed(self, texts: object, /) -> list[list[float]]:
        raise ProviderUnavailable("away")


class Watched(WordEmbedder):
    """Fails when it is asked while a transaction is open."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.asked = 0

    def embed(self, texts: object, /) -> list[list[float]]:
        self.asked += 1
        with self.database.transaction(None):
            return super().embed(texts)  # type: ignore[arg-type]


def say(conversation: ConversationHarness, visitor: Principal, session: UUID, text: str, reply: str = "Noted.") -> None:
    conversation.send_web(visitor, session, text)
    conversation.model.script = [text_answer(reply)]
    conversation.run_turn()


def talk(
    conversation: ConversationHarness,
    visitor: Principal,
    session: UUID,
    turns: int,
    first: str = TELLING,
    sacks: int = 40,
) -> None:
    """So many turns, the first of which is worth remembering; then the embedder has its turn."""
    say(conversation, visitor, session, first)
    for number in range(2, turns + 1):
        listed = "".join(f" {number}{sack:02}" for sack in range(sacks))
        say(conversation, visitor, session, f"Delivery {number} of gravel came at noon. Sacks:{listed}")
    index_messages(conversation)


def index_messages(conversation: ConversationHarness) -> None:
    """The embedder's job."""
    services = EmbeddingDependencies(
        conversation.database,
        EmbeddingSpaces([PricedEmbedder(WordEmbedder())]),
        conversation.embedding,
        backfill.run_backfill,
        Decimal(20),
        conversation.clock,
    )
    embedding_job.embed_tenant(services, conversation.tenant_id, lambda: 300.0)


def recalled(conversation: ConversationHarness) -> list[str]:
    """The texts of the messages that the newest prompt recalls."""
    blocks = [block for message in conversation.model.requests[-1].messages for block in message["content"]]  # type: ignore[union-attr]
    texts = [str(block["text"]) for block in blocks if "<parlour:recalled>" in str(block.get("text", ""))]  # type: ignore[union-attr,index,call-overload]
    return [json.loads(line[line.index(': "') + 2 :]) for text in texts for line in text.splitlines()[2:-1]]


@pytest.fixture
def long_talk(conversation: ConversationHarness) -> tuple[Principal, UUID]:
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    talk(conversation, visitor, session, CUT_AFTER)
    return visitor, session


def test_what_was_said_before_the_window_is_recalled_and_is_no_source(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    visitor, session = long_talk
    conversation.embedder = watched = Watched(conversation.database)
    say(conversation, visitor, session, ASKED, "It is KX-4471 [1].")
    assert recalled(conversation)[0] == TELLING
    assert watched.asked == 1
    assert conversation.query("SELECT count(*) FROM citations") == [(0,)]


@pytest.mark.parametrize("question", ["And when does that permit of the crane end?", "The permit?", "And it?"])
def test_a_question_that_leans_on_the_one_before_is_embedded_once(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID], question: str
) -> None:
    conversation.embedder = watched = Watched(conversation.database)
    say(conversation, *long_talk, question)
    assert recalled(conversation)
    assert watched.asked == 1


@pytest.mark.parametrize("text", [" ", ASKED])
def test_a_message_answered_without_a_model_recalls_nothing(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID], text: str
) -> None:
    conversation.embedder = watched = Watched(conversation.database)
    conversation.send_web(*long_talk, text)
    if text.strip():
        conversation.query("UPDATE bindings SET is_active = false RETURNING 1")
    conversation.run_turn()
    assert watched.asked == 0


def test_what_is_told_word_for_word_is_not_recalled(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    say(conversation, *long_talk, f"Delivery {CUT_AFTER} of gravel, when was it?")
    assert recalled(conversation)
    assert not [text for text in recalled(conversation) if f"Delivery {CUT_AFTER} " in text]


def test_what_the_compacted_history_has_word_for_word_is_not_recalled(conversation: ConversationHarness) -> None:
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    talk(conversation, visitor, session, CUT_AFTER, PERMIT_TEXT, sacks=0)
    say(conversation, visitor, session, ASKED)
    assert PERMIT_TEXT in str(conversation.model.requests[-1].messages[0])
    assert PERMIT_TEXT not in recalled(conversation)


def test_nothing_is_recalled_while_history_is_whole(conversation: ConversationHarness) -> None:
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    talk(conversation, visitor, session, 3)
    conversation.embedder = watched = Watched(conversation.database)
    say(conversation, visitor, session, ASKED)
    assert recalled(conversation) == []
    assert watched.asked == 0


def test_nobody_elses_conversation_is_looked_into(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    stranger = conversation.create_visitor()
    say(conversation, stranger, conversation.find_session(stranger), f"As we discussed last time: {ASKED}")
    assert recalled(conversation) == []


def test_another_conversation_of_the_same_user_is_looked_into_where_they_point_there(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    visitor, _ = long_talk
    other = _another(conversation, long_talk[1])
    say(conversation, visitor, other, ASKED)
    assert recalled(conversation) == []
    say(conversation, visitor, other, f"As we discussed last time: {ASKED}")
    assert TELLING in recalled(conversation)


@pytest.mark.parametrize("visibility", ["shared", "role_gated"])
def test_what_was_said_in_confidence_is_not_recalled_where_others_read(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID], visibility: str
) -> None:
    visitor, _ = long_talk
    other = _another(conversation, long_talk[1])
    conversation.query(f"UPDATE sessions SET visibility = '{visibility}' WHERE id = '{other}' RETURNING 1")
    say(conversation, visitor, other, f"As we discussed last time: {ASKED}")
    assert recalled(conversation) == []


def test_a_row_above_the_readers_clearance_is_not_recalled(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    conversation.query("UPDATE context_rows SET classification = 3 WHERE content LIKE '%KX-4471%' RETURNING id")
    say(conversation, *long_talk, ASKED)
    assert TELLING not in recalled(conversation)


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_reply_whose_source_was_closed_since_is_not_recalled(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID], goes_on: bool
) -> None:
    """What the user wrote is. The reply shares words with the question: as a vector all of them are the same."""
    told = f"replace(content, 'Noted.', '{_ANSWERED}')"
    conversation.query(f"UPDATE context_rows SET content = {told} WHERE message_id = {_FIRST_REPLY} RETURNING 1")
    ((document,),) = conversation.query(
        "INSERT INTO citations (tenant_id, message_id, number, title, document_id)"
        f" SELECT d.tenant_id, {_FIRST_REPLY}, 1, d.title, d.id FROM documents d ORDER BY d.classification LIMIT 1"
        " RETURNING document_id"
    )
    conversation.send_web(*long_talk, ASKED)
    conversation.model.script = (
        [RuntimeError("the worker dies"), text_answer("KX-4471.")] if goes_on else [text_answer("KX-4471.")]
    )
    with pytest.raises(RuntimeError) if goes_on else nullcontext():
        conversation.run_turn()
    assert _ANSWERED in recalled(conversation)
    conversation.query(f"UPDATE documents SET classification = 3 WHERE id = '{document}' RETURNING 1")
    if goes_on:
        conversation.run_turn()
    else:
        say(conversation, *long_talk, ASKED)
    again = recalled(conversation)
    assert _ANSWERED not in again
    assert TELLING in again


def test_what_was_said_in_the_same_words_on_another_day_takes_one_place(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    again, further = "What about the crane's permit number?", "The permit of the pump."
    for number in range(2, 15):
        text = further if number == 2 else again
        conversation.query(
            f"UPDATE context_rows SET content = '[2026-02-{number:02}] User: {text.replace("'", "''")}'"
            f" WHERE content LIKE '%Delivery {number} of%' RETURNING 1"
        )
    say(conversation, *long_talk, ASKED)
    told = recalled(conversation)
    assert told.count(again) == 1
    assert {TELLING, further} <= {*told}


def test_one_anchor_is_told_beside_the_messages_and_in_the_place_of_none(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    _, session = long_talk
    for number in range(3):
        conversation.query(
            "INSERT INTO context_rows (tenant_id, id, session_id, kind, ordinal, title, content, content_hash, pending,"
            " classification, metadata, created_at)"
            f" SELECT tenant_id, '{uuid7(conversation.clock())}', id, 'summary_anchor', {number}, 'Talk', 'messages to"
            f" 5{number}: about a permit, number of the crane', '', false, 0, '{{}}', now()"
            f" FROM sessions WHERE id = '{session}' RETURNING 1"
        )
    say(conversation, *long_talk, ASKED)
    told = recalled(conversation)
    assert len([one for one in told if one.startswith("messages to")]) == 1
    assert TELLING in told


def test_words_find_it_when_the_embedder_is_away(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    conversation.embedder = Away()
    say(conversation, *long_talk, ASKED)
    assert TELLING in recalled(conversation)


def test_a_turn_that_goes_on_keeps_what_it_recalled(
    conversation: ConversationHarness, long_talk: tuple[Principal, UUID]
) -> None:
    visitor, session = long_talk
    conversation.send_web(visitor, session, ASKED)
    conversation.model.script = [RuntimeError("the worker dies")]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    before = recalled(conversation)
    conversation.embedder = Away()
    conversation.query("UPDATE context_rows SET title = 'Another' WHERE session_id IS NOT NULL RETURNING id")
    conversation.model.script = [text_answer("KX-4471.")]
    conversation.run_turn()
    assert before
    assert recalled(conversation) == before


def _another(conversation: ConversationHarness, session: UUID) -> UUID:
    """A further session of the same user with the same binding."""
    made = uuid7(conversation.clock())
    conversation.query(
        "INSERT INTO sessions (tenant_id, id, user_id, binding_id, channel, created_at, last_active_at)"
        f" SELECT tenant_id, '{made}', user_id, binding_id, channel, now(), now() FROM sessions WHERE id = '{session}'"
        " RETURNING id"
    )
    return made


def test_neither_a_question_before_a_call_nor_a_yes_to_it_can_be_recalled(conversation: ConversationHarness) -> None:
    asking = ApprovalHarness(conversation)
    asking.add_tool()
    asking.ask_whatsapp()
    conversation.model.script = [text_answer("The crane comes on Monday.")]
    asking.write("How is the crane?", "m2")
    asking.ask_whatsapp("m3")
    asking.write("Yes", "m4")
    index_messages(conversation)
    rows = conversation.query("SELECT content FROM context_rows WHERE kind = 'chat_message'")
    texts = [str(content).partition(": ")[2].strip() for (content,) in rows]
    assert sorted(texts) == ["How is the crane?", QUESTION, QUESTION, "The crane comes on Monday."]
