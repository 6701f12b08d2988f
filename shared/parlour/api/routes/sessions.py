"""Talking to an agent on the web: open a session, write, follow the reply."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request

from parlour.api import event_stream
from parlour.api.authorization import AnyCaller, AppDependencies, Caller, RequestCredentials, address_hash
from parlour.api.dependencies import ApiDependencies
from parlour.api.event_schemas import Event, EventListView
from parlour.api.event_stream import EventReader, EventStreamResponse, is_response_buffered
from parlour.api.feed_watch import get_feed_watch
from parlour.api.file_schemas import AttachmentStarted, NewAttachment, UploadFormView
from parlour.api.schemas import (
    MessageAccepted,
    MessagePageView,
    NewMessage,
    NewSession,
    PublicAgent,
    RecordLabel,
)
from parlour.api.session_schemas import HandoffView, NewHandoff, OpenedSession, SessionView, TurnStopView
from parlour.conversations import attachment_uploads, handoffs, inbound_messages, stop_requests
from parlour.conversations import event_feed as turn_events
from parlour.conversations import turn_views as turns_read
from parlour.conversations.handoffs import Handoff
from parlour.conversations.rows import NewUpload, StopCause
from parlour.conversations.sessions import session_lists
from parlour.inbox import threads
from parlour.infra.errors import Forbidden, InvalidRequest, NotAcceptable, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.records import type_registry
from parlour.records.crud import Record, find_records, get_record
from parlour.tenancy import audit, bindings, rate_limits, roles, routing_keys, tenants, users
from parlour.tenancy.authentication import AuthenticatedCaller, VisitorClaims
from parlour.tenancy.bindings import Binding
from parlour.tenancy.limits import Limits, session_limits, visitor_limits

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

_UUID_PATTERN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_SUCH_AGENT = "no public agent has that name; /console/settings.json lists them"


EventNumber = Annotated[int, Query(ge=0, le=2**62, description="number of the last event that you have")]
LastEventId = Annotated[str, Header(pattern=r"^[0-9]{0,18}$", description="as EventSource sends it")]
MessageCursor = Annotated[str, Query(max_length=64, description="`next_cursor` of the page after this one")]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.post("", status_code=201)
def open_session(
    request: Request, wanted: NewSession, services: AppDependencies, given: RequestCredentials
) -> OpenedSession:
    """Begin a conversation, or go on with the latest: with a visitor's token the same visitor's, else a new one's.

    A member's token opens the member's own, with a token for this session that is valid for 12 hours.
    """
    now = services.clock()
    with services.databases.borrow() as database:
        known = services.authenticator.authenticate(given, database, now) if given.authorization else None
        if known and known.visitor and known.visitor.session_id:
            raise Forbidden("a session token opens no session; use the visitor_token, or sign in as the member")
        tenant_id, named = _find_binding(database, wanted)
        with database.transaction(tenant_id) as tx:
            known_id = _find_known_user(tx, known, tenant_id, now)
            binding, reader, epoch = _open_door(tx, tenant_id, named, known_id)
        if known_id is None:
            _admit_new_visitor(request, services, database, reader, binding, wanted.challenge)
        elif known and known.visitor:
            rate_limits.require_tokens(database, reader, session_limits(known.limits, known_id), now)
        with database.transaction(tenant_id) as tx:
            about = get_record(reader, tx, wanted.entity) if wanted.entity else None
            is_returning = known_id is not None and _is_of_binding(known, binding.id)
            latest = _find_latest_session(reader, tx, binding.id, about) if wanted.resume and is_returning else None
            user_id, session_id = latest or _create_session(tx, reader, binding.id, about, now)
    began_at = known.visitor.began_at if known and known.visitor else None
    is_member = known_id is not None and known is not None and known.principal.kind == "member"
    whom = VisitorClaims(tenant_id, user_id, binding.id, session_id, epoch, began_at, is_member)
    token = services.authenticator.issue_visitor_token(whom, now)
    whole = (
        services.authenticator.issue_visitor_token(replace(whom, session_id=None), now)
        if not is_member and (known_id is None or _is_of_binding(known, binding.id))
        else None
    )
    greeter = PublicAgent(slug=binding.slug, name=binding.display_name, greeting=binding.greeting)
    return OpenedSession(
        session_id=session_id,
        token=token.text,
        visitor_token=whole.text if whole else None,
        visitor_expires_at=whole.expires_at if whole else None,
        expires_at=token.expires_at,
        binding=greeter,
        entity=RecordLabel(handle=about.handle, name=about.name) if about else None,
        resumed=latest is not None,
    )


@router.get("/{session_id}")
def get_session(session_id: UUID, caller: AnyCaller) -> SessionView:
    """One session, and the record that it is about."""
    with caller.transaction() as tx:
        found = caller.get_session(tx, session_id)
        about = find_records(caller.principal, tx, [found.entity_id]) if found.entity_id else []
        answering, person = threads.who_answers(tx, session_id)
        has_open_turn = turn_events.has_open_turn(tx, session_id)
    shown = SessionView.from_session(caller.principal, found, about[0] if about else None)
    return shown.model_copy(update={"answering": answering, "person": person, "has_open_turn": has_open_turn})


@router.post("/{session_id}/attachments", status_code=201)
def start_attachment(session_id: UUID, wanted: NewAttachment, caller: AnyCaller) -> AttachmentStarted:
    """Say what will be sent along with a message; the answer is a form to POST it with, and the id that the message
    names it by."""
    _check_own_session(caller, session_id)
    caller.require_message_tokens()
    services = caller.dependencies
    announced = NewUpload(uuid7(caller.now), wanted.name, wanted.size_bytes)
    with caller.transaction() as tx:
        started = attachment_uploads.start_upload(
            caller.principal,
            tx,
            services.media_bucket,
            session_id,
            announced,
            caller.now,
        )
    form = UploadFormView(url=started.upload_form.url, fields=started.upload_form.fields)
    return AttachmentStarted(id=started.id, name=started.name, upload=form)


@router.post("/{session_id}/messages", status_code=202)
def post_message(session_id: UUID, message: NewMessage, caller: AnyCaller) -> MessageAccepted:
    """Write in one's own session. The answer comes as events; posting again with the same id is harmless."""
    _check_own_session(caller, session_id)
    caller.require_message_tokens()
    services = caller.dependencies
    named = [attachment_uploads.AttachmentReference(one.upload, one.file) for one in message.attachments]
    name = inbound_messages.web_message_id(session_id, message.client_message_id or "")
    with services.databases.borrow() as database:
        gathered = attachment_uploads.resolve_attachments(
            caller.principal, database, services.media_bucket, session_id, named, name, caller.now
        )
        message_id = inbound_messages.receive_web_message(
            caller.principal,
            database,
            services.turns_web_queue,
            services.wakeup_queue,
            inbound_messages.WebMessage(session_id, message.text, message.client_message_id, gathered, caller.address),
            caller.now,
        )
    return MessageAccepted(message_id=message_id, received_at=caller.now)


