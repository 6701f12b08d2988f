import hashlib
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.tenancy import api_keys

TENANT, KEY = UUID(int=7), UUID(int=8)
TEXT = f"parlour_{TENANT.hex}_{KEY.hex}{'ab' * 32}"


def test_the_parts_of_a_key_are_read_from_its_text() -> None:
    assert api_keys.parse_key(TEXT) == api_keys.PresentedKey(TENANT, KEY, bytes.fromhex("ab" * 32))


@pytest.mark.parametrize(
    "text", ["", "parlour_", TEXT[:-1], TEXT + "0", TEXT.upper(), TEXT + "\n", TEXT.replace("ab", "zz"), TEXT[1:]]
)
def test_anything_else_is_no_key(text: str) -> None:
    assert api_keys.parse_key(text) is None


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    assert api_keys.parse_key(text) is None


def test_only_the_secret_behind_the_hash_matches() -> None:
    presented = api_keys.parse_key(TEXT)
    assert presented is not None
    assert presented.matches(hashlib.sha256(bytes.fromhex("ab" * 32)).digest())
    assert not presented.matches(hashlib.sha256(b"other").digest())
    assert not presented.matches(b"")
