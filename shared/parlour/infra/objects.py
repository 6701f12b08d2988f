"""Keeping files in S3: narrow on purpose, one bucket, keys that the caller makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra import log
from parlour.infra.errors import AccessRefused, ObjectsUnavailable, RetryError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_NOT_FOUND_CODES = frozenset({"404", "NoSuchKey", "NotFound"})
"""S3 says 403 of what is not there to whoever may not list the bucket: who asks has to be allowed to. 403 is then a
right that somebody forgot or took away, and never an upload that did not come."""

_ACCESS_REFUSED_CODES = frozenset({"403", "AccessDenied", "AllAccessDisabled", "InvalidAccessKeyId", "NoSuchBucket"})
_ACCESS_REFUSED_MESSAGE = (
    "the object store refuses this deployment: give its functions their rights to the bucket; until then this waits"
)
_BINARY_TYPE = "application/octet-stream"

_MAX_DELETED = 1_000


class ObjectWriter(Protocol):
    """Somewhere to keep a file under a key; `put` returns once it is durable or raises as Uploads do."""

    @property
    def bucket(self) -> str: ...

    def put(self, key: str, data: bytes, content_type: str, /) -> None: ...

    def delete(self, keys: Sequence[str], /) -> None: ...


@dataclass(frozen=True, slots=True)
class UploadForm:
    """Where somebody else may send one file to, and the fields to send before it; the file's field comes last."""

    url: str
    fields: dict[str, str]


class UploadStore(Protocol):
    """Files that others upload. Everything raises ObjectsUnavailable when the store does not answer, and AccessRefused
    when it refuses us."""

    @property
    def origin(self) -> str:
        """Scheme and host that forms are sent to: what a page has to be allowed to reach."""

    def make_upload_form(self, key: str, content_type: str, most_bytes: int, seconds: int, /) -> UploadForm:
        """Return an upload form for this key and type, from one to `most_bytes` bytes, valid for `seconds`."""

    def make_download_link(self, key: str, name: str, seconds: int, /) -> str:
        """Return an address from which anyone who has it may download the bytes, under this name, for `seconds`.

        A browser saves the file and shows nothing of it, whatever it is.
        """

    def make_upload_link(self, key: str, seconds: int, /) -> str:
        """Return an address to which anyone who has it may PUT the bytes of this key, for `seconds`."""

    def size(self, key: str, /) -> int | None:
        """How many bytes are there; None when nothing is."""

    def get(self, key: str, most_bytes: int, /) -> bytes | None:
        """Return the bytes, at most one more than `most_bytes`; None when nothing is there."""

    def delete(self, keys: Sequence[str], /) -> None:
        """Take away what is there under these keys, a thousand at most."""


class ObjectStore(UploadStore, Protocol):
    """Files that others upload and that we keep ourselves. Errors as of Uploads."""

    def put(self, key: str, data: bytes, content_type: str, /) -> None:
        """Keep `data` under `key`; the same key again replaces it."""


class S3ObjectStore:
    """One bucket."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self.bucket = bucket

    def put(self, key: str, data: bytes, content_type: str, /) -> None:
        """Keep `data` under `key`; the same key again replaces it."""
        try:
            self._client.put_object(Bucket=self.bucket, Key=key, Body=data, ContentType=content_type)
        except (BotoCoreError, ClientError) as error:
            raise _to_error(error) from error

    @property
    def origin(self) -> str:
        """S3 answers for a bucket at a host of its own; an address of digits has no hosts below it."""
        at = urlsplit(self._client.meta.endpoint_url)
        is_named = any(letter.isalpha() for letter in at.hostname or "")
        return f"{at.scheme}://{self.bucket}.{at.netloc}" if is_named else f"{at.scheme}://{at.netloc}"

    def make_upload_form(self, key: str, content_type: str, most_bytes: int, seconds: int, /) -> UploadForm:
        """Signed here; S3 is not asked. Credentials that cannot be had are ObjectsUnavailable."""
        fields = {"Content-Type": content_type}
        conditions: list[object] = [["content-length-range", 1, most_bytes], {"Content-Type": content_type}]
        try:
            made = self._client.generate_presigned_post(
                self.bucket, key, Fields=fields, Conditions=conditions, ExpiresIn=seconds
            )
        except (BotoCoreError, ClientError) as error:
            raise _to_error(error) from error
        return UploadForm(made["url"], dict(made["fields"]))

    def make_download_link(self, key: str, name: str, seconds: int, /) -> str:
        """Signed here, with what the answer's headers will be: nobody who has it can change them."""
        plain = "".join(letter if " " <= letter <= "~" and letter not in '"\\%' else "_" for letter in name)
        content_disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
        asked = {
            "Bucket": self.bucket,
            "Key": key,
            "ResponseContentDisposition": content_disposition,
            "ResponseContentType": _BINARY_TYPE,
            "ResponseCacheControl": "private, no-store",
        }
        try:
            return self._client.generate_presigned_url("get_object", asked, ExpiresIn=seconds)
        except (BotoCoreError, ClientError) as error:
            raise _to_error(error) from error

    def make_upload_link(self, key: str, seconds: int, /) -> str:
        """Signed here; S3 is not asked."""
        try:
            return self._client.generate_presigned_url(
                "put_object", {"Bucket": self.bucket, "Key": key}, ExpiresIn=seconds
            )
        except (BotoCoreError, ClientError) as error:
            raise _to_error(error) from error

    def size(self, key: str, /) -> int | None:
        """How many bytes are there; None when nothing is."""
        try:
            return self._client.head_object(Bucket=self.bucket, Key=key)["ContentLength"]
        except (BotoCoreError, ClientError) as error:
            if _error_code(error) in _NOT_FOUND_CODES:
                return None
            raise _to_error(error) from error

    def get(self, key: str, most_bytes: int, /) -> bytes | None:
        """Return the bytes, at most one more than `most_bytes`; None when nothing is there."""
        try:
            return self._client.get_object(Bucket=self.bucket, Key=key)["Body"].read(most_bytes + 1)
        except (BotoCoreError, ClientError, OSError) as error:
            if _error_code(error) in _NOT_FOUND_CODES:
                return None
            raise _to_error(error) from error

    def delete(self, keys: Sequence[str], /) -> None:
        """Take away what is there; what is not there already is no error."""
        for key in keys[:_MAX_DELETED]:
            try:
                self._client.delete_object(Bucket=self.bucket, Key=key)
            except (BotoCoreError, ClientError) as error:
                raise _to_error(error) from error


def _error_code(error: Exception) -> str:
    """Return S3's error code; of a HEAD, which has no body, the status; "" when S3 said nothing."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def _to_error(error: Exception) -> RetryError:
    """Whether nobody answers, or we are refused: the one passes, the other somebody has to mend."""
    if _error_code(error) not in _ACCESS_REFUSED_CODES:
        return ObjectsUnavailable()
    log.error("object_store_access_refused", error)
    log.count("RefusedAccess")
    return AccessRefused(_ACCESS_REFUSED_MESSAGE)
