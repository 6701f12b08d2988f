"""Whatever goes wrong with a model, the Pulse stays as it is, the reason is written down, and the next try waits."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from parlour.infra.errors import DatabaseUnavailable, ProviderRejected, ProviderUnavailable
from parlour.infra.postgres import Database
from parlour.models.offline import OfflineModel
from parlour.pulse.due import budget, sweep
from parlour.pulse.due.scheduling_rules import MAX_FAILURES
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import writing_job
from tests.integration.pulse.pulse_harness import PulseHarness
from tests.integration.pulse.scripted_pulse_model import ScriptedText, statements_answer

DOWN, NO = ProviderUnavailable("timed out"), ProviderRejected("400")


def changed(pulse_harness: PulseHarness) -> str:
    """A Pulse that was written, and a change since; what it says."""
    pulse_harness.refresh()
    pulse_harness.change("site/harbour", place="the west quay")
    said: str = pulse_harness.pulse_column()
    return said


@pytest.mark.parametrize(
    ("writings", "problem"),
    [
        ([DOWN, DOWN], "provider_unavailable"),
        ([NO], "provider_rejected"),
        (["I cannot do that."], "bad_json"),
        ([statements_answer(("It sank.", [999]))], "nothing_supported"),
        ([statements_answer(("It cost 31,337.", [1]))], "nothing_supported"),
        ([statements_answer()], "nothing_supported"),
    ],
)
def test_the_old_text_stays_and_says_why(
    pulse_harness: PulseHarness, writings: list[ScriptedText], problem: str
) -> None:
    said = changed(pulse_harness)
    pulse_harness.model.script = [*writings]
    pulse_harness.sweep()
    pulse_harness.run_writers()
    assert pulse_harness.pulse_column() == said
    assert (
        pulse_harness.state_column("problem"),
        pulse_harness.state_column("failures"),
        pulse_harness.state_column("waiting_for"),
    ) == (
        problem,
        1,
        "backoff",
    )
    assert list(pulse_harness.pending_changes().causes) == ["changed"]
    assert pulse_harness.day_total("failed") == 1
    outcomes = pulse_harness.desk.query("SELECT outcome, version FROM pulse_ledgers ORDER BY created_at")
    assert outcomes == [("written", 1), (problem, None)]


def test_a_refusal_is_one_whatever_it_says(pulse_harness: PulseHarness) -> None:
    said = changed(pulse_harness)
    pulse_harness.model.stop_reason = "refusal"
    pulse_harness.sweep()
    pulse_harness.run_writers()
    assert pulse_harness.pulse_column() == said
    assert pulse_harness.state_column("problem") == "refused"


def test_tries_wait_longer_each_time_until_one_holds(pulse_harness: PulseHarness) -> None:
    changed(pulse_harness)
    waits = []
    for _ in range(4):
        pulse_harness.model.script = ["no JSON"]
        pulse_harness.sweep(24 * 3600)
        assert pulse_harness.run_writers() == 1
        waits.append(round((pulse_harness.due_at() - pulse_harness.desk.clock.now).total_seconds() / 60))
    assert waits == [1, 2, 4, 8]
    assert pulse_harness.sweep(60).sent_count == 0
    pulse_harness.sweep(8 * 60)
    pulse_harness.run_writers()
    assert "the west quay" in pulse_harness.pulse_column()
    assert (
        pulse_harness.state_column("problem"),
        pulse_harness.state_column("failures"),
        pulse_harness.state_column("waiting_for"),
    ) == (
        None,
        0,
        None,
    )


def test_after_so_many_tries_people_are_told(pulse_harness: PulseHarness, capsys: pytest.CaptureFixture[str]) -> None:
    changed(pulse_harness)
    for _ in range(MAX_FAILURES):
        pulse_harness.model.script = ["no JSON"]
        pulse_harness.sweep(24 * 3600)
        pulse_harness.run_writers()
    assert pulse_harness.state_column("given_up_at") is not None
    assert "PulseGivenUp" in capsys.readouterr().out


def test_nobody_is_given_up_for_an_outage(pulse_harness: PulseHarness) -> None:
    changed(pulse_harness)
    for _ in range(MAX_FAILURES + 2):
        pulse_harness.model.script = [DOWN, DOWN]
        pulse_harness.sweep(24 * 3600)
        pulse_harness.run_writers()
    assert round((pulse_harness.due_at() - pulse_harness.now) / timedelta(minutes=1)) == 60
    assert (pulse_harness.state_column("given_up_at"), pulse_harness.state_column("failures")) == (
        None,
        MAX_FAILURES + 2,
    )
    pulse_harness.model.script = ["no JSON"]
    pulse_harness.sweep(3600)
    pulse_harness.run_writers()
    assert (pulse_harness.state_column("given_up_at"), pulse_harness.state_column("failures")) == (None, 1)


def test_a_fault_of_our_own_is_a_try_as_well(pulse_harness: PulseHarness, capsys: pytest.CaptureFixture[str]) -> None:
    changed(pulse_harness)
    for _ in range(MAX_FAILURES):
        pulse_harness.model.script = [ValueError("nobody foresaw it")]
        pulse_harness.sweep(24 * 3600)
        with pytest.raises(ValueError, match="nobody foresaw it"):
            pulse_harness.run_writers()
    assert (
        pulse_harness.state_column("problem"),
        pulse_harness.state_column("failures"),
        pulse_harness.day_total("failed"),
    ) == (
        "error",
        MAX_FAILURES,
        MAX_FAILURES,
    )
    assert "PulseGivenUp" in capsys.readouterr().out


def test_the_first_pulse_that_fails_leaves_none(pulse_harness: PulseHarness) -> None:
    pulse_harness.model.script = ["no JSON"]
    pulse_harness.sweep()
    pulse_harness.run_writers()
    assert pulse_harness.pulse_column() is None
    assert pulse_harness.state_column("problem") == "bad_json"


def test_without_a_model_of_the_agents_it_waits_for_one(pulse_harness: PulseHarness) -> None:
    pulse_harness.models = {"offline": OfflineModel(), "bedrock": pulse_harness.model}
    pulse_harness.sweep()
    pulse_harness.run_writers()
    assert pulse_harness.model.requests == []
    assert pulse_harness.state_column("problem") == "misconfigured"


def test_what_has_no_room_in_the_budget_waits_for_the_next_day_and_says_so(pulse_harness: PulseHarness) -> None:
    pulse_harness.sweep()
    pulse_harness.desk.query(
        f"DELETE FROM pulse_states WHERE entity_id <> '{pulse_harness.id}' RETURNING 1"
    )  # nobody else is under way
    pulse_harness.default_pulse_cap = Decimal("0.0001")
    pulse_harness.run_writers()
    assert pulse_harness.model.requests == []
    assert (pulse_harness.state_column("waiting_for"), pulse_harness.state_column("failures")) == ("budget", 0)
    tomorrow = (pulse_harness.desk.clock.now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert pulse_harness.due_at() == tomorrow
    assert pulse_harness.desk.query("SELECT count(*) FROM spend_reservations") == [(0,)]
    pulse_harness.default_pulse_cap = Decimal(5)
    pulse_harness.sweep(24 * 3600)
    pulse_harness.run_writers()
    assert pulse_harness.pulse_column() is not None
    assert pulse_harness.state_column("waiting_for") is None


def test_what_others_that_are_being_written_may_leave_is_looked_at_soon(pulse_harness: PulseHarness) -> None:
    pulse_harness.create("site/pier", "Pier", place="the south quay")
    pulse_harness.embed()
    pulse_harness.sweep()
    ours = {str(one) for (one,) in pulse_harness.desk.query("SELECT id FROM entities WHERE key IN ('harbour', 'pier')")}
    orders = [PulseJob.from_json(body) for body, _ in pulse_harness.pulse_queue.sent if body["entity_id"] in ours]
    pulse_harness.default_pulse_cap = Decimal("0.0009")

    def meanwhile() -> None:
        pulse_harness.model.during = lambda: None
        writing_job.run_pulse_job(pulse_harness.make_dependencies(), orders[1], lambda: 300.0)

    pulse_harness.model.during = meanwhile
    writing_job.run_pulse_job(pulse_harness.make_dependencies(), orders[0], lambda: 300.0)
    assert len(pulse_harness.model.requests) == 1
    waits = pulse_harness.desk.query(
        "SELECT w.due_at FROM pulse_states s JOIN work_due w ON w.id = s.entity_id WHERE s.waiting_for = 'budget'"
    )
    [(due_at,)] = waits
    assert isinstance(due_at, datetime)
    assert round((due_at - pulse_harness.now) / timedelta(minutes=1)) == 5


def test_a_larger_budget_frees_what_waits_for_one(pulse_harness: PulseHarness) -> None:
    pulse_harness.default_pulse_cap = Decimal("0.0001")
    pulse_harness.sweep()
    assert pulse_harness.state_column("waiting_for") == "budget"
    with pulse_harness.desk.database.transaction(pulse_harness.admin) as tx:
        budget.set_cap(pulse_harness.admin, tx, Decimal(10), pulse_harness.now)
    assert pulse_harness.due_at() <= pulse_harness.now
    pulse_harness.sweep(1)
    pulse_harness.run_writers()
    assert pulse_harness.pulse_column() is not None


def test_no_more_is_sent_than_the_writers_get_through(
    pulse_harness: PulseHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "MAX_IN_FLIGHT", 2)
    for number in range(4):
        pulse_harness.create(f"site/pier{number}", "Pier", place="the south quay")
    assert (pulse_harness.sweep().sent_count, pulse_harness.sweep(60).sent_count) == (2, 0)
    pulse_harness.pulse_queue.sent.clear()
    pulse_harness.desk.query(
        "UPDATE pulse_states SET expected_usd = NULL"
        " WHERE entity_id = (SELECT min(entity_id::text)::uuid FROM pulse_states WHERE expected_usd > 0) RETURNING 1"
    )
    assert pulse_harness.sweep(60).sent_count == 1


def test_the_tenants_cap_holds_for_pulses_too(pulse_harness: PulseHarness) -> None:
    pulse_harness.sweep()
    pulse_harness.desk.query("UPDATE tenants SET daily_cap_usd = 0.0001 RETURNING 1")
    pulse_harness.run_writers()
    assert pulse_harness.model.requests == []
    assert pulse_harness.state_column("waiting_for") == "budget"


class CommitLosingDatabase(Database):
    """A database whose answers to some commits get lost: what was to be done is done, and told to have failed."""

    lost = 0

    def __init__(self, real: Database) -> None:
        super().__init__(real._connect)

    def run(self, principal, work, /):  # type: ignore[no-untyped-def]
        found = super().run(principal, work)
        if CommitLosingDatabase.lost:
            CommitLosingDatabase.lost -= 1
            return super().run(principal, work)
        return found


def test_a_commit_whose_answer_was_lost_is_as_if_made_once(pulse_harness: PulseHarness) -> None:
    real = pulse_harness.desk.database
    pulse_harness.desk.database = CommitLosingDatabase(real)
    CommitLosingDatabase.lost = 1_000
    pulse_harness.refresh()
    CommitLosingDatabase.lost = 0
    pulse_harness.desk.database.close()
    pulse_harness.desk.database = real
    assert len(pulse_harness.model.requests) == 1
    assert (pulse_harness.pulse_column("version"), pulse_harness.day_total("regenerated")) == (1, 1)
    assert pulse_harness.day_total("cost_usd") == pulse_harness.pulse_column("cost_usd")
    assert pulse_harness.desk.query("SELECT count(*) FROM pulse_ledgers") == [(1,)]
    assert pulse_harness.pending_changes().since is None


def test_a_database_that_goes_away_in_the_middle_leaves_it_to_the_next_delivery(pulse_harness: PulseHarness) -> None:
    pulse_harness.sweep()
    (order,) = {
        PulseJob.from_json(body)
        for body, _ in pulse_harness.pulse_queue.sent
        if body["entity_id"] == str(pulse_harness.id)
    }
    real = pulse_harness.desk.database.run
    tries = iter([DatabaseUnavailable()])

    def away() -> None:
        def run(principal, work, /):  # type: ignore[no-untyped-def]
            pulse_harness.desk.database.run = real  # type: ignore[method-assign]
            raise next(tries)

        pulse_harness.desk.database.run = run  # type: ignore[method-assign]

    pulse_harness.model.during = away
    with pytest.raises(DatabaseUnavailable):
        writing_job.run_pulse_job(pulse_harness.make_dependencies(), order, lambda: 300.0)
    pulse_harness.model.during = lambda: None
    writing_job.run_pulse_job(pulse_harness.make_dependencies(), order, lambda: 300.0)
    assert pulse_harness.pulse_column("version") == 1
