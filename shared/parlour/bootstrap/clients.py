"""AWS clients and what is read through them. Every client honours AWS_ENDPOINT_URL, as boto3 does by itself."""

import functools
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from parlour.infra.objects import S3Objects
from parlour.infra.queues import SqsDelays, SqsQueue
from parlour.infra.secrets import SecretsManager
from parlour.jobs.dead_letters import SqsDeadLetters
from parlour.jobs.visibility import ShortenVisibility, visibility_shortener

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

_QUICK = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
"""A call to AWS takes milliseconds; one that hangs is given up and tried again within the invocation."""

_UPLOADS = Config(
    connect_timeout=2, read_timeout=30, retries={"mode": "standard", "total_max_attempts": 3},
    signature_version="s3v4", s3={"addressing_style": "virtual"},
)  # fmt: skip
"""A file takes longer than a call. A form names the bucket's own region: browsers are not sent on from another."""

_STREAMING = Config(connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 1}, max_pool_connections=20)
"""A model may think for long, and how long it may is said call by call (parlour.models.deadline), retries included."""


def queue(url: str) -> SqsQueue:
    """The queue at `url`."""
    return SqsQueue(boto3.client("sqs", config=_QUICK), url)


def dead_letters(url: str, home: str) -> SqsDeadLetters:
    """What the queue at `home` gave up on, in the one at `url`."""
    return SqsDeadLetters(boto3.client("sqs", config=_QUICK), url, home)


def delays(url: str) -> SqsDelays:
    """The standard queue at `url`, for messages that come later."""
    return SqsDelays(boto3.client("sqs", config=_QUICK), url)


def objects(bucket: str) -> S3Objects:
    """The bucket."""
    return S3Objects(boto3.client("s3", config=_QUICK), bucket)


def uploads(bucket: str) -> S3Objects:
    """The bucket that others upload to."""
    return S3Objects(boto3.client("s3", config=_UPLOADS), bucket)


def secrets() -> SecretsManager:
    """The secret store."""
    return SecretsManager(boto3.client("secretsmanager", config=_QUICK))


def bedrock() -> "BedrockRuntimeClient":
    """Bedrock's inference endpoint, for embeddings."""
    return boto3.client("bedrock-runtime", config=_QUICK)


def bedrock_streaming() -> "BedrockRuntimeClient":
    """Bedrock's inference endpoint, for answers."""
    return boto3.client("bedrock-runtime", config=_STREAMING)


@functools.cache
def build_shorten_visibility() -> ShortenVisibility:
    """How a message that failed is brought back sooner than its queue would."""
    return visibility_shortener(boto3.client("sqs", config=_QUICK))
