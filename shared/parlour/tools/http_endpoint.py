"""Tools behind HTTP: one request to a checked address, and an honest word on whether it was carried out.

A name is resolved once, all its addresses are checked, and the connection goes to the very address that was: between
the check and the call nothing can lead elsewhere. No redirect is followed and no proxy of the environment is used.
"""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from parlour.infra import log
from parlour.infra.errors import (
    AnswersLater,
    Misconfigured,
    ModelError,
    OutcomeUnknown,
    SecretUnavailable,
    StillUnderWay,
    ToolCancelled,
    ToolFailed,
    ToolNotAvailable,
    ToolTimedOut,
)
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.secrets import SecretStore
from parlour.tools.addresses import PrivateHosts, is_public
from parlour.tools.cancellable_connection import CancellableConnection
from parlour.tools.http_answers import HttpAnswer, interpret_call_answer, interpret_lookup_answer
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import KEY_PLACEHOLDER, Tool, host_of

MAX_RESPONSE_BYTES = 1024 * 1024
"""Of an answer; the model is shown far less."""

MAX_REQUEST_SECONDS = 840.0
"""One request lasts no longer, however long the result is awaited: what takes hours answers 202 and calls back."""

_LOOKUP_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_NOT_SENT_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_INVALID_REQUEST_ERRORS = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, httpx2.InvalidURL, UnicodeError)

