"""The indexes over vectors: one for every space that the deployment names, since vectors of two models do not compare.

They are built after the migrations, while the vectors' table is written. A space is named before anything lies in it,
so there is little to wait for. Until an index is built, all vectors of a tenant are compared: slower, and complete.
Search reaches an index by its very expression and predicate. Half precision finds what full precision finds, in half
of the memory (bench/filtered_search.py).
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import sql

from parlour.infra import log
from parlour.infra.json_values import canonical_digest

#: Any constant will do; it keeps two migrators from building indexes at once.
_LOCK_KEY = 7_276_911_352

#: Seconds between two attempts to take the lock.
_LOCK_POLL_SECONDS = 1.0

_MAX_DIMENSIONS = 4000
"""HNSW takes no longer vectors of half precision; those of such a space are compared one by one."""

_EF_CONSTRUCTION = 128
"""How many neighbours are looked at for the sixteen that a vector is linked to (pgvector's ef_construction; 64 unless
told). With 64 a million vectors in a thousand clusters are found to 92 percent, however long one searches."""


def index_name(space: str) -> str:
    """Return the name of the index over a space."""
    return f"embeddings_hnsw_{canonical_digest(space)[:16]}"


def build_vector_indexes(owner: psycopg.Connection[Any], spaces: Mapping[str, int]) -> list[str]:
    """Make the indexes that are missing; `spaces`: dimensions by the space's name. Returns the spaces that got one.

    `owner` is a connection of the owning role with no transaction open. An index whose making broke off is made anew.
    """
    with _build_lock(owner):
        return [space for space, dimensions in spaces.items() if _build_index(owner, space, dimensions)]


def _build_index(owner: psycopg.Connection[Any], space: str, dimensions: int) -> bool:
    if dimensions > _MAX_DIMENSIONS:
        log.warning("space_without_index", dimensions=dimensions, limit=_MAX_DIMENSIONS)
        return False
    over = sql.SQL(
        "ON embeddings USING hnsw ((vector::halfvec({})) halfvec_cosine_ops) WITH (ef_construction = {})"
        " WHERE space = {}"
    )
    parts = (sql.Literal(dimensions), sql.Literal(_EF_CONSTRUCTION), sql.Literal(space))
    return _create_index(owner, index_name(space), over.format(*parts))


@contextmanager
def _build_lock(owner: psycopg.Connection[Any]) -> Iterator[None]:
    """Be the only migrator that builds indexes; every statement commits by itself, as CONCURRENTLY requires.

    The lock is polled: a statement that waits for a lock holds a snapshot, and CREATE INDEX CONCURRENTLY waits for all
    older snapshots, so the two would deadlock.
    """
    was = owner.autocommit
    owner.autocommit = True
    try:
        while owner.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK_KEY,)).fetchone() != (True,):
            time.sleep(_LOCK_POLL_SECONDS)
        yield
    finally:
        with suppress(psycopg.OperationalError):  # the connection is gone, and the lock with it
            owner.execute("SELECT pg_advisory_unlock(%s)", (_LOCK_KEY,))
            owner.autocommit = was


def _create_index(owner: psycopg.Connection[Any], name: str, over: sql.Composable) -> bool:
    """Create an index `over` ("ON table ...") while the table is written; return False when it is there already.

    An invalid index, left by a build that was interrupted, is dropped first.
    """
    found = owner.execute(
        "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = %s", (name,)
    ).fetchone()
    if found == (True,):
        return False
    owner.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(name)))
    owner.execute(sql.SQL("CREATE INDEX CONCURRENTLY {} {}").format(sql.Identifier(name), over))
    return True