@router.post("/{session_id}/handoff", status_code=201)
def hand_over_session(session_id: UUID, wanted: NewHandoff, caller: AnyCaller) -> HandoffView:
    """Let another agent answer in a conversation: an editor chooses any, its user goes back to where it began."""
    handoff_id = uuid7(caller.now)
    handoff = Handoff(
        id=handoff_id,
        to=wanted.to,
        reason=wanted.reason,
        brief=wanted.brief,
        idempotency_key=f"{caller.principal.name}:{wanted.client_id or handoff_id}",
        at=caller.now,
    )
    with caller.transaction() as tx:
        caller.get_session(tx, session_id)
        done = handoffs.hand_over_session(caller.principal, tx, session_id, handoff)
    return HandoffView(id=done.id, to=done.to_slug, name=done.to_name, from_name=done.from_name)


@router.post("/{session_id}/turns/{turn_id}/stop", status_code=202)
def stop_turn(session_id: UUID, turn_id: UUID, caller: AnyCaller) -> TurnStopView:
    """Stop a turn: of one's own conversation, or as an editor. It ends with what there is of the reply.

    What its tools had begun to change is not cut off. Asking again is harmless.
    """
    who = caller.principal
    if who.kind != "user":
        roles.require_role(who, "editor")
    cause: StopCause = "user" if who.kind == "user" else "member"
    with caller.transaction() as tx:
        caller.get_session(tx, session_id)
        result = stop_requests.stop_turn(tx, who.tenant_id, session_id, turn_id, cause, caller.now)
        if cause == "member":
            details: JsonObject = {"turn_id": str(turn_id), "state": result.state}
            audit.add_entry(who, tx, "turn.stopped", f"session:{session_id}", details, caller.now)
    return TurnStopView.from_result(turn_id, result)


