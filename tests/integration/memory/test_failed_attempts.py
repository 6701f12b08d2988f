"""What no model reads, what breaks every time and what comes late: nothing is paid for for ever, and nothing stops."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from parlour.infra.errors import ProviderRejected
from parlour.jobs.sweep import sweep
from parlour.memory.extraction import extraction_job
from parlour.memory.memory_job import MemoryJob
from parlour.models.model import Completion, ModelRequest, StreamPart, TokenUsage
from tests.conversation_harness import ConversationHarness, ScriptedModel, text_answer
from tests.integration.memory.extraction_harness import ExtractionConversation, extraction_answer, proposed_fact
from tests.integration.memory.long_conversation import LongConversation, summary_answer
from tests.integration.memory.silent_conversation import SilentConversation, make_memory_dependencies
from tests.integration.sweeping import dependencies

_TRIES = 12
_LATER = timedelta(hours=7)


class RefusingModel(ScriptedModel):
    """Will not read it, whatever it is, and charges for that."""

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        self.requests.append(request)
        yield Completion(({"type": "text", "text": "No."},), "refusal", TokenUsage(3_000, 20, 0, 0))


def _breaks() -> None:
    raise ZeroDivisionError


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> ExtractionConversation:
    made = ExtractionConversation(conversation)
    made.say("We do the accounts in Tally.")
    return made


def test_a_stretch_that_is_refused_is_paid_for_once_and_gone_past(web_conversation: ExtractionConversation) -> None:
    web_conversation.reader = RefusingModel()
    for _ in range(_TRIES):
        web_conversation.run_extraction(after=_LATER)
    assert len(web_conversation.reader.requests) == 1
    assert (web_conversation.decisions(), web_conversation.due_rows()) == ([("", "malformed")], [])
    web_conversation.reader = ScriptedModel()
    web_conversation.say("I moved to Goa.")
    web_conversation.run_extraction(extraction_answer(proposed_fact("city", "Goa", 1)))
    assert web_conversation.facts()["city"] == "Goa"


def test_a_stretch_that_everybody_rejects_is_gone_past_after_some_tries(
    web_conversation: ExtractionConversation,
) -> None:
    for _ in range(_TRIES):
        web_conversation.run_extraction(*[ProviderRejected("no such model")] * 4, after=_LATER)
    assert web_conversation.due_rows() == []
    assert web_conversation.desk.query("SELECT reason FROM fact_decisions WHERE origin = 'extracted'") == [
        ("provider_rejected",)
    ]
    assert web_conversation.desk.query("SELECT extraction_cursor FROM session_memory_state") == [(1,)]


def test_what_breaks_every_time_is_not_paid_for_every_time(web_conversation: ExtractionConversation) -> None:
    web_conversation.reader.before_completion = _breaks
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            web_conversation.run_extraction(extraction_answer(), after=_LATER)
    web_conversation.run_extraction(extraction_answer(), after=_LATER)
    assert len(web_conversation.reader.requests) == 5
    assert web_conversation.due_rows() == []


def test_a_session_that_talks_on_does_not_hasten_the_next_try(web_conversation: ExtractionConversation) -> None:
    web_conversation.run_extraction(*[ProviderRejected("no")] * 4)
    web_conversation.run_extraction(*[ProviderRejected("no")] * 4, after=_LATER)
    asked, due = len(web_conversation.reader.requests), web_conversation.due_rows()
    for number in range(12):
        web_conversation.say(f"More, {number}.")
        extraction_job.run_extraction(
            web_conversation.make_dependencies({"anthropic": web_conversation.reader}),
            web_conversation.memory_job,
            lambda: 300.0,
        )
    assert (len(web_conversation.reader.requests), web_conversation.due_rows()) == (asked, due)


@pytest.mark.parametrize("late", [timedelta(minutes=6), timedelta(hours=1), timedelta(days=2)])
def test_what_the_sweep_finds_late_is_done_at_once(web_conversation: ExtractionConversation, late: timedelta) -> None:
    desk = web_conversation.desk
    ((due,),) = web_conversation.due_rows()
    desk.clock.now = due + late  # type: ignore[assignment, operator]
    desk.query("DELETE FROM work_due WHERE kind <> 'extraction' RETURNING 1")
    sweep(dependencies(desk), lambda: 60.0)
    web_conversation.run_extraction(
        extraction_answer(proposed_fact("about.software", "Tally", 1)), after=timedelta(seconds=1)
    )
    assert web_conversation.facts() == {"about.software": "Tally"}


def test_a_summary_that_is_refused_keeps_the_lines_and_goes_on(conversation: ConversationHarness) -> None:
    talk = LongConversation(conversation)
    talk.ask("The permit is KX-4471.")
    talk.run_turns(9)
    talk.summariser = RefusingModel()
    for _ in range(3):
        talk.desk.clock.now += _LATER
        talk.run_summary_job()
    assert len(talk.summariser.requests) == len(talk.versions())
    assert {text for _, _, text in talk.versions()} == {""}
    assert any("KX-4471" in line for line in talk.key_details())
    assert talk.due_rows() == []


def test_a_summary_that_never_holds_is_not_paid_for_for_ever(conversation: ConversationHarness) -> None:
    talk = LongConversation(conversation)
    talk.run_turns(9)
    for _ in range(_TRIES):
        talk.desk.clock.now += _LATER
        talk.run_summary_job(*["This is no JSON."] * 4)
    attempts, requests_per_attempt = 6, 2  # an answer that does not hold is asked for once more
    assert len(talk.summariser.requests) == attempts * requests_per_attempt * len(talk.versions())
    assert talk.due_rows() == []
    talk.run_turns(12, first=10)
    talk.run_summary_job(summary_answer("They spoke of towers."), summary_answer("They spoke of towers."))
    assert talk.versions()[-1][2] == "They spoke of towers."


def test_nights_in_vain_come_to_an_end_until_more_is_said(conversation: ConversationHarness) -> None:
    talk = SilentConversation(conversation, turns=21)
    talk.fall_silent()
    conversation.query(
        "INSERT INTO work_due (tenant_id, kind, id, due_at)"
        f" SELECT tenant_id, 'consolidation', id, now() FROM sessions WHERE id = '{talk.session}'"
        " ON CONFLICT DO NOTHING RETURNING 1"
    )
    conversation.model.before_completion = _breaks
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            talk.run_consolidation("{}")
        talk.fall_silent()
    conversation.model.before_completion = lambda: None
    talk.run_consolidation()
    assert (conversation.model.requests, talk.due_rows("consolidation")) == ([], [])
    talk.say("There is more.")
    conversation.clock.now += timedelta(hours=1)
    conversation.model.script = [text_answer(json.dumps(extraction_answer()))] * 9
    extraction_job.run_extraction(
        make_memory_dependencies(conversation),
        MemoryJob(conversation.tenant_id, "extraction", talk.session),
        lambda: 300.0,
    )
    assert len(talk.due_rows("consolidation")) == 1
    assert conversation.query("SELECT failures FROM work_due WHERE kind = 'consolidation'") == [(0,)]


@pytest.mark.parametrize(("spent", "asked"), [(0.79, 1), (0.81, 0)])
def test_the_rest_of_a_days_cap_is_kept_for_turns(
    web_conversation: ExtractionConversation, spent: float, asked: int
) -> None:
    desk = web_conversation.desk
    desk.query("UPDATE tenants SET daily_cap_usd = 100 RETURNING 1")
    day = f"{desk.clock():%Y-%m-%d}"
    desk.query(
        f"INSERT INTO spend_days (tenant_id, day, spent_usd) SELECT tenant_id, '{day}', {spent * 100} FROM tenants"
        f" ON CONFLICT (tenant_id, day) DO UPDATE SET spent_usd = {spent * 100} RETURNING 1"
    )
    web_conversation.run_extraction(extraction_answer())
    assert len(web_conversation.reader.requests) == asked
    web_conversation.say("Are you there?")
    assert desk.query("SELECT state FROM turns ORDER BY number DESC LIMIT 1") == [("answered",)]


class WorkerKilled(BaseException):
    """What no handler gets to see."""


def _is_killed() -> None:
    raise WorkerKilled


def test_who_is_killed_after_a_paid_call_does_not_pay_for_ever(web_conversation: ExtractionConversation) -> None:
    web_conversation.reader.before_completion = _is_killed
    calls = 0
    for _ in range(_TRIES):
        calls += _dies(lambda: web_conversation.run_extraction(extraction_answer(), after=_LATER))
    assert calls == 5
    assert web_conversation.due_rows() == []


def test_nor_who_is_killed_at_a_summary(conversation: ConversationHarness) -> None:
    talk = LongConversation(conversation)
    talk.run_turns(9)
    talk.summariser.before_completion = _is_killed
    calls = 0
    for _ in range(_TRIES):
        conversation.clock.now += _LATER
        calls += _dies(lambda: talk.run_summary_job(summary_answer("They spoke of towers.")))
    assert calls == 5
    assert talk.due_rows() == []


def test_nor_night_after_night(conversation: ConversationHarness) -> None:
    talk = SilentConversation(conversation, turns=21)
    conversation.model.before_completion = _is_killed
    calls = 0
    for _ in range(_TRIES):
        talk.fall_silent()
        calls += _dies(lambda: talk.run_consolidation("{}"))
    assert calls == 5


def _dies(work: Callable[[], None]) -> bool:
    """Whether whoever did the work was killed at it."""
    try:
        work()
    except WorkerKilled:
        return True
    return False


def test_a_stretch_that_the_better_model_refuses_is_gone_past(conversation: ConversationHarness) -> None:
    talk = SilentConversation(conversation, turns=21)
    talk.fall_silent()
    conversation.query(
        "INSERT INTO work_due (tenant_id, kind, id, due_at)"
        f" SELECT tenant_id, 'consolidation', id, now() FROM sessions WHERE id = '{talk.session}'"
        " ON CONFLICT DO NOTHING RETURNING 1"
    )
    conversation.model = refusing = RefusingModel()
    talk.run_consolidation()
    assert len(refusing.requests) == 1
    talk.fall_silent()
    talk.run_consolidation()
    assert len(refusing.requests) == 0
    assert conversation.query("SELECT consolidated_turn FROM sessions WHERE consolidated_at IS NOT NULL") == [(21,)]
