"""Files that people send: fetched from their provider's hosts only, told by their bytes, kept in S3 (moto's)."""

import io
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import boto3
import httpx2
import pytest
from botocore.config import Config
from moto import mock_aws

from parlour.channels.attachment_content import FETCH_RETRY_PERIOD, MAX_ATTACHMENT_BYTES
from parlour.channels.media import MAX_BLOCKED_TIME, MediaFetcher
from parlour.channels.mime_types import detect_mime_type
from parlour.infra.errors import AccessRefused, ObjectsUnavailable, ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.infra.objects import S3ObjectStore
from parlour.infra.postgres import jsonb
from tests.integration.channels.conftest import OutboxHarness

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)
GUPSHUP: JsonObject = {"kind": "image", "url": "https://filemanager.gupshup.io/wa/1?download=false", "id": ""}
CLOUD: JsonObject = {"kind": "image", "url": "", "id": "media-1"}
LOOKASIDE = "https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1"

type Answer = Callable[[httpx2.Request], httpx2.Response]


class Safe:
    def get(self, reference: str, /) -> str:
        return f"token of {reference}"


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3ObjectStore]:
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        client = boto3.client("s3")
        client.create_bucket(Bucket="media")
        yield S3ObjectStore(client, "media")


def gives(data: bytes, status: int = 200, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, stream=httpx2.ByteStream(data), headers=headers)


def message(outbox_harness: OutboxHarness, media: JsonObject, provider: str = "gupshup") -> UUID:
    message_id = outbox_harness.add_inbound(outbox_harness.now, "media")
    with outbox_harness.database.transaction(outbox_harness.principal) as tx:
        tx._connection.execute(
            b"UPDATE messages SET media = %s, provider_message_id = %s WHERE id = %s",
            (jsonb(media), f"{provider}:{message_id}", message_id),
        )
    return message_id


def keep(
    outbox_harness: OutboxHarness,
    objects: S3ObjectStore,
    message_id: UUID,
    answer: Answer,
    *,
    later: timedelta = timedelta(),
    **options: Any,
) -> bool:
    client = httpx2.Client(transport=httpx2.MockTransport(answer))
    keeper = MediaFetcher(client, objects, Safe(), **{"base_url": "https://graph.facebook.com", **options})
    return keeper.fetch_and_store(
        outbox_harness.principal, outbox_harness.database, message_id, lambda: 60.0, outbox_harness.now + later
    )


def noted(outbox_harness: OutboxHarness, message_id: UUID) -> dict[str, Any]:
    ((media,),) = outbox_harness.query(f"SELECT media FROM messages WHERE id = '{message_id}'")
    return media  # type: ignore[return-value]


def test_a_file_of_gupshups_is_kept_under_its_message(outbox_harness: OutboxHarness, objects: S3ObjectStore) -> None:
    message_id = message(outbox_harness, GUPSHUP)
    asked: list[httpx2.Request] = []

    assert keep(outbox_harness, objects, message_id, lambda request: asked.append(request) or gives(PNG))  # type: ignore[func-returns-value]
    stored = noted(outbox_harness, message_id)["stored"]
    assert stored["key"] == f"tenant/{outbox_harness.principal.tenant_id}/media/{message_id}"
    assert (stored["bucket"], stored["bytes"], stored["mime_type"]) == ("media", 40, "image/png")
    kept = boto3.client("s3").get_object(Bucket="media", Key=stored["key"])
    assert (kept["Body"].read(), kept["ContentType"]) == (PNG, "image/png")
    assert "authorization" not in asked[0].headers
    assert asked[0].headers["accept-encoding"] == "identity"

    assert keep(outbox_harness, objects, message_id, lambda _: pytest.fail("asked again"))


@pytest.mark.parametrize("forgotten", ["UPDATE messages SET media = NULL", "DELETE FROM messages"])
def test_a_file_whose_message_is_forgotten_meanwhile_is_not_kept(
    outbox_harness: OutboxHarness, objects: S3ObjectStore, forgotten: str
) -> None:
    message_id = message(outbox_harness, GUPSHUP)

    def fetched(_: httpx2.Request) -> httpx2.Response:
        outbox_harness.query(f"{forgotten} WHERE id = '{message_id}' RETURNING id")
        return gives(PNG)

    assert not keep(outbox_harness, objects, message_id, fetched)
    assert "Contents" not in boto3.client("s3").list_objects_v2(Bucket="media")


