"""Requests to the systems that are notified: to an address that the tenant lists and anybody could reach."""

from collections.abc import Callable, Mapping
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
from parlour.infra.postgres import Database
from parlour.infra.secrets import SecretStore
from parlour.notifications.store import NotificationRow
from parlour.principal import system_principal
from parlour.tools.http_answers import HttpAnswer
from parlour.tools.http_endpoint import HttpEndpoint
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool

_TIMEOUT_SECONDS = 15
_RESERVED_SECONDS = 5
"""To store how the attempt ended."""

_RETRY_STATUSES = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_NAMES = {"webhook": "The webhook", "chatwoot": "Chatwoot"}


@dataclass(frozen=True, slots=True)
class Receivers:
    """The systems that are notified, under the address rules of tools: a host of `tool_hosts`, https, public."""

    endpoint: HttpEndpoint
    secrets: SecretStore
    database: Database
    clock: Callable[[], datetime]

    def request(
        self, notification: NotificationRow, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> HttpAnswer:
        """Return the answer to a POST with the body, or to a GET without one, unless it asks to try again later.

        Raises Misconfigured for an address that may not be reached, and ProviderUnavailable, also where the invocation
        may end before the answer.
        """
        name = _NAMES[notification.medium]
        if self.database.remaining_seconds() < _TIMEOUT_SECONDS + _RESERVED_SECONDS:
            raise ProviderUnavailable(f"{name} answers too slowly.")
        hosts = notification.tenant_settings.get("tool_hosts")
        receiver = Tool(
            name=notification.medium,
            description="",
            schema={},
            endpoint=url,
            timeout_seconds=_TIMEOUT_SECONDS,
            allowed_hosts=tuple(map(str, hosts)) if isinstance(hosts, list) else (),
            tenant_slug=notification.tenant_slug,
        )
        principal = system_principal(notification.tenant_id)
        context = ToolContext(
            principal, self.database, notification.session_id, notification.id, self.clock(), fencing_token=0
        )
        try:
            answer = (
                self.endpoint.get(context, receiver, headers)
                if body is None
                else self.endpoint.post(context, receiver, body, headers)
            )
        except ToolNotAvailable as error:
            raise Misconfigured(f"{name}'s host must be in tool_hosts, use https and have a public address.") from error
        except (ModelError, OutcomeUnknown) as error:
            raise ProviderUnavailable(f"{name} does not answer.") from error
        if answer.status in _RETRY_STATUSES or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ProviderUnavailable(f"{name} answered {answer.status}.")
        return answer

    def read_secret(self, notification: NotificationRow) -> str:
        """Return the secret that the notification names. Raises Misconfigured and ProviderUnavailable."""
        if notification.secret_reference is None:
            raise Misconfigured(f"{_NAMES[notification.medium]}'s secret is not in the pack's tenant.yaml.")
        try:
            return self.secrets.get(notification.secret_reference)
        except SecretUnavailable as error:
            raise ProviderUnavailable("The secret store does not answer.") from error


def require_success(notification: NotificationRow, answer: HttpAnswer) -> None:
    """Raise ProviderRejected unless the answer is a 2xx."""
    if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        raise ProviderRejected(f"{_NAMES[notification.medium]} answered {answer.status}.")
