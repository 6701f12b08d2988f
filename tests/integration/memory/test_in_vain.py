"""What no model reads, what breaks every time and what comes late: nothing is paid for for ever, and nothing stops."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from parlour.infra.errors import ProviderRejected
from parlour.jobs.sweep import sweep
from parlour.memory.extracting import extractor
from parlour.memory.order import Order
from parlour.models.request import Completed, ModelRequest, Part, Usage
from tests.desk import Desk, ScriptedModel, says
from tests.integration.memory.long_talk import LongTalk, written
from tests.integration.memory.read_through import Conversation, answer, fact
from tests.integration.memory.silent import Silent, services
from tests.integration.sweeping import dependencies

_TRIES = 12
_LATER = timedelta(hours=7)


class Refusing(ScriptedModel):
    """Will not read it, whatever it is, and charges for that."""

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[Part]:
        self.requests.append(request)
        yield Completed(({"type": "text", "text": "No."},), "refusal", Usage(3_000, 20, 0, 0))


def _breaks() -> None:
    raise ZeroDivisionError


@pytest.fixture
def talk(desk: Desk) -> Conversation:
    made = Conversation(desk)
    made.say("We do the accounts in Tally.")
    return made


def test_a_stretch_that_is_refused_is_paid_for_once_and_gone_past(talk: Conversation) -> None:
    talk.reader = Refusing()
    for _ in range(_TRIES):
        talk.look_through(after=_LATER)
    assert len(talk.reader.requests) == 1
    assert (talk.decisions(), talk.due()) == ([("", "malformed")], [])
    talk.reader = ScriptedModel()
    talk.say("I moved to Goa.")
    talk.look_through(answer(fact("city", "Goa", 1)))
    assert talk.facts()["city"] == "Goa"


def test_a_stretch_that_everybody_rejects_is_gone_past_after_some_tries(talk: Conversation) -> None:
    for _ in range(_TRIES):
        talk.look_through(*[ProviderRejected("no such model")] * 4, after=_LATER)
    assert talk.due() == []
    assert talk.desk.rows("SELECT reason FROM fact_decisions WHERE origin = 'extracted'") == [("provider_rejected",)]
    assert talk.desk.rows("SELECT until_turn FROM extractions") == [(1,)]


def test_what_breaks_every_time_is_not_paid_for_every_time(talk: Conversation) -> None:
    talk.reader.during = _breaks
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            talk.look_through(answer(), after=_LATER)
    talk.look_through(answer(), after=_LATER)
    assert len(talk.reader.requests) == 5
    assert talk.due() == []


def test_a_session_that_talks_on_does_not_hasten_the_next_try(talk: Conversation) -> None:
    talk.look_through(*[ProviderRejected("no")] * 4)
    talk.look_through(*[ProviderRejected("no")] * 4, after=_LATER)
    asked, due = len(talk.reader.requests), talk.due()
    for number in range(12):
        talk.say(f"More, {number}.")
        extractor.run(talk.services({"anthropic": talk.reader}), talk.order, lambda: 300.0)
    assert (len(talk.reader.requests), talk.due()) == (asked, due)


@pytest.mark.parametrize("late", [timedelta(minutes=6), timedelta(hours=1), timedelta(days=2)])
def test_what_the_sweep_finds_late_is_done_at_once(talk: Conversation, late: timedelta) -> None:
    desk = talk.desk
    ((due,),) = talk.due()
    desk.clock.now = due + late  # type: ignore[assignment, operator]
    desk.rows("DELETE FROM work_due WHERE kind <> 'memory' RETURNING 1")
    sweep(dependencies(desk), lambda: 60.0)
    talk.look_through(answer(fact("about.software", "Tally", 1)), after=timedelta(seconds=1))
    assert talk.facts() == {"about.software": "Tally"}


def test_a_summary_that_is_refused_keeps_the_lines_and_goes_on(desk: Desk) -> None:
    talk = LongTalk(desk)
    talk.ask("The permit is KX-4471.")
    talk.chat(9)
    talk.summariser = Refusing()
    for _ in range(3):
        talk.desk.clock.now += _LATER
        talk.summarise()
    assert len(talk.summariser.requests) == len(talk.versions())
    assert {text for _, _, text in talk.versions()} == {""}
    assert any("KX-4471" in line for line in talk.lines())
    assert talk.due() == []


def test_a_summary_that_never_holds_is_not_paid_for_for_ever(desk: Desk) -> None:
    talk = LongTalk(desk)
    talk.chat(9)
    for _ in range(_TRIES):
        talk.desk.clock.now += _LATER
        talk.summarise(*["This is no JSON."] * 4)
    assert len(talk.summariser.requests) == 6 * len(talk.versions())
    assert talk.due() == []
    talk.chat(12, first=10)
    talk.summarise(written("They spoke of towers."), written("They spoke of towers."))
    assert talk.versions()[-1][2] == "They spoke of towers."


def test_nights_in_vain_come_to_an_end_until_more_is_said(desk: Desk) -> None:
    talk = Silent(desk, turns=21)
    talk.fall_silent()
    desk.rows(
        "INSERT INTO work_due (tenant_id, kind, id, due_at)"
        f" SELECT tenant_id, 'consolidation', id, now() FROM sessions WHERE id = '{talk.session}'"
        " ON CONFLICT DO NOTHING RETURNING 1"
    )
    desk.model.during = _breaks
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            talk.consolidate("{}")
        talk.fall_silent()
    desk.model.during = lambda: None
    talk.consolidate()
    assert (desk.model.requests, talk.due("consolidation")) == ([], [])
    talk.say("There is more.")
    desk.clock.now += timedelta(hours=1)
    desk.model.script = [says(json.dumps(answer()))] * 9
    extractor.run(services(desk), Order(desk.tenant_id, "memory", talk.session), lambda: 300.0)
    assert len(talk.due("consolidation")) == 1
    assert desk.rows("SELECT failures FROM work_due WHERE kind = 'consolidation'") == [(0,)]


@pytest.mark.parametrize(("spent", "asked"), [(0.79, 1), (0.81, 0)])
def test_the_rest_of_a_days_cap_is_kept_for_turns(talk: Conversation, spent: float, asked: int) -> None:
    desk = talk.desk
    desk.rows("UPDATE tenants SET daily_cap_usd = 100 RETURNING 1")
    day = f"{desk.clock():%Y-%m-%d}"
    desk.rows(
        f"INSERT INTO spend_days (tenant_id, day, spent_usd) SELECT tenant_id, '{day}', {spent * 100} FROM tenants"
        f" ON CONFLICT (tenant_id, day) DO UPDATE SET spent_usd = {spent * 100} RETURNING 1"
    )
    talk.look_through(answer())
    assert len(talk.reader.requests) == asked
    talk.say("Are you there?")
    assert desk.rows("SELECT state FROM turns ORDER BY number DESC LIMIT 1") == [("answered",)]


class Killed(BaseException):
    """What no handler gets to see."""


def _is_killed() -> None:
    raise Killed


def test_who_is_killed_after_a_paid_call_does_not_pay_for_ever(talk: Conversation) -> None:
    talk.reader.during = _is_killed
    calls = 0
    for _ in range(_TRIES):
        calls += _dies(lambda: talk.look_through(answer(), after=_LATER))
    assert calls == 5
    assert talk.due() == []


def test_nor_who_is_killed_at_a_summary(desk: Desk) -> None:
    talk = LongTalk(desk)
    talk.chat(9)
    talk.summariser.during = _is_killed
    calls = 0
    for _ in range(_TRIES):
        desk.clock.now += _LATER
        calls += _dies(lambda: talk.summarise(written("They spoke of towers.")))
    assert calls == 5
    assert talk.due() == []


def test_nor_night_after_night(desk: Desk) -> None:
    talk = Silent(desk, turns=21)
    desk.model.during = _is_killed
    calls = 0
    for _ in range(_TRIES):
        talk.fall_silent()
        calls += _dies(lambda: talk.consolidate("{}"))
    assert calls == 5


def _dies(work: Callable[[], None]) -> bool:
    """Whether whoever did the work was killed at it."""
    try:
        work()
    except Killed:
        return True
    return False


def test_a_stretch_that_the_better_model_refuses_is_gone_past(desk: Desk) -> None:
    talk = Silent(desk, turns=21)
    talk.fall_silent()
    desk.rows(
        "INSERT INTO work_due (tenant_id, kind, id, due_at)"
        f" SELECT tenant_id, 'consolidation', id, now() FROM sessions WHERE id = '{talk.session}'"
        " ON CONFLICT DO NOTHING RETURNING 1"
    )
    desk.model = refusing = Refusing()
    talk.consolidate()
    assert len(refusing.requests) == 1
    talk.fall_silent()
    talk.consolidate()
    assert len(refusing.requests) == 0
    assert desk.rows("SELECT consolidated_turn FROM sessions WHERE consolidated_at IS NOT NULL") == [(21,)]
