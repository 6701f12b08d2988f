"""What was said before is told without the words of sources that were deleted, or closed to their reader, since."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.models.model import ModelRequest
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT
from parlour.prompts.ledger.explanation import explain_turn
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call


class Talk:
    """A visitor's conversation with the site desk."""

    def __init__(self, conversation: ConversationHarness) -> None:
        self.desk, self.visitor = conversation, conversation.create_visitor()
        self.session = conversation.find_session(self.visitor)

    def ask(self, text: str, *script: list[JsonObject]) -> str:
        """The turn's first prompt, as text."""
        self.desk.clock.now += timedelta(seconds=30)
        self.desk.send_web(self.visitor, self.session, text)
        before = len(self.desk.model.requests)
        self.desk.model.script = [*script] or [text_answer("Very well.")]
        self.desk.run_turn()
        return whole(self.desk.model.requests[before])

    def causes(self) -> tuple[list[str], dict[str, Any] | None]:
        """Why the newest turn's prompt began otherwise, and what of the cache that lost."""
        ((turn,),) = self.desk.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
        with self.desk.database.transaction(self.desk.admin) as tx:
            step: Any = explain_turn(self.desk.admin, tx, UUID(str(turn)))["steps"]
        return step[0]["refresh_causes"], step[0]["cache_miss"]


@pytest.fixture
def talk(conversation: ConversationHarness) -> Talk:
    return Talk(conversation)


def whole(request: ModelRequest) -> str:
    return canonical_json([list(request.tools), list(request.system), list(request.messages)])


def cited(conversation: ConversationHarness) -> tuple[str, str]:
    """The document that the last reply cites first, and its title."""
    ((document, title),) = conversation.query(
        "SELECT c.document_id, c.title FROM citations c JOIN context_rows r ON r.id = c.row_id"
        " WHERE c.document_id IS NOT NULL ORDER BY c.number LIMIT 1"
    )
    return str(document), str(title)


def close(conversation: ConversationHarness, document: str, level: int = 3) -> None:
    conversation.query(f"UPDATE documents SET classification = {level} WHERE id = '{document}' RETURNING 1")
    conversation.query(f"UPDATE context_rows SET classification = {level} WHERE document_id = '{document}' RETURNING 1")


def about_the_crack(talk: Talk) -> tuple[str, str]:
    """A turn whose reply cites a document; that document and its title."""
    numbers = " ".join(f"[{n}]" for n in range(1, 9))
    talk.ask(
        "How wide is the crack at C4?",
        search_call("crack width C4 method statement"),
        text_answer(f"0.35 mm wide {numbers}."),
    )
    return cited(talk.desk)


def test_a_reply_that_cites_what_was_closed_since_is_told_no_more_nor_what_was_found(talk: Talk) -> None:
    document, title = about_the_crack(talk)
    before = talk.ask("And the wind?")
    assert "0.35 mm wide" in before
    assert title in before
    close(talk.desk, document)
    after = talk.ask("And the crane?")
    assert "0.35 mm wide" not in after
    assert title not in after
    assert "How wide is the crack at C4?" in after, "what the user wrote stays"
    assert after.count(WITHHELD_TEXT) == 2
    causes, miss = talk.causes()
    assert causes == ["classification"]
    assert miss is not None
    assert (miss["layer"], miss["cause"]) == ("history", "classification")


def test_what_is_withdrawn_stays_so_byte_for_byte_until_it_is_opened_again(talk: Talk) -> None:
    document, _ = about_the_crack(talk)
    close(talk.desk, document)
    talk.ask("And the crane?")
    assert WITHHELD_TEXT in talk.ask("And the wind?")
    assert talk.causes() == ([], None)
    close(talk.desk, document, level=0)
    assert "0.35 mm wide" in talk.ask("And the rain?")
    assert talk.causes()[0] == ["classification"]


def test_a_document_that_was_deleted_is_told_no_more_and_one_that_was_edited_is(talk: Talk) -> None:
    document, _ = about_the_crack(talk)
    talk.desk.query(f"DELETE FROM context_rows WHERE document_id = '{document}' RETURNING 1")
    edited = talk.ask("And the crane?")
    assert "0.35 mm wide" in edited, "its rows were written anew; it is there still"
    assert "found [" not in edited
    talk.desk.query(f"UPDATE documents SET deleted_at = now() WHERE id = '{document}' RETURNING 1")
    assert "0.35 mm wide" not in talk.ask("And the wind?")


def test_a_record_that_a_call_named_and_that_was_closed_since_takes_its_turn_with_it(talk: Talk) -> None:
    ((handle, entity),) = talk.desk.query(
        "SELECT t.key || '/' || e.key, e.id FROM entities e JOIN entity_types t ON t.id = e.type_id"
        " WHERE e.classification = 0 ORDER BY e.key LIMIT 1"
    )
    talk.ask("What of it?", tool_call("get_linked_entities", handle=str(handle)), text_answer("It is two weeks late."))
    assert str(handle) in talk.ask("And the wind?")
    talk.desk.query(f"UPDATE entities SET classification = 3 WHERE id = '{entity}' RETURNING 1")
    after = talk.ask("And the crane?")
    assert str(handle) not in after
    assert "two weeks late" not in after


