"""API Gateway and Lambda's own API, small: what comes over HTTP goes to the handlers in workers."""

import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from local.workers import WorkerPool

_TIMEOUT_SECONDS = 10.0
_FUNCTION_SECONDS = 300.0
_INVOKED_PATH = re.compile(r"/2015-03-31/functions/(\w+)/invocations")


def proxy_event(method: str, path: str, headers: Mapping[str, str], body: str | None) -> dict[str, Any]:
    """A request as API Gateway hands it to a function."""
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": dict(headers),
        "multiValueHeaders": None,
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "requestContext": {"stage": "live", "identity": {"sourceIp": "127.0.0.1"}, "path": path, "httpMethod": method},
        "body": body,
        "isBase64Encoded": False,
    }


class ApiGateway:
    """Listens for providers and tools that call back; `url` is what the deployment would be reached by."""

    def __init__(self) -> None:
        self.workers: WorkerPool | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"gateway": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def handle(self, path: str, headers: Mapping[str, str], body: str) -> dict[str, Any]:
        """What the function behind the path answers; 502 when its worker died."""
        assert self.workers is not None  # it was given them before anybody called
        if invoked := _INVOKED_PATH.fullmatch(path):
            ended = self.workers.invoke(invoked[1], json.loads(body), _FUNCTION_SECONDS)
            return {"statusCode": 200, "body": json.dumps(ended.answer), "is_failed": ended.outcome != "answered"}
        function = "inbound" if path.startswith("/webhooks/") else "http_api"
        ended = self.workers.invoke(function, proxy_event("POST", path, headers, body), _TIMEOUT_SECONDS)
        return (
            dict(ended.answer)
            if ended.outcome == "answered"
            else {"statusCode": 502, "body": json.dumps(ended.outcome)}
        )


class _Handler(BaseHTTPRequestHandler):
    gateway: ApiGateway

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        answer = self.gateway.handle(self.path, dict(self.headers.items()), body)
        content = str(answer.get("body") or "").encode()
        self.send_response(int(answer["statusCode"]))
        self.send_header("Content-Length", str(len(content)))
        if answer.get("is_failed"):
            self.send_header("X-Amz-Function-Error", "Unhandled")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: the functions log."""
