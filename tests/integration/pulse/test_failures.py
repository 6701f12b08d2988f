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


def changed(site: PulseHarness) -> str:
    """A Pulse that was written, and a change since; what it says."""
    site.refresh()
    site.change("site/harbour", place="the west quay")
    said: str = site.pulse_column()
    return said


@pytest.mark.parametrize(
    ("writings", "problem"),
    [
        ([DOWN, DOWN], "provider_unavailable"),
        ([NO], "provider_rejected"),
        (["I cannot do that."], "bad_json"),
        ([statements_answer(("It sank.", [999]))], "nothing_left"),
        ([statements_answer(("It cost 31,337.", [1]))], "nothing_left"),
        ([statements_answer()], "nothing_left"),
    ],
)
def test_the_old_text_stays_and_says_why(site: PulseHarness, writings: list[ScriptedText], problem: str) -> None:
    said = changed(site)
    site.model.script = [*writings]
    site.sweep()
    site.run_writers()
    assert site.pulse_column() == said
    assert (site.state_column("problem"), site.state_column("failures"), site.state_column("waiting_for")) == (
        problem,
        1,
        "backoff",
    )
    assert list(site.pending_changes().causes) == ["changed"]
    assert site.day_total("failed") == 1
    outcomes = site.desk.query("SELECT outcome, version FROM pulse_ledgers ORDER BY at")
    assert outcomes == [("written", 1), (problem, None)]


def test_a_refusal_is_one_whatever_it_says(site: PulseHarness) -> None:
    said = changed(site)
    site.model.stop_reason = "refusal"
    site.sweep()
    site.run_writers()
    assert site.pulse_column() == said
    assert site.state_column("problem") == "refused"


def test_tries_wait_longer_each_time_until_one_holds(site: PulseHarness) -> None:
    changed(site)
    waits = []
    for _ in range(4):
        site.model.script = ["no JSON"]
        site.sweep(24 * 3600)
        assert site.run_writers() == 1
        waits.append(round((site.due_at() - site.desk.clock.now).total_seconds() / 60))
    assert waits == [1, 2, 4, 8]
    assert site.sweep(60).sent_count == 0
    site.sweep(8 * 60)
    site.run_writers()
    assert "the west quay" in site.pulse_column()
    assert (site.state_column("problem"), site.state_column("failures"), site.state_column("waiting_for")) == (
        None,
        0,
        None,
    )


def test_after_so_many_tries_people_are_told(site: PulseHarness, capsys: pytest.CaptureFixture[str]) -> None:
    changed(site)
    for _ in range(MAX_FAILURES):
        site.model.script = ["no JSON"]
        site.sweep(24 * 3600)
        site.run_writers()
    assert site.state_column("dead_at") is not None
    assert "PulseGivenUp" in capsys.readouterr().out


def test_nobody_is_given_up_for_an_outage(site: PulseHarness) -> None:
    changed(site)
    for _ in range(MAX_FAILURES + 2):
        site.model.script = [DOWN, DOWN]
        site.sweep(24 * 3600)
        site.run_writers()
    assert round((site.due_at() - site.now) / timedelta(minutes=1)) == 60
    assert (site.state_column("dead_at"), site.state_column("failures")) == (None, MAX_FAILURES + 2)
    site.model.script = ["no JSON"]
    site.sweep(3600)
    site.run_writers()
    assert (site.state_column("dead_at"), site.state_column("failures")) == (None, 1)


def test_a_fault_of_our_own_is_a_try_as_well(site: PulseHarness, capsys: pytest.CaptureFixture[str]) -> None:
    changed(site)
    for _ in range(MAX_FAILURES):
        site.model.script = [ValueError("nobody foresaw it")]
        site.sweep(24 * 3600)
        with pytest.raises(ValueError, match="nobody foresaw it"):
            site.run_writers()
    assert (site.state_column("problem"), site.state_column("failures"), site.day_total("failed")) == (
        "error",
        MAX_FAILURES,
        MAX_FAILURES,
    )
    assert "PulseGivenUp" in capsys.readouterr().out


def test_the_first_pulse_that_fails_leaves_none(site: PulseHarness) -> None:
    site.model.script = ["no JSON"]
    site.sweep()
    site.run_writers()
    assert site.pulse_column() is None
    assert site.state_column("problem") == "bad_json"


def test_without_a_model_of_the_agents_it_waits_for_one(site: PulseHarness) -> None:
    site.models = {"offline": OfflineModel(), "bedrock": site.model}
    site.sweep()
    site.run_writers()
    assert site.model.requests == []
    assert site.state_column("problem") == "misconfigured"


