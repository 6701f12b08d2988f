"""The development issuer, checked with the client that the API itself uses."""

import base64
import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from fastapi.testclient import TestClient

from local.issuer import ConsoleClient, Issuer, build_app, load_key

URL = "http://127.0.0.1:8704"
CONSOLE = "http://127.0.0.1:8700"
VERIFIER = "v" * 43
AUTHORIZATION = {
    "response_type": "code",
    "client_id": "console",
    "redirect_uri": f"{CONSOLE}/console/?from=sign-in",
    "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("="),
    "code_challenge_method": "S256",
    "state": "s t",
    "nonce": "once",
}


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    return Issuer(URL, load_key(tmp_path / "issuer.pem"))


@pytest.fixture
def client(issuer: Issuer) -> TestClient:
    return TestClient(
        build_app(issuer, lambda: datetime.now(UTC), ConsoleClient(CONSOLE, "developer")), follow_redirects=False
    )


def verify(client: TestClient, token: str) -> dict[str, object]:
    keys = jwt.PyJWKSet.from_dict(client.get("/jwks.json").json())
    key = keys[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, algorithms=["RS256"], audience="parlour", issuer=URL)


def test_a_token_verifies_against_the_published_keys(client: TestClient) -> None:
    answer = client.post("/token", json={"subject": "developer"}).json()
    assert verify(client, answer["access_token"])["sub"] == "developer"


def test_discovery_points_at_the_keys(client: TestClient) -> None:
    found = client.get("/.well-known/openid-configuration").json()
    assert (found["issuer"], found["jwks_uri"]) == (URL, f"{URL}/jwks.json")


def test_a_token_ends_when_it_was_asked_to(client: TestClient, issuer: Issuer) -> None:
    token = issuer.token("developer", datetime.now(UTC) - timedelta(hours=2), lifetime=timedelta(hours=1))
    with pytest.raises(jwt.ExpiredSignatureError):
        verify(client, token)


def test_no_token_lasts_longer_than_a_day(client: TestClient) -> None:
    assert client.post("/token", json={"subject": "developer", "lifetime": 86_401}).status_code == 422


def test_the_key_is_made_once_and_is_its_owners_only(tmp_path: Path) -> None:
    file = tmp_path / "issuer.pem"
    assert load_key(file).private_numbers() == load_key(file).private_numbers()
    assert file.stat().st_mode & 0o777 == 0o600


def authorize(client: TestClient, **changes: str) -> Any:
    return client.get("/authorize", params={**AUTHORIZATION, **changes})


def redeem(client: TestClient, code: str, **changes: str) -> Any:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": VERIFIER,
        "client_id": "console",
        "redirect_uri": AUTHORIZATION["redirect_uri"],
        **changes,
    }
    return client.post("/oauth/token", data=form, headers={"Origin": CONSOLE})


def code_of(answer: Any) -> str:
    assert answer.status_code == 302, answer.text
    return str(parse_qs(urlsplit(answer.headers["location"]).query)["code"][0])


def test_the_code_flow_signs_the_development_member_in(client: TestClient) -> None:
    endpoints = client.get("/.well-known/openid-configuration").json()
    assert endpoints["authorization_endpoint"] == f"{URL}/authorize"
    assert endpoints["token_endpoint"] == f"{URL}/oauth/token"
    answer = authorize(client)
    back = parse_qs(urlsplit(answer.headers["location"]).query)
    assert answer.headers["location"].startswith(f"{CONSOLE}/console/?from=sign-in&")
    assert (back["state"], back["iss"]) == (["s t"], [URL])
    tokens = redeem(client, code_of(answer))
    assert tokens.status_code == 200, tokens.text
    assert tokens.headers["access-control-allow-origin"] == CONSOLE
    assert verify(client, tokens.json()["access_token"])["sub"] == "developer"
    said = jwt.decode(tokens.json()["id_token"], options={"verify_signature": False})
    assert (said["aud"], said["nonce"], said["sub"]) == ("console", "once", "developer")


def test_a_hint_signs_another_member_in(client: TestClient) -> None:
    tokens = redeem(client, code_of(authorize(client, login_hint="wren"))).json()
    assert verify(client, tokens["access_token"])["sub"] == "wren"


@pytest.mark.parametrize(
    "changes",
    [
        {"code_verifier": "w" * 43},
        {"code_verifier": ""},
        {"client_id": "other"},
        {"redirect_uri": f"{CONSOLE}/console/"},
        {"grant_type": "password"},
        {"code": "none"},
    ],
)
def test_a_code_is_not_redeemed_by_another_client(client: TestClient, changes: dict[str, str]) -> None:
    answer = redeem(client, **{"code": code_of(authorize(client)), **changes})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def test_a_code_is_good_once_and_for_a_minute(issuer: Issuer) -> None:
    times = [datetime.now(UTC)]
    client = TestClient(
        build_app(issuer, lambda: times[-1], ConsoleClient(CONSOLE, "developer")), follow_redirects=False
    )
    first, second = code_of(authorize(client)), code_of(authorize(client))
    assert [redeem(client, first).status_code for _ in range(2)] == [200, 400]
    times.append(times[0] + timedelta(minutes=1))
    assert redeem(client, second).status_code == 400


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"redirect_uri": "https://evil.example/console/"}, 400),
        ({"redirect_uri": f"{CONSOLE}.evil.example/console/"}, 400),
        ({"code_challenge_method": "plain"}, 422),
        ({"code_challenge": ""}, 422),
        ({"response_type": "token"}, 422),
    ],
)
def test_nobody_else_gets_a_code(client: TestClient, changes: dict[str, str], status: int) -> None:
    assert authorize(client, **changes).status_code == status


def test_other_pages_cannot_read_tokens(client: TestClient) -> None:
    answer = client.post("/token", json={"subject": "developer"}, headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers
