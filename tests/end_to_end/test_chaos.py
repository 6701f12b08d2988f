"""The fault suite, reduced: a few deaths of a plain turn, of one with two effects and of a long tool, a redrive, and
every promise after them.

All of it is `make chaos`, which takes minutes.
"""

from collections.abc import Sequence

from tests.chaos.chaos_environment import open_chaos_environment
from tests.chaos.kill_suite import kill_everywhere
from tests.chaos.redrive_kills import run_clean_redrive
from tests.chaos.scenarios import SCENARIOS, SCRIPTS, Boundary

DEADLY = (
    "database: conversations.open_turn",
    "database: commit",
    "model: POST /v1/messages, the answer",
    "database: conversations.complete_step",
    "database: tools.begin_call (2)",
    "office: POST /rfis",
    "office: POST /notifications",
    "database: tools.end_call",
    "database: conversations.insert_reply",
    "sqs: SendMessageBatch Outbox",
    "phone: POST /wa/api/v1/msg",
)
"""Port calls around which most is at stake."""


WANTED = {"plain turn", "two effects", "send", "heavy tool"}


def a_few(found: list[Boundary]) -> Sequence[Boundary]:
    """Of the long tool only what its own worker does: the turns around it are turns like others."""
    return [
        boundary
        for boundary in found
        if boundary.point.call in DEADLY
        and (boundary.scenario.name != "heavy tool" or boundary.invocation.function == "tool_dispatcher")
    ]


def test_whoever_dies_where_there_is_one_reply_and_every_effect_happens_once() -> None:
    wanted = [one for one in SCENARIOS if one.name in WANTED]
    with open_chaos_environment(SCRIPTS) as running:
        desk = running.create_tenant("reduced")
        rows = run_clean_redrive(running, desk) + kill_everywhere(running, desk, wanted, lambda _: None, a_few)
    assert [f"{row.scenario}, {row.subject}: {row.broken_guarantees}" for row in rows if row.broken_guarantees] == []
    assert sum(row.is_after is not None for row in rows) >= 30
    assert {row.scenario for row in rows} > WANTED | {"redrive of dead letters"}
    assert sum(row.function == "tool_dispatcher" for row in rows) >= 4
    outcomes = {row.outcome for row in rows}
    assert any("paid again" in outcome for outcome in outcomes)
    assert any("notify_foreman unknown and shown" in outcome for outcome in outcomes)
    assert any("reply unknown and shown" in outcome for outcome in outcomes)
