"""Where to look. Pure."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Where to look; at most one of these is given, and with none everywhere in the tenant but in conversations.

    entity_id   a record and what it is linked to by one edge.
    type_id     the records of one type.
    project_id  a project, what belongs to it and what it is linked to by one edge.
    session_id  what was said in one conversation; no other scope finds that.
    """

    entity_id: UUID | None = None
    type_id: UUID | None = None
    project_id: UUID | None = None
    session_id: UUID | None = None

    @property
    def is_narrow(self) -> bool:
        return any((self.entity_id, self.type_id, self.project_id, self.session_id))


EVERYWHERE = SearchScope()
