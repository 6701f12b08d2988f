"""What stands around a record: for the briefing of a conversation about it. One round trip each."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.knowledge.around import store
from parlour.knowledge.around.store import Near
from parlour.knowledge.search.search import FEW
from parlour.principal import Principal

__all__ = ["Near", "Since", "around", "projects", "since"]

NEAREST = 8
"""Rows near a record that may go into its briefing: the best few; what is asked for is searched."""

_RECENT = 8
_DISTILLED = 40
"""Files that are told of in short: more than a briefing has room for, however many a record has."""

FILE_TOKENS = 2_500
"""Tokens (cl100k_base) up to which a project's files are told whole; larger ones are searched."""

_CLASSIFIED, _ROWS = ("entities", "handles", "documents", "files"), "context_rows"
"""Where what is told has a classification of its own, and stays; and what is written anew now and then."""

_MOST_CHANGES = 30
_MOST_PROJECTS = 20


def around(principal: Principal, tx: Transaction, entity_id: UUID, *, team_id: UUID, is_project: bool) -> list[Near]:
    """What its newest files say in short, 40 at most, the rows nearest to it by its own vector and, around a project,
    its files whole while they are short, and what changed in it lately; what the principal may not see is not there."""
    return store.around(
        tx, entity_id, clearance=principal.clearance, team_id=team_id, is_project=is_project, nearest=NEAREST,
        recent=_RECENT, distilled=_DISTILLED, file_tokens=FILE_TOKENS, few=FEW,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Since:
    """What became of what was told: the changes, newest first, and the sources that are gone or that the reader may not
    see any more, as (table, id)."""

    changes: tuple[Near, ...]
    gone: frozenset[tuple[str, str]]


def since(
    principal: Principal, tx: Transaction, moment: datetime, told: Iterable[tuple[str, str]], *, follows: bool
) -> Since:
    """What changed after `moment` on the records among `told` if it `follows` them, 30 changes at most, and what of it
    is gone: (table, id) of entities, documents, files and context_rows, and of handles. A row that was written anew is
    not gone, as long as what it belongs to is there. Other tables are not looked at."""
    known = tuple(told)
    asked = {table: [one for of, one in known if of == table] for table in (*_CLASSIFIED, _ROWS)}
    if not any(asked.values()):
        return Since((), frozenset())
    found = store.since(
        tx, moment, clearance=principal.clearance, most=_MOST_CHANGES, follows=follows, entities=asked["entities"],
        handles=asked["handles"], rows=asked[_ROWS], files=asked["files"], documents=asked["documents"],
    )  # fmt: skip
    seen, hidden = ({name for one in found if one.part == part for name in one.owners} for part in ("seen", "hidden"))
    gone = {(table, one) for table in _CLASSIFIED for one in asked[table] if f"{table}/{one}" not in seen}
    gone |= {(_ROWS, one) for one in asked[_ROWS] if f"{_ROWS}/{one}" in hidden}
    return Since(tuple(one for one in found if one.part == "change"), frozenset(gone))


def projects(principal: Principal, tx: Transaction) -> list[Near]:
    """The projects that the principal may see, the ones changed last first, 20 at most: name and handle."""
    return store.projects(tx, clearance=principal.clearance, most=_MOST_PROJECTS)
