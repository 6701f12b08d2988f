"""What changed of a record, as a row that is searched and read: dated, by whom, from what to what. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.principal import LEVEL_NAMES, Principal, PrincipalKind
from parlour.records.property_text import format_property, order_properties
from parlour.records.record_type import RecordType
from parlour.search.index.context_rows import RowDraft

_LONGEST_VALUE = 300

_ACTOR_PHRASES: Mapping[PrincipalKind, str] = {
    "user": "somebody in a conversation",
    "member": "a member",
    "key": "an API key",
    "operator": "the operator",
    "system": "Parlour",
}


class RecordState(Protocol):
    """What is told of a record."""

    @property
    def id(self) -> UUID: ...
    @property
    def type(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def properties(self) -> JsonObject: ...
    @property
    def classification(self) -> int: ...
    @property
    def version(self) -> int: ...


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One thing that changed: what readers call it, and what it was and is ("" for nothing)."""

    name: str
    label: str
    before: str
    after: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.label}: {self.after}"
        return f"{self.label}: {self.after or 'removed'} (was {self.before})"


def diff_records(kind: RecordType, before: RecordState, after: RecordState) -> list[FieldChange]:
    """Return the changes of a record's name, level and properties; `project_change` is the one of its project."""
    found = [
        FieldChange("name", "name", before.name, after.name),
        FieldChange(
            "classification", "classification", LEVEL_NAMES[before.classification], LEVEL_NAMES[after.classification]
        ),
    ]
    for name in order_properties(kind.rag, {**before.properties, **after.properties}):
        definition = kind.properties.get(name)
        values = [_shortened(format_property(definition, entity.properties.get(name))) for entity in (before, after)]
        if before.properties.get(name) != after.properties.get(name):
            found.append(FieldChange(name, kind.label(name), *values))
    return [one for one in found if one.name not in {"name", "classification"} or one.before != one.after]


def project_change(project: str | None) -> FieldChange:
    """Return the change to another project, or to none."""
    return FieldChange("project", "project", "", project or "none")


def delta_row(
    principal: Principal,
    kind: RecordType,
    entity: RecordState,
    description: str,
    now: datetime,
    classification: int,
    origin: str | None = None,
) -> RowDraft:
    """Return the row: `[2026-03-02 09:30] Crane hire (Task): state: done (was open), by a member`.

    `origin` names the call that changed it.
    """
    when = now.strftime("%Y-%m-%d %H:%M")
    content = f"[{when}] {entity.name} ({kind.display_name}): {description}, by {_ACTOR_PHRASES[principal.kind]}"
    metadata = _metadata(principal, kind, entity, when, origin)
    return RowDraft("delta", entity.version, entity.name, content, classification, metadata)


def imported_delta_row(
    principal: Principal, kind: RecordType, entity: RecordState, now: datetime, origin: str
) -> RowDraft:
    """Return the row of a record that came with a pack, without its name.

    Hundreds come at once, and a search for a name finds the record already.
    """
    when = now.strftime("%Y-%m-%d %H:%M")
    content = f"[{when}] created, by {_ACTOR_PHRASES[principal.kind]}"
    metadata = _metadata(principal, kind, entity, when, origin)
    return RowDraft("delta", entity.version, kind.display_name, content, entity.classification, metadata)


def _metadata(principal: Principal, kind: RecordType, entity: RecordState, when: str, origin: str | None) -> JsonObject:
    return {
        "kind": kind.display_name,
        "heading": "change",
        "date": when,
        "type": entity.type,
        "key": entity.key,
        "version": entity.version,
        "by": principal.name,
        **({"origin": origin} if origin else {}),
    }


def format_changes(found: Sequence[FieldChange]) -> str:
    """Several differences in one line."""
    return "; ".join(map(str, found))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
