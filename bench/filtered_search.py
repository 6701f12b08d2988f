"""Nearest rows within what one tenant may see, against an exact search of the same rows: recall, rows and time.

    python -m bench.filtered_search [--sizes 1000,10000,20000,100000] [--tenants 1,200] [--large] [--corpus C]
                                    [--json FILE]

Every size once in one tenant and once spread over 200, as the app role under row-level security, through the
product's own function (search_nearest) with the product's own threshold; MOST rows are asked for. Three in four rows
are public and the reader is, so that a filter is at work beside the tenant.

1k, 10k, 20k     real texts, embedded with MiniLM: the lines of --corpus, repeated with noise when they are too few;
                 without --corpus, synthetic like the others.
100k, 1M         synthetic: 384 dimensions, points around 1,000 centres; 1M with --large, which takes some 6 GB and
                 half an hour. Where every tenant is compared in full, no index is read, and none is made.

recall %         of the exact search's rows, over QUESTIONS questions (points of the set, moved a little).
fewest           the smallest number of rows that a question got; visible: how many there are for the reader.
"""

import argparse
import itertools
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg
from numpy.typing import NDArray

from bench import report
from bench.corpora import read_lines
from local import temporary_database
from local.database import Cluster
from local.embeddings import MiniLmEmbedder
from parlour.infra import vector_indexes
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.search.fusion import LIST_DEPTH
from parlour.search.hybrid_search import MAX_EXACT_VECTORS
from parlour.search.index.context_rows import vector_literal

QUESTIONS = 60
MOST = LIST_DEPTH
TENANTS = 200
_SPACE = "bench@384"
_CENTRES, _REAL = 1_000, 20_000
_AT_ONCE = 50_000
_LONGEST = 600
"""Characters of a real text that are embedded."""
_SYNTHETIC_SEED = 4
_ABOVE = 3
"""The level of every fourth row of a tenant; the reader sees public ones."""

type Points = NDArray[np.float32]


@dataclass(frozen=True)
class Nearest:
    """A row that the function found."""

    id: uuid.UUID
    distance: float


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", default="1000,10000,20000,100000")
    parser.add_argument("--tenants", default=f"1,{TENANTS}", help="over how many tenants each size is spread")
    parser.add_argument("--large", action="store_true", help="a million rows too")
    parser.add_argument("--corpus", type=Path, nargs="+", help="real texts: corpora of bench.retrieval")
    chosen = parser.parse_args()
    sizes = [int(size) for size in chosen.sizes.split(",")] + [1_000_000] * chosen.large
    real = embedded(chosen.corpus) if chosen.corpus else None
    rows: list[dict[str, report.Cell]] = []
    for size, tenants in itertools.product(sizes, map(int, chosen.tenants.split(","))):
        points = spread(real, size) if real is not None and size <= _REAL else synthetic(size)
        with temporary_database.temporary_cluster() as cluster:
            rows.append(measured(cluster, points, tenants))
            report.show("Nearest rows within one tenant", rows[-1:])
    report.show(f"Nearest rows within one tenant ({QUESTIONS} questions, {MOST} rows asked for)", rows)
    report.write(chosen.json, {"threshold": MAX_EXACT_VECTORS, "questions": QUESTIONS, "most": MOST, "rows": rows})


def measured(cluster: Cluster, points: Points, tenants: int) -> dict[str, report.Cell]:
    """Fill a new database with the points, ask of one tenant, compare."""
    database = temporary_database.create_migrated_database(cluster)
    names = [uuid.UUID(int=number + 1) for number in range(tenants)]
    mine = points[0::tenants]
    with cluster.connect_as_superuser("scratch") as owner:
        _fill(owner, points, names)
        built = _index(owner) if len(mine) > MAX_EXACT_VECTORS else 0.0
        owner.execute("VACUUM ANALYZE embeddings, context_rows")
    visible = mine[np.arange(len(mine)) % 4 != 3]
    questions = _moved(mine[np.linspace(0, len(mine) - 1, QUESTIONS).astype(int)])
    recalls, counts, milliseconds = [], [], []
    for question in questions:
        begun = time.perf_counter()
        found = _ask(database, names[0], question)
        milliseconds.append((time.perf_counter() - begun) * 1000)
        best = np.sort(1 - visible @ question)[:MOST]
        recalls.append(sum(row.distance <= best[-1] + 1e-5 for row in found) / len(best))
        counts.append(len(found))
    database.close()
    return {
        "rows": len(points),
        "tenants": tenants,
        "visible": len(visible),
        "search": "exact" if len(mine) <= MAX_EXACT_VECTORS else "index",
        "recall %": 100 * float(np.mean(recalls)),
        "fewest": min(counts),
        "p50 ms": report.percentile(milliseconds, 50),
        "p95 ms": report.percentile(milliseconds, 95),
        "index s": built,
    }


