"""The part of the working day in which people look at a Pulse, ask about its record, and an operator counts."""

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.pulse.reading import pulse_statistics, pulse_view, refresh_requests, version_history
from parlour.pulse.writing import writing_job
from parlour.pulse.writing.level_draft import PulseDependencies
from parlour.records import crud
from parlour.records.crud import RecordPatch
from tests.conversation_harness import ConversationHarness


def read_pulses(conversation: ConversationHarness) -> None:
    """The project's Pulse is asked for twice, with a change between; what it says is read, compared and counted."""
    admin, question = conversation.admin, uuid7(conversation.clock())
    for forecast in ("2026-09-18", "2026-09-25"):
        with conversation.database.transaction(admin) as tx:
            patch = RecordPatch(properties={"forecast_completion": forecast})
            project = crud.update_record(admin, tx, "project/NRS", patch, None, conversation.clock()).id
            order = refresh_requests.request_refresh(admin, tx, project, "", question, conversation.clock()).job
        writing_job.run_pulse_job(make_pulse_dependencies(conversation), order, lambda: 600.0)
    with conversation.database.transaction(admin) as tx:
        crud.update_record(admin, tx, "project/NRS", RecordPatch(name="The school"), None, conversation.clock())
        asked = refresh_requests.request_refresh(admin, tx, project, "What is late?", question, conversation.clock())
        found = pulse_view.read_pulse(admin, tx, project, conversation.clock())
        assert found.changes_text
        assert version_history.diff_versions(admin, tx, project).text.changed
    writing_job.run_pulse_job(make_pulse_dependencies(conversation), asked.job, lambda: 600.0)
    with conversation.database.transaction(admin) as tx:
        assert refresh_requests.read_answer(admin, tx, project, question).row.answered_at
        assert version_history.list_versions(admin, tx, project).versions
        told = pulse_statistics.read_statistics(admin, tx, 1, Decimal(5), conversation.clock())
    assert told.most_expensive


def make_pulse_dependencies(conversation: ConversationHarness) -> PulseDependencies:
    """What writing runs with, where no model is configured."""
    return PulseDependencies(
        conversation.database,
        dict,
        Decimal(20),
        Decimal(5),
        timedelta(hours=24),
        _nobody,
        conversation.clock,
        lambda _: None,
        lambda low, _: low,
    )


def _nobody(_tenant_id: UUID) -> None:
    """Nobody has to look."""
