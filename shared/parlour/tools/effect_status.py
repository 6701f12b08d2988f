"""What to do with a call whose outcome is in doubt. Pure: never is anything done twice to find out."""

from dataclasses import dataclass
from typing import Literal

type DoubtCause = Literal["crashed", "disconnected", "timed_out"]
"""crashed: found running, whoever called has died; cut: the line broke off; late: nobody waits any more, and the
other side may still be at it."""

type NextAction = Literal["call", "look_up", "fail", "unknown"]
"""fail: it was surely not done, or changes nothing."""


@dataclass(frozen=True, slots=True)
class EffectStatus:
    """What is known of a call.

    is_repeatable  calling again cannot do anything twice
    writes         it changes something
    can_look_up    the tool can be asked what became of the call
    calls_left     how often it may still be called
    is_stopped     somebody gave it up: it is not called any more
    doubt_cause    why the last call's outcome is not known; None: it has not been called
    lookup_result  of the lookup since that call: "absent" promises that it was not and will not be done
    detail         of the last call's failure, for the developer of the tool
    """

    is_repeatable: bool
    writes: bool
    can_look_up: bool
    calls_left: int
    is_stopped: bool = False
    doubt_cause: DoubtCause | None = None
    lookup_result: Literal["absent", "unreachable"] | None = None
    detail: str = ""


def next_action(status: EffectStatus) -> NextAction:
    """Return what comes next; "unknown" is for a person to find out."""
    may_call = status.calls_left > 0 and not status.is_stopped
    if status.doubt_cause is None:
        return "call" if may_call else "fail"
    if status.is_repeatable and may_call:
        return "call"
    if status.lookup_result is None and status.can_look_up:
        return "look_up"
    if (
        status.lookup_result == "absent" and status.doubt_cause != "timed_out"
    ):  # a call that nobody cut short may land after the look
        return "call" if may_call else "fail"
    return "unknown" if status.writes else "fail"
