"""What makes a Pulse stale, and what does not: each cause from what people and agents do."""

from datetime import timedelta
from decimal import Decimal

import pytest

from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.pulse.due.sweep import PulseSweepDependencies, sweep_tenant
from parlour.pulse.reading import pulse_view
from parlour.pulse.reading import store as read_store
from parlour.pulse.reading.changes_since import render_changes
from parlour.records import crud, record_links, staleness
from parlour.records.crud import Record, RecordInput, RecordPatch
from tests.conversation_harness import FakeDelayedQueue
from tests.integration.knowledge_tenant import KnowledgeTenant, execute
from tests.integration.records.record_harness import RecordHarness, open_record_harness


@pytest.fixture
def desk(library: KnowledgeTenant) -> RecordHarness:
    desk = open_record_harness(library)
    desk.define_type("site", {"state": {"type": "text"}}, pulse="auto", coalesce_seconds=10)
    return desk


def settled(desk: RecordHarness) -> None:
    desk.clear_stale()
    with desk.transaction() as tx:
        execute(tx, "DELETE FROM work_due WHERE kind = 'pulse'")
    desk.now += timedelta(minutes=1)


def causes(desk: RecordHarness, entity: Record) -> list[str]:
    return desk.read(entity.id).stale_causes


def due_after(desk: RecordHarness, entity: Record) -> float | None:
    """Seconds until the record's Pulse is due."""
    with desk.transaction() as tx:
        found = work_due.find(tx, "pulse", entity.id)
    return (found.due_at - desk.now).total_seconds() if found else None


def finding(desk: RecordHarness, tx: Transaction, project: str) -> Record:
    new = RecordInput("finding", "Hairline crack", properties={"severity": "low"}, project=project)
    return crud.create_record(desk.principal, tx, new, desk.now)


def test_a_new_record_is_due_after_the_window_of_its_kind(desk: RecordHarness) -> None:
    site = desk.create(RecordInput("site", "North yard"))
    assert (causes(desk, site), due_after(desk, site)) == (["changed"], 10)
    plan = desk.create(RecordInput("plan", "Lifts"))
    assert due_after(desk, plan) == 30


def test_many_changes_make_one_due_time_and_are_counted(desk: RecordHarness) -> None:
    site = desk.create(RecordInput("site", "North yard"))
    for number in range(5):
        desk.now += timedelta(seconds=1)
        desk.change(site.id, RecordPatch(properties={"state": f"open {number}"}))
    assert due_after(desk, site) == 5
    with desk.transaction() as tx:
        staleness.merge_side_marks(tx, site.id)
        seen = staleness.read_pending_changes(tx, site.id)
    assert seen is not None
    assert (seen.mark_count, seen.reflected_mark_count, list(seen.causes)) == (6, 0, ["changed"])
    assert seen.since == desk.now - timedelta(seconds=5)


def test_causes_keep_their_order_and_their_times(desk: RecordHarness) -> None:
    one, other = desk.create(RecordInput("site", "North yard")), desk.create(RecordInput("site", "South yard"))
    settled(desk)
    began = desk.now
    desk.change(one.id, RecordPatch(properties={"state": "open"}))
    desk.now += timedelta(seconds=3)
    desk.link(one.handle, other.handle, "relates_to")
    with desk.transaction() as tx:
        seen = staleness.read_pending_changes(tx, one.id)
    assert seen is not None
    assert dict(seen.causes) == {"changed": began, "link_changed": desk.now}
    assert list(seen.causes) == ["changed", "link_changed"]
    assert causes(desk, other) == ["link_changed"]


def test_a_finding_is_news_to_what_it_is_linked_to_or_belongs_to_whatever_that_says_of_children(
    desk: RecordHarness,
) -> None:
    site, project = desk.create(RecordInput("site", "North yard")), desk.create(RecordInput("project", "Tower"))
    settled(desk)
    with desk.transaction() as tx:
        execute(tx, "UPDATE entity_types SET rag = rag - 'children' WHERE key = 'project'")
        found = finding(desk, tx, project.handle)
        link_in(desk, tx, found, site)
    assert (causes(desk, site), causes(desk, project)) == (["finding_created"], ["finding_created"])
    settled(desk)
    desk.change(found.id, RecordPatch(properties={"severity": "high"}))
    assert (causes(desk, site), causes(desk, project)) == ([], [])


def link_in(desk: RecordHarness, tx: Transaction, found: Record, site: Record) -> None:
    record_links.link(desk.principal, tx, found.handle, site.handle, "relates_to", desk.now)


def test_an_old_finding_that_is_linked_later_is_a_link(desk: RecordHarness) -> None:
    site = desk.create(RecordInput("site", "North yard"))
    found = desk.create(RecordInput("finding", "Crack"))
    settled(desk)
    desk.link(found.handle, site.handle, "relates_to")
    assert causes(desk, site) == ["link_changed"]


def a_talk(desk: RecordHarness) -> Record:
    desk.define_type("conversation", {"participants": {"type": "text"}, "state": {"type": "text"}}, pulse="auto")
    return desk.create(RecordInput("conversation", "Site meeting", properties={"state": "open"}))


