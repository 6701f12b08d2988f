"""Secrets Manager, by moto: read by reference, remembered briefly, rotated values picked up."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from parlour.infra.errors import Misconfigured, MissingSecret
from parlour.infra.secrets import SecretsManager


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        yield


def test_a_value_is_remembered_for_five_minutes_and_then_read_again() -> None:
    moment = 0.0
    client = boto3.client("secretsmanager")
    client.create_secret(Name="key", SecretString="old")
    secrets = SecretsManager(client, lambda: moment)
    assert secrets.get("key") == "old"
    client.put_secret_value(SecretId="key", SecretString="new")
    moment = 299.0
    assert secrets.get("key") == "old"
    moment = 300.0
    assert secrets.get("key") == "new"


def test_a_missing_secret_is_named_not_shown() -> None:
    with pytest.raises(Misconfigured, match="no-such-secret"):
        SecretsManager(boto3.client("secretsmanager")).get("no-such-secret")


def test_status_of_a_secret_is_found_without_its_value() -> None:
    client = boto3.client("secretsmanager")
    secrets = SecretsManager(client)
    assert secrets.find_status("key") == "missing"
    client.create_secret(Name="key")
    assert secrets.find_status("key") == "unreadable"
    client.put_secret_value(SecretId="key", SecretString="value")
    assert secrets.find_status("key") == "stored"
    client.delete_secret(SecretId="key")
    assert secrets.find_status("key") == "unreadable"


def test_a_secret_is_created_then_replaced() -> None:
    secrets = SecretsManager(boto3.client("secretsmanager"))
    secrets.put("parlour/tenants/acme/key", "old")
    assert secrets.get("parlour/tenants/acme/key") == "old"
    secrets.put("parlour/tenants/acme/key", "new")
    assert secrets.get("parlour/tenants/acme/key") == "new"


def test_a_stack_has_the_secrets_of_its_tenants_below_its_own_name() -> None:
    client = boto3.client("secretsmanager")
    secrets = SecretsManager(client)
    staging, production = SecretsManager(client, stack="staging"), SecretsManager(client, stack="production")
    production.put("parlour/tenants/acme/key", "real")
    assert production.get("parlour/tenants/acme/key") == secrets.get("parlour/production/tenants/acme/key") == "real"
    assert production.find_status("parlour/tenants/acme/key") == "stored"
    # Another stack reaches it by no spelling.
    for reference in ("parlour/tenants/acme/key", "parlour/production/tenants/acme/key", "x/tenants/tenants/acme/key"):
        assert staging.locate(reference) == "parlour/staging/tenants/acme/key"
        assert staging.find_status(reference) == "missing"
        with pytest.raises(MissingSecret, match="parlour/staging/tenants/acme/key"):
            staging.get(reference)
    assert staging.locate("arn:aws:secretsmanager:eu-west-1:1:secret:TokenSecret-abc") == (
        "arn:aws:secretsmanager:eu-west-1:1:secret:TokenSecret-abc"
    )
    assert staging.locate("parlour/tenants/tenants/key") == "parlour/staging/tenants/tenants/key"
