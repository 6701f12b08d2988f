"""The webhook's door: who is knocking, what they brought, and onto the durable queue before the 200.

No database is on this path, so that a paused or failed one never loses a webhook.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from parlour.channels import gupshup_webhook, intake_messages, whatsapp_cloud_webhook
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
from parlour.infra.json_values import Json
from parlour.infra.queues import FifoQueue

_MAX_BODY_BYTES = 256 * 1024
_MAX_BATCH_BYTES = 3 * 1024 * 1024
"""Meta sends a message at a time, or a batch of up to 3 MB after an outage."""

_MIN_SECRET_CHARS = 16
"""A token or secret is all that tells the provider from anybody else: shorter ones can be guessed."""

_MAX_CHALLENGE_CHARS = 256
_SIGNATURE_PREFIX = "sha256="

_RETRY_STATUS = 503
"""The provider delivers again; nothing else would, for a message that is not on the queue yet."""


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One HTTP request as it came; `body` is the raw bytes, `query` the parameters behind the path."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: Mapping[str, str] = field(default_factory=dict)

    def get_header(self, name: str) -> str:
        """Return a header's value, in any case of its name; "" when it is missing."""
        return next((value for known, value in self.headers.items() if known.lower() == name.lower()), "")


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """The answer: an HTTP status, its body (empty for 200, as Gupshup asks) and how many envelopes were queued."""

    status: int
    body: str
    envelope_count: int
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class WebhookSecrets:
    """What authenticates a provider's webhooks; more than one of each while rotating. Without any, all are refused.

    gupshup_tokens          are part of the webhook's path
    whatsapp_app_secrets    Meta signs webhooks with its app's secret
    whatsapp_verify_tokens  Meta shows one when the webhook is set up
    allowed_accounts        for a token or app secret that somebody else knows, too (a tenant with an app of its own):
                            the apps or phone number ids that it may speak for; one that is not named here may speak for
                            any
    """

    gupshup_tokens: tuple[str, ...] = ()
    whatsapp_app_secrets: tuple[str, ...] = ()
    whatsapp_verify_tokens: tuple[str, ...] = ()
    allowed_accounts: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, secret: str) -> "WebhookSecrets":
        """Read the webhook secret; Misconfigured says what is wrong, not what it is.

        `{"gupshup_tokens": [...], "whatsapp_app_secrets": [...], "whatsapp_verify_tokens": [...]}`: at least one of
        the three, and what is left out is none. An entry is a text, or `{"secret": "...", "only": ["<app or phone
        number id>"]}`.
        """
        names = ("gupshup_tokens", "whatsapp_app_secrets", "whatsapp_verify_tokens")
        try:
            given = json.loads(secret)
        except ValueError:
            given = None
        if not isinstance(given, dict) or not set(names) & set(given):
            raise Misconfigured(f'the webhook secret must be JSON, {{"<name>": ["..."]}}, of {", ".join(names)}')
        known = [_parse_secrets(given, name) for name in names]
        only = {secret: numbers for one in known for secret, numbers in one.items() if numbers is not None}
        gupshup_tokens, app_secrets, verify_tokens = map(tuple, known)
        return cls(gupshup_tokens, app_secrets, verify_tokens, only)

    def is_gupshup_token(self, token: str) -> bool:
        """Whether `token` is one of Gupshup's; takes as long for the first as for the last."""
        return _is_one_of(token, self.gupshup_tokens)

    def is_bound(self, secret: str) -> bool:
        """Whether `secret` speaks for some numbers only."""
        return secret in self.allowed_accounts

    def can_send_for(self, secret: str, envelopes: Sequence[Envelope]) -> bool:
        """Whether whoever knows `secret` may say all of this about these numbers of ours."""
        allowed = self.allowed_accounts.get(secret)
        return allowed is None or all(one.to.partition(":")[2] in allowed for one in envelopes)

    def is_verify_token(self, token: str) -> bool:
        """Whether `token` is one that Meta was told to show."""
        return _is_one_of(token, self.whatsapp_verify_tokens)

    def find_signing_secret(self, body: bytes, signature: str) -> str | None:
        """Return the app secret with which `signature` (`sha256=<hex>`) signs exactly these bytes; None for none."""
        secrets = self.whatsapp_app_secrets
        expected = [_SIGNATURE_PREFIX + hmac.new(key.encode(), body, hashlib.sha256).hexdigest() for key in secrets]
        matching = [key for key, one in zip(secrets, expected, strict=True) if _is_one_of(signature, [one])]
        return matching[0] if matching else None


@dataclass(frozen=True, slots=True)
class _AcceptedWebhook:
    """What a provider says, and whether the secret that it came with speaks for some numbers only."""

    envelopes: list[Envelope]
    is_bound: bool


def accept_webhook(
    request: WebhookRequest, secrets: WebhookSecrets, queue: FifoQueue, now: datetime
) -> WebhookResponse:
    """Check a webhook, put its envelopes on the intake queue and say what to answer. Raises nothing of ours.

    200 once every envelope is durable; 4xx for what trying again cannot mend; 503 when the queue refused.
    """
    try:
        if request.method not in {"GET", "POST"}:
            raise MethodNotAllowed
        provider, token = _parse_path(request.path)
        if provider == "whatsapp" and request.method == "GET":
            if not secrets.is_verify_token(request.query.get("hub.verify_token", "")):
                raise Unauthenticated
            challenge = request.query.get("hub.challenge", "")
            if request.query.get("hub.mode") != "subscribe" or not 0 < len(challenge) <= _MAX_CHALLENGE_CHARS:
                raise MalformedPayload("this is not a verification request of Meta")
            log.info("webhook_verified")
            return WebhookResponse(200, challenge, 0, "text/plain")
        take = _parse_gupshup if provider == "gupshup" else _parse_whatsapp_cloud
        accepted = take(request, secrets, token, now)
        envelopes = accepted.envelopes
        queue.send(intake_messages.pack_envelopes(envelopes, is_unbound=not accepted.is_bound))
    except ParlourError as problem:
        return _error_response(problem, len(request.body))
    kinds = Counter[str](envelope.kind for envelope in envelopes)
    log.info("webhook_accepted", bytes=len(request.body), count=len(envelopes), **kinds)
    return WebhookResponse(200, "", len(envelopes))


