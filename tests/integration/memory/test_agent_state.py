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

    def __init__(self, desk: ConversationHarness) -> None:
        self.desk = desk
        self.visitor, self.session = find_visitor(desk)

    def ask(self, text: str, *script: Any) -> str:
        """The notes as the turn's first prompt tells them."""
        self.desk.send_web(self.visitor, self.session, text)
        before = len(self.desk.model.requests)
        self.desk.model.script = [*script] or [text_answer("Very well.")]
        self.desk.run_turn()
        return notes_in(list(self.desk.model.requests[before].messages))

    def apply_summary_updates(self, items: Json, updates: Json, drawn_from: str = "") -> UpdateResult:
        """What a summariser says of the notes, with the summary that it writes, drawn from one source or from none."""
        ((version,),) = self.desk.query(
            "INSERT INTO summaries (tenant_id, session_id, version, until_turn, text, source_ids, created_at)"
            f" SELECT current_tenant(), '{self.session}', count(*) + 1, 0, '', ARRAY[{drawn_from}]::text[], now()"
            f" FROM summaries WHERE session_id = '{self.session}' RETURNING version"
        )
        with self.desk.database.transaction(self.desk.tenant_id) as tx:
            return state_writer.apply_summary_updates(
                tx, self.session, int(str(version)), items, updates, self.desk.clock()
            )

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
def talk(desk: ConversationHarness) -> NotesConversation:
    return NotesConversation(desk)


def test_a_record_that_a_tool_made_is_noted_with_the_turn_and_told_in_the_next(talk: NotesConversation) -> None:
    assert (
        talk.ask("Note the water in the cellar as a risk.", creates("Water in the cellar"), text_answer("Done.")) == ""
    )
    assert "- records: risk/" in talk.ask("And now?")
    assert "Water in the cellar" in canonical_json(talk.agent_state())


def test_a_turn_that_changed_nothing_makes_no_notes(talk: NotesConversation) -> None:
    talk.ask("How wide is the crack?", search_call("crack"), text_answer("0.35 mm."))
    assert talk.desk.query("SELECT 1 FROM agent_states") == []


def test_what_was_done_is_noted_also_where_the_turn_ends_without_an_answer(talk: NotesConversation) -> None:
    talk.desk.query("UPDATE agents SET max_tool_iterations = 1 RETURNING id")
    talk.ask("Note the water.", creates("Water in the cellar"), creates("More of it"), text_answer("Done."))
    assert "Water in the cellar" in canonical_json(talk.agent_state())


def test_an_open_item_that_became_a_record_is_settled(talk: NotesConversation) -> None:
    talk.ask("We should watch the water in the cellar.")
    talk.apply_summary_updates(adds("Water in the cellar"), {})
    assert "- open task i1: Water in the cellar" in talk.ask("What is open?")
    talk.ask("Make a risk of it.", creates("Water in the cellar"), text_answer("Done."))
    told = talk.ask("What is open?")
    assert "- done task i1: Water in the cellar -> risk/" in told


def test_a_summariser_names_only_records_that_the_user_may_see(talk: NotesConversation) -> None:
    ((seen, hidden),) = talk.desk.query(
        "SELECT t.key || '/' || e.key, t.key || '/nowhere' FROM entities e JOIN entity_types t ON t.id = e.type_id"
        " WHERE e.classification = 0 AND e.deleted_at IS NULL ORDER BY e.key LIMIT 1"
    )
    entities: list[Json] = [{"id": str(seen), "kind": "x"}, {"id": str(hidden), "kind": "x"}]
    applied = talk.apply_summary_updates([], {"current_understanding": {"entities": entities}})
    assert (applied.applied_count, [one.reason for one in applied.rejected]) == (1, ["unknown_record"])
    assert f"- records: {seen}" in talk.ask("And now?")
    talk.desk.query(f"UPDATE entities SET classification = 3 WHERE key = '{str(seen).partition('/')[2]}' RETURNING 1")
    assert talk.ask("And now?") == ""
    assert talk.agent_state() == {}
    applied = talk.apply_summary_updates(
        [], {"current_understanding": {"entities": [{"id": str(hidden), "kind": "x"}]}}
    )
    assert applied.applied_count == 0


