"""Claude on Amazon Bedrock: the same model and the same events, authorised by IAM instead of a key.

`InvokeModelWithResponseStream` takes the Messages API's body, cache breakpoints included, and sends its events inside
an event stream of AWS's own.
"""

import functools
import json
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any, Protocol

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.json_values import JsonObject
from parlour.models.claude_stream import is_content_event, stream_parts
from parlour.models.model import MAX_CACHE_BREAKPOINTS, ModelRequest, StreamPart, count_cache_breakpoints
from parlour.models.stream_timeouts import FIRST_TOKEN_TIMEOUT_SECONDS, stream_timeouts, stream_within

_VERSION = "bedrock-2023-05-31"

_TRANSIENT_ERRORS = frozenset(
    {
        "InternalServerException",
        "ModelErrorException",
        "ModelNotReadyException",
        "ModelStreamErrorException",
        "ModelTimeoutException",
        "ServiceUnavailableException",
        "ThrottlingException",
    }
)
"""Refusals that pass by themselves; inside a stream their names begin with a small letter."""

_SETUP_ERRORS = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "NoRegionError"}
)
"""What botocore raises when the deployment is not set up to call Bedrock."""


class BedrockRuntime(Protocol):
    """The one call made of boto3's bedrock-runtime client, which may be used from several threads.

    Its own retries are to be off, and its read timeout is what an abandoned call may linger for: the time limits of
    a call are kept here.
    """

    def invoke_model_with_response_stream(
        self,
        *,
        modelId: str,  # noqa: N803 - the client's own name
        body: bytes,
    ) -> Any: ...


class BedrockModel:
    """Streams Claude's answers through Bedrock.

    A model is a foundation model or an inference profile (`eu.anthropic.claude-...`), as Bedrock calls it.
    first_token_seconds  how long to wait for the model to begin.
    """

    provider = "bedrock"

    def __init__(self, client: BedrockRuntime, *, first_token_seconds: float = FIRST_TOKEN_TIMEOUT_SECONDS) -> None:
        self._client = client
        self._first_token_seconds = first_token_seconds

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        """One call, no retries. ValueError for more cache marks than the API takes: that is our own mistake."""
        if count_cache_breakpoints(request) > MAX_CACHE_BREAKPOINTS:
            raise ValueError(f"a request may carry {MAX_CACHE_BREAKPOINTS} cache marks at most")
        allowed = stream_timeouts(self._first_token_seconds, seconds_left)
        source = functools.partial(_stream_events, self._client, request)
        events = stream_within(allowed, source, is_content_event)
        return stream_parts(events)


def _stream_events(client: BedrockRuntime, request: ModelRequest) -> Generator[JsonObject]:
    """Stream the model's events as plain JSON; raise Bedrock's errors, and the connection's, as Parlour's.

    Causes are cut off: a provider's message may quote the request.
    """
    from botocore.eventstream import ParserError  # noqa: PLC0415 - loaded where an AWS client is, and only there
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    try:
        # The same bytes for the same request; the model is named outside of it.
        said = {name: value for name, value in request.to_json().items() if name != "model" and value != []}
        request_body = json.dumps(
            {"anthropic_version": _VERSION, **said}, ensure_ascii=False, separators=(",", ":")
        ).encode()
        with closing(
            client.invoke_model_with_response_stream(modelId=request.model, body=request_body)["body"]
        ) as body:
            for event in body:
                if chunk := event.get("chunk"):
                    yield json.loads(chunk["bytes"])
    except ClientError as error:
        raise _to_error(error.response) from None
    except (BotoCoreError, HTTPError, ParserError, ValueError) as error:
        kind = type(error).__name__
        if kind in _SETUP_ERRORS:
            raise ProviderRejected(f"bedrock cannot be called: {kind}; check the function's role and region") from None
        raise ProviderUnavailable(f"bedrock broke off: {kind}") from None


def _to_error(response: Any) -> ProviderUnavailable | ProviderRejected:
    code = str(response.get("Error", {}).get("Code") or "error")
    code = code[:1].upper() + code[1:]
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 200)
    message = f"bedrock answered {status} {code}"
    if code in _TRANSIENT_ERRORS or status in {408, 429} or status >= 500:
        return ProviderUnavailable(message)
    return ProviderRejected(message)
