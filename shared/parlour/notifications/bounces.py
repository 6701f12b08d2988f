"""Bounces and complaints that SES reports minutes after it took a mail.

SES publishes an event to a topic; it names the mail by the tags that the mail was sent with.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from parlour.infra import log
from parlour.infra.postgres import Database, Transaction
from parlour.notifications import notifications
from parlour.notifications.email import NOTIFICATION_TAG, TENANT_TAG

_MAX_REASON_CHARS = 300


@dataclass(frozen=True, slots=True)
class Bounce:
    """A mail that did not arrive after all, and why."""

    tenant_id: UUID
    notification_id: UUID
    reason: str


def parse_bounce(message: str) -> Bounce | None:
    """Return the bounce that SES's event tells of; None for other events and for mails that are not ours."""
    try:
        event = json.loads(message)
        tags = event["mail"]["tags"]
        reason = _reason(event)
        if reason is None:
            return None
        return Bounce(UUID(tags[TENANT_TAG][0]), UUID(tags[NOTIFICATION_TAG][0]), reason[:_MAX_REASON_CHARS])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return None


def record_bounces(event: Mapping[str, Any], database: Database, now: datetime) -> None:
    """Show the mails of a topic's event as failed. Raises RetryError when the database is away: SNS sends it again."""
    for record in event["Records"]:
        bounce = parse_bounce(record["Sns"]["Message"])
        if bounce is None:
            continue
        if database.run(bounce.tenant_id, partial(_record_bounce, bounce, now)):
            log.warning("notification_bounced", notification_id=bounce.notification_id)
            log.count("FailedNotification")


def _record_bounce(bounce: Bounce, now: datetime, tx: Transaction) -> bool:
    return notifications.record_bounce(tx, bounce.notification_id, bounce.reason, now)


def _reason(event: Mapping[str, Any]) -> str | None:
    match event.get("eventType"):
        case "Bounce":
            bounce = event["bounce"]
            code = next((one["diagnosticCode"] for one in bounce["bouncedRecipients"] if "diagnosticCode" in one), "")
            return f"The mail bounced ({bounce['bounceType']}). {code}".strip()
        case "Complaint":
            return "The recipient marked the mail as spam."
        case "Reject":
            return "SES rejected the mail."
        case _:
            return None
