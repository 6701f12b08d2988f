"""The part of the working day in which a goal's Pulses are written: for everybody and for those who see more, once more
to no purpose, and after what was restricted is gone; and a question about it is asked twice."""

from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.knowledge.records import edges, entities
from parlour.knowledge.records.entities import NewEntity
from parlour.pulse.reading import asking
from parlour.pulse.writing import writer
from parlour.pulse.writing.why import why
from tests.desk import Desk
from tests.integration.pulses_read import services

_GOAL = "goal/dry-cellar"


def pulses_written(desk: Desk) -> None:
    """Two plans work toward the goal, one of them restricted; that one goes."""
    admin = desk.admin
    with desk.database.transaction(admin) as tx:
        entities.create(admin, tx, NewEntity("goal", "A dry cellar", "dry-cellar"), desk.clock(), uuid7)
        for key, level in (("pumps", 0), ("claim", 3)):
            new = NewEntity("plan", f"The {key}", key, {"state": "active"}, level)
            entities.create(admin, tx, new, desk.clock(), uuid7)
            edges.link(admin, tx, f"plan/{key}", _GOAL, "supports_goal", desk.clock(), uuid7)
    _write(desk)
    _write(desk)
    assert desk.rows(_LEVELS) == [(0,), (3,)]
    with desk.database.transaction(admin) as tx:
        entities.delete(admin, tx, "plan/claim", None, desk.clock(), uuid7)
    _write(desk)
    assert desk.rows(_LEVELS) == [(0,)]
    for _ in range(2):
        _write(desk, "What is late?")
    with desk.database.transaction(admin) as tx:
        assert why(admin, tx, _GOAL)["matches"]


_LEVELS = (
    "SELECT p.level FROM pulses p JOIN entities e ON e.id = p.entity_id WHERE e.key = 'dry-cellar' ORDER BY p.level"
)


def _write(desk: Desk, question: str = "") -> UUID:
    """Somebody wants it now."""
    question_id = uuid7(desk.clock())
    with desk.database.transaction(desk.admin) as tx:
        asked = asking.refresh(desk.admin, tx, _GOAL, question, question_id, desk.clock())
    writer.run(services(desk), asked.order, lambda: 600.0)
    return question_id