def serve_api_gateway_event(
    event: Mapping[str, Any], handle: Callable[[WebhookRequest], WebhookResponse]
) -> dict[str, Any]:
    """Answer an API Gateway proxy event; errors before `accept_webhook` are answered and logged alike."""
    try:
        answer = handle(parse_api_gateway_event(event))
    except ParlourError as problem:
        answer = _error_response(problem, 0)
    return {"statusCode": answer.status, "headers": {"Content-Type": answer.content_type}, "body": answer.body}


def parse_api_gateway_event(event: Mapping[str, Any]) -> WebhookRequest:
    """Return the request in an API Gateway proxy event, its body as bytes; MalformedPayload for invalid base64."""
    body = event.get("body") or ""
    try:
        raw = base64.b64decode(body, validate=True) if event.get("isBase64Encoded") else body.encode("utf-8", "ignore")
    except (binascii.Error, ValueError):
        raise MalformedPayload("the body is marked as base64 and is not") from None
    headers, query = event.get("headers") or {}, event.get("queryStringParameters") or {}
    return WebhookRequest(event.get("httpMethod", ""), event.get("path", ""), headers, raw, query)


def _parse_path(path: str) -> tuple[str, str]:
    """Return provider and token of `.../webhooks/gupshup/<token>` or `.../webhooks/whatsapp`; a stage may precede."""
    parts = path.rstrip("/").split("/")
    if parts[-3:-1] == ["webhooks", "gupshup"]:
        return "gupshup", parts[-1]
    if parts[-2:] == ["webhooks", "whatsapp"]:
        return "whatsapp", ""
    raise NotFound


def _parse_gupshup(request: WebhookRequest, secrets: WebhookSecrets, token: str, now: datetime) -> _AcceptedWebhook:
    if not secrets.is_gupshup_token(token):
        raise Unauthenticated
    if request.method == "GET":
        return _AcceptedWebhook([], is_bound=True)
    if len(request.body) > _MAX_BODY_BYTES:
        raise PayloadTooLarge
    envelopes = gupshup_webhook.parse(_parse_json(request.body), now)
    if not secrets.can_send_for(token, envelopes):
        raise Unauthenticated
    return _AcceptedWebhook(envelopes, secrets.is_bound(token))


def _parse_whatsapp_cloud(
    request: WebhookRequest, secrets: WebhookSecrets, _token: str, now: datetime
) -> _AcceptedWebhook:
    if len(request.body) > _MAX_BATCH_BYTES:
        raise PayloadTooLarge
    secret = secrets.find_signing_secret(request.body, request.get_header("X-Hub-Signature-256"))
    if secret is None:
        raise Unauthenticated
    batch = whatsapp_cloud_webhook.parse(_parse_json(request.body), now)
    if not secrets.can_send_for(secret, batch.envelopes):
        raise Unauthenticated
    if batch.unreadable_count:
        log.warning("webhook_partly_parsed", unreadable=batch.unreadable_count, count=len(batch.envelopes))
        log.count("MalformedWebhook")
    return _AcceptedWebhook(batch.envelopes, secrets.is_bound(secret))


def _parse_json(body: bytes) -> Json:
    try:
        parsed: Json = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedPayload("the body is not JSON") from None
    return parsed


def _error_response(problem: ParlourError, size: int) -> WebhookResponse:
    status = problem.status if isinstance(problem, CallerError) else _RETRY_STATUS
    if isinstance(problem, OperatorError):
        log.error("webhook_refused", problem, status=status, code=problem.code, bytes=size)
    else:
        log.warning("webhook_refused", status=status, code=problem.code, bytes=size)
    if isinstance(problem, MalformedPayload):
        log.count("MalformedWebhook")  # past the token: the provider changed its format, or somebody knows the token
    return WebhookResponse(status, json.dumps({"code": problem.code}), 0)


def _parse_secrets(given: Mapping[str, Any], name: str) -> dict[str, frozenset[str] | None]:
    """Each secret with what it may speak for; None is anything."""
    entries = given.get(name, [])
    read = [_parse_secret(one) for one in entries] if isinstance(entries, list) else [None]
    if not all(read):
        raise Misconfigured(
            f"{name} must be a list of texts of {_MIN_SECRET_CHARS} characters or more, or of "
            '{"secret": "...", "only": ["<app or phone number id>"]}'
        )
    return dict(filter(None, read))


def _parse_secret(entry: object) -> tuple[str, frozenset[str] | None] | None:
    match entry:
        case str(secret):
            only = None
        case {"secret": str(secret), "only": [*numbers]} if numbers and all(isinstance(one, str) for one in numbers):
            only = frozenset(map(str, numbers))
        case _:
            return None
    return (secret, only) if len(secret) >= _MIN_SECRET_CHARS else None


def _is_one_of(offered: str, known: Iterable[str]) -> bool:
    """Compare with every known value, so that the time does not tell which one matched."""
    given = offered.encode("utf-8", "surrogatepass")
    return sum(hmac.compare_digest(given, one.encode()) for one in known) > 0
