"""The webhook's door: who is knocking, what they brought, and onto the durable queue before the 200.

No database is on this path, so that a paused or failed one never loses a webhook.
"""

import base64
import binascii
import hmac
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from parlour.channels import gupshup
from parlour.channels.envelope import Envelope
from parlour.infra import log
from parlour.infra.errors import (
    CallerError,
    MalformedPayload,
    MethodNotAllowed,
    Misconfigured,
    NotFound,
    OperatorError,
    ParlourError,
    PayloadTooLarge,
    Unauthenticated,
)
from parlour.infra.jsonable import Json
from parlour.infra.queues import Queue, QueueMessage

_LARGEST_BYTES = 256 * 1024
_SHORTEST_TOKEN = 16
"""The token is all that tells Gupshup from anybody else: shorter ones can be guessed."""

_TRY_AGAIN = 503
"""The provider delivers again; nothing else would, for a message that is not on the queue yet."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One HTTP request as it came; `body` is the raw bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer: an HTTP status, its body (empty for 200, as Gupshup asks) and how many envelopes were queued."""

    status: int
    body: str
    count: int


@dataclass(frozen=True, slots=True)
class WebhookTokens:
    """The secrets that stand in webhook paths; more than one while rotating, none: nobody gets in."""

    gupshup: tuple[str, ...]

    @classmethod
    def parse(cls, secret: str) -> "WebhookTokens":
        """Read the webhook secret, `{"gupshup_tokens": [...]}`; Misconfigured says what is wrong, not what it is."""
        try:
            tokens = json.loads(secret)["gupshup_tokens"]
        except (ValueError, KeyError, TypeError):
            raise Misconfigured('the webhook secret must be JSON: {"gupshup_tokens": ["..."]}') from None
        if not isinstance(tokens, list) or not all(_is_token(token) for token in tokens):
            raise Misconfigured(f"gupshup_tokens must be a list of texts of {_SHORTEST_TOKEN} characters or more")
        return cls(tuple(tokens))

    def admits(self, token: str) -> bool:
        """Whether `token` is one of ours; takes as long for the first as for the last."""
        offered = token.encode("utf-8", "surrogatepass")
        return sum(hmac.compare_digest(offered, known.encode()) for known in self.gupshup) > 0


def accept(request: Webhook, tokens: WebhookTokens, queue: Queue, now: datetime) -> Accepted:
    """Check a webhook, put its envelopes on the intake queue and say what to answer. Raises nothing of ours.

    200 once every envelope is durable; 4xx for what trying again cannot mend; 503 when the queue refused.
    """
    try:
        envelopes = _envelopes(request, tokens, now)
        queue.send([_queued(envelope) for envelope in envelopes])
    except ParlourError as problem:
        return _refuse(problem, len(request.body))
    kinds = Counter[str](envelope.kind for envelope in envelopes)
    log.info("webhook_accepted", bytes=len(request.body), count=len(envelopes), **kinds)
    return Accepted(200, "", len(envelopes))


def serve(event: Mapping[str, Any], take: Callable[[Webhook], Accepted]) -> dict[str, Any]:
    """An API Gateway proxy event to its response; what goes wrong before `accept` is answered and logged alike."""
    try:
        answer = take(read(event))
    except ParlourError as problem:
        answer = _refuse(problem, 0)
    return {"statusCode": answer.status, "headers": {"Content-Type": "application/json"}, "body": answer.body}


def read(event: Mapping[str, Any]) -> Webhook:
    """The request in an API Gateway proxy event, its body as raw bytes; MalformedPayload when that is not base64."""
    body = event.get("body") or ""
    try:
        raw = base64.b64decode(body, validate=True) if event.get("isBase64Encoded") else body.encode("utf-8", "ignore")
    except (binascii.Error, ValueError):
        raise MalformedPayload("the body is marked as base64 and is not") from None
    return Webhook(event.get("httpMethod", ""), event.get("path", ""), event.get("headers") or {}, raw)


def _envelopes(request: Webhook, tokens: WebhookTokens, now: datetime) -> list[Envelope]:
    token = _token(request.path)
    if request.method not in {"GET", "POST"}:
        raise MethodNotAllowed
    if not tokens.admits(token):
        raise Unauthenticated
    if request.method == "GET":
        return []
    if len(request.body) > _LARGEST_BYTES:
        raise PayloadTooLarge
    return gupshup.parse(_json(request.body), now)


def _token(path: str) -> str:
    """The last part of `.../webhooks/gupshup/<token>`; a stage or base path may stand before it."""
    parts = path.rstrip("/").split("/")
    if parts[-3:-1] != ["webhooks", "gupshup"]:
        raise NotFound
    return parts[-1]


def _json(body: bytes) -> Json:
    try:
        parsed: Json = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedPayload("the body is not JSON") from None
    return parsed


def _queued(envelope: Envelope) -> QueueMessage:
    return QueueMessage(envelope.to_json(), envelope.group, envelope.deduplication)


def _refuse(problem: ParlourError, size: int) -> Accepted:
    status = problem.status if isinstance(problem, CallerError) else _TRY_AGAIN
    if isinstance(problem, OperatorError):
        log.error("webhook_refused", problem, status=status, code=problem.code, bytes=size)
    else:
        log.warning("webhook_refused", status=status, code=problem.code, bytes=size)
    if isinstance(problem, MalformedPayload):
        log.count("MalformedWebhook")  # past the token: the provider changed its format, or somebody knows the token
    return Accepted(status, json.dumps({"code": problem.code}), 0)


def _is_token(token: object) -> bool:
    return isinstance(token, str) and len(token) >= _SHORTEST_TOKEN
