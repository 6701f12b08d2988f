"""Secrets by reference. Only the client that makes the call resolves one; nothing else ever holds it."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import MissingSecret, SecretUnavailable

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

_CACHE_SECONDS = 300.0
"""How long a value is used before it is read again: a rotated secret is picked up within five minutes."""


class SecretStore(Protocol):
    """Where secrets are kept."""

    def get(self, reference: str, /) -> str: ...


class SecretsManager:
    """AWS Secrets Manager, with a short memory."""

    def __init__(self, client: "SecretsManagerClient", clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._cache: dict[str, tuple[float, str]] = {}

    def get(self, reference: str, /) -> str:
        """Return the secret's text. A missing or forbidden one raises MissingSecret, by name only."""
        known = self._cache.get(reference)
        if known and self._clock() - known[0] < _CACHE_SECONDS:
            return known[1]
        value = self._read(reference)
        self._cache[reference] = (self._clock(), value)
        return value

    def _read(self, reference: str) -> str:
        try:
            return self._client.get_secret_value(SecretId=reference)["SecretString"]
        except ClientError as error:
            if error.response["Error"]["Code"] in {"ResourceNotFoundException", "AccessDeniedException"}:
                raise MissingSecret(f"secret {reference} is missing or this function may not read it") from error
            raise SecretUnavailable from error
        except BotoCoreError as error:
            raise SecretUnavailable from error
