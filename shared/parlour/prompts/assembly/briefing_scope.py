"""What a conversation is about decides what its briefing holds, and what it must not. Pure.

Global conversations know of many projects, lightly; one about a project has its documents' tree; one about a record
has the whole record and what it is linked to (design section 7, scopes).
"""

from collections.abc import Sequence
from typing import Literal

from parlour.prompts.assembly.segment import Item, SourceKind

type BriefingScope = Literal["global", "project", "entity"]

_SINGLE_RECORD_KINDS = (
    SourceKind.PULSE,
    SourceKind.SINCE_PULSE,
    SourceKind.RECORD,
    SourceKind.LINKED,
    SourceKind.TREE,
    SourceKind.PROJECT_FILES,
    SourceKind.FILE_SUMMARIES,
    SourceKind.NEAREST,
    SourceKind.RECENT,
)

REQUIRED_KINDS: dict[BriefingScope, frozenset[SourceKind]] = {
    "global": frozenset(),
    "project": frozenset({SourceKind.RECORD, SourceKind.TREE}),
    "entity": frozenset({SourceKind.RECORD}),
}
FORBIDDEN_KINDS: dict[BriefingScope, frozenset[SourceKind]] = {
    "global": frozenset(_SINGLE_RECORD_KINDS),
    "project": frozenset({SourceKind.PROJECTS}),
    "entity": frozenset({SourceKind.PROJECTS, SourceKind.PROJECT_FILES, SourceKind.RECENT}),
}


def check_scope(scope: BriefingScope, items: Sequence[Item]) -> None:
    """Raise ValueError, for a bug, when a briefing's candidates lack what the scope needs or have what it must not."""
    held = {item.kind for item in items}
    if missing := REQUIRED_KINDS[scope] - held:
        raise ValueError(f"a briefing of scope {scope} needs {', '.join(sorted(missing))}")
    check_forbidden(scope, items)


def check_forbidden(scope: BriefingScope, items: Sequence[Item]) -> None:
    """Raise ValueError when some of a briefing's candidates are such as the scope must not have."""
    if wrong := FORBIDDEN_KINDS[scope] & {item.kind for item in items}:
        raise ValueError(f"a briefing of scope {scope} must not hold {', '.join(sorted(wrong))}")
