"""Webhooks: a signed JSON object, posted to an address that the tenant lists and anybody could reach."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from parlour.infra.errors import (
    Misconfigured,
    ModelError,
    OutcomeUnknown,
    ProviderRejected,
    ProviderUnavailable,
    SecretUnavailable,
    ToolNotAvailable,
)
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Database
from parlour.infra.secrets import SecretStore
from parlour.notifications.event import console_link
from parlour.notifications.signature import SIGNATURE_HEADER, sign_body
from parlour.notifications.store import NotificationRow
from parlour.principal import system_principal
from parlour.tools.http_endpoint import HttpEndpoint
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool

_TIMEOUT_SECONDS = 15
_RETRY_STATUSES = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True, slots=True)
class WebhookSender:
    """Posts notifications, with the address rules of tools: a host of the tenant's `tool_hosts`, a public address."""

    endpoint: HttpEndpoint
    secrets: SecretStore
    database: Database
    public_url: str
    clock: Callable[[], datetime]

    def send(self, notification: NotificationRow, /) -> None:
        """Post it; any 2xx is success. A receiver drops what it has by the idempotency key, so doubt is tried again."""
        now = self.clock()
        body = canonical_json(self._content(notification)).encode()
        headers = {
            "content-type": "application/json",
            "idempotency-key": str(notification.id),
            SIGNATURE_HEADER: sign_body(body, str(notification.id), self._secret(notification), now),
        }
        hosts = notification.tenant_settings.get("tool_hosts")
        receiver = Tool(
            name="webhook",
            description="",
            schema={},
            endpoint=notification.recipient,
            timeout_seconds=_TIMEOUT_SECONDS,
            allowed_hosts=tuple(map(str, hosts)) if isinstance(hosts, list) else (),
            tenant_slug=notification.tenant_slug,
        )
        principal = system_principal(notification.tenant_id)
        context = ToolContext(principal, self.database, notification.session_id, notification.id, now, 0)
        try:
            answer = self.endpoint.post(context, receiver, body, headers)
        except ToolNotAvailable as error:
            raise Misconfigured(
                "The webhook's host must be in tool_hosts, use https and have a public address."
            ) from error
        except (ModelError, OutcomeUnknown) as error:
            raise ProviderUnavailable("The webhook does not answer.") from error
        if answer.status in _RETRY_STATUSES or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ProviderUnavailable(f"The webhook answered {answer.status}.")
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            raise ProviderRejected(f"The webhook answered {answer.status}. It must answer 2xx.")

    def _content(self, notification: NotificationRow) -> JsonObject:
        return {
            "id": str(notification.id),
            "event": notification.event,
            "reason": notification.reason,
            "binding": notification.binding,
            "session_id": str(notification.session_id),
            "at": notification.created_at.isoformat(),
            "url": console_link(self.public_url, notification.session_id),
        }

    def _secret(self, notification: NotificationRow) -> str:
        if notification.secret_reference is None:
            raise Misconfigured("The webhook's secret is not in the pack's tenant.yaml.")
        try:
            return self.secrets.get(notification.secret_reference)
        except SecretUnavailable as error:
            raise ProviderUnavailable("The secret store does not answer.") from error
