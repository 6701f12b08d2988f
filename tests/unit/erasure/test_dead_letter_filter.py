"""Which dead letters are about a person or a message."""

import pytest

from parlour.erasure.dead_letter_filter import DeadLetterFilter
from parlour.infra.json_values import JsonObject

SESSION = "0190b6a0-0000-7000-8000-000000000001"
KNOWN = DeadLetterFilter({"gupshup:desk"}, {"+919800000001"}, {"wamid.1"}, {SESSION})


def envelope(to: str = "gupshup:desk", sender: str = "+910000000000", name: str = "x") -> JsonObject:
    return {"to": to, "sender": sender, "provider_message_id": name, "text": "hello"}


@pytest.mark.parametrize(
    ("body", "is_about"),
    [
        (envelope(sender="+919800000001"), True),
        (envelope(name="wamid.1"), True),
        (envelope(), False),
        (envelope(to="gupshup:others", sender="+919800000001"), False),
        ({"statuses": [envelope(), envelope(sender="+919800000001")]}, True),
        ({"statuses": [envelope()]}, False),
        ({"tenant_id": "t", "session_id": SESSION}, True),
        ({"tenant_id": "t", "session_id": SESSION.replace("1", "2")}, False),
        ({}, False),
    ],
)
def test_a_letter_counts_by_who_wrote_to_the_tenant_or_by_ids(body: JsonObject, is_about: bool) -> None:
    assert KNOWN.is_about(body) is is_about


def test_a_letter_to_another_tenant_is_not_about_the_same_number() -> None:
    assert not DeadLetterFilter({"gupshup:desk"}, {"+919800000001"}).is_about(envelope("web:else", "+919800000001"))
