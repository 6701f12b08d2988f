"""What Chatwoot tells of conversations that people answer there; the token in the path says whose inbox it is."""

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from parlour.api.authorization import Admin, AppDependencies
from parlour.api.schemas import ResponseModel
from parlour.channels import outbox
from parlour.conversations import chatwoot_answers
from parlour.infra import log
from parlour.infra.errors import NotFound, QueueUnavailable
from parlour.notifications import notifications
from parlour.notifications.chatwoot_webhook import (
    WEBHOOK_PATH,
    ChatwootSource,
    make_webhook_path,
    parse_webhook,
    verify_webhook_token,
)

router = APIRouter(prefix=WEBHOOK_PATH, tags=["inbox"])


class ChatwootWebhookView(ResponseModel):
    """Where Chatwoot's webhooks go: a path of this API. Whoever has it can answer as people of Chatwoot do."""

    path: str


class ChatwootOutcomeView(ResponseModel):
    """What became of a webhook: done, nothing of interest, or refused, which a private note in Chatwoot explains."""

    outcome: Literal["done", "ignored", "refused"]


@router.get("")
def get_chatwoot_webhook(
    caller: Admin, binding: Annotated[str, Query(max_length=63, description="The slug of a binding.")]
) -> ChatwootWebhookView:
    """Return where the webhooks of a binding's inbox in Chatwoot go. Needs admin."""
    with caller.transaction() as tx:
        inbox = notifications.find_chatwoot_inbox(tx, binding)
    if inbox is None:
        raise NotFound("there is no binding of this name with `notifications.chatwoot`")
    source = ChatwootSource(caller.principal.tenant_id, inbox)
    return ChatwootWebhookView(path=make_webhook_path(source, caller.dependencies.token_secret()))


@router.post("/{token}")
def post_chatwoot_webhook(token: str, event: dict[str, Any], services: AppDependencies) -> ChatwootOutcomeView:
    """Take a webhook of Chatwoot: a person answered, or resolved a conversation. Sending it twice is harmless."""
    source = verify_webhook_token(token, services.token_secret())
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
