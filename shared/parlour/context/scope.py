"""What a conversation is about decides what its briefing holds, and what it must not. Pure.

Global conversations know of many projects, lightly; one about a project has its documents' tree; one about a record
has the whole record and what it is linked to (design section 7, scopes).
"""

from collections.abc import Sequence
from typing import Literal

from parlour.context.segment import Item, Lot

type Scope = Literal["global", "project", "entity"]

_ABOUT_ONE = (
    Lot.PULSE, Lot.SINCE_PULSE, Lot.RECORD, Lot.LINKED, Lot.TREE, Lot.PROJECT_FILES, Lot.DISTILLATIONS, Lot.NEAREST,
    Lot.RECENT,
)  # fmt: skip

REQUIRED: dict[Scope, frozenset[Lot]] = {
    "global": frozenset(),
    "project": frozenset({Lot.RECORD, Lot.TREE}),
    "entity": frozenset({Lot.RECORD}),
}
FORBIDDEN: dict[Scope, frozenset[Lot]] = {
    "global": frozenset(_ABOUT_ONE),
    "project": frozenset({Lot.PROJECTS}),
    "entity": frozenset({Lot.PROJECTS, Lot.PROJECT_FILES, Lot.RECENT}),
}


def check(scope: Scope, items: Sequence[Item]) -> None:
    """Raises ValueError, a mistake of ours, when a briefing's candidates lack what the scope needs or hold what it
    must not."""
    held = {item.lot for item in items}
    if missing := REQUIRED[scope] - held:
        raise ValueError(f"a briefing of scope {scope} needs {', '.join(sorted(missing))}")
    check_held(scope, items)


def check_held(scope: Scope, items: Sequence[Item]) -> None:
    """Raises ValueError when some of a briefing's candidates are such as the scope must not hold."""
    if wrong := FORBIDDEN[scope] & {item.lot for item in items}:
        raise ValueError(f"a briefing of scope {scope} must not hold {', '.join(sorted(wrong))}")