def test_a_file_that_somebody_else_kept_meanwhile_stays(outbox_harness: OutboxHarness, objects: S3ObjectStore) -> None:
    message_id = message(outbox_harness, GUPSHUP)

    def fetched(_: httpx2.Request) -> httpx2.Response:
        assert keep(outbox_harness, objects, message_id, lambda _: gives(PNG))
        return gives(PNG)

    assert keep(outbox_harness, objects, message_id, fetched)
    assert len(boto3.client("s3").list_objects_v2(Bucket="media")["Contents"]) == 1


def test_a_file_of_metas_is_asked_for_by_its_id_with_the_tenants_token(
    outbox_harness: OutboxHarness, objects: S3ObjectStore
) -> None:
    message_id = message(outbox_harness, CLOUD, "whatsapp_cloud")
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        assert request.headers["authorization"] == "Bearer token of parlour/gupshup"
        if request.url.host == "graph.facebook.com":
            return gives(b'{"url": "%s"}' % LOOKASIDE.encode())
        return gives(PNG)

    assert keep(outbox_harness, objects, message_id, answer)
    assert asked == ["https://graph.facebook.com/v23.0/media-1", LOOKASIDE]


@pytest.mark.parametrize(
    "url",
    [
        "http://filemanager.gupshup.io/x",
        "https://filemanager.gupshup.io:8443/x",
        "https://evil.example/x",
        "https://filemanager.gupshup.io.evil.example/x",
        "https://u:p@filemanager.gupshup.io/x",
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "//filemanager.gupshup.io/x",
        "https://",
        "\0",
        "https://graph.facebook.com/me",
    ],
)
def test_no_other_place_is_asked(outbox_harness: OutboxHarness, objects: S3ObjectStore, url: str) -> None:
    message_id = message(outbox_harness, {**GUPSHUP, "url": url.replace("\0", "x")})

    assert not keep(outbox_harness, objects, message_id, lambda _: pytest.fail("asked"))
    assert noted(outbox_harness, message_id)["refused"] == "host_not_allowed"


def test_a_redirect_leads_to_the_same_hosts_or_nowhere(outbox_harness: OutboxHarness, objects: S3ObjectStore) -> None:
    message_id = message(outbox_harness, GUPSHUP)
    assert not keep(outbox_harness, objects, message_id, lambda _: gives(b"", 302, location="http://169.254.169.254/"))
    assert noted(outbox_harness, message_id)["refused"] == "host_not_allowed"

    nowhere = message(outbox_harness, GUPSHUP)
    assert not keep(outbox_harness, objects, nowhere, lambda _: gives(b"", 304))
    assert noted(outbox_harness, nowhere)["refused"] == "not_found"

    round_and_round = message(outbox_harness, GUPSHUP)
    assert not keep(outbox_harness, objects, round_and_round, lambda _: gives(b"", 302, location="/again"))
    assert noted(outbox_harness, round_and_round)["refused"] == "too_many_redirects"


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (PNG + bytes(MAX_ATTACHMENT_BYTES), 200, "too_large"),
        (b"MZ\x90\x00" + bytes(60), 200, "unsupported_type"),
        (b"<html><script>", 200, "unsupported_type"),
        (b"", 200, "unsupported_type"),
        (PNG, 404, "not_found"),
    ],
)
def test_what_is_not_taken_is_told_and_not_tried_again(
    outbox_harness: OutboxHarness, objects: S3ObjectStore, data: bytes, status: int, reason: str
) -> None:
    message_id = message(outbox_harness, GUPSHUP)

    assert not keep(outbox_harness, objects, message_id, lambda _: gives(data, status))
    assert noted(outbox_harness, message_id)["refused"] == reason
    assert not keep(outbox_harness, objects, message_id, lambda _: pytest.fail("asked again"))


def unreachable(_: httpx2.Request) -> httpx2.Response:
    raise httpx2.ReadTimeout("slow")


@pytest.mark.parametrize("answer", [unreachable, lambda _: gives(b"", 503), lambda _: gives(b"", 429)])
def test_what_passes_is_tried_again_for_a_while_and_then_told(
    outbox_harness: OutboxHarness, objects: S3ObjectStore, answer: Answer
) -> None:
    message_id = message(outbox_harness, GUPSHUP)

    with pytest.raises(ProviderUnavailable):
        keep(outbox_harness, objects, message_id, answer)
    assert "refused" not in noted(outbox_harness, message_id)
    assert not keep(outbox_harness, objects, message_id, answer, later=FETCH_RETRY_PERIOD)
    assert noted(outbox_harness, message_id)["refused"] == "unavailable"


EXPIRED = b'{"error": {"message": "Session has expired", "type": "OAuthException", "code": 190}}'


