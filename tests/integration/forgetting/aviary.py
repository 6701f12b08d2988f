"""Canaries: words that stand nowhere but where a test put them, and the looking for them over all that there is.

The tables are the catalogue's, so that a new one is looked through without anybody thinking of it.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, cast
from uuid import UUID

import psycopg
from psycopg import sql

from local.database import Cluster
from parlour.forgetting import erase
from parlour.forgetting.erase import Services, Wish
from parlour.forgetting.report import Kind, Target
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.jobs.dead_letters import Discarded, Redriven
from parlour.knowledge.index import embedder
from parlour.knowledge.index.spaces import Offer, Spaces
from parlour.knowledge.records import backfill
from tests.desk import Desk, WordEmbedder
from tests.post import MediaBucket

_COUNTED = frozenset({"ledger_blobs"})
"""Tables of which a report says only how many rows went."""

CANARY = re.compile(r"CANARY-\d{2,3}X", re.IGNORECASE)

_KEYS = """
SELECT c.relname::text, array_agg(a.attname::text ORDER BY k.place)
  FROM pg_class c
  JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
 CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place)
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
 WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND a.attname <> 'tenant_id'
 GROUP BY c.relname
"""

type Named = tuple[str, str]
"""A row by its table and what a report calls it: the parts of its key but the tenant, with slashes."""


@dataclass
class Letters:
    """A queue's dead letters, in memory."""

    bodies: list[JsonObject] = field(default_factory=list)

    def count(self) -> int:
        return len(self.bodies)

    def redrive(self, most: int, /) -> Redriven:
        return Redriven(0, len(self.bodies[:most]))

    def discard(self, is_about: Callable[[JsonObject], bool], most: int, /) -> Discarded:
        stay = [one for one in self.bodies[:most] if not is_about(one)]
        gone, self.bodies = len(self.bodies) - len(stay), stay
        return Discarded(gone, 0)


@dataclass
class Room:
    """A desk where things are forgotten, with its buckets and its dead letters."""

    desk: Desk
    bucket: MediaBucket = field(default_factory=MediaBucket)
    files: MediaBucket = field(default_factory=MediaBucket)
    letters: dict[str, Letters] = field(default_factory=lambda: {"intake": Letters(), "turns-web": Letters()})

    def forget(self, kind: Kind, target_id: UUID, **how: bool) -> JsonObject:
        desk = self.desk
        services = Services(desk.database, self.bucket, self.files, self.letters, desk.clock, uuid7)
        return erase.forget(desk.admin, services, Wish(Target(kind, target_id), **how), lambda: 60.0)

    def embed(self) -> None:
        """Everything that was said gets its searchable row and its vector."""
        desk, spaces = self.desk, Spaces([Offer(WordEmbedder())])
        services = embedder.Services(
            desk.database, spaces, desk.embedding, backfill.backfill, Decimal(20), desk.clock, uuid7
        )  # fmt: skip
        embedder.run(services, desk.tenant_id, lambda: 300.0)


