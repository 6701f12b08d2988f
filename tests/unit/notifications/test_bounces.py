"""What SES's events say of a mail."""

import json
from uuid import UUID

import pytest

from parlour.notifications.bounces import Bounce, parse_bounce

TENANT, NOTIFICATION = UUID(int=1), UUID(int=2)
MAIL = {"tags": {"tenant_id": [str(TENANT)], "notification_id": [str(NOTIFICATION)]}}
BOUNCE = {
    "eventType": "Bounce",
    "mail": MAIL,
    "bounce": {
        "bounceType": "Permanent",
        "bouncedRecipients": [{"emailAddress": "gone@example.com", "diagnosticCode": "smtp; 550 no such user"}],
    },
}


def test_a_bounce_names_its_notification_and_the_reason() -> None:
    reason = "The mail bounced (Permanent). smtp; 550 no such user"
    assert parse_bounce(json.dumps(BOUNCE)) == Bounce(TENANT, NOTIFICATION, reason)


@pytest.mark.parametrize(
    "message",
    [
        "no JSON",
        "[]",
        json.dumps({"eventType": "Delivery", "mail": MAIL}),
        json.dumps({**BOUNCE, "mail": {"tags": {}}}),
        json.dumps({**BOUNCE, "mail": {"tags": {"tenant_id": ["x"], "notification_id": ["y"]}}}),
    ],
)
def test_other_events_and_other_mails_are_passed_over(message: str) -> None:
    assert parse_bounce(message) is None
