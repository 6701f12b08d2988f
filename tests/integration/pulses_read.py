"""The part of the working day in which people look at a Pulse, ask about its record, and an operator counts."""

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.knowledge.records import entities
from parlour.knowledge.records.entities import RecordPatch
from parlour.pulse.reading import asking, history, numbers, read
from parlour.pulse.writing import writer
from parlour.pulse.writing.draft import PulseDependencies
from tests.desk import ConversationHarness


def read_pulses(desk: ConversationHarness) -> None:
    """The project's Pulse is asked for twice, with a change between; what it says is read, compared and counted."""
    admin, question = desk.admin, uuid7(desk.clock())
    for forecast in ("2026-09-18", "2026-09-25"):
        with desk.database.transaction(admin) as tx:
            patch = RecordPatch(properties={"forecast_completion": forecast})
            project = entities.update_record(admin, tx, "project/NRS", patch, None, desk.clock(), uuid7).id
            order = asking.request_refresh(admin, tx, project, "", question, desk.clock()).job
        writer.run_pulse_job(make_pulse_dependencies(desk), order, lambda: 600.0)
    with desk.database.transaction(admin) as tx:
        entities.update_record(admin, tx, "project/NRS", RecordPatch(name="The school"), None, desk.clock(), uuid7)
        asked = asking.request_refresh(admin, tx, project, "What is late?", question, desk.clock())
        found = read.read_pulse(admin, tx, project, desk.clock())
        assert found.changes_text
        assert history.diff_versions(admin, tx, project)["changed"]
    writer.run_pulse_job(make_pulse_dependencies(desk), asked.job, lambda: 600.0)
    with desk.database.transaction(admin) as tx:
        assert asking.read_answer(admin, tx, project, question)["answered_at"]
        assert history.list_versions(admin, tx, project)["versions"]
        told = numbers.read_statistics(admin, tx, 1, Decimal(5), desk.clock())
    assert told["dearest"]


def make_pulse_dependencies(desk: ConversationHarness) -> PulseDependencies:
    """What writing runs with, where no model is configured."""
    return PulseDependencies(
        desk.database, dict, Decimal(20), Decimal(5), timedelta(hours=24), _nobody, desk.clock, uuid7, lambda _: None,
        lambda low, _: low,
    )  # fmt: skip


def _nobody(_tenant_id: UUID) -> None:
    """Nobody has to look."""
