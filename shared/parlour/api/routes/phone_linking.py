"""Joining a conversation on the web with a phone: consent, a code that is sent there, and the code given back."""

import secrets
from dataclasses import replace
from uuid import UUID

from fastapi import APIRouter

from parlour.api.authorization import AnyCaller, Caller
from parlour.api.session_schemas import PhoneLinkCode, PhoneLinked, PhoneLinkRequest, PhoneLinkStarted
from parlour.channels import outbox
from parlour.conversations.linking import link_codes
from parlour.conversations.linking.code_request import PhoneClaim, request_code
from parlour.conversations.linking.user_merge import merge_user
from parlour.infra import log
from parlour.infra.errors import InvalidRequest, NotFound, QueueUnavailable
from parlour.tenancy import bindings, users
from parlour.tenancy.authentication import VisitorClaims
from parlour.tenancy.bindings import Binding

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

_CODE_SENT = (
    "If this number can be reached, it gets a code by WhatsApp. If no code arrives, write to the agent on WhatsApp "
    "first and try again."
)


@router.post("/{session_id}/phone", status_code=202)
def start_phone_link(session_id: UUID, wanted: PhoneLinkRequest, caller: AnyCaller) -> PhoneLinkStarted:
    """Have a code sent to a number that the visitor says is theirs. Needs the `visitor_token`, or Parlour-Agent."""
    if not wanted.consent:
        raise InvalidRequest("consent: must be true; without it no code is sent and nothing is linked")
    binding, services = _visitor_binding(caller, session_id), caller.dependencies
    with services.databases.borrow() as database:
        asked = request_code(
            caller.principal,
            database,
            binding,
            PhoneClaim(session_id, wanted.phone, link_codes.generate_code(secrets.randbelow), caller.address),
            services.token_secret(),
            caller.now,
        )
    if reply := asked.pending_reply:
        try:
            outbox.send_wakeup(services.outbox_queue, caller.principal.tenant_id, reply.session_id, reply.id)
        except QueueUnavailable as problem:  # the sweep sends the code, perhaps too late
            log.error("link_code_wake_failed", problem)
    return PhoneLinkStarted(link_id=asked.link_id, expires_at=asked.expires_at, message=_CODE_SENT)


@router.post("/{session_id}/phone/{link_id}")
def confirm_phone_link(session_id: UUID, link_id: UUID, given: PhoneLinkCode, caller: AnyCaller) -> PhoneLinked:
    """Give the code back: what was said here and on the phone is one from now on.

    Needs the `visitor_token`, or a member's sign-in with Parlour-Agent: a member talks as a member on the phone, with
    the pack's `phone_roles`.
    """
    binding, services = _visitor_binding(caller, session_id), caller.dependencies
    with services.databases.borrow() as database:
        joined = merge_user(
            caller.principal,
            database,
            link_id,
            given.code,
            secret=services.token_secret(),
            now=caller.now,
        )
    with caller.transaction() as tx:
        epoch = users.load_access(tx, joined.user_id, binding.id).token_epoch
    # The merge has revoked the visitor's earlier tokens: another person may hold a copy, and does not hold the phone.
    is_member = caller.require_visitor().is_member
    claims = VisitorClaims(
        caller.principal.tenant_id, joined.user_id, binding.id, joined.session_id, epoch, is_member=is_member
    )
    token = services.authenticator.issue_visitor_token(claims, caller.now)
    for_all = replace(claims, session_id=None)
    whole = None if is_member else services.authenticator.issue_visitor_token(for_all, caller.now)
    return PhoneLinked(
        session_id=joined.session_id,
        token=token.text,
        visitor_token=whole.text if whole else None,
        visitor_expires_at=whole.expires_at if whole else None,
        expires_at=token.expires_at,
    )


def _visitor_binding(caller: Caller, session_id: UUID) -> Binding:
    """Return the binding of the visitor's token, whose session this is."""
    visitor = caller.require_visitor()
    with caller.transaction() as tx:
        caller.get_session(tx, session_id)
        binding = bindings.find_binding(tx, visitor.binding_id)
    if binding is None or not binding.is_active:
        raise NotFound("this agent is no longer available")
    return binding
