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
from parlour.erasure import execution
from parlour.erasure.execution import ErasureDependencies, ErasureRequest
from parlour.erasure.report import ErasableKind, ErasureTarget
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.jobs.dead_letters import DiscardResult, RedriveResult
from parlour.records import backfill
from parlour.search.index import embedding_job
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from tests.conversation_harness import ConversationHarness, WordEmbedder
from tests.inbound_media import FakeMediaBucket

_COUNTED = frozenset({"ledger_texts"})
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
class FakeDeadLetters:
    """A queue's dead letters, in memory."""

    bodies: list[JsonObject] = field(default_factory=list)

    def count(self) -> int:
        return len(self.bodies)

    def redrive(self, most: int, /) -> RedriveResult:
        return RedriveResult(0, len(self.bodies[:most]))

    def discard(self, is_about: Callable[[JsonObject], bool], most: int, /) -> DiscardResult:
        stay = [one for one in self.bodies[:most] if not is_about(one)]
        gone, self.bodies = len(self.bodies) - len(stay), stay
        return DiscardResult(gone, 0)


@dataclass
class ErasureHarness:
    """A desk where things are forgotten, with its buckets and its dead letters."""

    desk: ConversationHarness
    bucket: FakeMediaBucket = field(default_factory=FakeMediaBucket)
    files: FakeMediaBucket = field(default_factory=FakeMediaBucket)
    letters: dict[str, FakeDeadLetters] = field(
        default_factory=lambda: {"intake": FakeDeadLetters(), "turns-web": FakeDeadLetters()}
    )

    def forget(self, kind: ErasableKind, target_id: UUID, **how: bool) -> JsonObject:
        desk = self.desk
        services = ErasureDependencies(desk.database, self.bucket, self.files, self.letters, desk.clock)
        return execution.erase(
            desk.admin, services, ErasureRequest(ErasureTarget(kind, target_id), **how), lambda: 60.0
        )

    def embed(self) -> None:
        """Everything that was said gets its searchable row and its vector."""
        desk, spaces = self.desk, EmbeddingSpaces([PricedEmbedder(WordEmbedder())])
        services = embedding_job.EmbeddingDependencies(
            desk.database, spaces, desk.embedding, backfill.run_backfill, Decimal(20), desk.clock
        )
        embedding_job.embed_tenant(services, desk.tenant_id, lambda: 300.0)


