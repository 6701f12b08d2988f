"""The receiver function, whole: a batch of envelopes through the real handler to stored messages and woken turns."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID, uuid4

import boto3
import pytest
from moto import mock_aws

from local import phone
from local.database import APP_ROLE, Cluster
from parlour.bootstrap import clients
from parlour.bootstrap.receiver import build_receiver
from parlour.channels.media import MediaFetcher
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.turn_runner import run_session
from parlour.infra.errors import AccessRefused
from parlour.infra.queries import Query
from parlour.infra.settings import ReceiverSettings
from parlour.models.images import ImageResolver
from parlour.models.model import content_blocks
from parlour.tenancy import routing_keys
from tests.conversation_harness import PHONE, ConversationHarness, text_answer
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

__all__ = ["fake_provider"]


@pytest.fixture
def handler(
    cluster: Cluster,
    conversation: ConversationHarness,
    database_name: str,
    fake_provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Handler]:
    """The function in its deployment: the database's secret, the two turn queues, the bucket, the provider."""
    del conversation  # the pack is applied
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        secret = store_database_secret(cluster, database_name)
        boto3.client("s3").create_bucket(
            Bucket="media", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        set_environment(
            ReceiverSettings,
            monkeypatch,
            database_secret=secret,
            database_idle="true",
            media_bucket="media",
            whatsapp_base_url=fake_provider.url,
        )
        _forget()
        yield load_handler("receiver")
        _forget()


def _forget() -> None:
    build_receiver.cache_clear()
    clients.build_change_visibility.cache_clear()


def envelope(number: int, **changes: object) -> dict[str, object]:
    return {
        "channel": "whatsapp",
        "provider": "gupshup",
        "to": "gupshup:ParlourDemo",
        "sender": PHONE,
        "provider_message_id": f"m{number}",
        "kind": "text",
        "text": f"Question {number}",
        "media": None,
        "status": "",
        "sent_at": "2026-03-02T09:30:00+00:00",
        "metadata": {},
        **changes,
    }


def woken(name: str) -> int:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=f"{name}.fifo")["QueueUrl"]
    got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    return len(got)


