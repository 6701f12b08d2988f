"""The receiver function, whole: a batch of envelopes through the real handler to stored messages and woken turns."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import boto3
import pytest
from moto import mock_aws

from local import phone
from local.database import APP, Cluster
from parlour.bootstrap import clients
from parlour.bootstrap.receiver import build_receiver
from parlour.channels.media import MediaKeeper
from parlour.infra.errors import AccessRefused
from parlour.infra.settings import ReceiverSettings
from parlour.models.pictures import Pictures
from parlour.models.request import blocks_of
from parlour.turns.receive import Wake
from parlour.turns.run import run
from tests.desk import PHONE, Desk, says
from tests.functions.deployed import CONTEXT, Handler, batch, failed, give, load_handler, store_database_secret
from tests.functions.providers import Provider, provider

__all__ = ["provider"]


@pytest.fixture
def handler(
    cluster: Cluster, desk: Desk, database_name: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Handler]:
    """The function in its deployment: the database's secret, the two turn queues, the bucket, the provider."""
    del desk  # the pack is applied
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        secret = store_database_secret(cluster, database_name)
        boto3.client("s3").create_bucket(
            Bucket="media", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        give(
            ReceiverSettings,
            monkeypatch,
            database_secret=secret,
            database_idle="true",
            media_bucket="media",
            whatsapp_base_url=provider.url,
        )
        _forget()
        yield load_handler("receiver")
        _forget()


def _forget() -> None:
    build_receiver.cache_clear()
    clients.build_shorten_visibility.cache_clear()


def envelope(number: int, **changes: object) -> dict[str, object]:
    return {
        "channel": "whatsapp", "provider": "gupshup", "to": "gupshup:ParlourDemo", "sender": PHONE,
        "provider_message_id": f"m{number}", "kind": "text", "text": f"Question {number}", "media": None,
        "status": "", "sent_at": "2026-03-02T09:30:00+00:00", "metadata": {}, **changes,
    }  # fmt: skip


def woken(name: str) -> int:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=f"{name}.fifo")["QueueUrl"]
    got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    return len(got)


def test_news_of_an_early_part_wake_the_sender_of_the_rest(handler: Handler, desk: Desk) -> None:
    desk.write("How wide is the crack?")
    desk.model.script = [says("0.35 mm.")]
    desk.run()
    ((outbox_id,),) = desk.rows("UPDATE outbox SET state = 'unknown', parts = 2 RETURNING id")
    news = envelope(7, kind="status", text="", status="delivered", metadata={"callback": f"{outbox_id}:1"})
    assert failed(handler(batch(news), CONTEXT)) == []
    assert (desk.rows("SELECT state FROM outbox"), woken("outbox")) == ([("pending",)], 1)


def test_a_batch_is_stored_in_order_and_wakes_the_messaging_queue(handler: Handler, desk: Desk) -> None:
    assert failed(handler(batch(envelope(1), envelope(2), envelope(3)), CONTEXT)) == []
    stored = desk.rows("SELECT body FROM messages ORDER BY position")
    assert stored == [("Question 1",), ("Question 2",), ("Question 3",)]
    assert (woken("turns_messaging"), woken("turns_web")) == (3, 0)


def test_nonsense_is_left_for_the_dead_letters_and_its_neighbours_are_stored(handler: Handler, desk: Desk) -> None:
    answer = handler(batch("not json", {"channel": "pigeon"}, envelope(1)), CONTEXT)
    assert failed(answer) == ["id-0", "id-1"]
    assert desk.rows("SELECT body FROM messages") == [("Question 1",)]


def test_an_unknown_number_is_done_with(handler: Handler, desk: Desk) -> None:
    assert failed(handler(batch(envelope(1, to="gupshup:Nobody")), CONTEXT)) == []
    assert desk.rows("SELECT count(*) FROM messages") == [(0,)]


def test_with_the_database_away_everything_comes_again(handler: Handler, monkeypatch: pytest.MonkeyPatch) -> None:
    boto3.client("secretsmanager").put_secret_value(
        SecretId="database",
        SecretString=json.dumps({"username": APP, "password": "x", "host": "/nowhere", "dbname": "x"}),
    )
    assert failed(handler(batch(envelope(1), envelope(2)), CONTEXT)) == ["id-0", "id-1"]


def test_a_photo_is_stored_woken_for_and_kept(handler: Handler, desk: Desk, provider: Provider) -> None:
    photo = {
        "kind": "image", "url": f"{provider.url}/wa/1/media/2", "mime_type": "image/png", "name": "", "caption": "",
    }  # fmt: skip
    sent = envelope(1, kind="media", text="", media=photo)

    assert failed(handler(batch(sent), CONTEXT)) == []
    ((message_id, media),) = desk.rows("SELECT id, media FROM messages")
    key = f"tenant/{desk.tenant_id}/media/{message_id}"
    assert media["stored"]["key"] == key  # type: ignore[index]
    assert boto3.client("s3").get_object(Bucket="media", Key=key)["Body"].read() == phone.PHOTO
    assert woken("turns_messaging") == 1

    ((session_id,),) = desk.rows("SELECT session_id FROM messages")
    desk.model.script = [says("A blank page.")]
    services = replace(desk.services(), pictures=Pictures(lambda: clients.uploads("media")))
    run(services, Wake(desk.tenant_id, UUID(str(session_id))), lambda: 60.0)
    (shown, *_) = blocks_of(desk.model.requests[0].messages[0])
    data = base64.b64encode(phone.PHOTO).decode()
    assert shown["source"] == {"type": "base64", "media_type": "image/png", "data": data}


def test_a_file_whose_token_is_refused_waits_by_itself_and_the_next_message_does_not(
    handler: Handler, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bool:
        raise AccessRefused(after=300)

    photo = {"kind": "image", "url": "https://filemanager.gupshup.io/1", "mime_type": "", "name": "", "caption": ""}
    sent = envelope(1, kind="media", text="", media=photo)
    with monkeypatch.context() as patched:
        patched.setattr(MediaKeeper, "keep", refuse)
        assert failed(handler(batch(sent, envelope(2)), CONTEXT)) == []
        sqs = boto3.client("sqs")
        url = sqs.get_queue_url(QueueName="intake.fifo")["QueueUrl"]
        [waiting] = sqs.receive_message(QueueUrl=url)["Messages"]
        assert failed(handler(batch(waiting["Body"]), CONTEXT)) == ["id-0"]
        assert "Messages" not in sqs.receive_message(QueueUrl=url), "it comes again, and not twice"
    assert desk.rows("SELECT count(*) FROM messages") == [(2,)]


def test_statuses_that_came_together_are_each_taken(handler: Handler, caplog: pytest.LogCaptureFixture) -> None:
    many = [envelope(number, kind="status", status="read", text="") for number in range(40)]
    assert failed(handler(batch({"statuses": many}), CONTEXT)) == []
    assert sum(record.message == "status_received" for record in caplog.records) == 40


def test_a_status_of_metas_settles_a_reply(handler: Handler, desk: Desk) -> None:
    status = envelope(
        1, provider="whatsapp_cloud", kind="status", status="delivered", text="", metadata={"callback": "x:1"}
    )
    assert failed(handler(batch(status), CONTEXT)) == []
