"""Who is calling, and what an endpoint of theirs works with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from parlour.api.services import Services
from parlour.infra import log
from parlour.infra.errors import Forbidden, NotFound, QueueUnavailable
from parlour.infra.postgres import Transaction
from parlour.knowledge.index import pending
from parlour.knowledge.index.embed import Embedder
from parlour.principal import Principal
from parlour.tenancy import people, roles
from parlour.tenancy.people import Session
from parlour.tenancy.sign_in import Credentials, SignedIn, Visitor


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who signed in, for the length of one request; `now` is the moment it came."""

    services: Services
    signed_in: SignedIn
    now: datetime

    @property
    def principal(self) -> Principal:
        return self.signed_in.principal

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction as the caller's tenant, on a database of its own."""
        with self.services.connections.rent() as database, database.transaction(self.principal) as tx:
            yield tx

    def embedder(self) -> Embedder:
        """What the tenant's questions are embedded with. Misconfigured when the deployment does not name it."""
        with self.services.connections.rent() as database:
            return self.services.spaces.embedder(database, self.principal.tenant_id)

    def embed_soon(self) -> None:
        """Have what was just committed get its vectors."""
        embed_soon(self.services, self.principal.tenant_id)

    def check_token(self, session_id: UUID) -> None:
        """A visitor's token is good for the session it was issued with; NotFound for any other."""
        visitor = self.signed_in.visitor
        if visitor and visitor.session_id not in {None, session_id}:
            raise NotFound("this token was issued for another session; open one with POST /v1/sessions")

    def check_session(self, tx: Transaction, session_id: UUID) -> Session:
        """The session, if the caller may read it: its own visitor with a token of its binding, or those of the tenant
        to whom it is open; else NotFound."""
        self.check_token(session_id)
        found = people.session_of(self.principal, tx, session_id)
        if self.signed_in.visitor and self.signed_in.visitor.binding_id != found.binding_id:
            raise NotFound("this token was issued for another agent; open a session with that one")
        return found

    def visitor(self) -> Visitor:
        """A visitor with a token that is good for all of their sessions with a binding; Forbidden for anybody else."""
        visitor = self.signed_in.visitor
        if visitor is None or visitor.session_id is not None:
            raise Forbidden("this needs the visitor_token that a session was opened with, not the session's own")
        return visitor


def embed_soon(services: Services, tenant_id: UUID) -> None:
    """Have what a tenant just committed get its vectors. It is found by its words already; should the queue be away,
    the sweep sees to it."""
    try:
        pending.nudge(services.embedding, tenant_id)
    except QueueUnavailable as problem:
        log.error("embedding_not_woken", problem)


def services(request: Request) -> Services:
    """What the app was created with."""
    found: Services = request.app.state.services
    return found


AnyServices = Annotated[Services, Depends(services)]


def credentials(request: Request) -> Credentials:
    """The two headers that say who is calling."""
    return Credentials(request.headers.get("authorization", ""), request.headers.get("parlour-tenant", ""))


GivenCredentials = Annotated[Credentials, Depends(credentials)]


def caller(found: AnyServices, given: GivenCredentials) -> Caller:
    """Sign the caller in, or refuse."""
    now = found.clock()
    with found.connections.rent() as database:
        return Caller(found, found.sign_in.authenticate(given, database, now), now)


AnyCaller = Annotated[Caller, Depends(caller)]


def viewer(calling: AnyCaller) -> Caller:
    """A caller who may read what an operator of the tenant sees."""
    roles.require(calling.principal, "viewer")
    return calling


def reader(calling: AnyCaller) -> Caller:
    """A caller who may read the tenant's records: a viewer, or an editor, who could not change what they do not see."""
    if not calling.principal.has("editor"):
        roles.require(calling.principal, "viewer")
    return calling


def editor(calling: AnyCaller) -> Caller:
    """A caller who may write records, documents and files."""
    roles.require(calling.principal, "editor")
    return calling


def admin(calling: AnyCaller) -> Caller:
    """A caller who may change the tenant's configuration."""
    roles.require(calling.principal, "admin")
    return calling


def operated(found: AnyServices, given: GivenCredentials) -> Services:
    """The services, for the operator of the deployment: what they touch is every tenant's."""
    if not found.sign_in.is_operator(given):
        caller(found, given)  # whoever is nobody at all hears that instead
        raise Forbidden("this concerns every tenant: only the operator of the deployment may do it, with their key")
    return found


Operated = Annotated[Services, Depends(operated)]
Viewer = Annotated[Caller, Depends(viewer)]
Reader = Annotated[Caller, Depends(reader)]
Editor = Annotated[Caller, Depends(editor)]
Admin = Annotated[Caller, Depends(admin)]
