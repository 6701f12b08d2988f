"""What is killed: the ways of a message through the functions, and which of their invocations die where. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from local.scripted_model import Script, ToolUse
from tests.chaos.tripwire import KillPoint


class Invocation(NamedTuple):
    """A function and its how-manieth invocation for one conversation, from 1.

    phase  0 while the user's first message is handled; from then on after how many rounds of `follow_ups`.
    """

    function: str
    number: int = 1
    phase: int = 0


@dataclass(frozen=True, slots=True)
class Effect:
    """A tool that changes something.

    is_verifiable  by its lookup one can always find out whether it was done.
    is_allowed     whether it may be done at all: nobody agreed to the others.
    """

    tool: str
    is_verifiable: bool
    is_allowed: bool = True


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way through the functions, and what there is in the end if nothing is lost and nothing is done twice.

    script        what the model plays.
    killed_invocations  those whose every port call is a boundary.
    turns, steps  of the conversation, in all; silent_turns: those of the turns that nobody replied to; stopped_turns:
                  those that were stopped, whose last step a death leaves open; split_turns: those that a death may make
                  besides, of a message that would have joined.
    texts         messages that its user writes.
    follow_ups    what people do after the first message, in rounds, by the names in `people.ACTIONS`. Each round begins
                  when nothing is on its way any more.
    expected_rows what `guarantees.ROWS` finds in the end, by name.
    """

    name: str
    script: str
    killed_invocations: tuple[Invocation, ...]
    turns: int = 1
    steps: int = 1
    effects: tuple[Effect, ...] = ()
    texts: int = 1
    silent_turns: int = 0
    stopped_turns: int = 0
    split_turns: int = 0
    follow_ups: tuple[tuple[str, ...], ...] = ()
    expected_rows: Mapping[str, list[tuple[Any, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where one conversation's worker dies: before or after the `number`-th port call of an invocation."""

    scenario: Scenario
    invocation: Invocation
    number: int
    point: KillPoint


MAX_TURN_ATTEMPTS = 3
"""After so many deaths a turn is given up."""

TURN_STARTED = KillPoint("database: commit", is_after=True)
"""Where a turn is open and its attempt counted: a worker that dies here gets nothing done."""

BEFORE_REPLY = KillPoint("database: conversations.insert_reply", is_after=False)
"""Where everything was paid for and done, and nobody was told: whoever takes the turn up must do none of it again."""

RAISE, NOTIFY, SURVEY = "raise_rfi", "notify_foreman", "order_survey"

SCRIPTS: Mapping[str, Script] = {
    "plain": Script(),
    "effects": Script(
        tool_uses=(
            ToolUse(RAISE, {"subject": "Crack at C4 TAG", "question": "May we backfill behind grid C?"}),
            ToolUse(NOTIFY, {"message": "RFI raised, hold the backfill. TAG"}),
        ),
        reply="The request is raised and the foreman knows.",
    ),
    "remembers": Script(
        background_reply='{"facts": [{"message": 1, "quote": "We pour with the Heron crew", "key": "about.crew",'
        ' "value": "the Heron crew", "certainty": 0.9}],'
        ' "episodes": [{"text": "They pour with the Heron crew.", "messages": [1]}],'
        ' "summary": "The user pours with the Heron crew and asks after the crack at C4."}',
    ),
    "heavy": Script(tool_uses=(ToolUse(SURVEY, {"subject": "Survey of grid C TAG"}),), reply="I am on it."),
}

EFFECTS = (Effect(RAISE, is_verifiable=True), Effect(NOTIFY, is_verifiable=False))

SCENARIOS = (
    Scenario("accept", "plain", (Invocation("inbound"),)),
    Scenario("receive", "plain", (Invocation("receiver"),)),
    Scenario("plain turn", "plain", (Invocation("orchestrator"),)),
    Scenario("send", "plain", (Invocation("outbound"),)),
    Scenario("two effects", "effects", (Invocation("orchestrator"),), steps=2, effects=EFFECTS),
    Scenario(
        "heavy tool",
        "heavy",
        (Invocation("orchestrator"), Invocation("tool_dispatcher"), Invocation("orchestrator", 2)),
        turns=2,
        steps=3,
        effects=(Effect(SURVEY, True),),
    ),
)


def list_boundaries(scenario: Scenario, recorded: Mapping[Invocation, Sequence[str]]) -> list[Boundary]:
    """Every port call that a clean run made, before and after. LookupError when an invocation did not happen."""
    found = []
    for invocation in scenario.killed_invocations:
        if invocation not in recorded:
            raise LookupError(f"a clean run of '{scenario.name}' had no invocation {invocation}: {list(recorded)}")
        for number, call in enumerate(recorded[invocation], start=1):
            found += [Boundary(scenario, invocation, number, KillPoint(call, after)) for after in (False, True)]
    return found
