"""What is to be forgotten, what became of every row that it touched, and what nobody here can reach. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from parlour.infra.errors import RetryError
from parlour.infra.json_values import Json, JsonObject

type ErasableKind = Literal["user", "message", "file", "fact"]

type RowAction = Literal["deleted", "redacted", "restored", "kept"]
"""removed: the row is gone; emptied: it is there without its words; restored: it is as if what was forgotten had never
been said; kept: it is there as it was, and the report says why."""

MAX_LISTED_IDS = 20_000
"""Rows of one table and fate that a report names one by one; beyond that it counts."""


MAX_RETURNED_IDS = 1_000
"""Of these as many are answered: some twenty tables of 50 characters an id stay below the 6 MB of one answer."""


class ErasureUnfinished(RetryError):
    """It is not done yet, and written down how far it got; ask again, and it goes on from there."""

    code = "unfinished"


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """What is to be forgotten."""

    kind: ErasableKind
    id: UUID


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """One row and what became of it, or would; why: of one that is kept."""

    table: str
    id: str
    action: RowAction
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """Somewhere out of reach, and what can be done about it."""

    where: str
    explanation: str


@dataclass(slots=True)
class ErasureReport:
    """One erasure.

    is_dry_run    nothing was changed.
    is_finished   nothing is left of what it names; until then the next request continues it.
    object_keys   keys of files that were deleted from the buckets.
    dead_letters  dead letters that were deleted, by the queue's name.
    recreated     what is written again from what remains, as `kind/id`.
    """

    id: UUID
    target: ErasureTarget
    requested_by: str
    at: datetime
    is_dry_run: bool = False
    is_finished: bool = False
    rows: list[RowOutcome] = field(default_factory=list)
    object_keys: list[str] = field(default_factory=list)
    dead_letters: dict[str, int] = field(default_factory=dict)
    recreated: list[str] = field(default_factory=list)
    out_of_reach: list[OutOfReach] = field(default_factory=list)
    _recorded_rows: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def record_rows(self, action: RowAction, table: str, ids: Iterable[object], reason: str = "") -> None:
        """So it was with these rows; one that is named twice is told once."""
        new = [one for one in dict.fromkeys(map(str, ids)) if (table, one) not in self._recorded_rows]
        self.rows += [RowOutcome(table, one, action, reason) for one in new]
        self._recorded_rows.update((table, one) for one in new)

    def remove_rows(self, table: str, ids: Iterable[object]) -> None:
        """Something else became of these rows."""
        gone = {(table, str(one)) for one in ids}
        self.rows = [one for one in self.rows if (one.table, one.id) not in gone]
        self._recorded_rows -= gone

    def to_json(self, max_ids: int | None = MAX_LISTED_IDS) -> JsonObject:
        """{"id", "kind", "target_id", "requested_by", "at", "dry_run", "finished", "counts": {action: rows},
        "rows": [{"table", "action", "reason", "count", "ids"}], "object_keys": [key], "dead_letters": {queue: number},
        "recreated": [kind/id], "out_of_reach": [{"where", "explanation"}]}"""
        return {
            "id": str(self.id),
            "kind": self.target.kind,
            "target_id": str(self.target.id),
            "requested_by": self.requested_by,
            "at": self.at.isoformat(),
            "dry_run": self.is_dry_run,
            "finished": self.is_finished,
            "counts": count_by_action(self.rows),
            "rows": group_rows(self.rows, max_ids),
            "object_keys": [*sorted(self.object_keys)],
            "dead_letters": {**self.dead_letters},
            "recreated": [*self.recreated],
            "out_of_reach": [{"where": one.where, "explanation": one.explanation} for one in self.out_of_reach],
        }


def count_by_action(rows: Sequence[RowOutcome]) -> dict[str, Json]:
    """Rows by their fate."""
    return {
        action: total
        for action in get_args(RowAction.__value__)
        if (total := sum(one.action == action for one in rows))
    }


def merge_saved_report(saved: Mapping[str, Any], report: ErasureReport) -> None:
    """Merge the rows of a saved report into this one."""
    for row in saved["rows"]:
        report.record_rows(row["action"], row["table"], row["ids"], row["reason"])
    report.object_keys = list(dict.fromkeys([*saved["object_keys"], *report.object_keys]))
    report.recreated = list(dict.fromkeys([*saved["recreated"], *report.recreated]))
    beyond = [OutOfReach(one["where"], one["explanation"]) for one in saved["out_of_reach"]]
    report.out_of_reach = list(dict.fromkeys([*beyond, *report.out_of_reach]))


def group_rows(rows: Sequence[RowOutcome], max_ids: int | None = MAX_LISTED_IDS) -> list[Json]:
    """Rows of one table, fate and reason together, by table."""
    found: dict[tuple[str, RowAction, str], list[str]] = {}
    for one in rows:
        found.setdefault((one.table, one.action, one.reason), []).append(one.id)
    return [
        {"table": table, "action": action, "reason": reason, "count": len(ids), "ids": [*ids[:max_ids]]}
        for (table, action, reason), ids in sorted(found.items())
    ]


def shorten_report(report: JsonObject) -> JsonObject:
    """Return a report for an answer: of many rows of one kind the first ids, with their count."""
    rows = report.get("rows")
    return {**report, "rows": [_shorten_ids(one) for one in rows] if isinstance(rows, list) else []}


def _shorten_ids(row: Json) -> Json:
    ids = row.get("ids") if isinstance(row, dict) else None
    return {**row, "ids": ids[:MAX_RETURNED_IDS]} if isinstance(row, dict) and isinstance(ids, list) else row


_ALWAYS_OUT_OF_REACH = (
    OutOfReach("backups", "database backups keep it until they expire (7 days, unless the deployment sets more)"),
    OutOfReach("copies", "everything that people exported, downloaded or copied"),
    OutOfReach(
        "dead letters of memory and pulse",
        "they hold ids of rows that no longer exist, and expire after 14 days",
    ),
    OutOfReach(
        "queues",
        "a message in flight during the erasure is handled as a new one; if there was one, run the erasure again",
    ),
)

_INTERNAL_NAMES = {"offline", "web", ""}
_PROVIDER_LOGS = "the provider's own logs of the prompts"
_LOGS_BY_PROVIDER: Mapping[str, str] = {
    "anthropic": "Anthropic's own logs of the prompts, kept as its terms say",
    "bedrock": "invocation logs of Bedrock, if the account has them switched on",
}


def find_out_of_reach(models: Iterable[str], channels: Iterable[str]) -> list[OutOfReach]:
    """Return what is out of reach: at the models that read it, on the channels that carried it, and elsewhere."""
    found = [
        OutOfReach(f"model provider {one}", _LOGS_BY_PROVIDER.get(one, _PROVIDER_LOGS))
        for one in sorted({*models} - _INTERNAL_NAMES)
    ]
    found += [
        OutOfReach(f"channel {one}", "the messages on both phones and at the provider")
        for one in sorted({*channels} - _INTERNAL_NAMES)
    ]
    return [*found, *_ALWAYS_OUT_OF_REACH]