def _check_own_session(caller: Caller, session_id: UUID) -> None:
    if caller.principal.kind != "user":
        raise Forbidden("only the visitor who owns the session may write in it")
    caller.check_session_token(session_id)
    if caller.signed_in.visitor and caller.signed_in.visitor.session_id is None:
        with caller.transaction() as tx:
            caller.get_session(tx, session_id)


@router.get("/{session_id}/messages")
def list_messages(
    session_id: UUID, caller: AnyCaller, cursor: MessageCursor = "", limit: Limit = 100
) -> MessagePageView:
    """List the newest messages of a session, oldest first; with `next_cursor` those before them."""
    with caller.transaction() as tx:
        caller.get_session(tx, session_id)
        page = turns_read.read_transcript_page(caller.principal, tx, session_id, cursor, limit)
    return MessagePageView.model_validate(page)


@router.get("/{session_id}/events")
def list_events(session_id: UUID, caller: AnyCaller, after: EventNumber = 0) -> EventListView:
    """List the events after a number, at most 200, in order: a way to follow a turn that works everywhere."""
    with caller.transaction() as tx:
        caller.get_session(tx, session_id)
        found = turn_events.list_events(caller.principal, tx, session_id, after)
    return EventListView.model_validate({"events": found})


@router.get("/{session_id}/stream", response_class=EventStreamResponse, status_code=200)
def stream_events(
    request: Request, session_id: UUID, caller: AnyCaller, after: EventNumber = 0, last_event_id: LastEventId = ""
) -> EventStreamResponse:
    """Stream the same events as they come (text/event-stream); resume after `Last-Event-ID`, or after `after`.

    A stream ends when a turn is done, and after 20 seconds of silence without an open turn: open it again for more.
    A visitor may open as many in a minute as they may send messages, and at least 12; two may be open at once.
    NotAcceptable where a response is held back until it is complete: an idle stream would occupy a function.
    """
    if is_response_buffered(request):
        raise NotAcceptable(f"responses are not streamed here; poll GET /v1/sessions/{session_id}/events?after=N")
    caller.require_stream_tokens()
    with caller.transaction() as tx:
        newest = caller.get_session(tx, session_id).last_event_number
    number = int(last_event_id or after)
    if number > newest:
        raise InvalidRequest(f"after: the newest event is number {newest}; follow after that one")
    tail = EventReader(
        lambda number: _read_events(caller, session_id, number),
        number,
        lambda: _has_open_turn(caller, session_id),
        partial(get_feed_watch(request).wait, caller.principal.tenant_id, session_id),
    )
    return EventStreamResponse(event_stream.stream_events(tail, event_stream.LIVE_TIMING), caller.open_stream())


def _read_events(caller: Caller, session_id: UUID, after: int) -> Sequence[Event]:
    """One look of a stream, whose reader was checked when it began."""
    with caller.transaction() as tx:
        return turn_events.list_events(caller.principal, tx, session_id, after)


def _has_open_turn(caller: Caller, session_id: UUID) -> bool:
    with caller.transaction() as tx:
        return turn_events.has_open_turn(tx, session_id)


