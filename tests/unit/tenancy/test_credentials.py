import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.infra.errors import Unauthenticated
from parlour.tenancy.authentication import Credentials


@pytest.mark.parametrize("header", ["Bearer abc", "bearer abc", "BEARER   abc ", " Bearer abc"])
def test_a_bearer_is_what_follows_the_scheme(header: str) -> None:
    assert Credentials(header, "").bearer == "abc"


@pytest.mark.parametrize("header", ["", "abc", "Bearer", "Bearer ", "Basic abc", "Bearer\tabc", "Bearer " + "a" * 8193])
def test_without_one_nobody_is_let_in(header: str) -> None:
    with pytest.raises(Unauthenticated) as refusal:
        _ = Credentials(header, "").bearer
    assert refusal.value.reason == "no_bearer"


@given(st.text())
def test_no_header_breaks_the_reading(header: str) -> None:
    with pytest.raises(Unauthenticated):
        _ = Credentials(header, "").bearer
