"""Keeping files in S3: narrow on purpose, one bucket, put only."""

from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import ObjectsUnavailable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class Objects(Protocol):
    """Somewhere to keep a file under a key; `put` returns once it is durable or raises ObjectsUnavailable."""

    @property
    def bucket(self) -> str: ...

    def put(self, key: str, data: bytes, content_type: str, /) -> None: ...


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
