"""Calling another function and waiting for its answer: one of the deployment, or one that runs a pack's code."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from parlour.infra import log
from parlour.infra.errors import FunctionUnavailable
from parlour.infra.json_values import JsonObject, canonical_json

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


class FunctionFailed(Exception):
    """The function raised, or its time or memory ran out. `detail`: what it raised, for its developer only."""

    def __init__(self, name: str = "", detail: str = "") -> None:
        super().__init__(name)
        self.detail = detail


class FunctionNotCalled(Exception):
    """The function is missing, busy or out of reach; it did not run."""


class FunctionTimedOut(Exception):
    """The function did not answer in time; it may still run."""


class PackFunctions(Protocol):
    """The functions that run the code of packs: one per tenant."""

    def invoke(self, tenant: str, event: JsonObject, seconds: float, /) -> JsonObject:
        """Return the answer of the tenant's function.

        Raises FunctionNotCalled, FunctionTimedOut or FunctionFailed; only the first means that nothing happened.
        """


class LambdaFunction:
    """One function, by its name."""

    def __init__(self, client: "LambdaClient", name: str) -> None:
        self._client = client
        self._name = name

    def __call__(self, event: JsonObject) -> JsonObject:
        """Return what the function answers.

        Raises FunctionUnavailable when Lambda does not answer or is busy, FunctionFailed when the function broke.
        """
        try:
            answer = self._client.invoke(FunctionName=self._name, Payload=canonical_json(event).encode())
            body = json.loads(answer["Payload"].read())
        except (BotoCoreError, ClientError, OSError, ValueError) as error:
            raise FunctionUnavailable from error
        if answer.get("FunctionError") or not isinstance(body, dict):
            log.warning("function_failed", function=self._name)
            raise FunctionFailed(self._name)
        return body


class LambdaPackFunctions:
    """Lambda functions named `<prefix><tenant>`, each with the code of one tenant's pack."""

    def __init__(self, open_client: Callable[[int], "LambdaClient"], prefix: str) -> None:
        """`open_client` returns a client that waits so many seconds for an answer and never repeats a call."""
        self._open_client = open_client
        self._prefix = prefix

    def invoke(self, tenant: str, event: JsonObject, seconds: float, /) -> JsonObject:
        """Return the answer of the tenant's function; raises as `PackFunctions`."""
        name = f"{self._prefix}{tenant}"
        try:
            client = self._open_client(max(1, int(seconds)))
            answer = client.invoke(FunctionName=name, Payload=canonical_json(event).encode())
            body = json.loads(answer["Payload"].read())
        except (ConnectTimeoutError, EndpointConnectionError) as error:
            raise FunctionNotCalled(name) from error
        except ReadTimeoutError as error:
            raise FunctionTimedOut(name) from error
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
            # A 4xx is refused before the function runs; after a 5xx it may have run.
            raise (FunctionNotCalled if status < _SERVER_ERROR else FunctionFailed)(name) from error
        except (BotoCoreError, OSError, ValueError) as error:
            raise FunctionFailed(name) from error
        if answer.get("FunctionError") or not isinstance(body, dict):
            # What the function raised may hold a user's words; its own log has it.
            log.warning("pack_function_failed", function=name)
            raise FunctionFailed(name, str(body.get("errorMessage", "")) if isinstance(body, dict) else "")
        return body


_SERVER_ERROR = 500
