"""What came after a Pulse was written, in one line that no model wrote, and why it is stale, as far as its reader may
know. Pure.

Marks know no levels: a restricted file leaves the same one as an open file. A reader who may not see everything is
told only of those for which something is there that they may see.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from parlour.infra.jsonable import Json, JsonObject

EXAMPLES = 3
"""Changes of one sort that the line tells; the others are counted."""

_LONGEST = 90

_COUNTED = {
    "changed": ("1 change of it", "{} changes of it"),
    "link_changed": ("1 change of its links", "{} changes of its links"),
    "child_changed": ("1 change of what belongs to it", "{} changes of what belongs to it"),
    "finding_created": ("1 new finding", "{} new findings"),
    "file_ingested": ("1 new file", "{} new files"),
    "file_deleted": ("1 file deleted", "{} files deleted"),
    "document_changed": ("1 document changed", "{} documents changed"),
}
"""What is counted of each cause, in the order in which it is told."""

_ALWAYS_TOLD = {
    "type_changed": "its kind is described otherwise",
    "manual": "somebody asked for it anew",
    "age": "it is a day old",
}
"""Causes that tell nothing of anything restricted."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened after a Pulse was written, as its reader may see it.

    cause     what mark it leaves.
    title     of the record, file or document.
    content   of a change of a record: its row, `[when] name (kind): what, by whom`; else "".
    total     how many of its cause there are; `first_at`: when the first of them was.
    rows      what it is told from and is still there, as `table/id`; level: what one has to be cleared for to see it.
    """

    cause: str
    title: str
    content: str
    at: datetime
    total: int
    first_at: datetime
    rows: list[str]
    level: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Why a Pulse is stale, and since when."""

    cause: str
    since: datetime


def marks(causes: Sequence[str], kept: JsonObject, since: datetime) -> list[Mark]:
    """The marks of a record as they are kept: `{cause: {"since", ...}}`; those without a time are as old as the oldest,
    `since`."""
    return [Mark(cause, _time(kept.get(cause)) or since) for cause in causes]


def visible(found: Sequence[Mark], changes: Sequence[Change]) -> list[Mark]:
    """The marks that a reader may know of who does not see everything: since when is what they may see, too."""
    first = {one.cause: one.first_at for one in changes}
    return [
        Mark(one.cause, max(one.since, first.get(one.cause, one.since)))
        for one in found
        if one.cause in _ALWAYS_TOLD or one.cause in first
    ]


def line(changes: Sequence[Change], causes: Collection[str]) -> str:
    """`Since then: 2 changes of it (state: done (was open); budget: 5); 1 new file (Report.pdf).`

    changes  newest first, a few of each cause.
    causes   those that the reader may know of; of one without a change to show it is said that there is one. "" when
             nothing came.
    """
    parts = [_told(cause, mine) for cause in _COUNTED if (mine := [one for one in changes if one.cause == cause])]
    seen = {one.cause for one in changes}
    parts += [_COUNTED[cause][0] for cause in _COUNTED if cause in causes and cause not in seen]
    parts += [words for cause, words in _ALWAYS_TOLD.items() if cause in causes]
    return f"Since then: {'; '.join(parts)}." if parts else ""


def counts(changes: Sequence[Change]) -> dict[str, Json]:
    """How many changes of each cause there are that the reader may see."""
    return {one.cause: one.total for one in changes}


def _told(cause: str, mine: Sequence[Change]) -> str:
    one, many = _COUNTED[cause]
    total = mine[0].total
    examples = list(dict.fromkeys(filter(None, (_what(each) for each in mine[:EXAMPLES]))))
    more = ["..."] if examples and total > len(mine[:EXAMPLES]) else []
    told = f" ({'; '.join([*examples, *more])})" if examples else ""
    return f"{one if total == 1 else many.format(total)}{told}"


def _what(change: Change) -> str:
    """What happened, short: of the record itself without its name."""
    said = change.content.partition("] ")[2].rpartition(", by ")[0]
    if not said:
        return _clipped(change.title)
    what = said.removeprefix(f"{change.title} (").partition("): ")[2] or said
    own = change.cause in {"changed", "link_changed"}
    return _clipped(what if own else f"{change.title}: {what}")


def _clipped(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1].rstrip()}…"


def _time(kept: Json) -> datetime | None:
    found = kept.get("since") if isinstance(kept, Mapping) else None
    return datetime.fromisoformat(found) if isinstance(found, str) else None