@dataclass
class Aviary:
    """A room with canaries. planted: what each is called by, by where it was put."""

    room: Room
    cluster: Cluster
    name: str
    planted: dict[str, str] = field(default_factory=dict)

    @property
    def desk(self) -> Desk:
        return self.room.desk

    @property
    def bucket(self) -> MediaBucket:
        return self.room.bucket

    @property
    def letters(self) -> dict[str, Letters]:
        return self.room.letters

    def bird(self, where: str) -> str:
        """A new canary."""
        found = f"CANARY-{len(self.planted):02}X"
        self.planted[found] = where
        return found

    def plant(self, beside: str, table: str, /, **values: str) -> None:
        """A row of what is written in SQL, of the sessions `s` (their bindings `b`) that are `beside`."""
        names, given = ", ".join(values), ", ".join(values.values())
        self.desk.rows(
            f"INSERT INTO {table} (tenant_id, {names}) SELECT s.tenant_id, {given} FROM sessions s"
            f" JOIN bindings b ON b.id = s.binding_id {beside} RETURNING 1"
        )

    def plant_memory(self, beside: str, said: str, at: str) -> None:
        """What was read from the messages `said`, as memory's writers leave it: a fact of the user's and one of the
        team's, a decision, an episode with its row."""
        bird, insert, new = self.bird, partial(self.plant, beside), self.new_id
        own = {"user_id": "s.user_id", "binding_id": "s.binding_id"}
        fact = {"confidence": "0.9", "origin": "'said'", "valid_from": at, "sure_at": at, "created_at": at}
        insert(
            "facts", id=new(), scope="'user'", **own, key="'city'", value=f"'{bird('a fact')}'", messages=said, **fact
        )
        insert("facts", id=new(), scope="'team'", team_id="b.team_id", key="'who'",
               value=f"'{bird('a fact of the team')}'", messages=said, **fact)  # fmt: skip
        insert("fact_decisions", id=new(), **own, session_id="s.id", origin="'said'", decision="'new'",
               reason=f"'{bird('a decision')}'", messages=said, at=at)  # fmt: skip
        row = new()
        insert("context_rows", id=row, kind="'episode'", title=f"'{bird('a title')}'", content=f"'{bird('a row')}'",
               content_hash="''", session_id="s.id", created_at=at)  # fmt: skip
        insert("episodes", id=new(), **own, session_id="s.id", text=f"'{bird('an episode')}'", from_at=at, until_at=at,
               messages=said, row_id=f"{row}::uuid", created_at=at)  # fmt: skip

    def new_id(self) -> str:
        """A new id in SQL."""
        return f"'{uuid7(self.desk.clock())}'"

    def forget(self, kind: Kind, target_id: UUID, **how: bool) -> JsonObject:
        return self.room.forget(kind, target_id, **how)

    def embed(self) -> None:
        self.room.embed()

    def seen(self) -> dict[str, set[str]]:
        """Where which canaries are: tables, objects and queues."""
        found = {f"table {name}": birds(words) for name, words in tables(self.cluster, self.name).items()}
        for bucket, kept in (("media", self.bucket.kept), ("files", self.room.files.kept)):
            found[f"object {bucket}"] = birds("".join(kept)) | {
                one for data in kept.values() for one in birds(data.decode("utf-8", "replace"))
            }
        queues: Mapping[str, Sequence[Any]] = {
            "turns": [one.body for one in self.desk.turns.sent.values()],
            "outbox": [one.body for one in self.desk.outbox.sent.values()],
            "tools": [one.body for one in self.desk.tools.sent.values()],
            "embedding": self.desk.embedding.sent, "memory": self.desk.memory.sent,
            **{f"dead {name}": one.bodies for name, one in self.letters.items()},
        }  # fmt: skip
        found |= {f"queue {name}": birds(json.dumps(bodies, default=str)) for name, bodies in queues.items()}
        return {where: seen for where, seen in found.items() if seen}

    def rows(self) -> dict[Named, set[str]]:
        """Every row there is, with the canaries in it."""
        found: dict[Named, set[str]] = {}
        with self.cluster.superuser(self.name) as connection:
            for table, parts in connection.execute(_KEYS).fetchall():
                for (row,) in _read(connection, str(table)):
                    found[str(table), "/".join(str(row[one]) for one in parts)] = birds(_told(row))
        return found

    def with_texts(self) -> set[str]:
        """The tables of the catalogue that can hold what somebody said: they have texts, JSON or bytes."""
        with self.cluster.superuser(self.name) as connection:
            names = connection.execute(
                "SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = 'public'"
                " AND data_type IN ('text', 'json', 'jsonb', 'bytea', 'ARRAY', 'character varying', 'tsvector')"
            ).fetchall()
        return {str(name) for (name,) in names}


def tables(cluster: Cluster, name: str) -> dict[str, str]:
    """Every row of every table of the catalogue, whoever's it is, as text; what is packed is opened."""
    with cluster.superuser(name) as connection:
        names = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')"
        ).fetchall()
        return {str(table): _words(connection, str(table)) for (table,) in names}


def birds(words: str) -> set[str]:
    return {one.upper() for one in CANARY.findall(words)}


def _words(connection: psycopg.Connection[Any], table: str) -> str:
    return "\n".join(_told(row) for (row,) in _read(connection, table))


def _read(connection: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql.SQL("SELECT to_jsonb(t) FROM {} t").format(sql.Identifier(table))).fetchall()


def _told(row: Mapping[str, Any]) -> str:
    packed = [value for value in row.values() if isinstance(value, str) and value.startswith("\\x")]
    return "\n".join([json.dumps(row, ensure_ascii=False), *(_opened(one) for one in packed)])


def _opened(value: str) -> str:
    try:
        return zlib.decompress(bytes.fromhex(value[2:])).decode()
    except (zlib.error, ValueError):
        return ""


def untold(before: Mapping[Named, set[str]], after: Mapping[Named, set[str]], report: JsonObject) -> list[Named]:
    """The rows that went, or lost a canary, and of which the report says nothing, or something else."""
    fates = _fates(report)
    gone = {one: "removed" for one in before if one not in after}
    emptied = {one: "emptied" for one in before if one in after and before[one] - after[one]}
    told = {one: fate for one, fate in (gone | emptied).items() if one[0] not in _COUNTED}
    return sorted(one for one, fate in told.items() if fate not in fates.get(one, set()))


def _fates(report: JsonObject) -> dict[Named, set[str]]:
    """What became of which row; what became of a part of one, as a property is, became of that row."""
    found: dict[Named, set[str]] = {}
    for row in cast("list[dict[str, Any]]", report["rows"]):
        for one in row["ids"]:
            name = one.partition("/")[0] if row["table"] in {"entities", "sessions"} else one
            found.setdefault((row["table"], name), set()).add(row["fate"])
    return found
