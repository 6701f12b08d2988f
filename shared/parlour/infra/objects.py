"""Keeping files in S3: narrow on purpose, one bucket, keys that the caller makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import ObjectsUnavailable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_MISSING = frozenset({"403", "404", "AccessDenied", "NoSuchKey", "NotFound"})
"""S3 says 403 of what is not there to whoever may not list the bucket, and we may not."""

_MOST_DELETED = 1_000


class Objects(Protocol):
    """Somewhere to keep a file under a key; `put` returns once it is durable or raises ObjectsUnavailable."""

    @property
    def bucket(self) -> str: ...

    def put(self, key: str, data: bytes, content_type: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Form:
    """Where somebody else may send one file to, and the fields to send before it; the file's field comes last."""

    url: str
    fields: dict[str, str]


class Uploads(Protocol):
    """Files that others upload. Everything raises ObjectsUnavailable when the store does not answer."""

    @property
    def origin(self) -> str:
        """Scheme and host that forms are sent to: what a page has to be allowed to reach."""

    def form(self, key: str, content_type: str, most_bytes: int, seconds: int, /) -> Form:
        """A form that is good for this key and type, from one to so many bytes, and so many seconds."""

    def size(self, key: str, /) -> int | None:
        """How many bytes are there; None when nothing is."""

    def get(self, key: str, most_bytes: int, /) -> bytes | None:
        """The bytes, or as many and one more of them; None when nothing is there."""

    def delete(self, keys: Sequence[str], /) -> None:
        """Take away what is there under these keys, a thousand at most."""


class S3Objects:
    """One bucket."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self.bucket = bucket

    def put(self, key: str, data: bytes, content_type: str, /) -> None:
        """Keep `data` under `key`; the same key again replaces it."""
        try:
            self._client.put_object(Bucket=self.bucket, Key=key, Body=data, ContentType=content_type)
        except (BotoCoreError, ClientError) as error:
            raise ObjectsUnavailable from error

    @property
    def origin(self) -> str:
        """S3 answers for a bucket at a host of its own; an address of digits has no hosts below it."""
        at = urlsplit(self._client.meta.endpoint_url)
        is_named = any(letter.isalpha() for letter in at.hostname or "")
        return f"{at.scheme}://{self.bucket}.{at.netloc}" if is_named else f"{at.scheme}://{at.netloc}"

    def form(self, key: str, content_type: str, most_bytes: int, seconds: int, /) -> Form:
        """Signed here; S3 is not asked. Credentials that cannot be had are ObjectsUnavailable."""
        fields = {"Content-Type": content_type}
        conditions: list[object] = [["content-length-range", 1, most_bytes], {"Content-Type": content_type}]
        try:
            made = self._client.generate_presigned_post(
                self.bucket, key, Fields=fields, Conditions=conditions, ExpiresIn=seconds
            )
        except (BotoCoreError, ClientError) as error:
            raise ObjectsUnavailable from error
        return Form(made["url"], dict(made["fields"]))

    def size(self, key: str, /) -> int | None:
        """How many bytes are there; None when nothing is."""
        try:
            return self._client.head_object(Bucket=self.bucket, Key=key)["ContentLength"]
        except ClientError as error:
            if _is_missing(error):
                return None
            raise ObjectsUnavailable from error
        except BotoCoreError as error:
            raise ObjectsUnavailable from error

    def get(self, key: str, most_bytes: int, /) -> bytes | None:
        """The bytes, at most one more than `most_bytes`; None when nothing is there."""
        try:
            return self._client.get_object(Bucket=self.bucket, Key=key)["Body"].read(most_bytes + 1)
        except ClientError as error:
            if _is_missing(error):
                return None
            raise ObjectsUnavailable from error
        except (BotoCoreError, OSError) as error:
            raise ObjectsUnavailable from error

    def delete(self, keys: Sequence[str], /) -> None:
        """Take away what is there; what is not there already is no error."""
        for key in keys[:_MOST_DELETED]:
            try:
                self._client.delete_object(Bucket=self.bucket, Key=key)
            except (BotoCoreError, ClientError) as error:
                raise ObjectsUnavailable from error


def _is_missing(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") in _MISSING
