"""The progress of an erasure, as it is stored between its steps: the next request continues from there.

`SearchProgress` is how far the search got, before anything is deleted; `RemainingWork` is what is left once everything
was deleted that is found by text alone. Both are deleted at the end. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Literal
from uuid import UUID

from parlour.erasure.erasure_plan import ErasurePlan
from parlour.erasure.store import ArchiveRow
from parlour.infra.json_values import JsonObject, from_json

type HashesByMonth = dict[date, set[str]]
"""Texts by the month that they are kept under."""

BEFORE_FIRST_RECORD = (UUID(int=0), -2)
"""Before every record of a prompt, by turn and step."""


@dataclass(slots=True)
class SearchProgress:
    """How far prompt records were searched, and the texts that they name.

    own_texts               texts in the records that go.
    tenant_texts            those of them that are the tenant's own.
    shared_texts            those of them that other records have, too.
    conversation_texts      texts in records of the same conversations and people that stay.
    partial_source_texts    texts about records of which some values go.
    foreign_session_texts   texts of other conversations in which something that goes was read.
    redacted_texts          texts that tell of something that goes.
    records_naming_handles  records that stay and name something that goes by its handle.
    last_record             the record that was read last, by turn and step.
    searched_count          how many records were read.
    stage                   whose records are being read: own, other people's, or none any more.
    is_complete             whether all were read.
    is_rescan               all were read before, and this is about what was written since.
    """

    own_texts: HashesByMonth = field(default_factory=dict)
    tenant_texts: set[str] = field(default_factory=set)
    shared_texts: HashesByMonth = field(default_factory=dict)
    conversation_texts: HashesByMonth = field(default_factory=dict)
    partial_source_texts: HashesByMonth = field(default_factory=dict)
    foreign_session_texts: HashesByMonth = field(default_factory=dict)
    redacted_texts: HashesByMonth = field(default_factory=dict)
    records_naming_handles: set[tuple[UUID, int]] = field(default_factory=set)
    last_record: tuple[UUID, int] = BEFORE_FIRST_RECORD
    searched_count: int = 0
    stage: Literal["own_records", "foreign_records", "tenant_texts", "finished"] = "own_records"
    is_complete: bool = False
    is_rescan: bool = False


@dataclass(slots=True)
class RemainingWork:
    """What is left to do.

    sessions                that go as a whole, as do users and turns.
    message_ids_to_delete   with them.
    redacted_message_ids    that stay, empty.
    object_keys             in the media bucket; archives: of old messages, there too.
    addresses               by which channels know the user.
    provider_ids            by which a provider knows the messages.
    ids                     by which dead letters may name it.
    handles                 of records that are gone.
    records_naming_handles  prompt records, by turn and step, that name one of them.
    """

    sessions: list[UUID] = field(default_factory=list)
    users: list[UUID] = field(default_factory=list)
    turns: list[UUID] = field(default_factory=list)
    message_ids_to_delete: list[UUID] = field(default_factory=list)
    redacted_message_ids: list[UUID] = field(default_factory=list)
    object_keys: list[str] = field(default_factory=list)
    archives: list[ArchiveRow] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    provider_ids: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)
    records_naming_handles: list[tuple[UUID, int]] = field(default_factory=list)

    @classmethod
    def from_plan(cls, plan: ErasurePlan, progress: SearchProgress) -> "RemainingWork":
        """Return what is left once everything was deleted that is found by text alone."""
        ids = [
            *map(str, plan.sessions),
            *plan.keys_of("outbox"),
            *plan.keys_of("tool_calls"),
            *plan.keys_of("approvals"),
        ]
        silenced = set(plan.redacted_turns)
        return cls(
            plan.sessions,
            plan.ids_of("users"),
            [one for one in plan.turns if one not in silenced],
            plan.ids_of("messages", "deleted"),
            plan.message_ids,
            plan.object_keys,
            plan.archives,
            plan.addresses,
            plan.provider_ids,
            ids if plan.sessions else [str(plan.target.id)],
            plan.handles,
            sorted(progress.records_naming_handles),
        )

    def merge(self, remaining: "RemainingWork") -> None:
        """Add further work."""
        self.sessions, self.users = _union(self.sessions, remaining.sessions), _union(self.users, remaining.users)
        self.turns, self.message_ids_to_delete = (
            _union(self.turns, remaining.turns),
            _union(self.message_ids_to_delete, remaining.message_ids_to_delete),
        )
        self.redacted_message_ids = _union(self.redacted_message_ids, remaining.redacted_message_ids)
        self.object_keys, self.archives = (
            _union(self.object_keys, remaining.object_keys),
            _union(self.archives, remaining.archives),
        )
        self.addresses = _union(self.addresses, remaining.addresses)
        self.provider_ids, self.ids = _union(self.provider_ids, remaining.provider_ids), _union(self.ids, remaining.ids)
        self.handles, self.records_naming_handles = (
            _union(self.handles, remaining.handles),
            _union(self.records_naming_handles, remaining.records_naming_handles),
        )


@dataclass(slots=True)
class CompletedWork:
    """What is done of it. letters: of each queue that was looked through, how many letters went; and what was in the
    way, if anything. queue: the one that is being looked through."""

    are_files_deleted: bool = False
    dead_letters: dict[str, tuple[int, str]] = field(default_factory=dict)
    current_queue: str = ""


def restore_progress[T](kind: type[T], given: JsonObject | None) -> T:
    """Return a part as `to_json` wrote it down; a new one where none was."""
    return kind() if given is None else from_json(kind, given)


def _union[T](some: Iterable[T], more: Iterable[T]) -> list[T]:
    return list(dict.fromkeys([*some, *more]))
