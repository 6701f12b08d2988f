"""What befalls a turn while its model is asked: a stop, or one message more, in each queue mode. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from tests.chaos.scenarios import EFFECTS, SCRIPTS, Invocation, Scenario

STOP, MESSAGE = "stop", "message"

MEANWHILE_SCRIPTS = {
    "stopped": replace(SCRIPTS["plain"], interruption=STOP, pause_seconds=0.4),
    "stopped_late": replace(SCRIPTS["effects"], interruption=STOP, interrupts_after_tools=True, pause_seconds=0.4),
    "joined": replace(SCRIPTS["effects"], interruption=MESSAGE),
    "overtaken": replace(SCRIPTS["plain"], interruption=MESSAGE, pause_seconds=0.4),
}
"""The pauses leave a worker the time to see the stop; it is seen with the next write in any case."""

_TURN = Invocation("orchestrator")

MEANWHILE_SCENARIOS: Mapping[str, tuple[Scenario, ...]] = {
    "collect": (
        Scenario("stopped while the model writes", "stopped", (_TURN,), stopped_turns=1),
        Scenario("stopped after two effects", "stopped_late", (_TURN,), steps=2, effects=EFFECTS, stopped_turns=1),
        Scenario("a message meanwhile", "overtaken", (_TURN,), turns=2, steps=2, texts=2),
    ),
    "steer": (Scenario("a message joins", "joined", (_TURN,), steps=2, effects=EFFECTS, texts=2, split_turns=1),),
    "interrupt": (Scenario("a message interrupts", "overtaken", (_TURN,), turns=2, steps=2, texts=2, stopped_turns=1),),
}
"""By the queue mode of the desk."""
