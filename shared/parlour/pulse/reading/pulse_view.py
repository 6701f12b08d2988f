"""A record's Pulse as its reader may see it: what it says, what came since, what it waits for. No model is asked."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import RESTRICTED, Principal
from parlour.pulse.pulse import Citation, LinkedCitation, Pulse, Statement
from parlour.pulse.reading import changes_since, store
from parlour.pulse.reading.changes_since import ChangeSincePulse, StaleMark
from parlour.pulse.reading.store import PulseViewRow
from parlour.records import crud, staleness
from parlour.records.citation_links import find_citation_links
from parlour.records.record import RecordRef

_HIDDEN_STATE: dict[str, Any] = {
    "due_at": None,
    "waiting_for": None,
    "problem": None,
    "problem_at": None,
    "failures": 0,
    "is_given_up": False,
}
"""What somebody hears who may know of no change that a text is to tell of: also when it would be, would betray one."""

_HIDDEN_PROBLEM: dict[str, Any] = {
    "waiting_for": None,
    "problem": None,
    "problem_at": None,
    "failures": 0,
    "is_given_up": False,
}
"""What somebody hears whose own text was written, while one of a higher level could not be."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ONE_MICROSECOND = timedelta(microseconds=1)
_FILE_PREFIX = "files/"


@dataclass(frozen=True, slots=True)
class PulseView:
    """What a reader gets of a record's Pulse.

    pulse                 the fullest that they may see; None before the first, or while it is withheld.
    is_withheld           whether a source has risen above the level of the Pulse, which waits to be written again.
    has_restricted_level  whether this holds for any level, also where the reader gets another.
    stale_marks           why it is stale and since when, as far as the reader may know; none while it is fresh.
    changes               the changes after it, a few of each cause, the newest first.
    due_at                when it is checked again; None when no check is planned.
    problem               the code of the last failure; None when the last writing succeeded.
    failures              the number of failures in a row.
    is_given_up           whether the failure was raised as an alarm; it is tried once a day until someone requests it.
    """

    entity_id: UUID
    handle: str
    name: str
    pulse: Pulse | None
    is_withheld: bool
    has_restricted_level: bool
    stale_marks: tuple[StaleMark, ...]
    changes: tuple[ChangeSincePulse, ...]
    due_at: datetime | None
    waiting_for: str | None
    problem: str | None
    problem_at: datetime | None
    failures: int
    is_given_up: bool

    @property
    def stale_since(self) -> datetime | None:
        """Since when something is not told of; None while everything is."""
        return min((one.since for one in self.stale_marks), default=None)

    @property
    def change_counts(self) -> dict[str, int]:
        """How many changes of each cause came after the Pulse, as far as the reader may see them."""
        return {one.cause: one.total for one in self.changes} if self.stale_marks else {}

    @property
    def changes_text(self) -> str:
        """What came after the Pulse, in one line; "" when nothing did, or there is no Pulse."""
        return (
            changes_since.render_changes(self.changes, [one.cause for one in self.stale_marks])
            if self.pulse and self.stale_marks
            else ""
        )


def read_pulse(
    principal: Principal, tx: Transaction, ref: RecordRef, now: datetime, *, counts_as_read: bool = True
) -> PulseView:
    """Return the record's Pulse for this reader.

    `counts_as_read`: what is read often is written first; not for a page that polls. NotFound when there is no such
    record for the principal, or its type has no Pulses.
    """
    entity = crud.get_record(principal, tx, ref)
    found = find_pulse_view(principal, tx, entity.id)
    if found is None:
        raise NotFound(f"{entity.handle} has no Pulse: its type does not set `pulse: auto`")
    if found.has_restricted_level:
        staleness.mark_stale_if_fresh(tx, entity.id, "changed", now)
    if counts_as_read:
        record_read(tx, entity.id, now)
    if found.pulse is None:
        return found
    cited = link_citations(principal, tx, found.pulse.citations)
    return replace(found, pulse=replace(found.pulse, citations=cited))


