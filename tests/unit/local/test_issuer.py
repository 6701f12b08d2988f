"""The development issuer, checked with the client that the API itself uses."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest
from fastapi.testclient import TestClient

from local.issuer import Issuer, build_app, load_key

URL = "http://127.0.0.1:8704"


@pytest.fixture
def issuer(tmp_path: Path) -> Issuer:
    return Issuer(URL, load_key(tmp_path / "issuer.pem"))


@pytest.fixture
def client(issuer: Issuer) -> TestClient:
    return TestClient(build_app(issuer, lambda: datetime.now(UTC)))


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
