"""Webhooks: a signed JSON object, posted to an address of the tenant."""

from dataclasses import dataclass

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.notifications.event import console_link
from parlour.notifications.receiver import Receivers, require_success
from parlour.notifications.signature import SIGNATURE_HEADER, sign_body
from parlour.notifications.store import NotificationRow


@dataclass(frozen=True, slots=True)
class WebhookSender:
    """Posts notifications."""

    receivers: Receivers
    public_url: str

    def send(self, notification: NotificationRow, /) -> None:
        """Post it; any 2xx is success. A receiver drops what it has by the idempotency key, so doubt is tried again."""
        content: JsonObject = {
            "id": str(notification.id),
            "event": notification.event,
            "reason": notification.reason,
            "binding": notification.binding,
            "session_id": str(notification.session_id),
            "at": notification.created_at.isoformat(),
            "url": console_link(self.public_url, notification.session_id),
        }
        body = canonical_json(content).encode()
        secret = self.receivers.read_secret(notification)
        headers = {
            "content-type": "application/json",
            "idempotency-key": str(notification.id),
            SIGNATURE_HEADER: sign_body(body, str(notification.id), secret, self.receivers.clock()),
        }
        require_success(notification, self.receivers.request(notification, notification.recipient, headers, body))