def test_news_of_an_early_part_wake_the_sender_of_the_rest(handler: Handler, conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?")
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.run_turn()
    ((outbox_id,),) = conversation.query("UPDATE outbox SET state = 'unknown', part_count = 2 RETURNING id")
    news = envelope(7, kind="status", text="", status="delivered", metadata={"callback": f"{outbox_id}:1"})
    assert failed_message_ids(handler(sqs_event(news), LAMBDA_CONTEXT)) == []
    assert (conversation.query("SELECT state FROM outbox"), woken("outbox")) == ([("pending",)], 1)


def test_a_batch_is_stored_in_order_and_only_its_first_message_is_not_delayed(
    handler: Handler, conversation: ConversationHarness
) -> None:
    assert failed_message_ids(handler(sqs_event(envelope(1), envelope(2), envelope(3)), LAMBDA_CONTEXT)) == []
    stored = conversation.query("SELECT body FROM messages ORDER BY position")
    assert stored == [("Question 1",), ("Question 2",), ("Question 3",)]
    assert (woken("turns_messaging"), woken("turns_web")) == (2, 1)


def test_nonsense_is_left_for_the_dead_letters_and_its_neighbours_are_stored(
    handler: Handler, conversation: ConversationHarness
) -> None:
    answer = handler(sqs_event("not json", {"channel": "pigeon"}, envelope(1)), LAMBDA_CONTEXT)
    assert failed_message_ids(answer) == ["id-0", "id-1"]
    assert conversation.query("SELECT body FROM messages") == [("Question 1",)]


_OTHER_TENANT = """
INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at) VALUES (%(id)s, 'other', 'O', now(), now())
"""


def test_a_secret_for_any_number_is_refused_once_a_second_tenant_has_one(
    handler: Handler, conversation: ConversationHarness
) -> None:
    unbound = {**envelope(1), "is_unbound": True}
    assert failed_message_ids(handler(sqs_event(unbound), LAMBDA_CONTEXT)) == []
    other = uuid4()
    with conversation.database.transaction(other) as tx:
        tx.run(Query("test.tenant", "-", _OTHER_TENANT), id=other)
        routing_keys.claim_key(tx, routing_keys.gupshup_key("Other"), None)
    unbound = {**envelope(2), "is_unbound": True}
    assert failed_message_ids(handler(sqs_event(unbound), LAMBDA_CONTEXT)) == ["id-0"]
    assert failed_message_ids(handler(sqs_event(envelope(3)), LAMBDA_CONTEXT)) == []
    assert failed_message_ids(handler(sqs_event({**unbound, "is_redriven": True}), LAMBDA_CONTEXT)) == []
    assert conversation.query("SELECT body FROM messages ORDER BY position") == [
        ("Question 1",),
        ("Question 3",),
        ("Question 2",),
    ]


def test_an_unknown_number_is_done_with(handler: Handler, conversation: ConversationHarness) -> None:
    assert failed_message_ids(handler(sqs_event(envelope(1, to="gupshup:Nobody")), LAMBDA_CONTEXT)) == []
    assert conversation.query("SELECT count(*) FROM messages") == [(0,)]


def test_with_the_database_away_everything_comes_again(handler: Handler, monkeypatch: pytest.MonkeyPatch) -> None:
    boto3.client("secretsmanager").put_secret_value(
        SecretId="database",
        SecretString=json.dumps({"username": APP_ROLE, "password": "x", "host": "/nowhere", "dbname": "x"}),
    )
    assert failed_message_ids(handler(sqs_event(envelope(1), envelope(2)), LAMBDA_CONTEXT)) == ["id-0", "id-1"]


def test_a_photo_is_stored_woken_for_and_kept(
    handler: Handler, conversation: ConversationHarness, fake_provider: FakeProvider
) -> None:
    photo = {
        "kind": "image",
        "url": f"{fake_provider.url}/wa/1/media/2",
        "mime_type": "image/png",
        "name": "",
        "caption": "",
    }
    sent = envelope(1, kind="media", text="", media=photo)

    assert failed_message_ids(handler(sqs_event(sent), LAMBDA_CONTEXT)) == []
    ((message_id, media),) = conversation.query("SELECT id, media FROM messages")
    key = f"tenant/{conversation.tenant_id}/media/{message_id}"
    assert media["stored"]["key"] == key  # type: ignore[index]
    assert boto3.client("s3").get_object(Bucket="media", Key=key)["Body"].read() == phone.SAMPLE_PHOTO
    assert woken("turns_web") == 1

    ((session_id,),) = conversation.query("SELECT session_id FROM messages")
    conversation.model.script = [text_answer("A blank page.")]
    services = replace(
        conversation.make_dependencies(), images=ImageResolver(lambda: clients.make_upload_store("media"))
    )
    run_session(services, SessionWakeup(conversation.tenant_id, UUID(str(session_id))), lambda: 60.0)
    (shown, *_) = content_blocks(conversation.model.requests[0].messages[0])
    data = base64.b64encode(phone.SAMPLE_PHOTO).decode()
    assert shown["source"] == {"type": "base64", "media_type": "image/png", "data": data}


def test_a_file_whose_token_is_refused_waits_by_itself_and_the_next_message_does_not(
    handler: Handler, conversation: ConversationHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bool:
        raise AccessRefused(retry_after=300)

    photo = {"kind": "image", "url": "https://filemanager.gupshup.io/1", "mime_type": "", "name": "", "caption": ""}
    sent = envelope(1, kind="media", text="", media=photo)
    with monkeypatch.context() as patched:
        patched.setattr(MediaFetcher, "fetch_and_store", refuse)
        assert failed_message_ids(handler(sqs_event(sent, envelope(2)), LAMBDA_CONTEXT)) == []
        sqs = boto3.client("sqs")
        url = sqs.get_queue_url(QueueName="intake.fifo")["QueueUrl"]
        [waiting] = sqs.receive_message(QueueUrl=url)["Messages"]
        assert failed_message_ids(handler(sqs_event(waiting["Body"]), LAMBDA_CONTEXT)) == ["id-0"]
        assert "Messages" not in sqs.receive_message(QueueUrl=url), "it comes again, and not twice"
    assert conversation.query("SELECT count(*) FROM messages") == [(2,)]


def test_statuses_that_came_together_are_each_taken(handler: Handler, caplog: pytest.LogCaptureFixture) -> None:
    many = [envelope(number, kind="status", status="read", text="") for number in range(40)]
    assert failed_message_ids(handler(sqs_event({"statuses": many}), LAMBDA_CONTEXT)) == []
    assert sum(record.message == "status_received" for record in caplog.records) == 40


def test_a_status_of_metas_settles_a_reply(handler: Handler, conversation: ConversationHarness) -> None:
    status = envelope(
        1, provider="whatsapp_cloud", kind="status", status="delivered", text="", metadata={"callback": "x:1"}
    )
    assert failed_message_ids(handler(sqs_event(status), LAMBDA_CONTEXT)) == []
