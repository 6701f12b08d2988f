"""What holds for every request and response: how large, which headers, and that nothing unforeseen gets out."""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parlour.api import error_responses
from parlour.infra.errors import PayloadTooLarge

MAX_BODY_BYTES = 256 * 1024
"""The largest body of a request, a pack's excepted: 8,000 characters of any script and their escapes fit twice."""

MAX_RUN_BYTES = 2 * 1024 * 1024
"""The largest run of AG-UI: its clients send the whole conversation each time."""

MAX_PACK_BYTES = 6 * 1024 * 1024
"""The largest pack: what a Lambda can be invoked with."""

_PACK_PATH = "/v1/pack"
_RUN_PATH = "/v1/agui/"
_CONSOLE_PATH = "/console"
#: Files whose names change with their content; an HTML page names those of its build.
_HASHED_PATH = "/console/assets/"
#: The script that pages of other hosts load.
_WIDGET_PATH = "/console/widget.js"
_FOUND = frozenset({200, 206, 304})
_CONSOLE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src {reached}; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)
_POLICY = "default-src 'none'; frame-ancestors 'none'"
_EMBED_ORIGINS = "embed_origins"
_COMMON_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Strict-Transport-Security": "max-age=31536000",  # browsers ignore it over http, as on a laptop
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SecurityMiddleware:
    """The outermost layer of the app.

    A body that says it is too large is refused before it is read. An exception that nothing else foresaw
    becomes a plain 500 here, so that neither a client nor a server's own log ever gets a stack trace.
    """

    def __init__(self, app: ASGIApp, origins: str = "") -> None:
        """Set what the console's pages may connect to: buckets and issuers, as origins separated by spaces."""
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reply = _ResponseSender(scope, send, self._origins)
        length = Headers(scope=scope).get("content-length", "")
        declared_bytes = int(length) if length.isdecimal() else 0
        if declared_bytes > max_body_bytes(scope["path"]):
            refusal = error_responses.error_response(413, PayloadTooLarge.code, str(PayloadTooLarge()))
            await refusal(scope, receive, reply.send)
            return
        try:
            await self._app(scope, receive, reply.send)
        except Exception as problem:  # noqa: BLE001 - the last resort; it is logged, without what it quotes
            response = error_responses.internal_error(problem, scope["method"])
            if not reply.is_started:
                await response(scope, receive, reply.send)


def max_body_bytes(path: str) -> int:
    """How many bytes the body of a request to `path` may have."""
    if path.startswith(_RUN_PATH):
        return MAX_RUN_BYTES
    return MAX_PACK_BYTES if path == _PACK_PATH else MAX_BODY_BYTES


def allow_embedding(scope: Scope, origins: Sequence[str]) -> None:
    """Let pages of these origins show the response to this request in a frame. None: nobody may, as everywhere."""
    scope["state"][_EMBED_ORIGINS] = tuple(origins)


def security_headers(path: str, origins: str = "", embed_origins: Sequence[str] = ()) -> Mapping[str, str]:
    """Return the security headers of a response at `path`; pages of `embed_origins` may show it in a frame."""
    if path.startswith(_CONSOLE_PATH):
        policy = _CONSOLE_POLICY.format(
            reached=f"'self' {origins}".strip(), ancestors=" ".join(embed_origins) or "'none'"
        )
        headers = {**_COMMON_HEADERS, "Content-Security-Policy": policy, "Cache-Control": "no-cache"}
        if embed_origins:
            del headers["X-Frame-Options"]  # it knows no list of hosts; the policy replaces it
        if path == _WIDGET_PATH:
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return headers
    return {**_COMMON_HEADERS, "Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}


class _ResponseSender:
    """Passes a response on with the headers that every response has."""

    def __init__(self, scope: Scope, send: Send, origins: str) -> None:
        self._path = scope["path"]
        self._state: MutableMapping[str, Any] = scope.setdefault("state", {})
        self._origins = origins
        self._send = send
        self.is_started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_started = True
            found = MutableHeaders(scope=message)
            for name, value in security_headers(self._path, self._origins, self._state.get(_EMBED_ORIGINS, ())).items():
                found[name] = value
            if self._path.startswith(_HASHED_PATH) and message["status"] in _FOUND:
                found["Cache-Control"] = "public, max-age=31536000, immutable"
        await self._send(message)
