"""Records that people and agents write: made, changed, linked and deleted, each change with all it leaves behind."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.errors import CallerError, Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.jobs import work_due
from parlour.records import crud, linked_records, type_registry
from parlour.records.crud import Record, RecordInput, RecordPage, RecordPatch
from tests.integration.knowledge_tenant import KnowledgeTenant, execute
from tests.integration.records.record_harness import RecordHarness, open_record_harness

CRANE = RecordInput("risk", "Crane not free", properties={"severity": "high", "state": "open"})


@pytest.fixture
def desk(library: KnowledgeTenant) -> RecordHarness:
    return open_record_harness(library)


def test_a_record_gets_a_handle_made_of_its_name(desk: RecordHarness) -> None:
    made = desk.create(CRANE)
    assert made.handle.startswith("risk/crane-not-free-")
    assert len(made.key) == len("crane-not-free-") + 4
    assert (made.version, made.type_name, made.classification, made.created_by) == (1, "Risk", 0, "member")
    assert desk.read(made.handle) == desk.read(made.id) == desk.read(str(made.id)) == made


def test_a_new_record_is_searchable_at_once_and_has_a_vector_to_come(desk: RecordHarness) -> None:
    made = desk.create(CRANE)
    (delta, snapshot) = desk.context_rows_of(made)
    assert (snapshot.kind, snapshot.content) == ("snapshot", "Crane not free (Risk)\nstate: open\nseverity: high")
    assert delta.content == "[2026-03-02 09:30] Crane not free (Risk): created, by a member"
    assert snapshot.pending
    assert delta.pending
    with desk.transaction() as tx:
        assert work_due.find(tx, "embedding", desk.principal.tenant_id)


def test_the_same_call_makes_one_record(desk: RecordHarness) -> None:
    made = desk.create(CRANE, origin="call-1")
    assert desk.create(replace(CRANE, name="Other"), origin="call-1") == made
    assert len(desk.browse().records) == 1
    desk.delete(made.handle)
    with pytest.raises(Conflict, match="deleted since"):
        desk.create(CRANE, origin="call-1")


def test_a_chosen_key_is_kept_and_taken_once(desk: RecordHarness) -> None:
    desk.create(replace(CRANE, key="R-1"))
    with pytest.raises(Conflict, match="risk/R-1 is taken"):
        desk.create(replace(CRANE, key="R-1"))
    with pytest.raises(InvalidRequest, match="key: use letters"):
        desk.create(replace(CRANE, key="R 1"))


def test_the_key_of_a_deleted_record_can_be_used_again_without_its_past(desk: RecordHarness) -> None:
    first, other = desk.create(replace(CRANE, key="R-1")), desk.create(RecordInput("task", "Order a crane"))
    desk.link(other.handle, first.handle, "relates_to")
    desk.delete("risk/R-1")
    again = desk.create(RecordInput("risk", "Flood", key="R-1"))
    assert (again.name, again.properties, again.version) == ("Flood", {}, 1)
    assert again.id != first.id
    with desk.transaction() as tx:
        assert linked_records.read_linked_page(desk.principal, tx, again.id).linked.records == ()


def test_what_does_not_fit_is_refused_with_what_would(desk: RecordHarness) -> None:
    for new, message in (
        (RecordInput("rsk", "x"), "unknown type 'rsk'; did you mean 'risk'"),
        (RecordInput("risk", " "), "name: use 1 to 300"),
        (RecordInput("risk", "x", properties={"severty": "high"}), "severty: .* did you mean 'severity'"),
        (RecordInput("risk", "x", properties={"severity": "hgh"}), "must be one of .*; did you mean 'high'"),
        (RecordInput("risk", "x", properties={"due": "tomorrow"}), "due: must be an ISO date"),
        (RecordInput("contract", "x", properties={"amount": "12"}), "amount: must be a number"),
        (RecordInput("risk", "x", properties={"pulse_content": "fine"}), "pulse_content: is reserved by Parlour"),
        (RecordInput("risk", "x", properties={"stale_since": None}), "stale_since: is reserved by Parlour"),
        (RecordInput("risk", "x", properties={"owner": "a\0"}), "without NUL"),
        (RecordInput("risk", "x", properties={"sources": ["page 3"]}), "sources: must be a list"),
        (RecordInput("risk", "x", classification=7), "classification: use a number from 0"),
    ):
        with pytest.raises(InvalidRequest, match=message):
            desk.create(new)


def test_a_change_is_told_from_what_to_what(desk: RecordHarness) -> None:
    made = desk.create(CRANE)
    desk.now += timedelta(hours=1)
    patch = RecordPatch(name="Crane late", properties={"severity": None, "state": "closed", "owner": "Ines"})
    changed = desk.change(made.handle, patch, version=1)
    assert (changed.version, changed.name, changed.properties) == (
        2,
        "Crane late",
        {"state": "closed", "owner": "Ines"},
    )
    assert (changed.created_at, changed.updated_at) == (made.created_at, desk.now)
    told, created, snapshot = desk.context_rows_of(changed)
    assert told.content == (
        "[2026-03-02 10:30] Crane late (Risk): name: Crane late (was Crane not free); owner: Ines;"
        " state: closed (was open); severity: removed (was high), by a member"
    )
    assert created.content.endswith("created, by a member")
    assert snapshot.content == "Crane late (Risk)\nowner: Ines\nstate: closed"


def test_a_change_of_nothing_leaves_nothing(desk: RecordHarness) -> None:
    made = desk.create(CRANE)
    before = desk.context_rows_of(made)
    assert desk.change(made.handle, RecordPatch(properties={"state": "open", "owner": None})) == made
    assert desk.context_rows_of(made) == before


def test_a_change_of_another_version_is_refused(desk: RecordHarness) -> None:
    made = desk.create(CRANE)
    desk.change(made.handle, RecordPatch(name="A"), version=1)
    with pytest.raises(Conflict, match=f"{made.handle} is at version 2, but you changed version 1"):
        desk.change(made.handle, RecordPatch(name="B"), version=1)
    with pytest.raises(Conflict, match="version 2"):
        desk.delete(made.handle, version=1)
    assert desk.change(made.handle, RecordPatch(name="B")).version == 3


def test_a_deleted_record_is_out_of_every_list_and_search_at_once(desk: RecordHarness) -> None:
    gone, stays = desk.create(CRANE), desk.create(RecordInput("task", "Order a crane"))
    desk.link(stays.handle, gone.handle, "relates_to")
    desk.delete(gone.handle, version=1)
    with pytest.raises(NotFound):
        desk.read(gone.handle)
    assert [one.handle for one in desk.browse().records] == [stays.handle]
    assert desk.context_rows_of(gone) == []
    assert [row for row in desk.context_rows_of(stays) if "Crane not free" in row.content] == []


def test_a_reader_below_meets_a_record_nowhere(desk: RecordHarness) -> None:
    secret = desk.create(replace(CRANE, key="S-1", classification=3))
    task = desk.create(RecordInput("task", "Order a crane"))
    desk.link(task.handle, secret.handle, "relates_to")
    below = desk.with_clearance(1)
    acts: list[Callable[[], object]] = [
        lambda: below.read(secret.handle),
        lambda: below.read(secret.id),
        lambda: below.change(secret.handle, RecordPatch(name="x")),
        lambda: below.delete(secret.handle),
        lambda: below.link(task.handle, secret.handle, "depends_on"),
        lambda: below.unlink(task.handle, secret.handle, "relates_to"),
    ]
    for act in acts:
        with pytest.raises(NotFound, match="not found"):
            act()
    assert [one.handle for one in below.browse().records] == [task.handle]
    assert {row.classification for row in desk.context_rows_of(task) if "Crane not free" in row.content} == {3}


def test_nobody_writes_above_their_own_clearance(desk: RecordHarness) -> None:
    below, made = desk.with_clearance(1), desk.create(CRANE)
    with pytest.raises(Forbidden, match="confidential is above your own clearance, internal"):
        below.create(replace(CRANE, classification=2))
    with pytest.raises(Forbidden):
        below.change(made.handle, RecordPatch(classification=2))


def test_a_record_that_is_closed_closes_all_that_was_said_of_it(desk: RecordHarness) -> None:
    made, task = desk.create(CRANE), desk.create(RecordInput("task", "Order a crane"))
    desk.link(task.handle, made.handle, "relates_to")
    desk.change(made.handle, RecordPatch(classification=3))
    assert {row.classification for row in desk.context_rows_of(made)} == {3}
    assert [
        row.content for row in desk.context_rows_of(task) if row.classification < 3 and "Crane not" in row.content
    ] == []
    desk.change(made.handle, RecordPatch(classification=0))
    assert [row.kind for row in desk.context_rows_of(made) if row.classification == 0] == ["snapshot"]


def test_a_record_belongs_to_a_project_and_is_as_closed_as_it(desk: RecordHarness) -> None:
    site = desk.create(RecordInput("project", "Northbank", key="NRS", classification=2))
    made = desk.create(replace(CRANE, project="project/NRS"))
    assert (made.project, made.project_id, made.classification) == ("project/NRS", site.id, 2)
    assert [one.handle for one in desk.browse(project="project/NRS").records] == [made.handle]
    open_one = desk.create(replace(CRANE, project="project/NRS", classification=0))
    assert (
        desk.with_clearance(1).read(open_one.handle).project,
        desk.with_clearance(1).read(open_one.handle).project_id,
    ) == (
        None,
        None,
    )
    assert desk.change(made.handle, RecordPatch(project=None)).project is None
    with pytest.raises(InvalidRequest, match="is not a project"):
        desk.create(replace(CRANE, project=made.handle))
    with pytest.raises(NotFound):
        desk.with_clearance(1).create(replace(CRANE, project="project/NRS"))


def test_a_listing_is_read_page_by_page(desk: RecordHarness) -> None:
    made = []
    for number in range(7):
        desk.now += timedelta(seconds=number % 2)
        made.append(desk.create(RecordInput("task", f"Task {number}", key=f"T-{number}")))
    seen: list[str] = []
    page = RecordPage([], "")
    for _ in range(10):
        page = desk.browse(limit=3, cursor=page.next_cursor)
        seen += [one.handle for one in page.records]
        if not page.next_cursor:
            break
    assert sorted(seen) == sorted(one.handle for one in made)
    times = [desk.read(handle).updated_at for handle in seen]
    assert times == sorted(times, reverse=True)


def test_a_listing_is_filtered(desk: RecordHarness) -> None:
    risk = desk.create(CRANE)
    desk.create(RecordInput("risk", "Flood", properties={"severity": "low"}))
    desk.create(RecordInput("task", "Crane papers"))
    for asked, found in (
        ({"type": "risk"}, 2),
        ({"type": "risk", "where": {"severity": "high", "state": "open"}}, 1),
        ({"where": {"severity": "high"}}, 1),
        ({"text": "CRANE"}, 2),
        ({"text": "%"}, 0),
        ({"type": "goal"}, 0),
    ):
        assert len(desk.browse(**asked).records) == found, asked
    assert desk.browse(type="risk", where={"severity": "high"}).records == [risk]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"type": "riks"}, "did you mean 'risk'"),
        ({"type": "risk", "where": {"severty": "high"}}, "did you mean 'severity'"),
        ({"type": "risk", "where": {"severity": "huge"}}, "must be one of low, medium, high, critical"),
        ({"cursor": "nonsense"}, "cursor: use the"),
        ({"cursor": "é"}, "cursor: use the"),
    ],
)
def test_a_wrong_filter_says_what_is_right(desk: RecordHarness, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        desk.browse(**asked)


def test_links_are_told_at_both_ends_and_once(desk: RecordHarness) -> None:
    task, plan = (
        desk.create(RecordInput("task", "Order", key="T-1")),
        desk.create(RecordInput("plan", "Lifts", key="P-1")),
    )
    first = desk.link("task/T-1", "plan/P-1", "belongs_to_plan")
    assert (first.source, first.target, first.relation, first.is_new) == (
        "task/T-1",
        "plan/P-1",
        "belongs_to_plan",
        True,
    )
    assert not desk.link("task/T-1", "plan/P-1", "belongs_to_plan").is_new
    assert [row.content for row in desk.context_rows_of(task) if "linked" in row.content] == [
        "[2026-03-02 09:30] Order (Task): linked: is part of the plan Lifts (plan/P-1), by a member"
    ]
    assert [row.content for row in desk.context_rows_of(plan) if "linked" in row.content] == [
        "[2026-03-02 09:30] Lifts (Plan): linked: includes Order (task/T-1), by a member"
    ]
    desk.unlink("task/T-1", "plan/P-1", "belongs_to_plan")
    assert desk.count("edges") == 0
    with pytest.raises(NotFound, match="has no link 'belongs_to_plan' to plan/P-1"):
        desk.unlink("task/T-1", "plan/P-1", "belongs_to_plan")


def test_the_same_call_makes_one_link(desk: RecordHarness) -> None:
    desk.create(RecordInput("task", "Order", key="T-1"))
    desk.create(RecordInput("plan", "Lifts", key="P-1"))
    desk.link("task/T-1", "plan/P-1", "relates_to", origin="call-1")
    again = desk.link("task/T-1", "plan/P-1", "depends_on", origin="call-1")
    assert (again.relation, again.is_new, desk.count("edges")) == ("relates_to", False, 1)


@pytest.mark.parametrize(
    ("ends", "relation", "error", "message"),
    [
        (("task/T-1", "task/T-2"), "dependson", InvalidRequest, "did you mean 'depends_on'"),
        (("task/T-1", "task/T-2"), "Blocks it", InvalidRequest, "relation: use lower-case"),
        (("task/T-1", "task/T-1"), "depends_on", InvalidRequest, "cannot be linked to itself"),
        (("task/T-1", "task/T-9"), "depends_on", NotFound, "record 'task/T-9' not found"),
    ],
)
def test_a_wrong_link_says_what_is_right(
    desk: RecordHarness, ends: tuple[str, str], relation: str, error: type[CallerError], message: str
) -> None:
    for key in ("T-1", "T-2"):
        desk.create(RecordInput("task", key, key=key))
    with pytest.raises(error, match=message):
        desk.link(*ends, relation)
    assert desk.link("task/T-1", "task/T-2", "blocks").relation == "blocks"


def test_a_kind_of_everybodys_gets_a_row_with_its_first_record(desk: RecordHarness) -> None:
    with desk.transaction() as tx:
        assert {"finding", "requirement", "conversation"} <= type_registry.list_record_types(tx).keys()
        assert type_registry.get_record_type(tx, "finding").id is None
    desk.create(RecordInput("finding", "Gap", properties={"kind": "safety", "severity": "low", "status": "open"}))
    with desk.transaction() as tx:
        assert type_registry.get_record_type(tx, "finding").id is not None
        assert execute(tx, "SELECT FROM config_versions WHERE kind = 'entity_type'") == 1


def stale(desk: RecordHarness, entity: Record) -> list[str]:
    return desk.read(entity.id).stale_causes


def test_a_change_makes_a_pulse_stale_and_those_of_what_the_record_belongs_to(desk: RecordHarness) -> None:
    plan, task = desk.create(RecordInput("plan", "Lifts")), desk.create(RecordInput("task", "Order"))
    goal = desk.create(RecordInput("goal", "Dry by May"))
    desk.link(task.handle, plan.handle, "belongs_to_plan")
    desk.link(goal.handle, task.handle, "requires")
    desk.clear_stale()
    desk.now += timedelta(hours=1)
    desk.change(task.handle, RecordPatch(properties={"state": "done"}))
    assert (stale(desk, task), stale(desk, plan), stale(desk, goal)) == ([], ["child_changed"], ["child_changed"])
    assert desk.read(plan.id).stale_since == desk.now
    assert desk.read(plan.id).version == 1
    desk.clear_stale()
    desk.change(plan.handle, RecordPatch(properties={"state": "active"}))
    assert (stale(desk, plan), stale(desk, goal)) == (["changed"], [])


def test_only_tracked_properties_make_a_pulse_stale(desk: RecordHarness) -> None:
    desk.define_type(
        "permit", {"state": {"type": "text"}, "note": {"type": "text"}}, pulse="auto", tracked_properties=["state"]
    )
    permit = desk.create(RecordInput("permit", "River bank"))
    desk.clear_stale()
    desk.change(permit.handle, RecordPatch(properties={"note": "x"}))
    assert stale(desk, permit) == []
    desk.change(permit.handle, RecordPatch(properties={"state": "granted"}))
    assert stale(desk, permit) == ["changed"]


def test_a_kind_without_context_has_no_rows(desk: RecordHarness) -> None:
    desk.define_type("log", {"note": {"type": "text"}}, context="off")
    made = desk.create(RecordInput("log", "Line"))
    assert desk.context_rows_of(desk.change(made.handle, RecordPatch(properties={"note": "x"}))) == []


def test_a_kind_says_what_a_new_record_is_classified(desk: RecordHarness) -> None:
    desk.define_type("salary", {}, classification="confidential")
    assert desk.create(RecordInput("salary", "Crane driver")).classification == 2
    with pytest.raises(Forbidden):
        desk.with_clearance(1).create(RecordInput("salary", "Crane driver"))


def test_two_tenants_have_records_of_one_key(desk: RecordHarness, other_library: KnowledgeTenant) -> None:
    other = open_record_harness(other_library)
    mine, theirs = desk.create(replace(CRANE, key="R-1")), other.create(replace(CRANE, key="R-1"))
    assert mine.id != theirs.id
    with pytest.raises(NotFound):
        desk.read(theirs.id)


def test_a_record_above_the_reader_is_no_origin_of_theirs(desk: RecordHarness) -> None:
    desk.create(replace(CRANE, classification=3), origin="call-1")
    with pytest.raises(NotFound):
        desk.with_clearance(1).create(CRANE, origin="call-1")


def test_references_that_name_nothing_are_not_there(desk: RecordHarness) -> None:
    for ref in ("", "risk", "risk/", "/x", "risk/a b", "risk/\0", "Risk/x", "x" * 500, UUID(int=7), uuid7(desk.now)):
        with pytest.raises(NotFound):
            desk.read(ref)


def test_a_call_that_made_one_kind_makes_no_other(desk: RecordHarness) -> None:
    desk.create(CRANE, origin="call-1")
    with pytest.raises(Conflict, match="already created a risk, not a task"):
        desk.create(RecordInput("task", "Order a crane"), origin="call-1")


def test_the_relations_of_what_is_closed_are_not_suggested(desk: RecordHarness) -> None:
    secret = desk.create(replace(CRANE, classification=3))
    task, other = desk.create(RecordInput("task", "Order a crane")), desk.create(RecordInput("task", "Book a crane"))
    desk.link(task.handle, secret.handle, "blackmails")
    with pytest.raises(InvalidRequest, match="blackmails"):
        desk.link(task.handle, other.handle, "blackmail")
    assert desk.with_clearance(1).link(task.handle, other.handle, "blackmail").is_new


def test_a_record_that_is_closed_while_somebody_links_it_is_named_to_nobody_below(
    desk: RecordHarness, open_database: Callable[[], Database]
) -> None:
    made, task = desk.create(CRANE), desk.create(RecordInput("task", "Order a crane"))
    other = replace(desk, database=open_database())
    linking = threading.Thread(target=lambda: other.link(task.handle, made.handle, "relates_to"))
    with desk.transaction() as tx:
        crud.update_record(desk.principal, tx, made.handle, RecordPatch(classification=3), None, desk.now)
        linking.start()
        linking.join(0.5)
    linking.join()
    assert {row.classification for row in desk.context_rows_of(task) if "Crane not free" in row.content} == {3}


def test_two_writers_of_a_record_never_wait_for_each_other(
    desk: RecordHarness, open_database: Callable[[], Database]
) -> None:
    made = desk.create(CRANE)
    other = replace(desk, database=open_database())
    changing = threading.Thread(target=lambda: other.change(made.handle, RecordPatch(properties={"state": "closed"})))
    with desk.transaction() as tx:
        crud.create_record(desk.principal, tx, RecordInput("task", "Order a crane"), desk.now)
        changing.start()
        changing.join(0.5)
        crud.update_record(desk.principal, tx, made.handle, RecordPatch(name="Crane free"), None, desk.now)
    changing.join()
    found = desk.read(made.handle)
    assert (found.name, found.properties["state"], found.version) == ("Crane free", "closed", 3)
