"""Whatever goes wrong with a model, the Pulse stays as it is, the reason is written down, and the next try waits."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from parlour.infra.errors import DatabaseUnavailable, ProviderRejected, ProviderUnavailable
from parlour.infra.postgres import Database
from parlour.models.offline import OfflineModel
from parlour.pulse.due import budget, sweep
from parlour.pulse.due.rules import GIVEN_UP
from parlour.pulse.pulse import Order
from parlour.pulse.writing import writer
from tests.integration.pulse.author import Writing, answer
from tests.integration.pulse.site import Site

DOWN, NO = ProviderUnavailable("timed out"), ProviderRejected("400")


def changed(site: Site) -> str:
    """A Pulse that was written, and a change since; what it says."""
    site.refresh()
    site.change("site/harbour", place="the west quay")
    said: str = site.pulse()
    return said


@pytest.mark.parametrize(
    ("writings", "problem"),
    [
        ([DOWN, DOWN], "provider_unavailable"),
        ([NO], "provider_rejected"),
        (["I cannot do that."], "bad_json"),
        ([answer(("It sank.", [999]))], "nothing_left"),
        ([answer(("It cost 31,337.", [1]))], "nothing_left"),
        ([answer()], "nothing_left"),
    ],
)
def test_the_old_text_stays_and_says_why(site: Site, writings: list[Writing], problem: str) -> None:
    said = changed(site)
    site.author.script = [*writings]
    site.sweep()
    site.write()
    assert site.pulse() == said
    assert (site.state("problem"), site.state("failures"), site.state("waiting_for")) == (problem, 1, "backoff")
    assert list(site.unreflected().causes) == ["changed"]
    assert site.day("failed") == 1
    outcomes = site.desk.rows("SELECT outcome, version FROM pulse_ledgers ORDER BY at")
    assert outcomes == [("written", 1), (problem, None)]


def test_a_refusal_is_one_whatever_it_says(site: Site) -> None:
    said = changed(site)
    site.author.stop_reason = "refusal"
    site.sweep()
    site.write()
    assert site.pulse() == said
    assert site.state("problem") == "refused"


def test_tries_wait_longer_each_time_until_one_holds(site: Site) -> None:
    changed(site)
    waits = []
    for _ in range(4):
        site.author.script = ["no JSON"]
        site.sweep(24 * 3600)
        assert site.write() == 1
        waits.append(round((site.due_at() - site.desk.clock.now).total_seconds() / 60))
    assert waits == [1, 2, 4, 8]
    assert site.sweep(60).sent == 0
    site.sweep(8 * 60)
    site.write()
    assert "the west quay" in site.pulse()
    assert (site.state("problem"), site.state("failures"), site.state("waiting_for")) == (None, 0, None)


def test_after_so_many_tries_people_are_told(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    changed(site)
    for _ in range(GIVEN_UP):
        site.author.script = ["no JSON"]
        site.sweep(24 * 3600)
        site.write()
    assert site.state("dead_at") is not None
    assert "PulseGivenUp" in capsys.readouterr().out


def test_nobody_is_given_up_for_an_outage(site: Site) -> None:
    changed(site)
    for _ in range(GIVEN_UP + 2):
        site.author.script = [DOWN, DOWN]
        site.sweep(24 * 3600)
        site.write()
    assert round((site.due_at() - site.now) / timedelta(minutes=1)) == 60
    assert (site.state("dead_at"), site.state("failures")) == (None, GIVEN_UP + 2)
    site.author.script = ["no JSON"]
    site.sweep(3600)
    site.write()
    assert (site.state("dead_at"), site.state("failures")) == (None, 1)


def test_a_fault_of_our_own_is_a_try_as_well(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    changed(site)
    for _ in range(GIVEN_UP):
        site.author.script = [ValueError("nobody foresaw it")]
        site.sweep(24 * 3600)
        with pytest.raises(ValueError, match="nobody foresaw it"):
            site.write()
    assert (site.state("problem"), site.state("failures"), site.day("failed")) == ("error", GIVEN_UP, GIVEN_UP)
    assert "PulseGivenUp" in capsys.readouterr().out


def test_the_first_pulse_that_fails_leaves_none(site: Site) -> None:
    site.author.script = ["no JSON"]
    site.sweep()
    site.write()
    assert site.pulse() is None
    assert site.state("problem") == "bad_json"


def test_without_a_model_of_the_agents_it_waits_for_one(site: Site) -> None:
    site.models = {"offline": OfflineModel(), "bedrock": site.author}
    site.sweep()
    site.write()
    assert site.author.requests == []
    assert site.state("problem") == "misconfigured"


def test_what_has_no_room_in_the_budget_waits_for_the_next_day_and_says_so(site: Site) -> None:
    site.sweep()
    site.desk.rows(f"DELETE FROM pulse_states WHERE entity_id <> '{site.id}' RETURNING 1")  # nobody else is under way
    site.pulse_cap = Decimal("0.0001")
    site.write()
    assert site.author.requests == []
    assert (site.state("waiting_for"), site.state("failures")) == ("budget", 0)
    tomorrow = (site.desk.clock.now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert site.due_at() == tomorrow
    assert site.desk.rows("SELECT count(*) FROM spend_reservations") == [(0,)]
    site.pulse_cap = Decimal(5)
    site.sweep(24 * 3600)
    site.write()
    assert site.pulse() is not None
    assert site.state("waiting_for") is None


def test_what_others_that_are_being_written_may_leave_is_looked_at_soon(site: Site) -> None:
    site.create("site/pier", "Pier", place="the south quay")
    site.embed()
    site.sweep()
    ours = {str(one) for (one,) in site.desk.rows("SELECT id FROM entities WHERE key IN ('harbour', 'pier')")}
    orders = [Order.from_json(body) for body, _ in site.orders.sent if body["entity_id"] in ours]
    site.pulse_cap = Decimal("0.0009")

    def meanwhile() -> None:
        site.author.during = lambda: None
        writer.run(site.services(), orders[1], lambda: 300.0)

    site.author.during = meanwhile
    writer.run(site.services(), orders[0], lambda: 300.0)
    assert len(site.author.requests) == 1
    waits = site.desk.rows(
        "SELECT w.due_at FROM pulse_states s JOIN work_due w ON w.id = s.entity_id WHERE s.waiting_for = 'budget'"
    )
    [(due_at,)] = waits
    assert isinstance(due_at, datetime)
    assert round((due_at - site.now) / timedelta(minutes=1)) == 5


def test_a_larger_budget_frees_what_waits_for_one(site: Site) -> None:
    site.pulse_cap = Decimal("0.0001")
    site.sweep()
    assert site.state("waiting_for") == "budget"
    with site.desk.database.transaction(site.admin) as tx:
        budget.set_cap(site.admin, tx, Decimal(10), site.now)
    assert site.due_at() <= site.now
    site.sweep(1)
    site.write()
    assert site.pulse() is not None


def test_no_more_is_sent_than_the_writers_get_through(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MOST", 2)
    for number in range(4):
        site.create(f"site/pier{number}", "Pier", place="the south quay")
    assert (site.sweep().sent, site.sweep(60).sent) == (2, 0)
    site.orders.sent.clear()
    site.desk.rows(
        "UPDATE pulse_states SET expected_usd = NULL"
        " WHERE entity_id = (SELECT min(entity_id::text)::uuid FROM pulse_states WHERE expected_usd > 0) RETURNING 1"
    )
    assert site.sweep(60).sent == 1


def test_the_tenants_cap_holds_for_pulses_too(site: Site) -> None:
    site.sweep()
    site.desk.rows("UPDATE tenants SET daily_cap_usd = 0.0001 RETURNING 1")
    site.write()
    assert site.author.requests == []
    assert site.state("waiting_for") == "budget"


class Forgetful(Database):
    """A database whose answers to some commits get lost: what was to be done is done, and told to have failed."""

    lost = 0

    def __init__(self, real: Database) -> None:
        super().__init__(real._connect)

    def run(self, principal, work, /):  # type: ignore[no-untyped-def]
        found = super().run(principal, work)
        if Forgetful.lost:
            Forgetful.lost -= 1
            return super().run(principal, work)
        return found


def test_a_commit_whose_answer_was_lost_is_as_if_made_once(site: Site) -> None:
    real = site.desk.database
    site.desk.database = Forgetful(real)
    Forgetful.lost = 1_000
    site.refresh()
    Forgetful.lost = 0
    site.desk.database.close()
    site.desk.database = real
    assert len(site.author.requests) == 1
    assert (site.pulse("version"), site.day("regenerated")) == (1, 1)
    assert site.day("cost_usd") == site.pulse("cost_usd")
    assert site.desk.rows("SELECT count(*) FROM pulse_ledgers") == [(1,)]
    assert site.unreflected().since is None


def test_a_database_that_goes_away_in_the_middle_leaves_it_to_the_next_delivery(site: Site) -> None:
    site.sweep()
    (order,) = {Order.from_json(body) for body, _ in site.orders.sent if body["entity_id"] == str(site.id)}
    real = site.desk.database.run
    tries = iter([DatabaseUnavailable()])

    def away() -> None:
        def run(principal, work, /):  # type: ignore[no-untyped-def]
            site.desk.database.run = real  # type: ignore[method-assign]
            raise next(tries)

        site.desk.database.run = run  # type: ignore[method-assign]

    site.author.during = away
    with pytest.raises(DatabaseUnavailable):
        writer.run(site.services(), order, lambda: 300.0)
    site.author.during = lambda: None
    writer.run(site.services(), order, lambda: 300.0)
    assert site.pulse("version") == 1
