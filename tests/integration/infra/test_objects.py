"""The bucket that people upload to, over moto: forms that hold what they promise, and what is there."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from parlour.infra.errors import AccessRefused, ObjectsUnavailable, RetryError
from parlour.infra.objects import S3ObjectStore


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3ObjectStore]:
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        config = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
        client = boto3.client("s3", config=config)
        client.create_bucket(Bucket="files", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield S3ObjectStore(client, "files")


def test_what_was_put_is_told_read_and_deleted(objects: S3ObjectStore) -> None:
    objects.put("a/1", b"hello", "text/plain")
    assert (objects.size("a/1"), objects.get("a/1", 100), objects.get("a/1", 3)) == (5, b"hello", b"hell")
    objects.delete(["a/1", "a/2"])
    assert (objects.size("a/1"), objects.get("a/1", 100)) == (None, None)


def test_a_form_names_the_buckets_region_and_limits_what_is_sent(objects: S3ObjectStore) -> None:
    form = objects.make_upload_form("a/1", "application/pdf", 1_000, 900)
    assert form.url == "https://files.s3.eu-west-1.amazonaws.com/"
    assert objects.origin == "https://files.s3.eu-west-1.amazonaws.com"
    assert form.fields["key"] == "a/1"
    assert form.fields["Content-Type"] == "application/pdf"
    assert form.fields["x-amz-date"].startswith(str(datetime.now(UTC).year))
    conditions = json.loads(base64.b64decode(form.fields["policy"]))["conditions"]
    assert ["content-length-range", 1, 1_000] in conditions
    assert {"key": "a/1"} in conditions
    assert {"Content-Type": "application/pdf"} in conditions


def test_an_address_of_digits_has_no_hosts_below_it(objects: S3ObjectStore) -> None:
    here = S3ObjectStore(
        boto3.client("s3", endpoint_url="http://127.0.0.1:4566", config=objects._client.meta.config), "files"
    )
    assert here.origin == "http://127.0.0.1:4566"
    assert here.make_upload_form("a", "text/plain", 1, 1).url == "http://127.0.0.1:4566/files"


def test_a_link_is_for_one_key_and_saves_the_file_whatever_it_is(objects: S3ObjectStore) -> None:
    objects.put("a/1", b"<script>alert(1)</script>", "text/html")
    link = objects.make_download_link("a/1", 'Prüfung "1".html', 60)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
    assert urlsplit(link).path == "/a/1"
    assert asked["X-Amz-Expires"] == "60"
    assert asked["response-content-type"] == "application/octet-stream"
    assert asked["response-cache-control"] == "private, no-store"
    assert asked["response-content-disposition"] == (
        "attachment; filename=\"Pr_fung _1_.html\"; filename*=UTF-8''Pr%C3%BCfung%20%221%22.html"
    )


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("403", AccessRefused),
        ("AccessDenied", AccessRefused),
        ("503", ObjectsUnavailable),
        ("SlowDown", ObjectsUnavailable),
    ],
)
def test_being_refused_is_neither_an_empty_place_nor_a_store_that_is_away(
    objects: S3ObjectStore, monkeypatch: pytest.MonkeyPatch, code: str, error: type[RetryError]
) -> None:
    def refuse(**_: object) -> None:
        raise ClientError({"Error": {"Code": code}}, "HeadObject")

    monkeypatch.setattr(objects._client, "head_object", refuse)
    monkeypatch.setattr(objects._client, "get_object", refuse)
    for ask in (lambda: objects.size("a/1"), lambda: objects.get("a/1", 9)):
        with pytest.raises(error):
            ask()


def test_a_bucket_that_is_not_there_is_no_empty_one(objects: S3ObjectStore) -> None:
    away = S3ObjectStore(objects._client, "elsewhere")
    with pytest.raises(AccessRefused):
        away.put("a", b"", "text/plain")
    with pytest.raises(AccessRefused):
        away.get("a", 1)
