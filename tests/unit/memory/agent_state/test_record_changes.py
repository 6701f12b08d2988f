"""What tools did to records enters an agent's notes at once; and how the notes are told."""

from dataclasses import replace
from uuid import UUID

from parlour.infra.json_values import Json, JsonObject
from parlour.memory.agent_state import agent_state, state_rendering, state_updates
from parlour.memory.agent_state.agent_state import EMPTY_STATE, AgentState, Dependency, Entity
from parlour.memory.agent_state.record_changes import RecordChanges, apply_record_changes, record_changes_of_call
from parlour.prompts.assembly.segment import Source, SourceKind
from parlour.tools.builtin.definitions import CREATE_ENTITY, LINK_ENTITIES, LIST_ENTITIES, UPDATE_ENTITY
from parlour.tools.tool_definition import Tool
from tests.conftest import NOW

SESSION = UUID(int=7)
EDGE: JsonObject = {"from": "task/drain", "relation": "supports", "to": "goal/dry"}
CREATED: JsonObject = {
    "entities_created": [{"handle": "task/drain", "name": "Drain the cellar"}],
    "edges_created": [EDGE],
}


def did(tool: Tool, result: JsonObject) -> RecordChanges:
    found = record_changes_of_call(tool, result)
    assert found is not None
    return found


def having(*titles: str, kind: str = "task") -> AgentState:
    items: list[Json] = [{"op": "add", "item": {"kind": kind, "title": title}} for title in titles]
    return state_updates.apply_updates(EMPTY_STATE, items, known_handles=(), summary_version=1, now=NOW).state


def texts(state: AgentState) -> list[str]:
    return [one.text for one in state_rendering.render_items(state, SESSION, 3)]


def test_what_was_made_and_linked_is_what_the_talk_deals_with() -> None:
    known = apply_record_changes(EMPTY_STATE, [did(CREATE_ENTITY, CREATED)], NOW).current_understanding
    assert known.entities == (Entity("task/drain", "task", "Drain the cellar"), Entity("goal/dry", "goal"))
    assert known.dependencies == (Dependency("task/drain", "goal/dry", "supports"),)


def test_the_same_again_changes_nothing() -> None:
    calls = [did(CREATE_ENTITY, CREATED)]
    once = apply_record_changes(having("Drain the cellar"), calls, NOW)
    assert apply_record_changes(once, calls, NOW) == once


def test_a_link_that_was_taken_away_is_gone() -> None:
    linked = apply_record_changes(EMPTY_STATE, [did(LINK_ENTITIES, {"edges_created": [EDGE]})], NOW)
    unlinked = apply_record_changes(linked, [did(LINK_ENTITIES, {"edges_removed": [EDGE]})], NOW)
    assert unlinked.current_understanding.dependencies == ()


def test_a_record_that_is_renamed_has_its_new_name() -> None:
    made = apply_record_changes(EMPTY_STATE, [did(CREATE_ENTITY, CREATED)], NOW)
    renamed: JsonObject = {"handle": "task/drain", "name": "Drain both cellars", "changed": {"name": {}}}
    names = {
        one.id: one.name
        for one in apply_record_changes(made, [did(UPDATE_ENTITY, renamed)], NOW).current_understanding.entities
    }
    assert names["task/drain"] == "Drain both cellars"


def test_a_link_that_does_not_say_how_a_record_is_called_takes_no_name_away() -> None:
    made = apply_record_changes(
        EMPTY_STATE, [did(CREATE_ENTITY, CREATED), did(LINK_ENTITIES, {"edges_created": [EDGE]})], NOW
    )
    assert {one.id: one.name for one in made.current_understanding.entities}["task/drain"] == "Drain the cellar"


def test_an_item_that_became_a_record_is_settled_and_says_which() -> None:
    state = apply_record_changes(having("drain the Cellar", "Call the owner"), [did(CREATE_ENTITY, CREATED)], NOW)
    drained, called = state.items
    assert (drained.status, drained.promoted, drained.related_entity_ids) == ("resolved", "task/drain", ("task/drain",))
    assert (called.status, called.promoted) == ("active", "")


def test_a_question_and_what_is_merely_alike_stay_open() -> None:
    made = [did(CREATE_ENTITY, CREATED)]
    for state in (having("Drain the cellar", kind="question"), having("Drain the cellar and paint the hall")):
        assert [one.status for one in apply_record_changes(state, made, NOW).items] == ["active"]


def test_reads_and_failures_note_nothing() -> None:
    assert record_changes_of_call(LIST_ENTITIES, CREATED) is None
    assert record_changes_of_call(CREATE_ENTITY, {"ok": False, **CREATED}) is None
    assert record_changes_of_call(replace(UPDATE_ENTITY), {"handle": "task/drain", "changed": {}}) is None


def test_notes_are_told_line_by_line_with_what_they_rest_on() -> None:
    state = apply_record_changes(having("Drain the cellar", "Call the owner"), [did(CREATE_ENTITY, CREATED)], NOW)
    lines = state_rendering.render_items(state, SESSION, 3)
    assert [one.text for one in lines] == [
        "- open task i2: Call the owner",
        "- done task i1: Drain the cellar -> task/drain",
        "- records: task/drain Drain the cellar, goal/dry",
        "- links: task/drain supports goal/dry",
    ]
    assert {one.kind for one in lines} == {SourceKind.STATE}
    assert lines[1].source == Source("agent_states", f"{SESSION}/items/i1", 3)
    assert lines[1].further_sources == (Source("handles", "task/drain"), Source("summaries", "1"))
    assert len({one.source for one in lines}) == len(lines)


def test_what_is_settled_gives_way_first() -> None:
    state = apply_record_changes(having("Drain the cellar", "Call the owner"), [did(CREATE_ENTITY, CREATED)], NOW)
    lines = sorted(state_rendering.render_items(state, SESSION, 3), key=lambda one: one.score)
    assert lines[0].text.startswith("- done")
    assert lines[-1].text.startswith("- open")


def test_what_may_not_be_named_is_not() -> None:
    state = apply_record_changes(having("Drain the cellar"), [did(CREATE_ENTITY, CREATED)], NOW)
    assert texts(agent_state.restrict_to_records(state, {"goal/dry"})) == [
        "- done task i1: Drain the cellar",
        "- records: goal/dry",
    ]


def test_a_summariser_is_given_notes_without_what_they_rest_on() -> None:
    told = agent_state.to_json(agent_state.without_provenance(having("Drain the cellar")))
    assert "summaries" not in str(told)
    assert "Drain the cellar" in str(told)
