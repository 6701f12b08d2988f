"""What came after a Pulse was written, in one line that no model wrote, and why it is stale, as far as its reader may
know. Pure.

Marks know no levels: a restricted file leaves the same one as an open file. A reader who may not see everything is
told only of those for which something is there that they may see.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from parlour.infra.json_values import JsonObject

MAX_EXAMPLES = 3
"""Changes of one sort that the line tells; the others are counted."""

_MAX_CHANGE_CHARS = 90

_COUNT_PHRASES = {
    "changed": ("1 change of it", "{} changes of it"),
    "link_changed": ("1 change of its links", "{} changes of its links"),
    "child_changed": ("1 change of what belongs to it", "{} changes of what belongs to it"),
    "finding_created": ("1 new finding", "{} new findings"),
    "file_ingested": ("1 new file", "{} new files"),
    "file_deleted": ("1 file deleted", "{} files deleted"),
    "document_changed": ("1 document changed", "{} documents changed"),
}
"""What is counted of each cause, in the order in which it is told."""

_PUBLIC_CAUSES = {
    "type_changed": "its kind is described otherwise",
    "manual": "somebody asked for it anew",
    "age": "it is a day old",
}
"""Causes that tell nothing of anything restricted."""


@dataclass(frozen=True, slots=True)
class ChangeSincePulse:
    """A change after a Pulse was written, as its reader may see it.

    cause       the cause in its stale mark.
    title       the title of the record, file or document.
    content     for a change of a record its row, `[when] name (kind): what, by whom`; else "".
    total       the number of changes of this cause; `first_at` is the time of the first.
    source_ids  the rows behind it that still exist, as `table/id`.
    level       the clearance that a reader needs to see it.
    """

    cause: str
    title: str
    content: str
    changed_at: datetime
    total: int
    first_at: datetime
    source_ids: list[str]
    level: int


@dataclass(frozen=True, slots=True)
class StaleMark:
    """Why a Pulse is stale, and since when."""

    cause: str
    since: datetime


def stale_marks(causes: Sequence[str], stored_marks: JsonObject, since: datetime) -> list[StaleMark]:
    """Return a record's marks as they are stored: `{cause: {"since", ...}}`.

    Marks without a time are as old as the oldest, `since`.
    """
    marks = []
    for cause in causes:
        stored = stored_marks.get(cause)
        marked_at = stored.get("since") if isinstance(stored, Mapping) else None
        marks.append(StaleMark(cause, datetime.fromisoformat(marked_at) if isinstance(marked_at, str) else since))
    return marks


def filter_visible_marks(stale_marks: Sequence[StaleMark], changes: Sequence[ChangeSincePulse]) -> list[StaleMark]:
    """Return the marks that a reader without full clearance may know of, with the time of what they may see."""
    first = {one.cause: one.first_at for one in changes}
    return [
        StaleMark(one.cause, max(one.since, first.get(one.cause, one.since)))
        for one in stale_marks
        if one.cause in _PUBLIC_CAUSES or one.cause in first
    ]


def render_changes(changes: Sequence[ChangeSincePulse], causes: Collection[str]) -> str:
    """`Since then: 2 changes of it (state: done (was open); budget: 5); 1 new file (Report.pdf).`

    changes  newest first, a few of each cause.
    causes   those that the reader may know of; of one without a change to show it is said that there is one. "" when
             nothing came.
    """
    parts = [
        _render_cause(cause, mine)
        for cause in _COUNT_PHRASES
        if (mine := [one for one in changes if one.cause == cause])
    ]
    seen = {one.cause for one in changes}
    parts += [_COUNT_PHRASES[cause][0] for cause in _COUNT_PHRASES if cause in causes and cause not in seen]
    parts += [words for cause, words in _PUBLIC_CAUSES.items() if cause in causes]
    return f"Since then: {'; '.join(parts)}." if parts else ""


def _render_cause(cause: str, changes_of_cause: Sequence[ChangeSincePulse]) -> str:
    one, many = _COUNT_PHRASES[cause]
    total = changes_of_cause[0].total
    examples = list(dict.fromkeys(filter(None, (_describe_change(each) for each in changes_of_cause[:MAX_EXAMPLES]))))
    more = ["..."] if examples and total > len(changes_of_cause[:MAX_EXAMPLES]) else []
    told = f" ({'; '.join([*examples, *more])})" if examples else ""
    return f"{one if total == 1 else many.format(total)}{told}"


def _describe_change(change: ChangeSincePulse) -> str:
    """Describe a change in short; one of the record itself without its name."""
    said = change.content.partition("] ")[2].rpartition(", by ")[0]
    if not said:
        return _shortened(change.title)
    what = said.removeprefix(f"{change.title} (").partition("): ")[2] or said
    own = change.cause in {"changed", "link_changed"}
    return _shortened(what if own else f"{change.title}: {what}")


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_CHANGE_CHARS else f"{flat[: _MAX_CHANGE_CHARS - 1].rstrip()}…"