@dataclass
class ErasureFixture:
    """A room with canaries. planted: what each is called by, by where it was put."""

    room: ErasureHarness
    cluster: Cluster
    name: str
    planted: dict[str, str] = field(default_factory=dict)

    @property
    def desk(self) -> ConversationHarness:
        return self.room.desk

    @property
    def bucket(self) -> FakeMediaBucket:
        return self.room.bucket

    @property
    def letters(self) -> dict[str, FakeDeadLetters]:
        return self.room.letters

    def canary(self, where: str) -> str:
        """A new canary."""
        found = f"CANARY-{len(self.planted):02}X"
        self.planted[found] = where
        return found

    def plant_row(self, beside: str, table: str, /, **values: str) -> None:
        """A row of what is written in SQL, of the sessions `s` (their bindings `b`) that are `beside`."""
        names, given = ", ".join(values), ", ".join(values.values())
        self.desk.query(
            f"INSERT INTO {table} (tenant_id, {names}) SELECT s.tenant_id, {given} FROM sessions s"
            f" JOIN bindings b ON b.id = s.binding_id {beside} RETURNING 1"
        )

    def plant_memory(self, beside: str, said: str, at: str) -> None:
        """What was read from the messages `said`, as memory's writers leave it: a fact of the user's and one of the
        team's, a decision, an episode with its row."""
        bird, insert, new = self.canary, partial(self.plant_row, beside), self.new_id
        own = {"user_id": "s.user_id", "binding_id": "s.binding_id"}
        fact = {"confidence": "0.9", "origin": "'stated'", "valid_from": at, "last_confirmed_at": at, "created_at": at}
        insert(
            "facts",
            id=new(),
            scope="'user'",
            **own,
            key="'city'",
            value=f"'{bird('a fact')}'",
            message_ids=said,
            **fact,
        )
        insert(
            "facts",
            id=new(),
            scope="'team'",
            team_id="b.team_id",
            key="'who'",
            value=f"'{bird('a fact of the team')}'",
            message_ids=said,
            **fact,
        )
        insert(
            "fact_decisions",
            id=new(),
            **own,
            session_id="s.id",
            origin="'stated'",
            decision="'new'",
            reason=f"'{bird('a decision')}'",
            message_ids=said,
            decided_at=at,
        )
        row = new()
        insert(
            "context_rows",
            id=row,
            kind="'episode'",
            title=f"'{bird('a title')}'",
            content=f"'{bird('a row')}'",
            content_hash="''",
            session_id="s.id",
            created_at=at,
        )
        insert(
            "episodes",
            id=new(),
            **own,
            session_id="s.id",
            text=f"'{bird('an episode')}'",
            from_at=at,
            until_at=at,
            message_ids=said,
            row_id=f"{row}::uuid",
            created_at=at,
        )

    def new_id(self) -> str:
        """A new id in SQL."""
        return f"'{uuid7(self.desk.clock())}'"

    def forget(self, kind: ErasableKind, target_id: UUID, **how: bool) -> JsonObject:
        return self.room.forget(kind, target_id, **how)

    def embed(self) -> None:
        self.room.embed()

    def canaries_by_table(self) -> dict[str, set[str]]:
        """Where which canaries are: tables, objects and queues."""
        found = {f"table {name}": find_canaries(words) for name, words in tables(self.cluster, self.name).items()}
        for bucket, kept in (("media", self.bucket.objects), ("files", self.room.files.objects)):
            found[f"object {bucket}"] = find_canaries("".join(kept)) | {
                one for data in kept.values() for one in find_canaries(data.decode("utf-8", "replace"))
            }
        queues: Mapping[str, Sequence[Any]] = {
            "turns": [one.body for one in self.desk.turns.sent.values()],
            "outbox": [one.body for one in self.desk.outbox.sent.values()],
            "tools": [one.body for one in self.desk.tools.sent.values()],
            "embedding": self.desk.embedding.sent,
            "memory": self.desk.memory.sent,
            **{f"dead {name}": one.bodies for name, one in self.letters.items()},
        }
        found |= {f"queue {name}": find_canaries(json.dumps(bodies, default=str)) for name, bodies in queues.items()}
        return {where: seen for where, seen in found.items() if seen}

    def rows(self) -> dict[Named, set[str]]:
        """Every row there is, with the canaries in it."""
        found: dict[Named, set[str]] = {}
        with self.cluster.connect_as_superuser(self.name) as connection:
            for table, parts in connection.execute(_KEYS).fetchall():
                for (row,) in _read_rows(connection, str(table)):
                    found[str(table), "/".join(str(row[one]) for one in parts)] = find_canaries(_row_text(row))
        return found

    def tables_with_texts(self) -> set[str]:
        """The tables of the catalogue that can hold what somebody said: they have texts, JSON or bytes."""
        with self.cluster.connect_as_superuser(self.name) as connection:
            names = connection.execute(
                "SELECT DISTINCT table_name FROM information_schema.columns"
                " JOIN information_schema.tables USING (table_schema, table_name)"
                " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
                " AND data_type IN ('text', 'json', 'jsonb', 'bytea', 'ARRAY', 'character varying', 'tsvector')"
            ).fetchall()
        return {str(name) for (name,) in names}


def tables(cluster: Cluster, name: str) -> dict[str, str]:
    """Every row of every table of the catalogue, whoever's it is, as text; what is packed is opened."""
    with cluster.connect_as_superuser(name) as connection:
        names = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')"
        ).fetchall()
        return {str(table): _words(connection, str(table)) for (table,) in names}


def find_canaries(words: str) -> set[str]:
    return {one.upper() for one in CANARY.findall(words)}


def _words(connection: psycopg.Connection[Any], table: str) -> str:
    return "\n".join(_row_text(row) for (row,) in _read_rows(connection, table))


def _read_rows(connection: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql.SQL("SELECT to_jsonb(t) FROM {} t").format(sql.Identifier(table))).fetchall()


def _row_text(row: Mapping[str, Any]) -> str:
    packed = [value for value in row.values() if isinstance(value, str) and value.startswith("\\x")]
    return "\n".join([json.dumps(row, ensure_ascii=False), *(_decompressed(one) for one in packed)])


def _decompressed(value: str) -> str:
    try:
        return zlib.decompress(bytes.fromhex(value[2:])).decode()
    except (zlib.error, ValueError):
        return ""


def unreported_rows(
    before: Mapping[Named, set[str]], after: Mapping[Named, set[str]], report: JsonObject
) -> list[Named]:
    """The rows that went, or lost a canary, and of which the report says nothing, or something else."""
    fates = _actions_by_row(report)
    gone = {one: "deleted" for one in before if one not in after}
    emptied = {one: "redacted" for one in before if one in after and before[one] - after[one]}
    told = {one: fate for one, fate in (gone | emptied).items() if one[0] not in _COUNTED}
    return sorted(one for one, fate in told.items() if fate not in fates.get(one, set()))


def _actions_by_row(report: JsonObject) -> dict[Named, set[str]]:
    """What became of which row; what became of a part of one, as a property is, became of that row."""
    found: dict[Named, set[str]] = {}
    for row in cast("list[dict[str, Any]]", report["rows"]):
        for one in row["ids"]:
            name = one.partition("/")[0] if row["table"] in {"entities", "sessions"} else one
            found.setdefault((row["table"], name), set()).add(row["action"])
    return found
