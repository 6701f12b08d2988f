"""What is to be forgotten, what became of every row that it touched, and what nobody here can reach. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from parlour.infra.errors import RetryError
from parlour.infra.jsonable import Json, JsonObject

type Kind = Literal["user", "message", "file", "fact"]

type Fate = Literal["removed", "emptied", "restored", "kept"]
"""removed: the row is gone; emptied: it is there without its words; restored: it is as if what was forgotten had never
been said; kept: it is there as it was, and the report says why."""

MOST_LISTED = 20_000
"""Rows of one table and fate that a report names one by one; beyond that it counts."""


MOST_ANSWERED = 1_000
"""Of these as many are answered: some twenty tables of 50 characters an id stay below the 6 MB of one answer."""


class Unfinished(RetryError):
    """It is not done yet, and written down how far it got; ask again, and it goes on from there."""

    code = "unfinished"


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be forgotten."""

    kind: Kind
    id: UUID


@dataclass(frozen=True, slots=True)
class Fated:
    """One row and what became of it, or would; why: of one that is kept."""

    table: str
    id: str
    fate: Fate
    why: str = ""


@dataclass(frozen=True, slots=True)
class Beyond:
    """Somewhere out of reach, and what can be done about it."""

    where: str
    what: str


@dataclass(slots=True)
class Report:
    """One forgetting; `is_dry`: nothing was changed. `is_finished`: nothing is left of what it names; until
    then whoever asks again goes on with it.

    objects  keys of files that went from the buckets.
    letters  dead letters that went, by the queue's name.
    anew     what is written again from what remains, as `kind/id`.
    """

    id: UUID
    target: Target
    asked_by: str
    at: datetime
    is_dry: bool = False
    is_finished: bool = False
    rows: list[Fated] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    letters: dict[str, int] = field(default_factory=dict)
    anew: list[str] = field(default_factory=list)
    beyond: list[Beyond] = field(default_factory=list)
    _known: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def note(self, fate: Fate, table: str, ids: Iterable[object], why: str = "") -> None:
        """So it was with these rows; one that is named twice is told once."""
        new = [one for one in dict.fromkeys(map(str, ids)) if (table, one) not in self._known]
        self.rows += [Fated(table, one, fate, why) for one in new]
        self._known.update((table, one) for one in new)

    def untell(self, table: str, ids: Iterable[object]) -> None:
        """Something else became of these rows."""
        gone = {(table, str(one)) for one in ids}
        self.rows = [one for one in self.rows if (one.table, one.id) not in gone]
        self._known -= gone

    def to_json(self, most: int | None = MOST_LISTED) -> JsonObject:
        """{"id", "kind", "target_id", "asked_by", "at", "dry_run", "finished", "counts": {fate: rows},
        "rows": [{"table", "fate", "why", "count", "ids"}], "objects": [key], "dead_letters": {queue: number},
        "anew": [kind/id], "out_of_reach": [{"where", "what"}]}"""
        return {
            "id": str(self.id), "kind": self.target.kind, "target_id": str(self.target.id), "asked_by": self.asked_by,
            "at": self.at.isoformat(), "dry_run": self.is_dry, "finished": self.is_finished,
            "counts": counted(self.rows), "rows": grouped(self.rows, most),
            "objects": [*sorted(self.objects)], "dead_letters": {**self.letters}, "anew": [*self.anew],
            "out_of_reach": [{"where": one.where, "what": one.what} for one in self.beyond],
        }  # fmt: skip


def counted(rows: Sequence[Fated]) -> dict[str, Json]:
    """Rows by their fate."""
    return {fate: total for fate in get_args(Fate.__value__) if (total := sum(one.fate == fate for one in rows))}


def again(kept: Mapping[str, Any], told: Report) -> None:
    """What `to_json` said of all rows is told of again."""
    for row in kept["rows"]:
        told.note(row["fate"], row["table"], row["ids"], row["why"])
    told.objects = list(dict.fromkeys([*kept["objects"], *told.objects]))
    told.anew = list(dict.fromkeys([*kept["anew"], *told.anew]))
    beyond = [Beyond(one["where"], one["what"]) for one in kept["out_of_reach"]]
    told.beyond = list(dict.fromkeys([*beyond, *told.beyond]))


def grouped(rows: Sequence[Fated], most: int | None = MOST_LISTED) -> list[Json]:
    """Rows of one table, fate and reason together, by table."""
    found: dict[tuple[str, Fate, str], list[str]] = {}
    for one in rows:
        found.setdefault((one.table, one.fate, one.why), []).append(one.id)
    return [
        {"table": table, "fate": fate, "why": why, "count": len(ids), "ids": [*ids[:most]]}
        for (table, fate, why), ids in sorted(found.items())
    ]


def answered(kept: JsonObject) -> JsonObject:
    """A report as it is answered: of many rows of one kind the first ids, with their count; all are kept."""
    rows = kept.get("rows")
    return {**kept, "rows": [_short(one) for one in rows] if isinstance(rows, list) else []}


def _short(row: Json) -> Json:
    ids = row.get("ids") if isinstance(row, dict) else None
    return {**row, "ids": ids[:MOST_ANSWERED]} if isinstance(row, dict) and isinstance(ids, list) else row


_ALWAYS = (
    Beyond("backups", "the database's own backups have it until they expire (7 days, unless the deployment says more)"),
    Beyond("copies", "what was exported, downloaded or copied by hand"),
    Beyond(
        "dead letters of memory and pulse",
        "they name conversations, records and questions by ids that lead nowhere now, and go after 14 days",
    ),
    Beyond("queues", "a message that was on its way while this ran is handled as a new one; run it again if one was"),
)

_OURS = {"offline", "web", ""}
_ITS_LOGS = "the provider's own logs of the prompts that it answered"
_OF_PROVIDERS: Mapping[str, str] = {
    "anthropic": "Anthropic's own logs of the prompts that it answered; its terms say how long it keeps them",
    "bedrock": "invocation logs of Bedrock, if the account has them switched on",
}


def beyond(models: Iterable[str], channels: Iterable[str]) -> list[Beyond]:
    """What is out of reach: with the models that read it, on the channels that carried it, and anywhere."""
    found = [Beyond(f"model provider {one}", _OF_PROVIDERS.get(one, _ITS_LOGS)) for one in sorted({*models} - _OURS)]
    found += [
        Beyond(f"channel {one}", "the messages themselves, on the phones of both sides and with the provider")
        for one in sorted({*channels} - _OURS)
    ]
    return [*found, *_ALWAYS]
