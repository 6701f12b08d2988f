"""What Chatwoot tells of conversations that people answer there; the token in the path says whose inbox it is."""

from functools import partial
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Query

from parlour.api.authorization import Admin, AppDependencies, Caller
from parlour.api.schemas import ResponseModel
from parlour.channels import outbox
from parlour.conversations import chatwoot_answers
from parlour.infra import log
from parlour.infra.errors import QueueUnavailable
from parlour.notifications import chatwoot_addresses, notifications
from parlour.notifications.chatwoot_webhook import (
    WEBHOOK_PATH,
    make_webhook_path,
    parse_webhook,
    verify_webhook_token,
)

router = APIRouter(prefix=WEBHOOK_PATH, tags=["inbox"])


type BindingSlug = Annotated[str, Query(max_length=63, description="The slug of a binding.")]


class ChatwootWebhookView(ResponseModel):
    """Where Chatwoot's webhooks go: a path of this API. Whoever has it can answer as people of Chatwoot do."""

    path: str


class ChatwootOutcomeView(ResponseModel):
    """What became of a webhook: done, nothing of interest, or refused, which a private note in Chatwoot explains."""

    outcome: Literal["done", "ignored", "refused"]


@router.get("")
def get_chatwoot_webhook(caller: Admin, binding: BindingSlug) -> ChatwootWebhookView:
    """Return where the webhooks of a binding's inbox in Chatwoot go. Needs admin, and no API key may; audited."""
    return _open_address(caller, binding, rotates=False)


@router.post("/rotate")
def rotate_chatwoot_webhook(caller: Admin, binding: BindingSlug) -> ChatwootWebhookView:
    """Replace the address; the old one is refused from now on. Needs admin, and no API key may; audited."""
    return _open_address(caller, binding, rotates=True)


@router.post("/{token}")
def post_chatwoot_webhook(token: str, event: dict[str, Any], services: AppDependencies) -> ChatwootOutcomeView:
    """Take a webhook of Chatwoot: a person answered, or resolved a conversation. Sending it twice is harmless."""
    source = verify_webhook_token(token, services.token_secret())
    with services.databases.borrow() as database:
        database.run(source.tenant_id, lambda tx: chatwoot_addresses.require_current(tx, source))
    happened = parse_webhook(event)
    if happened is None:
        return ChatwootOutcomeView(outcome="ignored")
    now = services.clock()
    with services.databases.borrow() as database:
        received = chatwoot_answers.receive(database, source, happened, now)
    if received.session_id is not None and received.posted is not None:
        for reply in received.posted.deliveries:
            send = partial(outbox.send_wakeup, services.outbox_queue, source.tenant_id, received.session_id)
            try:
                send(reply.id, reply.attempts)
            except QueueUnavailable as problem:  # the sweep sends it
                log.warning("wake_failed", code=problem.code)
    notifications.send_wakeups(services.wakeup_queue, received.pending, now)
    log.info("chatwoot_webhook_received", tenant_id=source.tenant_id, outcome=received.outcome)
    return ChatwootOutcomeView(outcome=received.outcome)


def _open_address(caller: Caller, binding: str, *, rotates: bool) -> ChatwootWebhookView:
    with caller.transaction() as tx:
        source = chatwoot_addresses.open_address(caller.principal, tx, binding, uuid4(), caller.now, rotates=rotates)
    return ChatwootWebhookView(path=make_webhook_path(source, caller.dependencies.token_secret()))