def test_a_note_on_what_was_drawn_from_something_closed_is_told_no_more(talk: NotesConversation) -> None:
    talk.ask("What about the crack?")
    talk.ask("And lunch?")
    ((document,),) = talk.desk.query("SELECT id FROM documents WHERE classification = 0 LIMIT 1")
    talk.apply_summary_updates(adds("Order lunch"), {})
    talk.apply_summary_updates(adds("Watch the crack of 0.35 mm"), {}, drawn_from=f"'documents/{document}'")
    assert "0.35 mm" in talk.ask("What is open?")
    talk.desk.query(f"UPDATE documents SET classification = 3 WHERE id = '{document}' RETURNING 1")
    told = talk.ask("What is open?")
    assert "0.35 mm" not in told
    assert "Order lunch" in told
    assert "0.35 mm" not in canonical_json(talk.agent_state())
    talk.desk.query("DELETE FROM summaries RETURNING 1")
    assert talk.ask("What is open?") == "", "what they came with was forgotten"


def test_a_turn_and_a_summary_that_end_together_lose_none_of_each_others_notes(talk: NotesConversation) -> None:
    """The turn's end holds the row: what a summariser says comes after it, on top."""

    def meanwhile() -> None:
        talk.apply_summary_updates(adds("Order lunch"), {})

    talk.desk.model.before_completion = meanwhile
    talk.ask("Note the water.", creates("Water in the cellar"), text_answer("Done."))
    kept = canonical_json(talk.agent_state())
    assert "Order lunch" in kept
    assert "Water in the cellar" in kept


def test_what_a_summariser_says_of_another_sessions_notes_never_reaches_them(desk: ConversationHarness) -> None:
    one, other = NotesConversation(desk), NotesConversation(desk)
    one.ask("Good morning.")
    one.apply_summary_updates(adds("Order lunch"), {})
    assert other.ask("What is open?") == ""
    assert one.ask("What is open?")


def test_a_turn_that_ends_twice_notes_once(talk: NotesConversation) -> None:
    talk.ask("Note the water.", creates("Water in the cellar"), text_answer("Done."))
    before = talk.desk.query("SELECT state, version FROM agent_states")
    talk.desk.run_turn()  # the wake is delivered again
    assert talk.desk.query("SELECT state, version FROM agent_states") == before


def test_notes_are_not_shown_to_a_principal_of_another_tenant(talk: NotesConversation) -> None:
    talk.ask("Note the water.", creates("Water in the cellar"), text_answer("Done."))
    stranger = Principal(UUID(int=9), "system", clearance=3)
    with talk.desk.database.transaction(stranger) as tx:
        assert recall.read_agent_state(tx, talk.session, talk.desk.clock()) == {}


def test_what_is_only_open_assumed_or_possible_becomes_no_record_and_the_agent_is_told_so(
    talk: NotesConversation,
) -> None:
    """A record is made by the agent's own call alone; whatever a summariser says of the notes makes none and settles no
    item as one."""
    talk.ask("Perhaps we should pump the cellar. I am thinking aloud.")
    before = talk.desk.query("SELECT count(*) FROM entities")
    hypotheses: list[Json] = [{"id": "h1", "hypothesis": "The pump is too small"}]
    assumptions: list[Json] = [{"id": "a1", "hypothesis": "The cellar is wet", "confidence": 0.9}]
    talk.apply_summary_updates(
        adds("Pump the cellar", promoted="task/pump", status="active"),
        {"assumptions": assumptions, "tentative_hypotheses": hypotheses},
    )
    told = talk.ask("What is open?")
    assert "becomes a record unless the user plainly wants that" in told
    for line in ("- open task i1: Pump the cellar", "- assumed a1", "- possible h1"):
        assert line in told
    assert talk.desk.query("SELECT count(*) FROM entities") == before


def test_nothing_is_held_in_mind_of_what_was_put_away(talk: NotesConversation) -> None:
    talk.ask("We should watch the water.")
    talk.apply_summary_updates(adds("Water in the cellar"), {})
    with talk.desk.database.transaction(talk.visitor) as tx:
        session_update.update_session(talk.visitor, tx, talk.session, SessionUpdate(archived=True), talk.desk.clock())
    assert talk.apply_summary_updates(adds("Water in the attic"), {}).applied_count == 0
    assert talk.agent_state() == {}
    assert talk.ask("What is open?") == ""


def test_a_session_that_is_put_away_under_a_turn_keeps_none_of_its_notes(talk: NotesConversation) -> None:
    def meanwhile() -> None:
        with talk.desk.database.transaction(talk.visitor) as tx:
            session_update.update_session(
                talk.visitor, tx, talk.session, SessionUpdate(archived=True), talk.desk.clock()
            )

    talk.desk.model.before_completion = meanwhile
    talk.ask("Note the water.", creates("Water in the cellar"), text_answer("Done."))
    assert talk.desk.query("SELECT state FROM agent_states") == []
