"""An agent's notes on a conversation: what its tools did at once, what its summariser says later, and who is told."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from parlour.conversations.sessions import session_update
from parlour.conversations.sessions.session_update import SessionUpdate
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.memory.agent_state import state_writer
from parlour.memory.agent_state.state_updates import UpdateResult
from parlour.memory.recall import recall
from parlour.principal import Principal
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call
from tests.integration.memory.memory_rows import find_visitor

RISK: JsonObject = {"severity": "high", "state": "open", "owner": "Joanna Pryce"}


class NotesConversation:
    """A visitor's conversation with the site desk, and its notes."""

    def __init__(self, conversation: ConversationHarness) -> None:
        self.desk = conversation
        self.visitor, self.session = find_visitor(conversation)

    def ask(self, text: str, *script: Any) -> str:
        """The notes as the turn's first prompt tells them."""
        self.desk.send_web(self.visitor, self.session, text)
        before = len(self.desk.model.requests)
        self.desk.model.script = [*script] or [text_answer("Very well.")]
        self.desk.run_turn()
        return notes_in(list(self.desk.model.requests[before].messages))

    def apply_summary_updates(self, items: Json, drawn_from: str = "") -> UpdateResult:
        """What a summariser says of the notes, with the summary that it writes, drawn from one source or from none."""
        ((version,),) = self.desk.query(
            "INSERT INTO summaries (tenant_id, session_id, version, until_turn, text, source_ids, created_at)"
            f" SELECT current_tenant(), '{self.session}', count(*) + 1, 0, '', ARRAY[{drawn_from}]::text[], now()"
            f" FROM summaries WHERE session_id = '{self.session}' RETURNING version"
        )
        with self.desk.database.transaction(self.desk.tenant_id) as tx:
            return state_writer.apply_summary_updates(tx, self.session, int(str(version)), items, self.desk.clock())

    def agent_state(self) -> JsonObject:
        """As a summariser is given them."""
        with self.desk.database.transaction(self.desk.tenant_id) as tx:
            return recall.read_agent_state(tx, self.session, self.desk.clock())


def notes_in(messages: Sequence[JsonObject]) -> str:
    """The block of layer 8, "" where there is none."""
    blocks: list[Any] = [block for message in messages for block in message["content"]]  # type: ignore[union-attr]
    return "\n".join(str(one["text"]) for one in blocks if str(one.get("text", "")).startswith("<parlour:state>"))


def adds(title: str, **more: Json) -> list[Json]:
    return [{"op": "add", "item": {"kind": "task", "title": title, **more}}]


def creates(name: str) -> list[JsonObject]:
    return tool_call("create_entity", kind="risk", name=name, properties=RISK)


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> NotesConversation:
    return NotesConversation(conversation)


def test_a_record_that_a_tool_made_is_noted_with_the_turn_and_told_in_the_next(
    web_conversation: NotesConversation,
) -> None:
    assert (
        web_conversation.ask(
            "Note the water in the cellar as a risk.", creates("Water in the cellar"), text_answer("Done.")
        )
        == ""
    )
    assert "- records: risk/" in web_conversation.ask("And now?")
    assert "Water in the cellar" in canonical_json(web_conversation.agent_state())


def test_a_turn_that_changed_nothing_makes_no_notes(web_conversation: NotesConversation) -> None:
    web_conversation.ask("How wide is the crack?", search_call("crack"), text_answer("0.35 mm."))
    assert web_conversation.desk.query("SELECT 1 FROM agent_states") == []


def test_what_was_done_is_noted_also_where_the_turn_ends_without_an_answer(web_conversation: NotesConversation) -> None:
    web_conversation.desk.query("UPDATE agents SET max_tool_iterations = 1 RETURNING id")
    web_conversation.ask("Note the water.", creates("Water in the cellar"), creates("More of it"), text_answer("Done."))
    assert "Water in the cellar" in canonical_json(web_conversation.agent_state())


def test_an_open_item_that_became_a_record_is_settled(web_conversation: NotesConversation) -> None:
    web_conversation.ask("We should watch the water in the cellar.")
    web_conversation.apply_summary_updates(adds("Water in the cellar"))
    assert "- open task i1: Water in the cellar" in web_conversation.ask("What is open?")
    web_conversation.ask("Make a risk of it.", creates("Water in the cellar"), text_answer("Done."))
    told = web_conversation.ask("What is open?")
    assert "- done task i1: Water in the cellar -> risk/" in told


def test_a_summariser_names_only_records_that_the_user_may_see(web_conversation: NotesConversation) -> None:
    ((seen, hidden),) = web_conversation.desk.query(
        "SELECT t.key || '/' || e.key, t.key || '/nowhere' FROM entities e JOIN entity_types t ON t.id = e.type_id"
        " WHERE e.classification = 0 AND e.deleted_at IS NULL ORDER BY e.key LIMIT 1"
    )
    updates = [*adds("Look", relatedEntityIds=[str(seen)]), *adds("Hide", relatedEntityIds=[str(hidden)])]
    applied = web_conversation.apply_summary_updates(updates)
    assert (applied.applied_count, [one.reason for one in applied.rejected]) == (1, ["unknown_record"])
    assert f"- open task i1: Look ({seen})" in web_conversation.ask("And now?")
    web_conversation.desk.query(
        f"UPDATE entities SET classification = 3 WHERE key = '{str(seen).partition('/')[2]}' RETURNING 1"
    )
    assert str(seen) not in web_conversation.ask("And now?")
    assert str(seen) not in str(web_conversation.agent_state())
    assert web_conversation.apply_summary_updates(adds("Hide", relatedEntityIds=[str(hidden)])).applied_count == 0