def embedded(corpora: Sequence[Path]) -> Points:
    """The vectors of the different texts of the corpora, up to as many as the largest real size."""
    lines = itertools.chain.from_iterable(map(read_lines, corpora))
    texts = list(itertools.islice(dict.fromkeys(line["text"][:_LONGEST] for line in lines), _REAL))
    return np.array(MiniLmEmbedder(threads=2).embed(texts), dtype=np.float32)


def spread(real: Points, size: int) -> Points:
    """As many points as asked for: the real ones, then the same again a little moved."""
    times = -(-size // len(real))
    return np.concatenate([real, *(_moved(real, seed) for seed in range(1, times))])[:size]


def synthetic(size: int) -> Points:
    """Points around centres, as texts about the same things are."""
    random = np.random.default_rng(_SYNTHETIC_SEED)
    centres = random.standard_normal((_CENTRES, 384), dtype=np.float32)
    parts = [
        _unit(centres[random.integers(0, _CENTRES, count)] + random.standard_normal((count, 384), dtype=np.float32))
        for count in _steps(size)
    ]
    return np.concatenate(parts)


def _steps(size: int, step: int = _AT_ONCE) -> Iterator[int]:
    for begin in range(0, size, step):
        yield min(step, size - begin)


def _moved(points: Points, seed: int = 0) -> Points:
    noise = np.random.default_rng(seed).standard_normal(points.shape, dtype=np.float32)
    return _unit(points + noise * 0.02)


def _unit(points: Points) -> Points:
    rows: Points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return rows


def _ask(database: Database, tenant: uuid.UUID, question: Points) -> list[Nearest]:
    with database.transaction(tenant) as tx:
        return tx.all(
            _NEAREST,
            Nearest,
            space=_SPACE,
            question=vector_literal(question.tolist()),
            most=MOST,
            few=MAX_EXACT_VECTORS,
        )


def _fill(owner: psycopg.Connection[tuple[object, ...]], points: Points, tenants: list[uuid.UUID]) -> None:
    """Rows one by one to the tenants in turn; every fourth of a tenant is above the reader."""
    owner.cursor().executemany(_TENANT, [(name, f"tenant-{number}") for number, name in enumerate(tenants)])
    with owner.cursor() as cursor:
        for first in range(0, len(points), _AT_ONCE):
            part = points[first : first + _AT_ONCE]
            owned = [(tenants[at % len(tenants)], at) for at in range(first, first + len(part))]
            with cursor.copy(_COPY_ROWS) as copy:
                for tenant, at in owned:
                    level = _ABOVE if at // len(tenants) % 4 == 3 else 0
                    copy.write_row(
                        (tenant, _row_id(at), "snapshot", "Row", "A row.", "-", level, "2026-01-01T00:00:00Z")
                    )
            with cursor.copy(_COPY_VECTORS) as copy:
                copy.write(_BINARY_HEAD + _vectors_as_copied(owned, part) + _BINARY_END)


def _row_id(at: int) -> uuid.UUID:
    return uuid.UUID(int=10**9 + at)


def _vectors_as_copied(owned: Sequence[tuple[uuid.UUID, int]], points: Points) -> bytes:
    """PostgreSQL's binary form of the rows: a million vectors written as text take ten minutes."""
    space = _SPACE.encode()
    shape = [("fields", ">i2"), ("tenant_size", ">i4"), ("tenant", "S16"), ("row_size", ">i4"), ("row", "S16")]
    shape += [("space_size", ">i4"), ("space", f"S{len(space)}"), ("vector_size", ">i4")]
    copied = np.zeros(len(points), [*shape, ("dimensions", ">i2"), ("unused", ">i2"), ("vector", ">f4", 384)])
    copied["fields"], copied["space_size"], copied["space"] = 4, len(space), space
    copied["tenant_size"], copied["row_size"], copied["vector_size"] = 16, 16, 4 + 4 * 384
    copied["tenant"] = [tenant.bytes for tenant, _ in owned]
    copied["row"] = [_row_id(at).bytes for _, at in owned]
    copied["dimensions"], copied["vector"] = 384, points
    return copied.tobytes()


def _index(owner: psycopg.Connection[tuple[object, ...]]) -> float:
    """The space's index, as migrating makes it; how many seconds it took."""
    owner.execute("SET maintenance_work_mem = '4GB'")
    begun = time.perf_counter()
    vector_indexes.build_vector_indexes(owner, {_SPACE: 384})
    return time.perf_counter() - begun


_NEAREST = Query(
    "bench.nearest",
    "The product's own function, for a reader of public rows.",
    "SELECT id, distance FROM search_nearest(%(space)s, %(question)s::vector, 0, NULL, false, %(most)s, %(few)s)"
    " ORDER BY distance",
)
_TENANT = (
    "INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at) VALUES (%s, %s, 'T', now(), now())"
)
_COPY_ROWS = (
    "COPY context_rows (tenant_id, id, kind, title, content, content_hash, classification, created_at) FROM STDIN"
)
_COPY_VECTORS = "COPY embeddings (tenant_id, row_id, model, vector) FROM STDIN WITH (FORMAT binary)"
_BINARY_HEAD, _BINARY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"

if __name__ == "__main__":
    main()
