"""A reply counts its sources from 1 on every channel; the model goes on with the numbers of its session."""

from uuid import UUID

import pytest

from parlour.conversations.turn_views import list_turns, read_transcript
from parlour.infra.errors import ProviderUnavailable
from parlour.infra.json_values import canonical_json
from parlour.principal import Principal
from tests.conversation_harness import ConversationHarness, ScriptedAnswer, search_call, text_answer
from tests.integration.conversations.test_complete_reply import (
    agui_texts,
    ask_once_more,
    bodies,
    run_web,
    saying,
    send_newest,
    streamed_texts,
)

SHOWN = "The log has its width [1], the minutes too [2]. So [1]."


@pytest.fixture
def answer_text(conversation: ConversationHarness) -> str:
    """What the model says with the numbers 3 and 2 of the session."""
    text = "The log has its width [3], the minutes too [2]. So [3]."
    conversation.model.script = [search_call("crack C4"), text_answer(text)]
    return text


def session_titles(conversation: ConversationHarness) -> dict[object, object]:
    rows = conversation.query("SELECT number, title FROM citation_numbers")
    return {number: title for number, title, *_ in rows}


def cited_titles(conversation: ConversationHarness, reader: Principal, session_id: UUID) -> dict[object, object]:
    with conversation.database.transaction(reader) as tx:
        row = read_transcript(reader, tx, session_id, 10)[-1]
    return {citation["number"]: citation["title"] for citation in row.citations}


def test_web_streams_and_stores_what_its_reader_counts(conversation: ConversationHarness, answer_text: str) -> None:
    visitor, session_id, message_id = run_web(conversation)
    titles = session_titles(conversation)
    assert [*streamed_texts(conversation).values()] == [SHOWN]
    assert agui_texts(conversation, visitor, session_id, message_id) == [SHOWN]
    assert cited_titles(conversation, visitor, session_id) == {1: titles[3], 2: titles[2]}
    with conversation.database.transaction(visitor) as tx:
        assert read_transcript(visitor, tx, session_id, 10)[-1].text == SHOWN
    with conversation.database.transaction(conversation.admin) as tx:
        (turn,) = list_turns(conversation.admin, tx, 10).rows
    assert turn.reply
    assert turn.reply["text"] == SHOWN
    assert '"number": 1' in canonical_json(turn.reply["citations"]).replace(":", ": ")
    assert bodies(conversation) == [answer_text]


def test_phone_gets_footnotes_from_one_on(conversation: ConversationHarness, answer_text: str) -> None:
    conversation.send_whatsapp("How wide is the crack at C4?")
    conversation.run_turn()
    (part,) = send_newest(conversation)
    titles = session_titles(conversation)
    assert part.startswith(f"{SHOWN}\n\n")
    first, second = part.splitlines()[-2:]
    assert first.startswith(f"[1] {titles[3]}")
    assert second.startswith(f"[2] {titles[2]}")


def test_model_reads_the_numbers_of_its_session(conversation: ConversationHarness, answer_text: str) -> None:
    conversation.send_whatsapp("How wide is the crack at C4?")
    conversation.run_turn()
    prompt = ask_once_more(conversation)
    assert answer_text in prompt
    assert "under other numbers" not in prompt


def test_model_reads_what_the_number_of_a_user_stands_for(conversation: ConversationHarness, answer_text: str) -> None:
    visitor, session_id, _ = run_web(conversation)
    conversation.send_web(visitor, session_id, "What does source 1 say of B4?", "m-2")
    conversation.model.script = [text_answer("See [3].")]
    conversation.run_turn()
    assert "under other numbers: 1 is [3]." in canonical_json(list(conversation.model.requests[-1].messages))


def test_steps_of_a_reply_go_on_counting(conversation: ConversationHarness) -> None:
    conversation.model.script = [
        search_call("crack C4"),
        saying("0.45 mm [3].", search_call("crane", "call_2")),
        text_answer("It grows [2], as said [3]. See [99]."),
    ]
    visitor, session_id, message_id = run_web(conversation)
    assert streamed_texts(conversation) == {2: "0.45 mm [1].", 3: "It grows [2], as said [1]. See [99]."}
    shown = ["0.45 mm [1].", "It grows [2], as said [1]. See."]
    assert agui_texts(conversation, visitor, session_id, message_id) == shown


def test_text_that_broke_off_gives_its_numbers_back(conversation: ConversationHarness) -> None:
    def break_off() -> None:
        if len(conversation.model.requests) == 2:
            raise ProviderUnavailable("it broke off")

    script: list[ScriptedAnswer] = [search_call("crack C4"), text_answer("Look at [5] first."), text_answer("See [3].")]
    conversation.model.script = script
    conversation.model.before_completion = break_off
    visitor, session_id, message_id = run_web(conversation)
    assert streamed_texts(conversation) == {2: "See [1]."}
    assert agui_texts(conversation, visitor, session_id, message_id) == ["See [1]."]


def test_number_that_is_removed_after_the_stream_shifts_no_other(conversation: ConversationHarness) -> None:
    text = "It was 98765 mm wide [3]. The log has the rest [2]."
    conversation.model.script = [search_call("crack C4"), text_answer(text)]
    visitor, session_id, message_id = run_web(conversation)
    titles = session_titles(conversation)
    assert [*streamed_texts(conversation).values()] == ["It was 98765 mm wide [1]. The log has the rest [2]."]
    shown = "It was 98765 mm wide. The log has the rest [2]."
    assert agui_texts(conversation, visitor, session_id, message_id) == [shown]
    assert cited_titles(conversation, visitor, session_id) == {2: titles[2]}


def test_turn_that_another_worker_ends_goes_on_counting(conversation: ConversationHarness) -> None:
    class Killed(BaseException):
        """The end of the process."""

    def die() -> None:
        if len(conversation.model.requests) == 2:
            raise Killed

    conversation.model.script = [saying("I know [9].", search_call("crack C4")), text_answer("See [3].")]
    conversation.model.before_completion = die
    with pytest.raises(Killed):
        run_web(conversation)
    conversation.model.before_completion = lambda: None
    conversation.model.script = [saying("See [3].", search_call("crane", "call_2")), text_answer("And [2], and [3].")]
    conversation.query("UPDATE sessions SET lease_until = '2020-01-01' RETURNING id")
    conversation.run_turn()
    assert streamed_texts(conversation) == {1: "I know [9].", 2: "See [1].", 3: "And [2], and [1]."}
    assert conversation.query("SELECT metadata -> 'cited_numbers' FROM messages WHERE direction = 'outbound'") == [
        ([3, 2, 9],)
    ]
