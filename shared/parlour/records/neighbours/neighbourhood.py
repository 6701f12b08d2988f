"""What stands around a record: for the briefing of a conversation about it. One round trip each."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records.neighbours import store
from parlour.records.neighbours.store import Neighbour
from parlour.search.hybrid_search import MAX_EXACT_VECTORS

__all__ = ["ChangesSince", "Neighbour", "find_changes_since", "find_neighbours", "list_newest_projects"]

MAX_NEAREST = 8
"""Rows near a record that may go into its briefing: the best few; what is asked for is searched."""

_MAX_RECENT = 8
_MAX_FILE_SUMMARIES = 40
"""Files that are told of in short: more than a briefing has room for, however many a record has."""

MAX_FILE_TOKENS = 2_500
"""Tokens (cl100k_base) up to which a project's files are told whole; larger ones are searched."""

_CLASSIFIED_TABLES, _ROW_TABLE = ("entities", "handles", "documents", "files"), "context_rows"
"""Where what is told has a classification of its own, and stays; and what is written anew now and then."""

_LIMITS = store.NeighbourLimits(MAX_NEAREST, _MAX_RECENT, _MAX_FILE_SUMMARIES, MAX_FILE_TOKENS, MAX_EXACT_VECTORS)
_MOST_CHANGES = 30
_MOST_PROJECTS = 20


def find_neighbours(
    principal: Principal, tx: Transaction, entity_id: UUID, *, team_id: UUID, is_project: bool
) -> list[Neighbour]:
    """Return the rows around a record that the principal may see.

    These are summaries of its newest files, 40 at most, and the rows nearest to its own vector; around a project also
    its short files whole, and its latest changes.
    """
    return store.find_neighbours(
        tx,
        entity_id,
        _LIMITS,
        clearance=principal.clearance,
        team_id=team_id,
        is_project=is_project,
    )


@dataclass(frozen=True, slots=True)
class ChangesSince:
    """What became of what was told: the changes, newest first, and the sources that are gone or that the reader may not
    see any more, as (table, id)."""

    changes: tuple[Neighbour, ...]
    unavailable_sources: frozenset[tuple[str, str]]


def find_changes_since(
    principal: Principal,
    tx: Transaction,
    since: datetime,
    sources: Iterable[tuple[str, str]],
    *,
    includes_changes: bool,
) -> ChangesSince:
    """Return what changed since then on the records among the sources, 30 changes at most, and which sources are gone.

    A source is (table, id) of entities, documents, files and context_rows, or a handle. A row that was written again is
    not gone, as long as its owner is there. Without `includes_changes` only what is gone.
    """
    known = tuple(sources)
    asked = {table: [one for of, one in known if of == table] for table in (*_CLASSIFIED_TABLES, _ROW_TABLE)}
    if not any(asked.values()):
        return ChangesSince((), frozenset())
    found = store.find_changes_since(
        tx,
        since,
        store.KnownSources(asked["entities"], asked["handles"], asked[_ROW_TABLE], asked["files"], asked["documents"]),
        clearance=principal.clearance,
        limit=_MOST_CHANGES,
        includes_changes=includes_changes,
    )
    seen, hidden = (
        {name for one in found if one.category == part for name in one.owners} for part in ("visible", "hidden")
    )
    gone = {(table, one) for table in _CLASSIFIED_TABLES for one in asked[table] if f"{table}/{one}" not in seen}
    gone |= {(_ROW_TABLE, one) for one in asked[_ROW_TABLE] if f"{_ROW_TABLE}/{one}" in hidden}
    return ChangesSince(tuple(one for one in found if one.category == "delta"), frozenset(gone))


def list_newest_projects(principal: Principal, tx: Transaction) -> list[Neighbour]:
    """Return the projects that the principal may see, the ones changed last first, 20 at most: name and handle."""
    return store.list_newest_projects(tx, clearance=principal.clearance, limit=_MOST_PROJECTS)
