"""The part of the working day in which people look at a Pulse, ask about its record, and an operator counts."""

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.knowledge.records import entities
from parlour.knowledge.records.entities import Patch
from parlour.pulse.reading import asking, history, numbers, read
from parlour.pulse.writing import writer
from parlour.pulse.writing.draft import Services
from tests.desk import Desk


def pulses_read(desk: Desk) -> None:
    """The project's Pulse is asked for twice, with a change between; what it says is read, compared and counted."""
    admin, question = desk.admin, uuid7(desk.clock())
    for forecast in ("2026-09-18", "2026-09-25"):
        with desk.database.transaction(admin) as tx:
            patch = Patch(properties={"forecast_completion": forecast})
            project = entities.change(admin, tx, "project/NRS", patch, None, desk.clock(), uuid7).id
            order = asking.refresh(admin, tx, project, "", question, desk.clock()).order
        writer.run(services(desk), order, lambda: 600.0)
    with desk.database.transaction(admin) as tx:
        entities.change(admin, tx, "project/NRS", Patch(name="The school"), None, desk.clock(), uuid7)
        asked = asking.refresh(admin, tx, project, "What is late?", question, desk.clock())
        found = read.read(admin, tx, project, desk.clock())
        assert found.since
        assert history.diff(admin, tx, project)["changed"]
    writer.run(services(desk), asked.order, lambda: 600.0)
    with desk.database.transaction(admin) as tx:
        assert asking.answer(admin, tx, project, question)["answered_at"]
        assert history.history(admin, tx, project)["versions"]
        told = numbers.numbers(admin, tx, 1, Decimal(5), desk.clock())
    assert told["dearest"]


def services(desk: Desk) -> Services:
    """What writing runs with, where no model is configured."""
    return Services(
        desk.database, dict, Decimal(20), Decimal(5), timedelta(hours=24), _nobody, desk.clock, uuid7, lambda _: None,
        lambda low, _: low,
    )  # fmt: skip


def _nobody(_tenant_id: UUID) -> None:
    """Nobody has to look."""
