"""Whatever happens to records, sweeps, messages and writers: no change is left unreflected, nothing is written without
a cause, and no record's Pulses more than once per window."""

from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.pulse.staleness_model import LIFE, WINDOWS, EventSequence, ReferenceModel, parse_events


@settings(max_examples=10_000, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=100))
def test_every_change_is_told_of_for_a_reason_and_once_per_window(dice: bytes) -> None:
    world = ReferenceModel()
    story = EventSequence(world)
    for name, number in parse_events(dice):
        story.move(name, number)
        check_nothing_is_overdue(world)
    story.settle()
    for record, one in enumerate(world.records):
        assert one.stale_since is None
        assert one.causes == {}
        assert one.reflected_mark_count == one.mark_count
        assert one.mark_count == 0 or one.due_at
        written = [done for done in story.written if done.record == record]
        assert all(done.causes for done in written)
        for before, after in pairwise(written):
            assert "manual" in after.causes or after.read_at - before.read_at >= WINDOWS[record]


def check_nothing_is_overdue(world: ReferenceModel) -> None:
    """What nobody is at, was sent or has to wait is due once the window after its first change is over."""
    for one in world.records:
        if one.stale_since and one.waiting_for is None and one.leased_until is None and not one.requested_at:
            assert one.due_at is not None
            assert one.due_at <= one.stale_since + one.window


def test_constant_change_does_not_put_a_pulse_off() -> None:
    world = ReferenceModel(Decimal(1))
    story = EventSequence(world)
    for second in range(1, 241):  # something changes every second
        story.move("change", 1)
        story.move("wait", 1)
        if second % 60 == 0:
            story.move("sweep", 0)
            while story.messages:
                story.move("deliver", 0)
            while story.writers:
                story.move("finish", 0)
    mine = [done for done in story.written if done.record == 1]
    assert len(mine) == 4
    assert all(done.since and done.read_at - done.since <= timedelta(seconds=61) for done in mine)


def test_what_changes_while_its_pulse_is_written_is_told_of_by_the_next_one() -> None:
    world = ReferenceModel()
    story = EventSequence(world)
    story.play([("change", 2), ("wait", 121), ("sweep", 0), ("deliver", 0), ("change", 2), ("finish", 0)])
    shown = world.read_state(2)
    assert (shown.mark_count, shown.reflected_mark_count) == (2, 1)
    assert shown.stale_since is not None
    assert story.written[0].read_at < shown.stale_since < story.written[0].at
    assert shown.due_at == shown.stale_since + WINDOWS[2]


def test_a_writer_that_died_is_followed_by_another_and_writes_nothing_when_it_wakes_up() -> None:
    world = ReferenceModel()
    story = EventSequence(world)
    story.play([("change", 2), ("wait", 121), ("sweep", 0), ("deliver", 0)])
    (asleep,) = story.writers
    story.play([("wait", int(LIFE.total_seconds())), ("sweep", 0), ("deliver", 0)])
    story.writers.remove(asleep)
    story.play([("finish", 0)])
    assert len(story.written) == 1
    assert not world.finish_writing(asleep.record, asleep.seen, asleep.read_at, asleep.until, story.now)


def test_a_message_that_comes_twice_is_no_cause_to_write_within_the_next_window() -> None:
    world = ReferenceModel()
    story = EventSequence(world)
    story.play([("change", 2), ("wait", 121), ("sweep", 0), ("repeat", 0), ("deliver", 0), ("finish", 0)])
    story.play([("change", 2), ("deliver", 0), ("finish", 0)])
    assert len(story.written) == 1