@pytest.mark.parametrize("answer", [lambda _: gives(b"", 401), lambda _: gives(EXPIRED, 400)])
def test_a_refused_token_puts_a_file_off_for_a_day_and_loses_none(
    outbox_harness: OutboxHarness, objects: S3ObjectStore, answer: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    message_id, lost = (message(outbox_harness, CLOUD, "whatsapp_cloud") for _ in range(2))

    pauses = []
    for hours in (0.0, 0.2, 1.0, 23.0):
        with pytest.raises(AccessRefused) as caught:
            keep(outbox_harness, objects, message_id, answer, later=timedelta(hours=hours))
        pauses.append(caught.value.retry_after)
    assert pauses == [300, 720, 3600, 6 * 3600]
    assert "refused" not in noted(outbox_harness, message_id)
    assert capsys.readouterr().out.count("RefusedAccess") >= 1

    def mended(request: httpx2.Request) -> httpx2.Response:
        return gives(b'{"url": "%s"}' % LOOKASIDE.encode() if request.url.host == "graph.facebook.com" else PNG)

    assert keep(outbox_harness, objects, message_id, mended, later=timedelta(hours=23))
    assert not keep(outbox_harness, objects, lost, answer, later=MAX_BLOCKED_TIME)
    assert noted(outbox_harness, lost)["refused"] == "access_refused"


def test_a_file_that_is_gone_is_no_matter_of_the_token(outbox_harness: OutboxHarness, objects: S3ObjectStore) -> None:
    gone = message(outbox_harness, CLOUD, "whatsapp_cloud")
    answer = b'{"error": {"message": "Unsupported get request", "code": 100}}'
    assert not keep(outbox_harness, objects, gone, lambda _: gives(answer, 400))
    assert noted(outbox_harness, gone)["refused"] == "not_found"


def test_a_store_that_is_away_passes_too(outbox_harness: OutboxHarness, objects: S3ObjectStore) -> None:
    message_id = message(outbox_harness, GUPSHUP)
    hasty = Config(connect_timeout=0.2, retries={"total_max_attempts": 1})
    away = S3ObjectStore(boto3.client("s3", endpoint_url="http://127.0.0.1:9", config=hasty), "media")

    with pytest.raises(ObjectsUnavailable):
        keep(outbox_harness, away, message_id, lambda _: gives(PNG))
    assert keep(outbox_harness, objects, message_id, lambda _: gives(PNG))


def test_on_a_laptop_the_configured_address_plays_every_provider(
    outbox_harness: OutboxHarness, objects: S3ObjectStore
) -> None:
    message_id = message(outbox_harness, {**GUPSHUP, "url": "http://127.0.0.1:8702/media/1"})

    assert keep(outbox_harness, objects, message_id, lambda _: gives(PNG), base_url="http://127.0.0.1:8702")


def test_a_message_without_a_file_needs_nothing(outbox_harness: OutboxHarness, objects: S3ObjectStore) -> None:
    assert not keep(
        outbox_harness,
        objects,
        message(outbox_harness, {"kind": "location", "url": ""}),
        lambda _: pytest.fail("asked"),
    )
    assert not keep(
        outbox_harness, objects, outbox_harness.add_inbound(outbox_harness.now), lambda _: pytest.fail("asked")
    )


def archive(*names: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        for name in names:
            file.writestr(name, "x")
    return held.getvalue()


def test_an_archive_of_far_too_many_parts_is_not_even_opened() -> None:
    parts = ["[Content_Types].xml", "word/document.xml", *(f"word/{number}" for number in range(5_000))]

    assert detect_mime_type(archive(*parts)) is None
    assert detect_mime_type(archive(*parts[:100])) == WORD


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"%PDF-1.7", "application/pdf"),
        (b"OggS", "audio/ogg"),
        (b"\0\0\0\x20ftypM4A ", "audio/mp4"),
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"\0\0\0\x20ftyp3gp5", "video/3gpp"),
        (b"\xff\xf1\x50", "audio/aac"),
        (b"\xff\xfb\x90", "audio/mpeg"),
        ("Größe: 3 m\n".encode(), "text/plain"),
        (b"#!/bin/sh\n", None),
        (b"\x7fELF", None),
        (b"a\0b", None),
        (b"<svg onload=x>", None),
        (b"PK\x03\x04junk", None),
        (archive("[Content_Types].xml", "word/document.xml"), WORD),
        (archive("run.exe"), None),
        (archive("[Content_Types].xml", "word/document.xml", "word/vbaProject.bin"), None),
    ],
)
def test_a_file_is_what_its_bytes_are(data: bytes, kind: str | None) -> None:
    assert detect_mime_type(data) == kind
