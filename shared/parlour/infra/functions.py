"""Calling another function of the deployment and waiting for its answer."""

import json
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from parlour.infra import log
from parlour.infra.errors import FunctionUnavailable
from parlour.infra.json_values import JsonObject, canonical_json

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient


class FunctionFailed(Exception):
    """The function raised, or its time or memory ran out."""


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