def test_what_has_no_room_in_the_budget_waits_for_the_next_day_and_says_so(site: PulseHarness) -> None:
    site.sweep()
    site.desk.query(f"DELETE FROM pulse_states WHERE entity_id <> '{site.id}' RETURNING 1")  # nobody else is under way
    site.default_pulse_cap = Decimal("0.0001")
    site.run_writers()
    assert site.model.requests == []
    assert (site.state_column("waiting_for"), site.state_column("failures")) == ("budget", 0)
    tomorrow = (site.desk.clock.now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert site.due_at() == tomorrow
    assert site.desk.query("SELECT count(*) FROM spend_reservations") == [(0,)]
    site.default_pulse_cap = Decimal(5)
    site.sweep(24 * 3600)
    site.run_writers()
    assert site.pulse_column() is not None
    assert site.state_column("waiting_for") is None


def test_what_others_that_are_being_written_may_leave_is_looked_at_soon(site: PulseHarness) -> None:
    site.create("site/pier", "Pier", place="the south quay")
    site.embed()
    site.sweep()
    ours = {str(one) for (one,) in site.desk.query("SELECT id FROM entities WHERE key IN ('harbour', 'pier')")}
    orders = [PulseJob.from_json(body) for body, _ in site.pulse_queue.sent if body["entity_id"] in ours]
    site.default_pulse_cap = Decimal("0.0009")

    def meanwhile() -> None:
        site.model.during = lambda: None
        writing_job.run_pulse_job(site.make_dependencies(), orders[1], lambda: 300.0)

    site.model.during = meanwhile
    writing_job.run_pulse_job(site.make_dependencies(), orders[0], lambda: 300.0)
    assert len(site.model.requests) == 1
    waits = site.desk.query(
        "SELECT w.due_at FROM pulse_states s JOIN work_due w ON w.id = s.entity_id WHERE s.waiting_for = 'budget'"
    )
    [(due_at,)] = waits
    assert isinstance(due_at, datetime)
    assert round((due_at - site.now) / timedelta(minutes=1)) == 5


def test_a_larger_budget_frees_what_waits_for_one(site: PulseHarness) -> None:
    site.default_pulse_cap = Decimal("0.0001")
    site.sweep()
    assert site.state_column("waiting_for") == "budget"
    with site.desk.database.transaction(site.admin) as tx:
        budget.set_cap(site.admin, tx, Decimal(10), site.now)
    assert site.due_at() <= site.now
    site.sweep(1)
    site.run_writers()
    assert site.pulse_column() is not None


def test_no_more_is_sent_than_the_writers_get_through(site: PulseHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MAX_IN_FLIGHT", 2)
    for number in range(4):
        site.create(f"site/pier{number}", "Pier", place="the south quay")
    assert (site.sweep().sent_count, site.sweep(60).sent_count) == (2, 0)
    site.pulse_queue.sent.clear()
    site.desk.query(
        "UPDATE pulse_states SET expected_usd = NULL"
        " WHERE entity_id = (SELECT min(entity_id::text)::uuid FROM pulse_states WHERE expected_usd > 0) RETURNING 1"
    )
    assert site.sweep(60).sent_count == 1


def test_the_tenants_cap_holds_for_pulses_too(site: PulseHarness) -> None:
    site.sweep()
    site.desk.query("UPDATE tenants SET daily_cap_usd = 0.0001 RETURNING 1")
    site.run_writers()
    assert site.model.requests == []
    assert site.state_column("waiting_for") == "budget"


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


def test_a_commit_whose_answer_was_lost_is_as_if_made_once(site: PulseHarness) -> None:
    real = site.desk.database
    site.desk.database = CommitLosingDatabase(real)
    CommitLosingDatabase.lost = 1_000
    site.refresh()
    CommitLosingDatabase.lost = 0
    site.desk.database.close()
    site.desk.database = real
    assert len(site.model.requests) == 1
    assert (site.pulse_column("version"), site.day_total("regenerated")) == (1, 1)
    assert site.day_total("cost_usd") == site.pulse_column("cost_usd")
    assert site.desk.query("SELECT count(*) FROM pulse_ledgers") == [(1,)]
    assert site.pending_changes().since is None


def test_a_database_that_goes_away_in_the_middle_leaves_it_to_the_next_delivery(site: PulseHarness) -> None:
    site.sweep()
    (order,) = {PulseJob.from_json(body) for body, _ in site.pulse_queue.sent if body["entity_id"] == str(site.id)}
    real = site.desk.database.run
    tries = iter([DatabaseUnavailable()])

    def away() -> None:
        def run(principal, work, /):  # type: ignore[no-untyped-def]
            site.desk.database.run = real  # type: ignore[method-assign]
            raise next(tries)

        site.desk.database.run = run  # type: ignore[method-assign]

    site.model.during = away
    with pytest.raises(DatabaseUnavailable):
        writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 300.0)
    site.model.during = lambda: None
    writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 300.0)
    assert site.pulse_column("version") == 1
