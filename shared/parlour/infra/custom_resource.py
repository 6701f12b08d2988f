"""A custom resource of CloudFormation: a request arrives as an event, the answer goes to the address that it names.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import psycopg

from parlour.infra import log
from parlour.infra.errors import ParlourError
from parlour.infra.json_values import canonical_json

#: An answer may have 4,096 bytes in all; the reason is the only part of any length.
_MAX_REASON_CHARACTERS = 1_000

_ATTEMPTS = 5
_PAUSE_SECONDS = 2.0


def answer_request(request: Mapping[str, Any], act: Callable[[], Mapping[str, str]]) -> None:
    """Call `act` if a resource is created or updated, and tell CloudFormation how it went: the stack waits for that.

    `act` returns the attributes that `Fn::GetAtt` reads. Its error becomes the answer's reason. Deleting does nothing
    and succeeds. The physical id stays the same, because CloudFormation deletes the old id of a changed one.
    Raises httpx2.HTTPError when no answer could be delivered; Lambda then repeats the event.
    """
    answer: dict[str, Any] = {
        "Status": "SUCCESS",
        "PhysicalResourceId": request.get("PhysicalResourceId") or request["LogicalResourceId"],
        "StackId": request["StackId"],
        "RequestId": request["RequestId"],
        "LogicalResourceId": request["LogicalResourceId"],
    }
    if request["RequestType"] != "Delete":
        try:
            answer["Data"] = dict(act())
        except Exception as error:  # noqa: BLE001 - CloudFormation waits for the answer, also after a bug
            log.error("custom_resource_failed", error=type(error).__name__)
            answer |= {"Status": "FAILED", "Reason": _describe(error)[:_MAX_REASON_CHARACTERS]}
    _deliver(str(request["ResponseURL"]), canonical_json(answer).encode())


def _describe(error: Exception) -> str:
    """Return what may be shown in the stack's events: of an error of the database no values of rows."""
    if isinstance(error, psycopg.Error):
        return f"{type(error).__name__}: {error.diag.message_primary or 'the database does not answer'}"
    return f"{type(error).__name__}: {error}" if isinstance(error, ParlourError) else type(error).__name__


def _deliver(url: str, body: bytes) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            # The address is signed for a request without a content type.
            httpx2.put(url, content=body, timeout=10).raise_for_status()
        except httpx2.HTTPError:
            if attempt == _ATTEMPTS:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return
