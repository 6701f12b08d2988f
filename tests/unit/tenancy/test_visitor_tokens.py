import contextlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.infra.errors import Misconfigured, Unauthenticated
from parlour.tenancy import visitor_tokens
from parlour.tenancy.visitor_tokens import VisitorClaims

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
SECRET = "k" * 40
WHOM = VisitorClaims(UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=4))
CLAIMS = {
    "iss": "parlour",
    "typ": "visitor",
    "sub": str(UUID(int=2)),
    "ten": str(UUID(int=1)),
    "bnd": str(UUID(int=3)),
    "iat": int(NOW.timestamp()),
    "exp": int(NOW.timestamp()) + 60,
}


def signed(claims: dict[str, Any], *, secret: str = SECRET, algorithm: str = "HS256", typ: str = "visitor+jwt") -> str:
    return jwt.PyJWS().encode(json.dumps(claims).encode(), secret, algorithm, {"typ": typ})


def test_a_token_says_whom_it_was_issued_to() -> None:
    assert visitor_tokens.verify_token(visitor_tokens.issue_token(WHOM, SECRET, NOW).text, SECRET, NOW) == WHOM


def test_a_token_may_be_for_no_session_in_particular() -> None:
    whom = VisitorClaims(WHOM.tenant_id, WHOM.user_id, WHOM.binding_id, None)
    assert visitor_tokens.verify_token(visitor_tokens.issue_token(whom, SECRET, NOW).text, SECRET, NOW) == whom


def test_spaces_around_the_secret_do_not_matter() -> None:
    assert visitor_tokens.verify_token(visitor_tokens.issue_token(WHOM, SECRET + "\n", NOW).text, SECRET, NOW) == WHOM


def test_a_token_is_good_for_a_day_and_the_leeway() -> None:
    token = visitor_tokens.issue_token(WHOM, SECRET, NOW)
    assert token.expires_at == NOW + timedelta(hours=24)
    assert visitor_tokens.verify_token(token.text, SECRET, token.expires_at + timedelta(seconds=29)) == WHOM
    with pytest.raises(Unauthenticated) as refusal:
        visitor_tokens.verify_token(token.text, SECRET, token.expires_at + timedelta(seconds=30))
    assert refusal.value.reason == "expired"


def test_a_token_for_no_session_in_particular_is_good_for_ninety_days() -> None:
    token = visitor_tokens.issue_token(VisitorClaims(WHOM.tenant_id, WHOM.user_id, WHOM.binding_id, None), SECRET, NOW)
    assert token.expires_at == NOW + timedelta(days=90)
    assert visitor_tokens.verify_token(token.text, SECRET, NOW + timedelta(days=89)).user_id == WHOM.user_id
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(token.text, SECRET, token.expires_at + timedelta(seconds=30))


def test_a_token_from_the_future_is_refused() -> None:
    token = visitor_tokens.issue_token(WHOM, SECRET, NOW + timedelta(seconds=31))
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(token.text, SECRET, NOW)


def test_another_deployments_token_is_refused() -> None:
    with pytest.raises(Unauthenticated) as refusal:
        visitor_tokens.verify_token(visitor_tokens.issue_token(WHOM, "o" * 40, NOW).text, SECRET, NOW)
    assert refusal.value.reason == "signature"


def test_our_own_claims_read_back_so_that_the_refusals_below_mean_something() -> None:
    assert visitor_tokens.verify_token(signed(CLAIMS), SECRET, NOW).user_id == WHOM.user_id


def test_a_token_without_the_visitors_type_is_refused() -> None:
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(signed(CLAIMS, typ="JWT"), SECRET, NOW)


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_only_one_algorithm_is_taken(algorithm: str) -> None:
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(signed(CLAIMS, secret="k" * 64, algorithm=algorithm), "k" * 64, NOW)


def test_an_unsigned_token_is_refused() -> None:
    unsigned = jwt.PyJWS().encode(json.dumps(CLAIMS).encode(), "", "none", {"typ": "visitor+jwt"})
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(unsigned, SECRET, NOW)


@pytest.mark.parametrize("missing", CLAIMS)
def test_every_claim_must_be_there(missing: str) -> None:
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(
            signed({name: value for name, value in CLAIMS.items() if name != missing}), SECRET, NOW
        )


ODD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(name=st.sampled_from([*CLAIMS, "ses", "nbf"]), value=ODD)
def test_a_signed_token_with_odd_claims_is_read_or_refused_and_nothing_else(name: str, value: Any) -> None:
    with contextlib.suppress(Unauthenticated):
        visitor_tokens.verify_token(signed({**CLAIMS, name: value}), SECRET, NOW)


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(text, SECRET, NOW)


@pytest.mark.parametrize("secret", ["", "short", " " * 40])
def test_a_short_secret_signs_nothing(secret: str) -> None:
    with pytest.raises(Misconfigured):
        visitor_tokens.issue_token(WHOM, secret, NOW)


def test_an_older_key_is_accepted_while_it_is_replaced() -> None:
    older, newer = "o" * 40, "n" * 40
    token = visitor_tokens.issue_token(WHOM, older, NOW)
    assert visitor_tokens.verify_token(token.text, f"{newer}\n{older}", NOW).user_id == WHOM.user_id
    renewed = visitor_tokens.issue_token(WHOM, f"{newer}\n{older}", NOW)
    assert visitor_tokens.verify_token(renewed.text, newer, NOW).user_id == WHOM.user_id
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(token.text, newer, NOW)


def test_tokens_are_renewed_for_a_year_at_most() -> None:
    first = visitor_tokens.issue_token(replace(WHOM, session_id=None), SECRET, NOW)
    claims = visitor_tokens.verify_token(first.text, SECRET, NOW)
    late = NOW + visitor_tokens.MAX_TOKEN_AGE - timedelta(days=1)
    renewed = visitor_tokens.issue_token(claims, SECRET, late)
    assert renewed.expires_at == NOW + visitor_tokens.MAX_TOKEN_AGE
    with pytest.raises(Unauthenticated):
        visitor_tokens.verify_token(renewed.text, SECRET, late + timedelta(days=2))