def _find_binding(database: Database, wanted: NewSession) -> tuple[UUID, str | UUID]:
    """Return the requested tenant, and its binding by slug or id."""
    if wanted.host is not None:
        with database.transaction(None) as tx:
            route = routing_keys.find_routing_key(tx, routing_keys.web_key(wanted.host))
        if route is None or route.binding_id is None:
            raise NotFound(_NO_SUCH_AGENT)
        return route.tenant_id, route.binding_id
    tenant = tenants.find_tenant_by_slug(database, wanted.tenant or "")
    if tenant is None or wanted.binding is None:
        raise NotFound(_NO_SUCH_AGENT)
    # A slug that people choose never has the form of a UUID.
    named = UUID(wanted.binding) if _UUID_PATTERN.fullmatch(wanted.binding) else wanted.binding
    return tenant.tenant_id, named


def _find_known_user(tx: Transaction, known: AuthenticatedCaller | None, tenant_id: UUID, now: datetime) -> UUID | None:
    """Return the user who asks, when they are known to that tenant: a visitor who was here, or a member."""
    if known is None or known.principal.tenant_id != tenant_id:
        return None
    if known.principal.kind == "member":
        return users.find_or_create_member_user(known.principal, tx, now)
    return known.principal.id if known.principal.kind == "user" else None


def _open_door(
    tx: Transaction, tenant_id: UUID, named: str | UUID, user_id: UUID | None
) -> tuple[Binding, Principal, int]:
    """Return the binding, the reader that a session with it is opened for, and the epoch of their tokens.

    NotFound when its door is closed to them.

    A reader without an id is a visitor who is not there yet.
    """
    tenant = tenants.find_own_tenant(tx)
    binding = bindings.find_binding(tx, named) if isinstance(named, UUID) else bindings.find_binding_by_slug(tx, named)
    if tenant is None or tenant.status == "archived" or binding is None or "web" not in binding.channels:
        raise NotFound(_NO_SUCH_AGENT)
    if user_id is None:
        if not binding.is_open_to_visitors:
            raise NotFound(_NO_SUCH_AGENT)
        return binding, Principal(tenant_id, "user", clearance=binding.clearance), 0
    access = users.load_access(tx, user_id, binding.id)
    if not access.is_admitted:
        raise NotFound(_NO_SUCH_AGENT)
    return binding, access.principal, access.token_epoch


def _admit_new_visitor(
    request: Request,
    services: ApiDependencies,
    database: Database,
    reader: Principal,
    binding: Binding,
    challenge: str,
) -> None:
    """Let a new visitor in: Forbidden without a solved challenge, RateLimited when too many come."""
    address = request.client.host if request.client else ""
    if services.check_challenge and not services.check_challenge(challenge, address):
        raise Forbidden("challenge: solve the page's challenge first and send its answer")
    limits = visitor_limits(Limits.from_settings(binding.limits), binding.id, address_hash(services, request))
    rate_limits.require_tokens(database, reader, limits, services.clock())


def _is_of_binding(known: AuthenticatedCaller | None, binding_id: UUID) -> bool:
    """Whether a known user is known to the binding: a member, or a visitor with a token for it."""
    held = known.visitor if known else None
    return held is None or held.binding_id == binding_id


def _find_latest_session(
    reader: Principal, tx: Transaction, binding_id: UUID, about: Record | None
) -> tuple[UUID, UUID] | None:
    """Return the user and their latest session about that."""
    found = session_lists.find_latest_session(reader, tx, binding_id, about.id if about else None)
    return (reader.id, found) if found and reader.id else None


def _create_session(
    tx: Transaction, reader: Principal, binding_id: UUID, about: Record | None, now: datetime
) -> tuple[UUID, UUID]:
    """Return a user and their new session: a known user's, or a new visitor's."""
    entity_id = about.id if about else None
    seen = type_registry.get_record_type(tx, about.type).settings.chat_visibility if about else "private"
    if reader.id:
        session = users.open_session(reader, tx, binding_id=binding_id, entity_id=entity_id, visibility=seen, now=now)
        return reader.id, session.id
    opened = users.create_visitor(tx, binding_id=binding_id, entity_id=entity_id, visibility=seen, now=now)
    return opened.user_id, opened.session_id
