"""The indexes over vectors: one for every space that the deployment names, since vectors of two models do not compare.

They are made when the schema is migrated, while the vectors' table is written. A space is named before anything lies
in it, so there is little to wait for; only a release that makes them otherwise (0010) finds vectors there. Until such
an index is made, all vectors of a tenant are compared: slower, and nothing is missed. Search reaches one by its very
expression and predicate. Half precision finds what full precision finds, in half of the memory (bench/filtered.py).
"""

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from parlour.infra import log, row_indexes
from parlour.infra.jsonable import digest

_MOST_DIMENSIONS = 4000
"""HNSW takes no longer vectors of half precision; those of such a space are compared one by one."""

_CARE = 128
"""How many neighbours are looked at for the sixteen that a vector is linked to (pgvector's ef_construction; 64 unless
told). With 64 a million vectors in a thousand clusters are found to 92 percent, however long one searches."""


def index_name(space: str) -> str:
    """What the index over a space is called."""
    return f"embeddings_hnsw_{digest(space)[:16]}"


def build(owner: psycopg.Connection[Any], spaces: Mapping[str, int]) -> list[str]:
    """Make the indexes that are missing; `spaces`: dimensions by the space's name. Returns the spaces that got one.

    `owner` is a connection of the owning role with no transaction open. An index whose making broke off is made anew.
    """
    with row_indexes.alone(owner):
        return [space for space, dimensions in spaces.items() if _build(owner, space, dimensions)]


def _build(owner: psycopg.Connection[Any], space: str, dimensions: int) -> bool:
    if dimensions > _MOST_DIMENSIONS:
        log.warning("space_without_index", dimensions=dimensions, most=_MOST_DIMENSIONS)
        return False
    over = sql.SQL(
        "ON embeddings USING hnsw ((vector::halfvec({})) halfvec_cosine_ops) WITH (ef_construction = {})"
        " WHERE model = {}"
    )
    parts = (sql.Literal(dimensions), sql.Literal(_CARE), sql.Literal(space))
    return row_indexes.make(owner, index_name(space), over.format(*parts))
