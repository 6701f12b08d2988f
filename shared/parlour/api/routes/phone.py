"""Joining a conversation on the web with a phone: consent, a code that is sent there, and the code given back."""

import secrets
from uuid import UUID

from fastapi import APIRouter

from parlour.api.access import AnyCaller, Caller
from parlour.api.session_shapes import CodeGiven, PhoneAsked, PhoneJoined, PhoneWanted
from parlour.channels import outbox
from parlour.infra import log
from parlour.infra.errors import InvalidRequest, NotFound, QueueUnavailable
from parlour.tenancy import bindings
from parlour.tenancy.bindings import Binding
from parlour.tenancy.sign_in import Visitor
from parlour.turns.linking import codes
from parlour.turns.linking.ask import Asked, ask
from parlour.turns.linking.join import join

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

_SENT = (
    "If this number can be reached, a code is on its way to it by WhatsApp. If none comes, write to the agent there "
    "first and ask again."
)


@router.post("/{session_id}/phone", status_code=202)
def ask_for_code(session_id: UUID, wanted: PhoneWanted, caller: AnyCaller) -> PhoneAsked:
    """Have a code sent to a number that the visitor says is theirs. Needs the `visitor_token`."""
    if not wanted.consent:
        raise InvalidRequest("consent: without it nothing is joined, and nothing is sent")
    binding, services = _binding(caller, session_id), caller.services
    with services.connections.rent() as database:
        asked = ask(
            caller.principal, database, binding, session_id, wanted.phone, code=codes.fresh(secrets.randbelow),
            secret=services.token_secret(), now=caller.now, new_id=services.new_id,
        )  # fmt: skip
    _send(caller, asked)
    return PhoneAsked(link_id=asked.link_id, expires_at=asked.expires_at, message=_SENT)


@router.post("/{session_id}/phone/{link_id}")
def give_code(session_id: UUID, link_id: UUID, given: CodeGiven, caller: AnyCaller) -> PhoneJoined:
    """Give the code back: what was said here and on the phone is one from now on. Needs the `visitor_token`."""
    binding, services = _binding(caller, session_id), caller.services
    with services.connections.rent() as database:
        joined = join(
            caller.principal, database, link_id, given.code, secret=services.token_secret(), now=caller.now,
            new_id=services.new_id,
        )  # fmt: skip
    tenant_id = caller.principal.tenant_id
    token = services.sign_in.issue(Visitor(tenant_id, joined.user_id, binding.id, joined.session_id), caller.now)
    whole = services.sign_in.issue(Visitor(tenant_id, joined.user_id, binding.id, None), caller.now)
    return PhoneJoined(
        session_id=joined.session_id, token=token.text, visitor_token=whole.text, visitor_expires_at=whole.expires_at,
        expires_at=token.expires_at,
    )  # fmt: skip


def _binding(caller: Caller, session_id: UUID) -> Binding:
    """The binding of the visitor's token, whose session this is."""
    visitor = caller.visitor()
    with caller.transaction() as tx:
        caller.check_session(tx, session_id)
        binding = bindings.by_id(tx, visitor.binding_id)
    if binding is None or not binding.is_active:
        raise NotFound("this agent is not here any more")
    return binding


def _send(caller: Caller, asked: Asked) -> None:
    """Should the queue be away, the sweep sends it; by then the code may be over, and another is asked for."""
    if asked.unsent is None:
        return
    try:
        outbox.wake(caller.services.outbox, caller.principal.tenant_id, asked.unsent.session_id, asked.unsent.id)
    except QueueUnavailable as problem:
        log.error("code_not_sent_yet", problem)
