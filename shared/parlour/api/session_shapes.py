"""Sessions as they go in and out as JSON, and the phone that one of them is joined with."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import StringConstraints

from parlour.api.schemas import Asked, Greeter, PackText, RecordNamed, Told
from parlour.api.schemas import Line as OneLine
from parlour.knowledge.records.entities import Entity
from parlour.principal import Principal
from parlour.tenancy.people import Session
from parlour.tenancy.records import Visibility
from parlour.tenancy.sessions.listed import Line

Phone = Annotated[PackText, StringConstraints(min_length=1, max_length=40)]
Code = Annotated[PackText, StringConstraints(min_length=1, max_length=20)]


class SessionOpened(Told):
    """A session and the token that every further call about it must carry as a bearer.

    visitor_token       good for all of the visitor's conversations with this agent: to list them and go on with one, to
                        join them with a phone. Given to a new visitor, and to one who showed it.
    visitor_expires_at  until when that one is good; `expires_at` is the session's.
    resumed             whether it is a conversation that they had already.
    """

    session_id: UUID
    token: str
    visitor_token: str | None = None
    visitor_expires_at: datetime | None = None
    expires_at: datetime
    binding: Greeter
    entity: RecordNamed | None = None
    resumed: bool = False


class SessionShown(Told):
    """A session; `entity` is the record that it is about, if the reader may see it.

    visibility  who else of the tenant reads it besides its user and the viewers: private, role_gated (editors), shared.
    user_id     whose it is, for those of the tenant who may see what is remembered of them.
    is_main     whether what its user writes on a phone comes here.
    last_event  the number of its newest event: whoever has read the messages goes on from there.
    """

    id: UUID
    channel: str
    title: str
    visibility: str
    pinned: bool
    archived: bool
    is_main: bool
    created_at: datetime
    last_active_at: datetime
    last_event: int
    entity: RecordNamed | None = None
    user_id: UUID | None = None

    @classmethod
    def of(cls, reader: Principal, found: Session | Line, about: Entity | None) -> Self:
        """A session as its reader sees it; `about` is its record, if that is theirs to see."""
        told: dict[str, object] = {
            "id": found.id, "channel": found.channel, "title": found.title, "visibility": found.visibility,
            "pinned": found.pinned_at is not None, "archived": found.archived_at is not None, "is_main": found.is_main,
            "created_at": found.created_at, "last_active_at": found.last_active_at,
            "last_event": found.last_event,
            "entity": RecordNamed(handle=about.handle, name=about.name) if about else None,
            "user_id": found.user_id if reader.has("viewer") else None,
            "last": (found.last or "") if isinstance(found, Line) else "",
        }  # fmt: skip
        return cls.model_validate(told)


class SessionLine(SessionShown):
    """A session in a list; `last` is how what was said there last begins."""

    last: str


class SessionChange(Asked):
    """What is to be different of one's own session; what is left out stays.

    visibility  who else of the tenant may read it: nobody but its viewers (private), editors too (role_gated), every
                member (shared). Nothing is remembered of what is said while others may read it.
    """

    title: OneLine | None = None
    pinned: bool | None = None
    archived: bool | None = None
    visibility: Visibility | None = None


class PhoneWanted(Asked):
    """A number, with its country code, that the visitor says is theirs.

    consent: that what was said here and there is to be one, seen and remembered on both channels. Without it nothing is
    sent.
    """

    phone: Phone
    consent: bool


class PhoneAsked(Told):
    """A code is on its way, if the number can be reached; give it back under `link_id` while it is good."""

    link_id: UUID
    expires_at: datetime
    message: str


class CodeGiven(Asked):
    """The code as it came."""

    code: Code


class PhoneJoined(Told):
    """Both channels meet in this session from now on; its token, and one for all of the person's with this agent."""

    session_id: UUID
    token: str
    visitor_token: str
    visitor_expires_at: datetime
    expires_at: datetime
