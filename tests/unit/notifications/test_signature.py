"""Signatures of webhooks: of these bytes, by this key, of now."""

from datetime import UTC, datetime, timedelta

import pytest

from parlour.infra.errors import Misconfigured, Unauthenticated
from parlour.notifications.signature import MAX_AGE, sign_body, verify_body

OLD, NEW = "o" * 32, "n" * 32
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_signature_names_its_notification_and_survives_a_rotated_key() -> None:
    signature = sign_body(b"{}", "n-1", OLD, NOW)

    assert verify_body(b"{}", signature, OLD, NOW + timedelta(minutes=1)) == "n-1"
    assert verify_body(b"{}", signature, f"{NEW}\n{OLD}", NOW) == "n-1"


@pytest.mark.parametrize(
    ("body", "key", "at"),
    [(b"{ }", OLD, NOW), (b"{}", NEW, NOW), (b"{}", OLD, NOW + MAX_AGE + timedelta(seconds=1))],
)
def test_a_signature_of_other_bytes_keys_or_times_is_refused(body: bytes, key: str, at: datetime) -> None:
    with pytest.raises(Unauthenticated):
        verify_body(body, sign_body(b"{}", "n-1", OLD, NOW), key, at)


def test_a_malformed_signature_and_a_weak_key_are_refused() -> None:
    with pytest.raises(Unauthenticated):
        verify_body(b"{}", "not.a.token", OLD, NOW)
    with pytest.raises(Misconfigured):
        sign_body(b"{}", "n-1", "short", NOW)
