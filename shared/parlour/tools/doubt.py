"""What to do with a call whose outcome is in doubt. Pure: never is anything done twice to find out."""

from dataclasses import dataclass
from typing import Literal

type Doubt = Literal["crashed", "cut", "late"]
"""crashed: found running, whoever called has died; cut: the line broke off; late: nobody waits any more, and the
other side may still be at it."""

type Move = Literal["call", "look", "fail", "unknown"]
"""fail: it was surely not done, or changes nothing."""


@dataclass(frozen=True, slots=True)
class Sofar:
    """What is known of a call.

    repeatable  calling again cannot do anything twice
    writes      it changes something
    can_look    the tool can be asked what became of the call
    calls_left  how often it may still be called
    stopped     somebody gave it up: it is not called any more
    doubt       why the last call's outcome is not known; None: it has not been called
    looked      what asking came to since that call: "absent" is a promise that it was not and will not be done
    """

    repeatable: bool
    writes: bool
    can_look: bool
    calls_left: int
    stopped: bool = False
    doubt: Doubt | None = None
    looked: Literal["absent", "unreachable"] | None = None


def next_move(sofar: Sofar) -> Move:
    """What comes next; "unknown" is for a person to find out."""
    may_call = sofar.calls_left > 0 and not sofar.stopped
    if sofar.doubt is None:
        return "call" if may_call else "fail"
    if sofar.repeatable and may_call:
        return "call"
    if sofar.looked is None and sofar.can_look:
        return "look"
    if sofar.looked == "absent" and sofar.doubt != "late":  # a call that nobody cut short may land after the look
        return "call" if may_call else "fail"
    return "unknown" if sofar.writes else "fail"
