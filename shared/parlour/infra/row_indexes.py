"""Indexes over rows that were there before them: made while the table is written, when the migrations are done.

A migration holds its locks until it ends, and an index over a million rows takes minutes. What reads by one of these
works without it as well, only slower. One whose making broke off is made anew.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, LiteralString

import psycopg
from psycopg import sql

_LOCK = 7_276_911_352
"""Any constant will do; it keeps two migrators from making indexes at once, these and those over vectors."""

_INDEXES: dict[str, LiteralString] = {
    # All that recall reads of a conversation's rows (0018), so that ten thousand are read from the index alone. The
    # bits of their words are counted when they are written and not for every question. In the order of these counts
    # its pages are two thirds full; in that of ids a third, where conversations go on side by side (measured: 30,000
    # rows of 50 conversations, their vectors written later).
    "context_rows_recalled": """
        context_rows (tenant_id, session_id, (bit_count(substring(heard FROM 1 FOR 256))::float8))
        INCLUDE (id, classification, vector_space, heard) WHERE session_id IS NOT NULL""",
    # What a record says itself, and what changed on it lately, however much ever changed on it.
    "context_rows_about": "context_rows (tenant_id, entity_id, kind, created_at DESC) WHERE entity_id IS NOT NULL",
    # What goes along with a turn, a session or a row: without them each deletion has a whole table looked through.
    "events_turn": "events (tenant_id, turn_id)",
    "llm_calls_session": "llm_calls (tenant_id, session_id) WHERE session_id IS NOT NULL",
    "citations_row": "citations (tenant_id, row_id) WHERE row_id IS NOT NULL",
    "sources_row": "sources (tenant_id, row_id)",
}
_REPLACED = ("context_rows_session", "context_rows_entity", "context_rows_said", "context_rows_heard")
"""What these did, those do as well."""

_PAUSE = 1.0
"""Seconds between two looks at whether another migrator is done."""


def build(owner: psycopg.Connection[Any]) -> list[str]:
    """Make the indexes that are missing and drop those that they replace; returns the names of those made.

    `owner` is a connection of the owning role with no transaction open.
    """
    with alone(owner):
        made = [name for name, over in _INDEXES.items() if make(owner, name, sql.SQL("ON " + over))]
        for name in _REPLACED:
            owner.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))
    return made


@contextmanager
def alone(owner: psycopg.Connection[Any]) -> Iterator[None]:
    """Be the only migrator that makes such indexes; every statement commits by itself, as CONCURRENTLY wants it.

    Who waits asks again and again: a statement that waits for a lock holds a snapshot, and the indexes of whoever has
    the lock wait for all snapshots that are older than they.
    """
    was = owner.autocommit
    owner.autocommit = True
    try:
        while owner.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone() != (True,):
            time.sleep(_PAUSE)
        yield
    finally:
        with suppress(psycopg.OperationalError):  # the connection is gone, and the lock with it
            owner.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
            owner.autocommit = was


def make(owner: psycopg.Connection[Any], name: str, over: sql.Composable) -> bool:
    """Make an index `over` ("ON table ...") while the table is written; False when it is there already.

    `owner` commits every statement by itself. What is left of one whose making broke off goes first.
    """
    found = owner.execute(
        "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = %s", (name,)
    ).fetchone()
    if found == (True,):
        return False
    owner.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(name)))
    owner.execute(sql.SQL("CREATE INDEX CONCURRENTLY {} {}").format(sql.Identifier(name), over))
    return True
