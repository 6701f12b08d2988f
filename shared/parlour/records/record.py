"""A record as people, the API and tools see it, and how it is named. Pure."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import EllipsisType
from uuid import UUID

from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import JsonObject
from parlour.records.deltas import FieldChange

_TYPE = re.compile(r"[a-z][a-z0-9_]{0,62}")
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST_SLUG = 48
_LONGEST_NAME = 300
_SUFFIXES = (4, 8, 32)

PROJECT_TYPE = "project"
"""The kind of the records that others belong to."""

DOCUMENT_TYPE = "document"
"""The kind of the records that have a text."""

type RecordRef = UUID | str
"""An id, the id as text, or a handle: `type/key`."""


@dataclass(frozen=True, slots=True)
class RecordKey:
    """How an entity is named from outside: keys are unique within a type."""

    type: str
    key: str

    def __str__(self) -> str:
        return f"{self.type}/{self.key}"


@dataclass(frozen=True, slots=True)
class Record:
    """A record.

    type, type_name  its kind: the key, and as readers call it.
    project          the handle of the project that it belongs to; None also when the reader may not see that one.
    version          counts its changes, from 1.
    created_by       `kind:id` of the principal.
    unverified_by    the user who created it, until a member accepts it; others do not see it until then.
    stale_since      since when its Pulse no longer says what is, and why; None while it does.
    """

    id: UUID
    type: str
    type_name: str
    key: str
    name: str
    properties: JsonObject
    classification: int
    project_id: UUID | None
    project: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    created_by: str
    updated_by: str
    stale_since: datetime | None
    stale_causes: list[str]
    unverified_by: str | None

    @property
    def handle(self) -> str:
        """`type/key`: how it is named everywhere."""
        return f"{self.type}/{self.key}"


@dataclass(frozen=True, slots=True)
class RecordInput:
    """A record to make.

    key             unique among its kind; left out, it is made from the name.
    classification  None: what its kind says, or what its project has, whichever is higher.
    project         the project that it belongs to: a handle or an id.
    is_unverified   whether a member has to accept it, whatever rights its creator has.
    """

    type: str
    name: str
    key: str = ""
    properties: JsonObject = field(default_factory=dict)
    classification: int | None = None
    project: str | None = None
    is_unverified: bool = False


@dataclass(frozen=True, slots=True)
class RecordPatch:
    """What to change in a record; what is not given stays. None removes a property, and the project.

    further_changes  what changed with the record and is stored elsewhere, such as a document's text.
    """

    name: str | None = None
    properties: JsonObject = field(default_factory=dict)
    classification: int | None = None
    project: str | EllipsisType | None = ...
    further_changes: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordQuery:
    """Which records to list.

    where            property values, as text.
    text             part of the name or key, in any case.
    only_unverified  only those that no member has accepted.
    """

    type: str | None = None
    project: RecordRef | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    only_unverified: bool = False


ANY_RECORD = RecordQuery()


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Some records, and where to read on: "" when these are the last."""

    records: Sequence[Record]
    next_cursor: str = ""


def parse_reference(ref: RecordRef) -> UUID | RecordKey | None:
    """Return what a reference names, an id or a type and key; None when it has neither form."""
    if isinstance(ref, UUID):
        return ref
    type_key, slash, key = ref.strip().partition("/")
    if slash:
        return RecordKey(type_key, key) if _TYPE.fullmatch(type_key) and _KEY.fullmatch(key) else None
    try:
        return UUID(type_key)
    except ValueError:
        return None


def printable_reference(ref: RecordRef) -> str:
    """Return a reference for a message: short and printable."""
    return "".join(character for character in str(ref) if character.isprintable())[:120]


def validate_key(key: str) -> str:
    """Return a key that somebody chose; InvalidRequest when it cannot be one."""
    if not _KEY.fullmatch(key):
        raise InvalidRequest("key: use letters, digits, dots, dashes and underscores, 100 at most, like 'CO-014'")
    return key


def validate_name(name: str) -> str:
    """Return a record's name on one line; InvalidRequest when it is empty or too long."""
    line = " ".join(name.encode("utf-8", "ignore").decode().replace("\0", "").split())
    if not 0 < len(line) <= _LONGEST_NAME:
        raise InvalidRequest(f"name: use 1 to {_LONGEST_NAME} characters")
    return line


def generate_keys(name: str, record_id: UUID) -> list[str]:
    """Keys for a record that nobody gave one, best first: words of its name and some of its id."""
    words = slug(name)
    return [f"{words}-{record_id.hex[-length:]}" for length in _SUFFIXES]


def slug(name: str) -> str:
    """Return the name's words in plain letters and dashes; "record" when it has none."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().casefold()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_SLUG].strip("-")
    return words or "record"