def test_the_recap_loses_a_reply_whose_source_was_closed(talk: Talk) -> None:
    document, _ = about_the_crack(talk)
    for number in range(16):
        talk.ask(f"Question {number}?")
    before = talk.ask("And now?")
    assert "- you: 0.35 mm wide" in before
    close(talk.desk, document)
    after = talk.ask("And the crane?")
    assert "0.35 mm wide" not in after
    assert f"- you: {WITHHELD_TEXT}" in after
    assert talk.causes()[0] == ["classification"]
    assert f"- you: {WITHHELD_TEXT}" in talk.ask("And the wind?")
    assert talk.causes() == ([], None)


def test_a_record_that_was_deleted_is_told_no_more_whatever_was_searched_for(talk: Talk) -> None:
    asked = [*tool_call("get_linked_entities", handle="project/NRS"), *search_call("deleted invoices", "call_2")]
    talk.ask("What of it?", asked, text_answer("It is two weeks late."))
    assert "two weeks late" in talk.ask("And the wind?")
    talk.desk.query("UPDATE entities SET deleted_at = now() WHERE key = 'NRS' RETURNING 1")
    assert "two weeks late" not in talk.ask("And the crane?")


@pytest.mark.parametrize("failed", [False, True])
def test_a_turn_that_deleted_a_record_itself_is_told(talk: Talk, failed: bool) -> None:
    talk.ask("Delete it.", text_answer("It is deleted."))
    input_ = '{"of": ["project/NRS"]}'
    talk.desk.query(f"""
        UPDATE turns SET tool_messages = '[
            {{"role": "assistant", "content": [
                {{"type": "tool_use", "id": "call_1", "name": "delete_entity", "input": {input_}}}]}},
            {{"role": "user", "content": [
                {{"type": "tool_result", "tool_use_id": "call_1", "content": "done", "is_error": {str(failed).lower()}}}
            ]}}]' RETURNING 1""")
    talk.desk.query("UPDATE entities SET deleted_at = now() WHERE key = 'NRS' RETURNING 1")
    assert ("It is deleted." in talk.ask("And the crane?")) is not failed
    talk.desk.query("UPDATE entities SET classification = 3 WHERE key = 'NRS' RETURNING 1")
    assert "It is deleted." not in talk.ask("And the wind?"), "its reader must not hear of it"


def test_a_search_that_found_by_a_number_above_9999_says_no_more_once_its_rows_are_gone(talk: Talk) -> None:
    talk.desk.query("UPDATE sessions SET next_citation_number = 12000 RETURNING 1")
    talk.ask("How wide is the crack?", search_call("crack width C4 method statement"), text_answer("Wide."))
    assert "found [12000] " in talk.ask("And the wind?")
    talk.desk.query("DELETE FROM context_rows WHERE document_id IS NOT NULL RETURNING 1")
    assert "found [12000] " not in talk.ask("And the crane?")


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_turn_that_goes_on_does_not_tell_what_it_found_itself_once_that_was_closed(
    talk: Talk, is_closed: bool
) -> None:
    desk = talk.desk
    document, title = about_the_crack(talk)
    desk.query("DELETE FROM citations RETURNING 1")  # what the turn before told of is another matter
    desk.query("UPDATE turns SET tool_messages = NULL RETURNING 1")
    script: list[Any] = [
        search_call("crack width C4 method statement"),
        text_answer("So I read."),
        RuntimeError("it died"),
    ]
    thought: JsonObject = {"type": "thinking", "thinking": "So I think.", "signature": "c2ln"}
    script[1] = [thought, *text_answer("So I read."), *search_call("crane", "call_2")]
    with pytest.raises(RuntimeError):
        talk.ask("And now?", *script)
    sent = whole(desk.model.requests[-1])
    assert title in sent
    assert "So I read." in sent
    assert "So I think." in sent
    if is_closed:
        close(desk, document)
    desk.model.script = [text_answer("On Monday.")]
    desk.run_turn()
    again = whole(desk.model.requests[-1])
    assert (title in again) is not is_closed
    assert ("So I read." in again) is not is_closed
    assert ("So I think." in again) is not is_closed
    assert (again == sent) is not is_closed


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_turn_that_goes_on_begins_anew_when_something_in_it_was_closed_meanwhile(talk: Talk, is_closed: bool) -> None:
    document, _ = about_the_crack(talk)
    desk = talk.desk
    with pytest.raises(RuntimeError):
        talk.ask("And the crane?", RuntimeError("the process died"))  # type: ignore[arg-type]
    sent = whole(desk.model.requests[-1])
    if is_closed:
        close(desk, document)
    desk.model.script = [text_answer("On Monday.")]
    desk.run_turn()
    again = whole(desk.model.requests[-1])
    assert "0.35 mm wide" in sent
    assert ("0.35 mm wide" in again) is not is_closed
    assert (again == sent) is not is_closed


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_turn_that_goes_on_does_not_tell_of_a_record_that_was_closed_meanwhile(talk: Talk, is_closed: bool) -> None:
    desk = talk.desk
    about = "(SELECT id FROM entities WHERE key = 'NRS')"
    desk.query(f"UPDATE sessions SET entity_id = {about} WHERE id = '{talk.session}' RETURNING id")
    with pytest.raises(RuntimeError):
        talk.ask("Where do we stand?", RuntimeError("the process died"))  # type: ignore[arg-type]
    sent = whole(desk.model.requests[-1])
    assert "This conversation is about project/NRS" in sent
    if is_closed:
        desk.query("UPDATE entities SET classification = 3 WHERE key = 'NRS' RETURNING 1")
    desk.model.script = [text_answer("On Monday.")]
    desk.run_turn()
    again = whole(desk.model.requests[-1])
    assert ("This conversation is about project/NRS" in again) is not is_closed
    assert (again == sent) is not is_closed
