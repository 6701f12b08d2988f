"""A call-back's token is good for one run of one call, for a time, and for nothing else."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import jwt
import pytest

from parlour.infra.errors import Misconfigured, Unauthenticated
from parlour.infra.json_values import canonical_json
from parlour.tools import callbacks
from parlour.tools.callbacks import Callback

SECRET = "s" * 40
CALLBACK = Callback(UUID(int=1), UUID(int=2), 3)


def token(now: datetime, secret: str = SECRET) -> str:
    url = callbacks.make_callback_url("https://p.example/live/", CALLBACK, secret, now + timedelta(minutes=10), now)
    assert url.startswith("https://p.example/live/v1/tool-results/")
    return url.rpartition("/")[2]


def test_what_was_signed_is_read(now: datetime) -> None:
    assert callbacks.verify_callback_token(token(now), SECRET, now) == CALLBACK


def test_a_late_result_is_taken_for_a_week(now: datetime) -> None:
    assert callbacks.verify_callback_token(token(now), SECRET, now + timedelta(days=7)) == CALLBACK
    with pytest.raises(Unauthenticated):
        callbacks.verify_callback_token(token(now), SECRET, now + timedelta(days=7, minutes=10))


def signed(payload: bytes, key: str = SECRET, **headers: Any) -> str:
    return jwt.PyJWS().encode(payload, key, "HS256", {"typ": "tool-result+jwt", **headers})


def test_everything_else_is_refused(now: datetime) -> None:
    good = {"iss": "parlour", "ten": str(UUID(int=1)), "sub": str(UUID(int=2)), "run": 3, "exp": now.timestamp() + 60}
    assert callbacks.verify_callback_token(signed(canonical_json(good).encode()), SECRET, now) == CALLBACK
    wrong = [
        token(now, "t" * 40),
        "",
        "x",
        "a.b.c",
        token(now)[:-2],
        signed(b"[]"),
        signed(b"no json"),
        signed(b"{}"),
        signed(canonical_json(good).encode(), typ="visitor+jwt"),
        signed(canonical_json({**good, "iss": "other"}).encode()),
        signed(canonical_json({**good, "run": "x"}).encode()),
        signed(canonical_json({**good, "sub": 7}).encode()),
        signed(canonical_json({**good, "exp": "soon"}).encode()),
        signed(canonical_json({**good, "exp": 1e30}).encode()),
        jwt.PyJWS().encode(canonical_json(good).encode(), None, "none", {"typ": "tool-result+jwt"}),  # type: ignore[arg-type]
    ]
    for text in wrong:
        with pytest.raises(Unauthenticated):
            callbacks.verify_callback_token(text, SECRET, now)


def test_a_short_secret_signs_nothing(now: datetime) -> None:
    with pytest.raises(Misconfigured):
        token(now, "short")


def test_a_result_is_an_answer_or_says_why_not() -> None:
    assert callbacks.parse_result({"number": 7}).content == {"number": 7}
    refused = callbacks.parse_result({"error": "no such project " + "x" * 9_000})
    assert (refused.ok, refused.code) == (False, "rejected")
    assert len(refused.text) < 600
    assert callbacks.parse_result({"error": {"code": 5}}).code == "rejected"
