"""AWS clients and what is read through them. Every client honours AWS_ENDPOINT_URL, as boto3 does by itself."""

import functools
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from parlour.infra.functions import LambdaFunction, LambdaPackFunctions
from parlour.infra.objects import S3ObjectStore
from parlour.infra.queues import SqsDelayedQueue, SqsFifoQueue
from parlour.infra.secrets import SecretsManager
from parlour.infra.settings import Settings, load_settings
from parlour.jobs.dead_letters import SqsDeadLetters
from parlour.jobs.renewal import ChangeVisibility, visibility_changer

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_sesv2 import SESV2Client

    from parlour.jobs.checked_queue import CheckedQueue

_QUICK_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
"""A call to AWS takes milliseconds; one that hangs is given up and tried again within the invocation."""

_RENEWAL_CONFIG = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2})
"""A message is renewed every one and a half seconds; a renewal that hangs must not delay the next one for long."""

_UPLOAD_CONFIG = Config(
    connect_timeout=2,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 3},
    signature_version="s3v4",
    s3={"addressing_style": "virtual"},
)
"""A file takes longer than a call. A form names the bucket's own region: browsers are not sent on from another."""

_MAIL_CONFIG = Config(connect_timeout=3, read_timeout=15, retries={"total_max_attempts": 1})
"""SES has no idempotency key: a second request would be a second mail."""

_FUNCTION_CONFIG = Config(connect_timeout=2, read_timeout=320, retries={"total_max_attempts": 1})
"""A function may take five minutes. One that did not answer is not called again: it may still be at it."""

_STREAMING_CONFIG = Config(
    connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 1}, max_pool_connections=20
)
"""A model may think for long, and how long it may is said call by call (parlour.models.deadline), retries included."""


def make_fifo_queue(url: str) -> SqsFifoQueue:
    """Return the queue at `url`."""
    return SqsFifoQueue(boto3.client("sqs", config=_QUICK_CONFIG), url)


def make_checked_queue(url: str, wakeups_url: str) -> "CheckedQueue":
    """Return the queue at `url`, whose work is checked by way of the wake-ups queue."""
    from parlour.jobs.checked_queue import CheckedQueue  # noqa: PLC0415  # `inbound` loads no database driver

    return CheckedQueue(make_fifo_queue(url), make_delayed_queue(wakeups_url), lambda: datetime.now(UTC))


def make_dead_letters(url: str, home_url: str) -> SqsDeadLetters:
    """Return the dead letters in the queue at `url` that the queue at `home_url` gave up on."""
    return SqsDeadLetters(boto3.client("sqs", config=_QUICK_CONFIG), url, home_url)


def make_delayed_queue(url: str) -> SqsDelayedQueue:
    """Return the standard queue at `url`, for delayed messages."""
    return SqsDelayedQueue(boto3.client("sqs", config=_QUICK_CONFIG), url)


def make_object_store(bucket: str) -> S3ObjectStore:
    """Return the bucket."""
    return S3ObjectStore(boto3.client("s3", config=_QUICK_CONFIG), bucket)


def make_upload_store(bucket: str) -> S3ObjectStore:
    """Return the bucket that others upload to."""
    return S3ObjectStore(boto3.client("s3", config=_UPLOAD_CONFIG), bucket)


def make_secret_store() -> SecretsManager:
    """Return the secret store of this stack."""
    stack = load_settings(Settings).powertools_service_name
    return SecretsManager(boto3.client("secretsmanager", config=_QUICK_CONFIG), stack=stack)


def make_bedrock_client() -> "BedrockRuntimeClient":
    """Bedrock's inference endpoint, for embeddings."""
    return boto3.client("bedrock-runtime", config=_QUICK_CONFIG)


def make_bedrock_streaming_client() -> "BedrockRuntimeClient":
    """Bedrock's inference endpoint, for answers."""
    return boto3.client("bedrock-runtime", config=_STREAMING_CONFIG)


def make_mail_client() -> "SESV2Client":
    """SES. A mail that may have been taken is not sent again by the client itself."""
    return boto3.client("sesv2", config=_MAIL_CONFIG)


def make_function(name: str) -> LambdaFunction:
    """Return the function of this name."""
    return LambdaFunction(boto3.client("lambda", config=_FUNCTION_CONFIG), name)


@functools.lru_cache(maxsize=8)
def _open_function_client(seconds: int) -> "LambdaClient":
    """Return a client that waits so long for an answer. It never repeats a call: that could do an effect twice."""
    config = Config(connect_timeout=2, read_timeout=seconds, retries={"total_max_attempts": 1})
    return boto3.client("lambda", config=config)


def make_pack_functions(prefix: str) -> LambdaPackFunctions:
    """Return the functions that run the code of packs."""
    return LambdaPackFunctions(_open_function_client, prefix)


@functools.cache
def build_change_visibility() -> ChangeVisibility:
    """Return what decides when a message is delivered again."""
    return visibility_changer(boto3.client("sqs", config=_RENEWAL_CONFIG))
