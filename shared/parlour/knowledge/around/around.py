"""What stands around a record: for the briefing of a conversation about it. One round trip each."""

from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.knowledge.around import store
from parlour.knowledge.around.store import Near
from parlour.knowledge.search.search import FEW
from parlour.principal import Principal

__all__ = ["Near", "around", "changes", "projects"]

NEAREST = 8
"""Rows near a record that may go into its briefing: the best few; what is asked for is searched."""

_RECENT = 8
FILE_TOKENS = 2_500
"""Tokens (cl100k_base) up to which a project's files are told whole; larger ones are searched."""

_MOST_CHANGES = 30
_MOST_PROJECTS = 20


def around(principal: Principal, tx: Transaction, entity_id: UUID, *, team_id: UUID, is_project: bool) -> list[Near]:
    """What its files say in short, the rows nearest to it by its own vector and, around a project, its files whole
    while they are short, and what changed in it lately; what the principal may not see is not there."""
    return store.around(
        tx, entity_id, clearance=principal.clearance, team_id=team_id, is_project=is_project, nearest=NEAREST,
        recent=_RECENT, file_tokens=FILE_TOKENS, few=FEW,
    )  # fmt: skip


def changes(principal: Principal, tx: Transaction, entity_id: UUID, since: datetime) -> list[Near]:
    """What changed on the record after `since`, newest first, 30 at most."""
    return store.changes(tx, entity_id, clearance=principal.clearance, since=since, most=_MOST_CHANGES)


def projects(principal: Principal, tx: Transaction) -> list[Near]:
    """The projects that the principal may see, the ones changed last first, 20 at most: name and handle."""
    return store.projects(tx, clearance=principal.clearance, most=_MOST_PROJECTS)
