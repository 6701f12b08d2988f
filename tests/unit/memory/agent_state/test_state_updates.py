"""What a summariser may change of an agent's notes, and what it may not."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.memory.agent_state import agent_state, state_updates
from parlour.memory.agent_state.agent_state import EMPTY_STATE, AgentState
from parlour.memory.agent_state.state_updates import UpdateResult
from tests.conftest import NOW

KNOWN = {"plan/pumps", "task/cellar"}


def after(state: AgentState, *items: JsonObject, version: int = 1) -> UpdateResult:
    """The notes after one answer of a summariser, which wrote that version of its summary."""
    return state_updates.apply_updates(state, [*items], known_handles=KNOWN, summary_version=version, now=NOW)


def adds(title: str, **more: Json) -> JsonObject:
    return {"op": "add", "item": {"kind": "task", "title": title, **more}}


def reasons(applied: UpdateResult) -> list[str]:
    return [one.reason for one in applied.rejected]


def test_an_item_comes_with_its_records_and_the_moment() -> None:
    (item,) = after(EMPTY_STATE, adds("Pump the cellar", relatedEntityIds=["plan/pumps"])).state.items
    assert (item.id, item.status, item.related_entity_ids) == ("i1", "active", ("plan/pumps",))
    assert item.created_at == item.updated_at == NOW.isoformat()


def test_an_item_is_changed_only_where_a_patch_says_so() -> None:
    before = after(EMPTY_STATE, adds("Pump the cellar", details="by Friday")).state
    (item,) = after(before, {"op": "update", "id": "i1", "patch": {"details": "by Monday"}}).state.items
    assert (item.title, item.details) == ("Pump the cellar", "by Monday")


def test_an_item_that_is_removed_is_discarded_and_stays() -> None:
    before = after(EMPTY_STATE, adds("Pump the cellar")).state
    (item,) = after(before, {"op": "remove", "id": "i1"}).state.items
    assert item.status == "discarded"


def test_an_open_item_that_is_added_again_is_the_same() -> None:
    before = after(EMPTY_STATE, adds("Pump the cellar")).state
    applied = after(before, adds("pump the CELLAR", details="with two pumps"))
    (item,) = applied.state.items
    assert (item.title, item.details) == ("Pump the cellar", "with two pumps")


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        ({"op": "update", "id": "i9", "patch": {}}, "unknown_id"),
        ({"op": "remove", "id": "i9"}, "unknown_id"),
        ({"op": "erase", "id": "i1"}, "unknown_op"),
        ({"op": "add", "item": {"kind": "task"}}, "missing_title"),
        ({"op": "add", "item": {"kind": "dream", "title": "Fly"}}, "unknown_kind"),
        ({"op": "add", "item": {"kind": "task", "title": "Fly", "status": "dreamt"}}, "unknown_status"),
        ({"op": "add", "item": {"kind": "task", "title": "Fly", "relatedEntityIds": ["plan/none"]}}, "unknown_record"),
        ({"op": "add", "item": {"kind": "task", "title": "Dig", "id": "i1"}}, "duplicate_id"),
        ({"op": "update", "id": "i1", "patch": {"status": "erased"}}, "unknown_status"),
        ("update", "not_an_object"),
    ],
)
def test_what_makes_no_sense_is_refused_alone(update: Json, reason: str) -> None:
    before = after(EMPTY_STATE, adds("Pump the cellar")).state
    applied = state_updates.apply_updates(
        before, [update, adds("Call the owner")], known_handles=KNOWN, summary_version=1, now=NOW
    )
    assert reasons(applied) == [reason]
    assert [one.title for one in applied.state.items] == ["Pump the cellar", "Call the owner"]


def test_a_model_cannot_say_that_an_item_became_a_record() -> None:
    applied = after(EMPTY_STATE, adds("Pump the cellar", promoted="plan/pumps"))
    applied = after(applied.state, {"op": "update", "id": "i1", "patch": {"promoted": "plan/pumps"}})
    assert [one.promoted for one in applied.state.items] == [""]


def test_with_no_room_left_what_is_settled_gives_way_to_an_item_and_what_is_open_never() -> None:
    full = EMPTY_STATE
    for number in range(agent_state.MAX_ITEMS):
        full = after(full, adds(f"Step number {number}")).state
    assert reasons(after(full, adds("One more"))) == ["limit_reached"]
    settled = state_updates.apply_updates(
        full,
        [{"op": "update", "id": "i5", "patch": {"status": "resolved"}}],
        known_handles=KNOWN,
        summary_version=1,
        now=NOW + timedelta(hours=1),
    ).state
    names = {one.title for one in after(settled, adds("One more")).state.items}
    assert "One more" in names
    assert "Step number 4" not in names  # i5 is the fifth


def test_only_records_that_the_reader_sees_are_named() -> None:
    named = adds("Pump", relatedEntityIds=["plan/pumps", "task/cellar"])
    hidden = adds("Hide", relatedEntityIds=["plan/secret"])
    applied = after(EMPTY_STATE, named, hidden)
    assert applied.state.handles == KNOWN
    assert reasons(applied) == ["unknown_record"]
    assert state_updates.proposed_handles([named, hidden]) == {*KNOWN, "plan/secret"}


def test_a_note_rests_on_what_its_words_were_taken_from() -> None:
    before = after(EMPTY_STATE, adds("Pump the cellar", details="by Friday")).state
    settled = after(before, {"op": "update", "id": "i1", "patch": {"status": "resolved"}}, version=2).state
    assert [one.summaries for one in settled.items] == [(1,)]
    longer = after(before, {"op": "update", "id": "i1", "patch": {"details": "by Monday"}}, version=2).state
    assert [one.summaries for one in longer.items] == [(1, 2)]
    patch: JsonObject = {"title": "Drain the cellar", "details": "at once"}
    anew = after(before, {"op": "update", "id": "i1", "patch": patch}, version=2).state
    assert [one.summaries for one in anew.items] == [(2,)]


def test_a_note_that_would_rest_on_too_much_has_to_be_told_anew() -> None:
    state = after(EMPTY_STATE, adds("Pump the cellar", details="day 0")).state
    for day in range(1, 8):
        patch: JsonObject = {"op": "update", "id": "i1", "patch": {"details": f"day {day}"}}
        applied = after(state, patch, version=day + 1)
        state = applied.state
    assert reasons(applied) == ["too_many_sources"]
    assert [len(one.summaries) for one in state.items] == [agent_state.MAX_SUMMARIES]
    assert reasons(after(state, {"op": "remove", "id": "i1"}, version=9)) == []


def test_the_same_answer_with_the_same_summary_changes_nothing() -> None:
    once = after(EMPTY_STATE, adds("Pump the cellar")).state
    assert after(once, adds("Pump the cellar")).state == once


def test_what_came_with_a_summary_goes_with_it() -> None:
    state = after(EMPTY_STATE, adds("Pump the cellar")).state
    state = after(state, adds("Call the owner"), version=2).state
    left = agent_state.without_summaries(state, {1})
    assert [one.title for one in left.items] == ["Call the owner"]


def test_kinds_of_notes_that_there_are_no_more_are_read_over() -> None:
    stored: JsonObject = {"assumptions": [{"id": "a1", "hypothesis": "x", "confidence": 1.0}], "items": []}
    assert agent_state.from_json(stored) == EMPTY_STATE


def test_notes_are_kept_and_read_back() -> None:
    state = after(EMPTY_STATE, adds("Pump", relatedEntityIds=["plan/pumps"])).state
    assert agent_state.from_json(agent_state.to_json(state)) == state
    assert agent_state.to_json(EMPTY_STATE) == {}


def test_text_that_a_database_cannot_keep_is_cleaned_and_no_handle() -> None:
    (item,) = after(EMPTY_STATE, adds("Pump\0 the \ud800cellar")).state.items
    assert item.title == "Pump the cellar"
    assert state_updates.proposed_handles(
        [{"item": {"relatedEntityIds": ["plan/\0", "plan/\ud800", "plan/pumps"]}}]
    ) == {"plan/pumps"}


def test_an_answer_of_lists_within_lists_is_no_trouble() -> None:
    deep: Json = ["plan/pumps"]
    for _ in range(3_000):
        deep = [deep]
    assert state_updates.proposed_handles(deep) == set()
    assert after(EMPTY_STATE, {"op": "add", "item": {"kind": "task", "title": deep}}).state == EMPTY_STATE


_TEXTS = st.sampled_from(
    ["", "a1", "i1", "Pump the cellar", "plan/pumps", "active", "x" * 900, "कल आना", "\0/\0", "a/\ud800"]
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False), _TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                [
                    "op",
                    "id",
                    "item",
                    "patch",
                    "kind",
                    "title",
                    "status",
                    "details",
                    "relatedEntityIds",
                    "items",
                ]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=20,
)


@given(st.lists(_VALUES, max_size=4))
def test_no_answer_whatever_it_is_breaks_the_notes_or_makes_them_grow(answers: list[Any]) -> None:
    state = after(EMPTY_STATE, adds("Pump", id="i1")).state
    for items in answers:
        state = state_updates.apply_updates(state, items, known_handles=KNOWN, summary_version=2, now=NOW).state
        assert state.handles <= KNOWN
        assert agent_state.from_json(agent_state.to_json(state)) == state
        assert "\\u0000" not in canonical_json(agent_state.to_json(state)).encode().decode()
    assert any(one.id == "i1" for one in state.items)
    assert all(len(one.title) <= agent_state.MAX_NAME_CHARS for one in state.items)