def test_a_note_on_what_was_drawn_from_something_closed_is_told_no_more(web_conversation: NotesConversation) -> None:
    web_conversation.ask("What about the crack?")
    web_conversation.ask("And lunch?")
    ((document,),) = web_conversation.desk.query("SELECT id FROM documents WHERE classification = 0 LIMIT 1")
    web_conversation.apply_summary_updates(adds("Order lunch"))
    web_conversation.apply_summary_updates(adds("Watch the crack of 0.35 mm"), drawn_from=f"'documents/{document}'")
    assert "0.35 mm" in web_conversation.ask("What is open?")
    web_conversation.desk.query(f"UPDATE documents SET classification = 3 WHERE id = '{document}' RETURNING 1")
    told = web_conversation.ask("What is open?")
    assert "0.35 mm" not in told
    assert "Order lunch" in told
    assert "0.35 mm" not in canonical_json(web_conversation.agent_state())
    web_conversation.desk.query("DELETE FROM summaries RETURNING 1")
    assert web_conversation.ask("What is open?") == "", "what they came with was forgotten"


def test_a_turn_and_a_summary_that_end_together_lose_none_of_each_others_notes(
    web_conversation: NotesConversation,
) -> None:
    """The turn's end holds the row: what a summariser says comes after it, on top."""

    def meanwhile() -> None:
        web_conversation.apply_summary_updates(adds("Order lunch"))

    web_conversation.desk.model.before_completion = meanwhile
    web_conversation.ask("Note the water.", creates("Water in the cellar"), text_answer("Done."))
    kept = canonical_json(web_conversation.agent_state())
    assert "Order lunch" in kept
    assert "Water in the cellar" in kept


def test_what_a_summariser_says_of_another_sessions_notes_never_reaches_them(conversation: ConversationHarness) -> None:
    one, other = NotesConversation(conversation), NotesConversation(conversation)
    one.ask("Good morning.")
    one.apply_summary_updates(adds("Order lunch"))
    assert other.ask("What is open?") == ""
    assert one.ask("What is open?")


def test_a_turn_that_ends_twice_notes_once(web_conversation: NotesConversation) -> None:
    web_conversation.ask("Note the water.", creates("Water in the cellar"), text_answer("Done."))
    before = web_conversation.desk.query("SELECT state, version FROM agent_states")
    web_conversation.desk.run_turn()  # the wake is delivered again
    assert web_conversation.desk.query("SELECT state, version FROM agent_states") == before


def test_notes_are_not_shown_to_a_principal_of_another_tenant(web_conversation: NotesConversation) -> None:
    web_conversation.ask("Note the water.", creates("Water in the cellar"), text_answer("Done."))
    stranger = Principal(UUID(int=9), "system", clearance=3)
    with web_conversation.desk.database.transaction(stranger) as tx:
        assert recall.read_agent_state(tx, web_conversation.session, web_conversation.desk.clock()) == {}


def test_what_is_only_open_assumed_or_possible_becomes_no_record_and_the_agent_is_told_so(
    web_conversation: NotesConversation,
) -> None:
    """A record is made by the agent's own call alone; whatever a summariser says of the notes makes none and settles no
    item as one."""
    web_conversation.ask("Perhaps we should pump the cellar. I am thinking aloud.")
    before = web_conversation.desk.query("SELECT count(*) FROM entities")
    web_conversation.apply_summary_updates(adds("Pump the cellar", promoted="task/pump", status="active"))
    told = web_conversation.ask("What is open?")
    assert "becomes a record unless the user plainly wants that" in told
    assert "- open task i1: Pump the cellar" in told
    assert web_conversation.desk.query("SELECT count(*) FROM entities") == before


def test_nothing_is_held_in_mind_of_what_was_put_away(web_conversation: NotesConversation) -> None:
    web_conversation.ask("We should watch the water.")
    web_conversation.apply_summary_updates(adds("Water in the cellar"))
    with web_conversation.desk.database.transaction(web_conversation.visitor) as tx:
        session_update.update_session(
            web_conversation.visitor,
            tx,
            web_conversation.session,
            SessionUpdate(archived=True),
            web_conversation.desk.clock(),
        )
    assert web_conversation.apply_summary_updates(adds("Water in the attic")).applied_count == 0
    assert web_conversation.agent_state() == {}
    assert web_conversation.ask("What is open?") == ""


def test_a_session_that_is_put_away_under_a_turn_keeps_none_of_its_notes(web_conversation: NotesConversation) -> None:
    def meanwhile() -> None:
        with web_conversation.desk.database.transaction(web_conversation.visitor) as tx:
            session_update.update_session(
                web_conversation.visitor,
                tx,
                web_conversation.session,
                SessionUpdate(archived=True),
                web_conversation.desk.clock(),
            )

    web_conversation.desk.model.before_completion = meanwhile
    web_conversation.ask("Note the water.", creates("Water in the cellar"), text_answer("Done."))
    assert web_conversation.desk.query("SELECT state FROM agent_states") == []