def test_a_conversation_that_is_over_is_no_news(desk: RecordHarness) -> None:
    talk = a_talk(desk)
    desk.change(talk.id, RecordPatch(properties={"participants": "Ana"}))
    assert causes(desk, talk) == ["changed"]
    settled(desk)
    desk.change(talk.id, RecordPatch(properties={"state": "closed"}))
    desk.change(talk.id, RecordPatch(properties={"participants": "Ana, Bo"}))
    assert (causes(desk, talk), due_after(desk, talk)) == ([], None)
    desk.change(talk.id, RecordPatch(properties={"state": "open"}))
    assert causes(desk, talk) == ["changed"]


def test_another_level_makes_a_pulse_stale_whichever_properties_are_tracked(desk: RecordHarness) -> None:
    desk.define_type("permit", {"state": {"type": "text"}}, pulse="auto", tracked_properties=["state"])
    permit = desk.create(RecordInput("permit", "River bank"))
    settled(desk)
    desk.change(permit.id, RecordPatch(classification=2))
    assert causes(desk, permit) == ["changed"]


def test_one_that_was_closed_while_it_was_due_is_not_written(desk: RecordHarness) -> None:
    talk = a_talk(desk)
    settled(desk)
    desk.change(talk.id, RecordPatch(properties={"participants": "Ana"}))
    desk.change(talk.id, RecordPatch(properties={"state": "closed"}))
    orders = FakeDelayedQueue()
    desk.now += timedelta(minutes=5)
    swept = sweep_tenant(_sweeper(desk, orders), desk.principal.tenant_id)
    assert (swept.settled_count, orders.sent, due_after(desk, talk)) == (1, [], None)


def test_an_old_pulse_is_looked_at_for_its_age_and_nobody_elses_is(desk: RecordHarness) -> None:
    goal, project = desk.create(RecordInput("goal", "Dry by May")), desk.create(RecordInput("project", "Tower"))
    desk.change(goal.id, RecordPatch(project=project.handle))
    settled(desk)
    with desk.transaction() as tx:
        work_due.schedule(tx, "pulse", goal.id, desk.now)
    orders = FakeDelayedQueue()
    assert sweep_tenant(_sweeper(desk, orders), desk.principal.tenant_id).sent_count == 1
    assert (causes(desk, goal), causes(desk, project)) == (["age"], [])


def test_who_asks_waits_neither_for_the_window_nor_for_budget(desk: RecordHarness) -> None:
    site = desk.create(RecordInput("site", "North yard"))
    with desk.transaction() as tx:
        work_due.schedule(tx, "pulse", site.id, desk.now + timedelta(hours=9))
        staleness.request_refresh(tx, site.id, desk.now)
    assert (causes(desk, site), due_after(desk, site)) == (["changed", "manual"], 0)


def test_who_asks_disturbs_no_writer(desk: RecordHarness) -> None:
    site = desk.create(RecordInput("site", "North yard"))
    until = desk.now + timedelta(minutes=5)
    with desk.transaction() as tx:
        work_due.lease(tx, "pulse", site.id, until, desk.now)
        staleness.request_refresh(tx, site.id, desk.now)
    assert due_after(desk, site) == 300


def _sweeper(desk: RecordHarness, orders: FakeDelayedQueue) -> PulseSweepDependencies:
    return PulseSweepDependencies(desk.database, orders, Decimal(20), Decimal(5), lambda: desk.now)


def test_who_is_linked_to_a_record_that_is_deleted_is_told(desk: RecordHarness) -> None:
    site, other = desk.create(RecordInput("site", "North yard")), desk.create(RecordInput("plan", "Secret dredger"))
    bigger = desk.create(RecordInput("goal", "Whole port"))
    desk.link(site.handle, other.handle, "relates_to")
    desk.link(site.handle, bigger.handle, "part_of")
    for gone in (other, bigger):
        settled(desk)
        desk.delete(gone.id)
        assert causes(desk, site) == ["link_changed"]
        with desk.transaction() as tx:
            found = pulse_view.read_pulse(desk.principal, tx, site.handle, desk.now, counts_as_read=False)
            (change,) = read_store.list_changes_since(tx, site.id, desk.now - timedelta(seconds=1), 0, [], 3)
        assert found.stale_since == desk.now
        assert f"{gone.name} deleted" in render_changes([change], ["link_changed"])
        assert (change.cause, change.title) == ("link_changed", gone.name)


def test_who_is_told_of_a_part_that_is_deleted_is_told_once(desk: RecordHarness) -> None:
    project, goal = desk.create(RecordInput("project", "Tower")), desk.create(RecordInput("goal", "Dry by May"))
    desk.link(goal.handle, project.handle, "part_of")
    settled(desk)
    desk.delete(goal.id)
    assert causes(desk, project) == ["child_changed"]
    with desk.transaction() as tx:
        found = read_store.list_changes_since(tx, project.id, desk.now - timedelta(seconds=1), 0, [], 3)
    assert [one.cause for one in found] == ["child_changed"]
