"""Who is calling, and what an endpoint of theirs works with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from parlour.api.dependencies import ApiDependencies
from parlour.infra import log
from parlour.infra.errors import Forbidden, NotFound, ParlourError, QueueUnavailable, RateLimited
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.search.index import scheduling
from parlour.search.index.embedders import Embedder
from parlour.tenancy import open_streams, rate_limits, roles, users
from parlour.tenancy.authentication import AuthenticatedCaller, Credentials, VisitorClaims, act_as_user
from parlour.tenancy.limits import hash_address, message_limits, request_limits, stream_limits
from parlour.tenancy.users import Session


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who signed in, for the length of one request.

    now      the moment it came.
    address  the hash of the network address that a visitor's request came from; "" when it is not known.
    """

    dependencies: ApiDependencies
    signed_in: AuthenticatedCaller
    now: datetime
    address: str = ""

    @property
    def principal(self) -> Principal:
        return self.signed_in.principal

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction as the caller's tenant, on a database of its own."""
        with self.dependencies.databases.borrow() as database, database.transaction(self.principal) as tx:
            yield tx

    def embedder(self) -> Embedder:
        """Return the embedder of the tenant's questions. Misconfigured when the deployment does not name it."""
        with self.dependencies.databases.borrow() as database:
            return self.dependencies.embedding_spaces.tenant_embedder(database, self.principal.tenant_id)

    def request_embedding(self) -> None:
        """Have what was just committed get its vectors."""
        request_embedding(self.dependencies, self.principal.tenant_id)

    def check_session_token(self, session_id: UUID) -> None:
        """Check that a visitor's token is valid for the session; NotFound for any other session."""
        visitor = self.signed_in.visitor
        if visitor and visitor.session_id not in {None, session_id}:
            raise NotFound("this token was issued for another session; open one with POST /v1/sessions")

    def get_session(self, tx: Transaction, session_id: UUID) -> Session:
        """Return the session, for its own visitor or for members to whom it is open; else NotFound."""
        self.check_session_token(session_id)
        found = users.get_session(self.principal, tx, session_id)
        if self.signed_in.visitor and self.signed_in.visitor.binding_id != found.binding_id:
            raise NotFound("this token was issued for another agent; open a session with that one")
        return found

    def require_message_tokens(self) -> None:
        """Count a message against the limits of its visitor, address and binding; RateLimited above one of them."""
        visitor = self.signed_in.visitor
        if visitor is None or self.principal.id is None:
            return
        wanted = message_limits(self.signed_in.limits, self.principal.id, visitor.binding_id, self.address)
        with self.dependencies.databases.borrow() as database:
            rate_limits.require_tokens(database, self.principal, wanted, self.now)

    def require_request_tokens(self) -> None:
        """Count a request against the limit of its visitor; RateLimited above it."""
        if self.signed_in.visitor is None or self.principal.id is None:
            return
        with self.dependencies.databases.borrow() as database:
            rate_limits.require_tokens(database, self.principal, request_limits(self.principal.id), self.now)

    def require_stream_tokens(self) -> None:
        """Count a stream of events against the limits of its visitor and address; RateLimited above one of them."""
        if self.signed_in.visitor is None or self.principal.id is None:
            return
        wanted = stream_limits(self.signed_in.limits, self.principal.id, self.address)
        with self.dependencies.databases.borrow() as database:
            rate_limits.require_tokens(database, self.principal, wanted, self.now)

    def open_stream(self) -> Callable[[], None]:
        """Count a stream of a visitor that is open, and return what ends that.

        RateLimited where the visitor, or their address, has as many open as they may.
        """
        user_id, now = self.principal.id, self.now
        if self.signed_in.visitor is None or user_id is None:
            return lambda: None
        stream_id = uuid7(now)
        with self.transaction() as tx:
            if not open_streams.open_stream(tx, stream_id, user_id, self.signed_in.limits, self.address, now):
                raise RateLimited(open_streams.RETRY_SECONDS)
        return partial(self._close_stream, stream_id)

    def _close_stream(self, stream_id: UUID) -> None:
        try:
            with self.transaction() as tx:
                open_streams.close_stream(tx, stream_id)
        except ParlourError as problem:  # it counts until it has expired
            log.warning("stream_not_closed", code=problem.code)

    def require_visitor(self) -> VisitorClaims:
        """Return a visitor, or a member with Parlour-Agent, for all their sessions with a binding; else Forbidden."""
        visitor = self.signed_in.visitor
        if visitor is None or visitor.session_id is not None:
            raise Forbidden(
                "use the visitor_token, not the session token; a member signs in and names the agent in Parlour-Agent"
            )
        return visitor