def find_pulse_view(principal: Principal, tx: Transaction, entity_id: UUID) -> PulseView | None:
    """Return the Pulse view by the record's id, without counting the request; None when there is none."""
    row = store.find_pulse_view(tx, entity_id, principal.clearance)
    if row is None or not row.has_pulses:
        return None
    pulse = _parse_pulse(row) if row.pulse else None
    was_written = pulse is not None and row.failed_level is not None and row.failed_level > principal.clearance
    changes = _visible_changes(tx, row, row.stale_since, pulse, principal.clearance, is_own_level_current=was_written)
    marks = _visible_marks(row, changes, principal.clearance)
    if pulse and was_written:
        marks = [one for one in marks if one.since > pulse.checked_at]
    found = PulseView(
        row.id,
        row.handle,
        row.name,
        pulse,
        row.is_withheld,
        row.has_restricted_level,
        tuple(marks),
        tuple(changes),
        row.due_at,
        row.waiting_for,
        row.problem,
        row.problem_at if row.problem else None,
        row.failures,
        row.given_up_at is not None,
    )
    if was_written:
        found = replace(found, **_HIDDEN_PROBLEM)
    return _hide_check_time(found if marks or row.is_withheld else replace(found, **_HIDDEN_STATE), principal.clearance)


def link_citations(principal: Principal, tx: Transaction, citations: Sequence[Citation]) -> tuple[LinkedCitation, ...]:
    """Return the citations with the console's addresses of their sources."""
    links = find_citation_links(principal, tx, {one.source_id for one in citations if one.table})
    return tuple(LinkedCitation(**asdict(one), link=links.get(one.source_id)) for one in citations)


def record_read(tx: Transaction, entity_id: UUID, now: datetime) -> None:
    """Somebody looked at the record's Pulse."""
    store.record_read(tx, entity_id, now.astimezone(UTC).date(), now)


def _hide_check_time(view: PulseView, clearance: int) -> PulseView:
    """When a text was last found to be as it should tells of changes that were looked at: it is for those who may see
    all of them. To others a text is as old as its writing."""
    if view.pulse is None or clearance >= RESTRICTED:
        return view
    return replace(view, pulse=replace(view.pulse, checked_at=view.pulse.generated_at))


def _visible_changes(
    tx: Transaction,
    row: PulseViewRow,
    stale_since: datetime | None,
    pulse: Pulse | None,
    clearance: int,
    *,
    is_own_level_current: bool,
) -> list[ChangeSincePulse]:
    """Return the changes after the Pulse.

    A change that was committed after the sources were read, and is older, is not reflected, either: its mark says so,
    unless it is for a higher level's text alone.
    """
    if stale_since is None:
        return []
    told = (
        [UUID(one.removeprefix(_FILE_PREFIX)) for one in pulse.source_ids if one.startswith(_FILE_PREFIX)]
        if pulse
        else []
    )
    unreflected = stale_since - _ONE_MICROSECOND
    after = (
        _EPOCH if pulse is None else pulse.checked_at if is_own_level_current else min(pulse.checked_at, unreflected)
    )
    found = store.list_changes_since(tx, row.id, after, clearance, told, changes_since.MAX_EXAMPLES)
    return [one for one in found if one.cause in {"changed", "link_changed"} or one.cause in row.stale_causes]


def _visible_marks(row: PulseViewRow, changes: Sequence[ChangeSincePulse], clearance: int) -> list[StaleMark]:
    if row.stale_since is None:
        return []
    found = changes_since.stale_marks(row.stale_causes, row.stale_marks, row.stale_since)
    return found if clearance >= RESTRICTED else changes_since.filter_visible_marks(found, changes)


def _parse_pulse(row: PulseViewRow) -> Pulse:
    kept = row.pulse or {}
    moments = (datetime.fromisoformat(str(kept[name])) for name in ("sources_read_at", "generated_at", "checked_at"))
    told = kept["source_ids"]
    return Pulse(
        row.id,
        int(str(kept["level"])),
        int(str(kept["version"])),
        str(kept["markdown"]),
        tuple(map(Statement.from_json, _json_objects(kept["statements"]))),
        tuple(map(Citation.from_json, _json_objects(kept["citations"]))),
        tuple(map(str, told)) if isinstance(told, list) else (),
        str(kept["fingerprint"]),
        str(kept["model"]),
        Decimal(str(kept["cost_usd"])),
        *moments,
    )


def _json_objects(value: Json) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