type ResolveHost = Callable[[str, int], Sequence[str]]
"""A host and a port to its addresses; OSError when it has none."""


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Every address of a host, as the system's resolver gives them; also of `2130706433` and the like."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class HttpEndpoint:
    """Tools that are called with POST and looked up with GET. A secret is read for each call and held nowhere."""

    def __init__(
        self,
        secrets: SecretStore,
        private_hosts: PrivateHosts,
        resolver: ResolveHost = resolve_host,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._secrets = secrets
        self._private_hosts = private_hosts
        self._resolve = resolver
        self._verify = ssl_context

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        """Return the answer to the arguments, posted as JSON; raises as `Endpoint`."""
        headers = {
            "content-type": "application/json",
            "idempotency-key": context.idempotency_key,
            "parlour-tool-call": str(context.tool_call_id or context.turn_id),
        }
        if context.callback_url:
            headers["parlour-callback"] = context.callback_url
        answer = self.post(context, tool, canonical_json(arguments).encode(), headers)
        if answer.status == httpx2.codes.ACCEPTED and context.callback_url:
            raise AnswersLater
        return interpret_call_answer(answer, writes=tool.writes)

    def post(self, context: ToolContext, tool: Tool, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Return the answer to a body, whatever its status is; raises as `call` when there is none."""
        seconds = min(tool.max_wait_seconds, MAX_REQUEST_SECONDS)
        return self._send_request(context, tool, tool.endpoint, seconds, headers, body)

    def get(self, context: ToolContext, tool: Tool, headers: Mapping[str, str]) -> HttpAnswer:
        """Return the answer to a GET, whatever its status is; raises as `call` when there is none."""
        return self._send_request(context, tool, tool.endpoint, tool.max_wait_seconds, headers)

    def lookup(self, context: ToolContext, tool: Tool, /) -> JsonObject | None:
        """Return the result of the call with the context's key: 200 and a JSON object, or None for 404.

        A call that was given up is looked up, too.
        """
        context = replace(context, connection=CancellableConnection())
        url = (tool.lookup or "").replace(KEY_PLACEHOLDER, quote(context.idempotency_key, safe=""))
        return interpret_lookup_answer(self._send_request(context, tool, url, _LOOKUP_SECONDS, {}))

    def _send_request(
        self,
        context: ToolContext,
        tool: Tool,
        url: str,
        seconds: float,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> HttpAnswer:
        """Send a POST with the body, or a GET without one. What was surely not sent is a plain ModelError."""
        method = "GET" if body is None else "POST"
        deadline = time.monotonic() + min(seconds, context.seconds_left())
        # The pack was checked when it was applied; the list or the deployment may have changed since.
        may_be_plain = self._private_hosts.is_allowed(tool.tenant_slug, url)
        if host_of(url) not in tool.allowed_hosts or not (url.startswith("https://") or may_be_plain):
            log.error("tool_host_refused", tool=tool.name)
            raise ToolNotAvailable(f"{tool.name} may not be reached from here; answer without it")
        secret = self._read_secret(tool)
        sent = {"accept": "application/json", "user-agent": "Parlour", **headers}
        if secret:
            sent["authorization"] = f"Bearer {secret}"
        target = self._private_hosts.target_url(tool.tenant_slug, url)
        addresses = self._resolve_addresses(target, trusted=self._private_hosts.is_allowed(tool.tenant_slug, url))
        if self._verify is None:
            self._verify = httpx2.create_ssl_context(trust_env=False)
        request = _Request(context, deadline, self._verify, writes=tool.writes and method == "POST")
        for position, address in enumerate(addresses):
            try:
                return _hide_secret(request.send(method, target, address, sent, body or b""), secret)
            except _NOT_SENT_ERRORS as error:
                log.info("tool_unreachable", tool=tool.name, turn_id=context.turn_id, error=type(error).__name__)
                if position == len(addresses) - 1 or context.connection.is_cancelled:
                    break
            except _INVALID_REQUEST_ERRORS as error:
                log.error("tool_request_invalid", error, tool=tool.name, turn_id=context.turn_id)
                break
        if context.connection.is_cancelled:
            raise ToolCancelled
        raise ToolFailed(f"{tool.name} could not be reached; nothing was done. It may work when tried again.")

    def _resolve_addresses(self, url: str, *, trusted: bool) -> Sequence[str]:
        parts = urlsplit(url)
        try:
            addresses = self._resolve(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        except (OSError, UnicodeError):
            addresses = []
        if not addresses:
            raise ToolFailed("the tool's address is not known at the moment; nothing was done")
        if not trusted and not all(map(is_public, addresses)):
            log.error("tool_address_refused", host=host_of(url))
            log.count("ToolAddressRefused")
            raise ToolNotAvailable("the tool's address is not a public one; answer without it")
        return addresses

    def _read_secret(self, tool: Tool) -> str:
        """Return what the tool's `auth` names, or "" if it has none."""
        if tool.auth is None:
            return ""
        try:
            return self._secrets.get(tool.secret_reference or "").strip()
        except (Misconfigured, SecretUnavailable) as error:
            log.error("tool_secret_missing", error, tool=tool.name)
            detail = f"the secret {tool.auth} cannot be read; see `parlour secrets check`"
            raise ToolFailed(f"{tool.name} cannot be used at the moment; nothing was done", detail=detail) from error


def _hide_secret(answer: HttpAnswer, secret: str) -> HttpAnswer:
    """Return the answer; an error that repeats the secret is shown to people without it."""
    if not secret or not answer.body or answer.status < httpx2.codes.BAD_REQUEST:
        return answer
    return replace(answer, body=answer.body.replace(secret.encode(), b"***"))


class _Request:
    """One request on a connection of its own, which ends by its deadline or when the line is hung up."""

    def __init__(self, context: ToolContext, deadline: float, verify: ssl.SSLContext, *, writes: bool) -> None:
        self._connection = context.connection
        self._deadline = deadline
        self._verify = verify
        self._writes = writes
        self._socket: socket.socket | None = None
        self._is_expired = False

    def send(self, method: str, url: str, address: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """Return the answer, or why there is none; what was never sent raises httpx2's own errors."""
        seconds = self._deadline - time.monotonic()
        if seconds <= 0 or self._connection.is_cancelled:
            raise ToolCancelled if self._connection.is_cancelled else ToolTimedOut
        self._connection.attach(self._close_socket)
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            return self._exchange(method, url, address, headers, body, seconds)
        except (*_NOT_SENT_ERRORS, *_INVALID_REQUEST_ERRORS):
            raise
        except (httpx2.RequestError, OSError, ValueError) as error:
            raise self._error_without_response(error) from error
        finally:
            timer.cancel()

    def _exchange(
        self, method: str, url: str, address: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> HttpAnswer:
        parts = urlsplit(url)
        there = f"[{address}]" if ":" in address else address
        target = parts._replace(netloc=f"{there}:{parts.port}" if parts.port else there).geturl()
        timeout = httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        extensions = {"sni_hostname": parts.hostname, "trace": self._keep_socket}
        with (
            httpx2.Client(verify=self._verify, timeout=timeout, trust_env=False, follow_redirects=False) as client,
            client.stream(
                method,
                target,
                content=body or None,
                extensions=extensions,
                headers={**headers, "host": parts.netloc, "accept-encoding": "identity"},
            ) as response,
        ):
            return HttpAnswer(response.status_code, self._read_body(response))

    def _read_body(self, response: httpx2.Response) -> bytes | None:
        """Return the body, or None when it is longer than an answer may be."""
        read = bytearray()
        for piece in response.iter_raw():
            read += piece
            if len(read) > MAX_RESPONSE_BYTES:
                return None
        return bytes(read)

    def _error_without_response(self, problem: Exception) -> ModelError:
        """Return the error of an answer that did not come."""
        late = self._is_expired or self._connection.is_cancelled or isinstance(problem, httpx2.TimeoutException)
        if self._writes:
            return StillUnderWay() if late else OutcomeUnknown()
        if self._connection.is_cancelled:
            return ToolCancelled()
        return ToolTimedOut() if late else ToolFailed("the tool broke off; it may work when tried again")

    def _keep_socket(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the socket of the connection that is being opened, so that it can be cut."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self._is_expired or self._connection.is_cancelled:
                self._close_socket()

    def _expire(self) -> None:
        self._is_expired = True
        self._close_socket()

    def _close_socket(self) -> None:
        """End the connection under whoever reads from it. TLS is passed over: its goodbye could wait for ever."""
        if self._socket is not None:
            with suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
