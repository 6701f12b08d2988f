"""A Lambda runtime for functions whose response is streamed: AWS's own client for Python sends it as a whole.

It speaks the Runtime API's streaming mode: the response is sent in chunks while the application writes it. Before them
comes what API Gateway reads: the status and the headers as JSON, and eight NUL bytes. An error that comes after the
first byte is told in trailers; the client sees its stream break off.
"""

import asyncio
import http.client
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from mangum.handlers import APIGateway
from mangum.types import LambdaConfig

from parlour.infra.settings import RuntimeSettings, load_settings

type Application = Callable[..., Awaitable[None]]
"""An ASGI application."""

_API = "/2018-06-01/runtime"
_HTTP_RESPONSE = "application/vnd.awslambda.http-integration-response"
_END_OF_PRELUDE = b"\0" * 8
_ERROR_TYPE, _ERROR_BODY = "Lambda-Runtime-Function-Error-Type", "Lambda-Runtime-Function-Error-Body"
_CONFIG = LambdaConfig(api_gateway_base_path="/", text_mime_types=[], exclude_headers=[])


def serve(make_application: Callable[[], Application]) -> None:
    """Load the application and answer invocations, one after the other, until the sandbox ends."""
    address = load_settings(RuntimeSettings).aws_lambda_runtime_api
    loop = asyncio.new_event_loop()
    try:
        application = make_application()
    except Exception as problem:
        _post(address, f"{_API}/init/error", _error_json(problem), type(problem).__name__)
        raise
    while True:
        request_id, event = _next_event(address)
        response = _StreamedResponse(address, request_id)
        try:
            loop.run_until_complete(_run(application, event, response))
            response.end()
        except ConnectionError:
            response.close()  # nobody reads on
        except Exception as problem:  # noqa: BLE001 - the runtime outlives what its application raises
            response.fail(problem)


def _next_event(address: str) -> tuple[str, dict[str, Any]]:
    connection = http.client.HTTPConnection(address)
    connection.request("GET", f"{_API}/invocation/next")
    answer = connection.getresponse()
    body, request_id = answer.read(), answer.headers["Lambda-Runtime-Aws-Request-Id"]
    connection.close()
    return request_id, json.loads(body)


async def _run(application: Application, event: dict[str, Any], response: "_StreamedResponse") -> None:
    """Answer an API Gateway proxy event."""
    gateway = APIGateway(event, None, _CONFIG)  # type: ignore[arg-type]  # the context is not read
    scope = {name: value for name, value in gateway.scope.items() if not name.startswith("aws.")}
    requests = [{"type": "http.request", "body": gateway.body or b"", "more_body": False}]
    for_ever = asyncio.Event()

    async def receive() -> MutableMapping[str, Any]:
        if requests:
            return requests.pop()
        await for_ever.wait()  # Lambda does not tell that a client went away
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            response.start(message["status"], message.get("headers", ()))
        elif message.get("body"):
            response.write(message["body"])

    await application(scope, receive, send)


@dataclass(slots=True)
class _StreamedResponse:
    """The response to one invocation, sent as it is written."""

    address: str
    request_id: str
    _connection: http.client.HTTPConnection | None = field(default=None, init=False)

    def start(self, status: int, headers: Any) -> None:
        """Send the status and the headers."""
        self._connection = connection = http.client.HTTPConnection(self.address)
        connection.putrequest("POST", f"{_API}/invocation/{self.request_id}/response")
        connection.putheader("Content-Type", _HTTP_RESPONSE)
        connection.putheader("Lambda-Runtime-Function-Response-Mode", "streaming")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.putheader("Trailer", f"{_ERROR_TYPE}, {_ERROR_BODY}")
        connection.endheaders()
        multiple: dict[str, list[str]] = {}
        for name, value in headers:
            multiple.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        prelude = {"statusCode": status, "multiValueHeaders": multiple}
        self.write(json.dumps(prelude).encode() + _END_OF_PRELUDE)

    def write(self, data: bytes) -> None:
        """Send one chunk."""
        assert self._connection  # noqa: S101 - ASGI: the start comes first
        self._connection.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self, trailers: Mapping[str, str] | None = None) -> None:
        """Send the end, and wait until the Runtime API has it."""
        if self._connection:
            lines = "".join(f"{name}: {value}\r\n" for name, value in (trailers or {}).items())
            self._connection.send(f"0\r\n{lines}\r\n".encode())
            self._connection.getresponse().read()
            self.close()

    def fail(self, problem: Exception) -> None:
        """Tell of an error: in trailers when the response has begun."""
        traceback.print_tb(problem.__traceback__)
        kind = type(problem).__name__
        if self._connection:
            self.end({_ERROR_TYPE: kind, _ERROR_BODY: "e30="})
        else:
            _post(self.address, f"{_API}/invocation/{self.request_id}/error", _error_json(problem), kind)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection:
            self._connection.close()


def _post(address: str, path: str, body: bytes, kind: str) -> None:
    connection = http.client.HTTPConnection(address)
    connection.request("POST", path, body, {"Content-Type": "application/json", _ERROR_TYPE: kind})
    connection.getresponse().read()
    connection.close()


def _error_json(problem: Exception) -> bytes:
    """Only the kind of an error: its message may quote what a user wrote."""
    return json.dumps({"errorType": type(problem).__name__, "errorMessage": "see the log"}).encode()
