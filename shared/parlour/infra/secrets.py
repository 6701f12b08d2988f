"""Secrets by reference. Only the client that makes the call resolves one; nothing else ever holds it."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra.errors import Misconfigured, MissingSecret, SecretUnavailable

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

_CACHE_SECONDS = 300.0
"""How long a value is used before it is read again: a rotated secret is picked up within five minutes."""


type SecretStatus = Literal["stored", "missing", "unreadable"]
"""unreadable: it has no current value, it is being deleted, or AWS refuses access to it."""

_ABSENT, _REFUSED = "ResourceNotFoundException", "AccessDeniedException"


class SecretStore(Protocol):
    """Where secrets are kept."""

    def get(self, reference: str, /) -> str: ...


class SecretsManager:
    """AWS Secrets Manager, with a short memory."""

    def __init__(
        self, client: "SecretsManagerClient", clock: Callable[[], float] = time.monotonic, *, stack: str = ""
    ) -> None:
        """`stack` has the secrets of its tenants below its own name; "": references are names as they are."""
        self._stack = stack
        self._client = client
        self._clock = clock
        self._cache: dict[str, tuple[float, str]] = {}

    def locate(self, reference: str) -> str:
        """Return the name that a pack's reference has in Secrets Manager; others are names already.

        `parlour/tenants/acme/key` is `parlour/STACK/tenants/acme/key`: a pack fits every stack of an account, and no
        stack reads the secrets of another.
        """
        match reference.split("/"):
            case [_, *_, "tenants", tenant, name] if self._stack:
                return f"parlour/{self._stack}/tenants/{tenant}/{name}"
        return reference

    def get(self, reference: str, /) -> str:
        """Return the secret's text. A missing or forbidden one raises MissingSecret, by name only."""
        reference = self.locate(reference)
        known = self._cache.get(reference)
        if known and self._clock() - known[0] < _CACHE_SECONDS:
            return known[1]
        try:
            value = self._client.get_secret_value(SecretId=reference)["SecretString"]
        except ClientError as error:
            if error.response["Error"]["Code"] in {_ABSENT, _REFUSED}:
                raise MissingSecret(f"secret {reference} is missing or this function may not read it") from error
            raise SecretUnavailable from error
        except BotoCoreError as error:
            raise SecretUnavailable from error
        self._cache[reference] = (self._clock(), value)
        return value

    def find_status(self, reference: str) -> SecretStatus:
        """Return whether a secret has a current value, without reading it. Raises SecretUnavailable."""
        try:
            found = self._client.describe_secret(SecretId=self.locate(reference))
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code == _ABSENT:
                return "missing"
            if code == _REFUSED:
                return "unreadable"
            raise SecretUnavailable from error
        except BotoCoreError as error:
            raise SecretUnavailable from error
        stages = [stage for names in found.get("VersionIdsToStages", {}).values() for stage in names]
        return "stored" if "AWSCURRENT" in stages and "DeletedDate" not in found else "unreadable"

    def put(self, reference: str, value: str) -> None:
        """Store a value, as a new secret or as the new version of one. Raises Misconfigured and SecretUnavailable."""
        reference = self.locate(reference)
        try:
            self._put_or_create(reference, value)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            raise Misconfigured(f"Secrets Manager refuses to store {reference} ({code}); check the profile") from error
        except BotoCoreError as error:
            raise SecretUnavailable(f"Secrets Manager does not answer ({type(error).__name__})") from error
        self._cache.pop(reference, None)

    def _put_or_create(self, reference: str, value: str) -> None:
        try:
            self._client.put_secret_value(SecretId=reference, SecretString=value)
        except self._client.exceptions.ResourceNotFoundException:
            self._client.create_secret(Name=reference, SecretString=value)
