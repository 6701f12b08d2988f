"""The outbound function with a WhatsApp Cloud number: a provider that hangs up or dawdles, and what its news settle."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import boto3
import pytest
from moto import mock_aws

from local.database import Cluster
from parlour.bootstrap import clients
from parlour.bootstrap.outbound import build_outbound
from parlour.channels import delivery_updates, whatsapp_cloud_webhook
from parlour.infra.settings import OutboundSettings
from tests.functions.deployed_function import (
    LAMBDA_CONTEXT,
    Handler,
    failed_message_ids,
    load_handler,
    set_environment,
    sqs_event,
    store_database_secret,
)
from tests.functions.fake_provider import FakeProvider, fake_provider
from tests.integration.channels.conftest import RECIPIENT, OutboxHarness, open_outbox_harness, outbox_harness

__all__ = ["fake_provider", "open_outbox_harness", "outbox_harness"]

CLOUD = {"provider": "whatsapp_cloud", "phone_number_id": "106540352242922", "api_key": "gupshup"}


@pytest.fixture
def handler(
    cluster: Cluster, database_name: str, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Handler]:
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        secret = store_database_secret(cluster, database_name)
        boto3.client("secretsmanager").create_secret(Name="parlour/gupshup", SecretString="token")
        given = {"database_secret": secret, "database_idle": "true", "whatsapp_base_url": fake_provider.url}
        given["public_url"] = "https://parlour.example"
        set_environment(OutboundSettings, monkeypatch, **given)
        build_outbound.cache_clear()
        clients.build_change_visibility.cache_clear()
        yield load_handler("outbound")
        build_outbound.cache_clear()
        clients.build_change_visibility.cache_clear()


def send(handler: Handler, outbox_harness: OutboxHarness, text: str) -> UUID:
    """The reply, and that its wake-up came twice."""
    outbox_harness.set_channels({"whatsapp": {**CLOUD}})
    outbox_harness.add_inbound(datetime.now(UTC))
    outbox_id = outbox_harness.add_reply(text)
    wake = {"tenant_id": str(outbox_harness.principal.tenant_id), "outbox_id": str(outbox_id)}
    assert (
        failed_message_ids(handler(sqs_event(wake), LAMBDA_CONTEXT))
        == failed_message_ids(handler(sqs_event(wake), LAMBDA_CONTEXT))
        == []
    )
    return outbox_id


def hear_news(outbox_harness: OutboxHarness, fake_provider: FakeProvider) -> None:
    """What the provider reported goes through the webhook's parser to the row."""
    for _ in range(500):
        if len(fake_provider.reported_statuses) == 2:
            break
        time.sleep(0.01)
    for event in fake_provider.reported_statuses:
        now = datetime.now(UTC)
        for envelope in whatsapp_cloud_webhook.parse(json.loads(json.dumps(event)), now).envelopes:
            delivery_updates.apply_status(outbox_harness.principal, outbox_harness.database, envelope, now)


def test_a_reply_goes_to_meta_once_and_its_news_move_it(
    handler: Handler, outbox_harness: OutboxHarness, fake_provider: FakeProvider
) -> None:
    outbox_id = send(handler, outbox_harness, "Poured on **Tuesday**.")

    assert [(one.recipient, one.text) for one in fake_provider.phone.messages()] == [
        (RECIPIENT, "Poured on *Tuesday*.")
    ]
    assert outbox_harness.find_delivery(outbox_id).state == "sent"
    hear_news(outbox_harness, fake_provider)
    assert outbox_harness.find_delivery(outbox_id).state == "delivered"


def test_a_provider_that_takes_it_and_hangs_up_is_unknown_until_its_news_come_and_never_asked_twice(
    handler: Handler, outbox_harness: OutboxHarness, fake_provider: FakeProvider
) -> None:
    fake_provider.behaviour.set_next({"next": "hang_up"})
    outbox_id = send(handler, outbox_harness, "Poured on Tuesday.")

    assert outbox_harness.find_delivery(outbox_id).state == "unknown"
    assert len(fake_provider.phone.messages()) == 1
    hear_news(outbox_harness, fake_provider)
    assert outbox_harness.find_delivery(outbox_id).state == "delivered"
    assert len(fake_provider.phone.messages()) == 1


def test_news_may_come_before_a_slow_answer(
    handler: Handler, outbox_harness: OutboxHarness, fake_provider: FakeProvider
) -> None:
    fake_provider.behaviour.set_next({"next": "slow", "seconds": 0.3})
    outbox_id = send(handler, outbox_harness, "Poured on Tuesday.")

    assert outbox_harness.find_delivery(outbox_id).state == "sent"
    hear_news(outbox_harness, fake_provider)
    assert outbox_harness.find_delivery(outbox_id).state == "delivered"
