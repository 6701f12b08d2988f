"""What was said long ago survives many compactions: in the newest summary, or beside it in its own words, or found
again by a question that names it."""

import json
from decimal import Decimal

import pytest

from parlour.records import backfill
from parlour.search.index import embedding_job
from parlour.search.index.embedding_job import EmbeddingDependencies
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from tests.conversation_harness import ConversationHarness, WordEmbedder, text_answer
from tests.integration.memory.long_conversation import LongConversation, summary_answer

_COMPACTIONS = 10
_BETWEEN = 6
"""Turns that each of them takes in."""


_CRANES = (
    "heron",
    "falcon",
    "magpie",
    "swallow",
    "pelican",
    "osprey",
    "sparrow",
    "puffin",
    "kestrel",
    "lapwing",
    "plover",
    "curlew",
    "dunlin",
    "gannet",
    "petrel",
    "siskin",
    "linnet",
    "fulmar",
    "avocet",
    "bittern",
)


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> LongConversation:
    return LongConversation(conversation)


def planted(web_conversation: LongConversation, number: int) -> str:
    """A turn with something that must survive, and what that is."""
    code = f"PX-{48_000 + number}"
    web_conversation.ask(f"The permit of the {_CRANES[number]} crane is {code}.", text_answer("Noted."))
    return code


def embed(conversation: ConversationHarness) -> None:
    services = EmbeddingDependencies(
        conversation.database,
        EmbeddingSpaces([PricedEmbedder(WordEmbedder())]),
        conversation.embedding,
        backfill.run_backfill,
        Decimal(20),
        conversation.clock,
    )
    embedding_job.embed_tenant(services, conversation.tenant_id, lambda: 300.0)


def test_identifiers_survive_ten_compactions_of_which_a_third_lose_them_all(web_conversation: LongConversation) -> None:
    codes: list[str] = []
    web_conversation.run_turns(2)
    for compaction in range(_COMPACTIONS):
        for _ in range(2):
            codes.append(planted(web_conversation, len(codes)))
        web_conversation.run_turns(_BETWEEN - 2, first=100 * compaction)
        forgetful = compaction % 3 == 0
        web_conversation.run_summary_job(
            summary_answer("They talk." if forgetful else "The permits are " + ", ".join(codes[-6:]) + ".")
        )
    told = " ".join([str(web_conversation.versions()[-1][2]), *web_conversation.key_details()])
    covered = web_conversation.versions()[-1][1]
    ((planted_until,),) = web_conversation.desk.query(
        "SELECT count(*) FROM messages m JOIN turns t ON t.id = m.turn_id WHERE m.session_id ="
        f" '{web_conversation.session}'"
        f" AND m.body LIKE 'The permit of%' AND t.number <= {covered}"
    )
    assert len(web_conversation.versions()) >= _COMPACTIONS - 1
    assert all(code in told for code in codes[: int(str(planted_until))])
    embed(web_conversation.desk)
    asked = web_conversation.ask(f"What is the permit of the {_CRANES[1]} crane?", text_answer("It is there."))
    assert "PX-48001" in asked, "what has no room beside the summary is found by a question that names it"
    assert codes[-1] in asked


def test_an_anchor_is_found_by_what_its_messages_dealt_with(web_conversation: LongConversation) -> None:
    for number in range(30):
        web_conversation.ask(f"Is the scaffold of tower {number} tied?", text_answer("It is tied."))
        if number % 8 == 7:
            web_conversation.run_summary_job(*[summary_answer("They talk.")] * 2)
    web_conversation.run_summary_job(*[summary_answer("They talk.")] * 2)
    for number in range(20):
        web_conversation.ask(f"And the rain of day {number}?", text_answer("It rained."))
        if number % 8 == 7:
            web_conversation.run_summary_job(*[summary_answer("They talk.")] * 2)
    embed(web_conversation.desk)
    web_conversation.ask("Which scaffold ties did we go through?")
    recalled = [
        one for one in web_conversation.explain_prompt()["candidates"] if one["kind"] == "recall" and one["is_included"]
    ]
    anchors = web_conversation.desk.query("SELECT id FROM context_rows WHERE kind = 'summary_anchor' AND NOT pending")
    assert anchors
    assert {str(one) for (one,) in anchors} & {one["source"]["id"] for one in recalled}


def test_the_notes_of_a_talk_are_json_that_a_summariser_can_read(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(9)
    web_conversation.run_summary_job(summary_answer("They talk.", agent_state_item_updates=[_ADDED]))
    web_conversation.run_turns(6, first=10)
    web_conversation.run_summary_job(summary_answer("They talk."))
    asked = json.loads(web_conversation.summariser_prompt())
    assert "Look at every tower" in str(asked)


_ADDED = {"op": "add", "item": {"kind": "task", "title": "Look at every tower"}}
