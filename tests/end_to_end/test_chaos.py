"""The fault suite, reduced: a few deaths of a plain turn and of one with two effects, and every promise after them.

All of it is `make chaos`, which takes minutes.
"""

from collections.abc import Sequence

import pytest

from local.chaos.kills import kill_everywhere
from local.chaos.scenarios import SCENARIOS, SCRIPTS, Boundary
from local.chaos.world import world

pytestmark = pytest.mark.xdist_group("chaos")

DEADLY = (
    "database: turns.open_turn", "database: commit", "model: POST /v1/messages, the answer",
    "database: turns.complete_step", "database: tools.begin (2)", "office: POST /rfis", "office: POST /notifications",
    "database: tools.end", "database: turns.insert_reply", "sqs: SendMessageBatch Outbox", "phone: POST /wa/api/v1/msg",
)  # fmt: skip
"""Port calls around which most is at stake."""


def a_few(found: list[Boundary]) -> Sequence[Boundary]:
    return [boundary for boundary in found if boundary.point.call in DEADLY]


def test_whoever_dies_where_there_is_one_reply_and_every_effect_happens_once() -> None:
    wanted = [one for one in SCENARIOS if one.name in {"plain turn", "two effects", "send"}]
    with world(SCRIPTS) as running:
        rows = kill_everywhere(running, running.open_desk("reduced"), wanted, lambda _: None, a_few)
    assert [f"{row.scenario}, {row.what}: {row.broken}" for row in rows if row.broken] == []
    assert sum(row.after is not None for row in rows) >= 30
    outcomes = {row.outcome for row in rows}
    assert any("paid again" in outcome for outcome in outcomes)
    assert any("notify_foreman unknown and shown" in outcome for outcome in outcomes)
    assert any("reply unknown and shown" in outcome for outcome in outcomes)