def address_hash(services: ApiDependencies, request: Request) -> str:
    """Return where a request came from, as limits know it; "" when the server does not say."""
    return hash_address(services.token_secret(), request.client.host) if request.client else ""


def request_embedding(services: ApiDependencies, tenant_id: UUID) -> None:
    """Have what a tenant just committed get its vectors. It is found by its words already; should the queue be away,
    the sweep sees to it."""
    try:
        scheduling.wake_embedder(services.embedder_queue, tenant_id)
    except QueueUnavailable as problem:
        log.error("embedder_wake_failed", problem)


def get_dependencies(request: Request) -> ApiDependencies:
    """Return what the app was created with."""
    found: ApiDependencies = request.app.state.services
    return found


AppDependencies = Annotated[ApiDependencies, Depends(get_dependencies)]


def get_credentials(request: Request) -> Credentials:
    """Return the headers that say who is calling."""
    headers = request.headers
    return Credentials(
        headers.get("authorization", ""), headers.get("parlour-tenant", ""), headers.get("parlour-agent", "")
    )


RequestCredentials = Annotated[Credentials, Depends(get_credentials)]


def authenticate_caller(request: Request, found: AppDependencies, given: RequestCredentials) -> Caller:
    """Sign the caller in, or refuse; a key with scopes opens only those parts of the API.

    A member who names an agent acts as the user that they talk as there.
    """
    now = found.clock()
    with found.databases.borrow() as database:
        signed_in = found.authenticator.authenticate(given, database, now)
        if given.agent:
            signed_in = act_as_user(signed_in, given.agent, database, now)
    tags = set(getattr(request.scope.get("route"), "tags", ()))
    if signed_in.scopes and not tags & signed_in.scopes:
        raise Forbidden(f"this key is for {', '.join(sorted(signed_in.scopes))} only; create one with this scope")
    caller = Caller(found, signed_in, now, address_hash(found, request) if signed_in.visitor else "")
    caller.require_request_tokens()
    return caller


AnyCaller = Annotated[Caller, Depends(authenticate_caller)]


def _require_role(calling: Caller, role: str) -> None:
    """Check the role of somebody of the tenant. Who talks to an agent acts as a user there, a member as well."""
    principal = calling.principal
    roles.require_role(replace(principal, roles=frozenset()) if calling.signed_in.visitor else principal, role)


def require_viewer(calling: AnyCaller) -> Caller:
    """Return a caller who may read what an operator of the tenant sees."""
    _require_role(calling, "viewer")
    return calling


def require_reader(calling: AnyCaller) -> Caller:
    """Return a caller who may read the tenant's records: a viewer or an editor."""
    if calling.signed_in.visitor or not calling.principal.has_role("editor"):
        _require_role(calling, "viewer")
    return calling


def require_editor(calling: AnyCaller) -> Caller:
    """Return a caller who may write records, documents and files."""
    _require_role(calling, "editor")
    return calling


def require_admin(calling: AnyCaller) -> Caller:
    """Return a caller who may change the tenant's configuration."""
    _require_role(calling, "admin")
    return calling


def require_operator(request: Request, found: AppDependencies, given: RequestCredentials) -> ApiDependencies:
    """Return the dependencies to the operator of the deployment, for work on every tenant."""
    if found.authenticator.find_operator(given, found.clock()) is None:
        authenticate_caller(request, found, given)  # invalid credentials get a 401, not a 403
        raise Forbidden("only the operator of the deployment may do this; use the operator key")
    return found


OperatorDependencies = Annotated[ApiDependencies, Depends(require_operator)]
Viewer = Annotated[Caller, Depends(require_viewer)]
Reader = Annotated[Caller, Depends(require_reader)]
Editor = Annotated[Caller, Depends(require_editor)]
Admin = Annotated[Caller, Depends(require_admin)]
