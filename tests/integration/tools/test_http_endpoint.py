"""Tools behind HTTP, against a real server and real sockets: what is sent, what is never reached, what is made of an
answer or of none."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.errors import (
    AnswersLater,
    Misconfigured,
    ModelError,
    OutcomeUnknown,
    RequestRejected,
    StillUnderWay,
    ToolCancelled,
    ToolFailed,
    ToolNotAvailable,
    ToolTimedOut,
)
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.principal import system_principal
from parlour.tools.addresses import PrivateHosts
from parlour.tools.http_endpoint import MAX_RESPONSE_BYTES, HttpEndpoint, resolve_host
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool

KEY = "turn:1:call/1"
CANARY = "canary-of-the-tool"


@dataclass
class Office:
    """A server that answers as it is told and remembers what it was asked."""

    port: int = 0
    status: int = 200
    body: bytes = b'{"id": 7}'
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drip: float = 0.0
    cut: bool = False
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"office.example:{self.port}"


def handler(told: Office) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            told.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            time.sleep(told.wait)
            if told.cut:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(told.status)
            for name, value in {"content-length": str(len(told.body)), **told.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                self._send()

        def do_GET(self) -> None:
            self.do_POST()

        def _send(self) -> None:
            pieces = [told.body[i : i + 1] for i in range(len(told.body))] if told.drip else [told.body]
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(told.drip)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture
def office() -> Iterator[Office]:
    told = Office()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(told))
    server.daemon_threads = True
    told.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield told
    server.shutdown()
    server.server_close()


class Safe:
    """A secret store with one secret."""

    def get(self, reference: str, /) -> str:
        if reference != "parlour/tenants/acme/office":
            raise Misconfigured(f"secret {reference} is missing")
        return CANARY


def no_connection(_: float) -> Any:
    raise AssertionError("an HTTP tool needs no database")


@pytest.fixture
def context(now: datetime) -> ToolContext:
    return ToolContext(
        system_principal(UUID(int=3)),
        Database(no_connection),
        UUID(int=1),
        UUID(int=2),
        now,
        fencing_token=1,
        idempotency_key=KEY,
        seconds_left=lambda: 30.0,
        tool_call_id=UUID(int=9),
    )


def endpoint(office: Office) -> HttpEndpoint:
    return HttpEndpoint(Safe(), PrivateHosts.parse(f"acme@{office.host}"), lambda host, port: ["127.0.0.1"])


def raising(office: Office, **changes: Any) -> Tool:
    tool = Tool(
        "raise_rfi",
        "Raises it.",
        {"type": "object"},
        f"http://{office.host}/rfis",
        writes=True,
        lookup=f"http://{office.host}/rfis/by-key/{{key}}",
        allowed_hosts=(office.host,),
        tenant_slug="acme",
    )
    return replace(tool, **changes)


ARGUMENTS: JsonObject = {"subject": "Crack at C4, ünï"}


def test_the_arguments_are_posted_with_the_calls_key(context: ToolContext, office: Office) -> None:
    assert endpoint(office).call(context, raising(office), ARGUMENTS) == {"id": 7}
    ((method, path, headers, body),) = office.asked
    assert (method, path, json.loads(body)) == ("POST", "/rfis", ARGUMENTS)
    assert (headers["idempotency-key"], headers["parlour-tool-call"]) == (KEY, str(UUID(int=9)))
    assert (headers["host"], headers["content-type"]) == (office.host, "application/json")
    assert "authorization" not in headers
    assert "parlour-callback" not in headers


def test_the_secret_is_sent_and_is_nowhere_else(
    context: ToolContext, office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    tool = raising(office, auth="office_key", secret_reference="parlour/tenants/acme/office")
    office.status, office.body = 500, f"KeyError: no room,\n  sent with Bearer {CANARY} ".encode() + b"x" * 9_000
    with pytest.raises(OutcomeUnknown) as caught:
        endpoint(office).call(context, tool, ARGUMENTS)
    assert office.asked[0][2]["authorization"] == f"Bearer {CANARY}"
    shown = caught.value.detail
    assert shown.startswith("HTTP 500: KeyError: no room, sent with Bearer *** xxx")
    assert len(shown) < 600
    logged = [vars(record) for record in caplog.records]
    assert "KeyError" not in f"{caught.value}{logged}"
    assert CANARY not in f"{tool}{context}{caught.value!r}{shown}{logged}"


@pytest.mark.parametrize("secret", [None, "parlour/tenants/acme/other"])
def test_without_its_secret_a_tool_is_surely_not_called(
    context: ToolContext, office: Office, secret: str | None
) -> None:
    with pytest.raises(ToolFailed, match="nothing was done"):
        endpoint(office).call(context, raising(office, auth="office_key", secret_reference=secret), ARGUMENTS)
    assert office.asked == []


@pytest.mark.parametrize(
    ("status", "body", "writes", "expected"),
    [
        (200, b'{"id": 7}', True, {"id": 7}),
        (201, b'{"id": 7}', False, {"id": 7}),
        (202, b'{"id": 7}', True, {"id": 7}),
        (204, b"", True, "It was done"),
        (200, b"[1]", True, "It was done"),
        (200, b"<html>", True, "It was done"),
        (200, b"<html>", False, ToolFailed),
        (400, b'{"message": "no subject"}', True, RequestRejected),
        (404, b"", True, RequestRejected),
        (409, b'{"detail": "exists"}', True, RequestRejected),
        (408, b"", True, ToolFailed),
        (425, b"", True, ToolFailed),
        (429, b"", True, ToolFailed),
        (501, b"", True, RequestRejected),
        (301, b"", True, OutcomeUnknown),
        (303, b"", True, OutcomeUnknown),
        (307, b"", True, RequestRejected),
        (308, b"", True, RequestRejected),
        (302, b"", False, ToolFailed),
        (500, b"", True, OutcomeUnknown),
        (503, b"", True, OutcomeUnknown),
        (504, b"", True, StillUnderWay),
        (500, b"", False, ToolFailed),
        (503, b"", False, ToolFailed),
    ],
)
def test_what_is_made_of_an_answer(
    context: ToolContext, office: Office, status: int, body: bytes, writes: bool, expected: Any
) -> None:
    office.status, office.body = status, body
    office.headers = {"location": "http://169.254.169.254/latest/meta-data/"}
    tool = raising(office, writes=writes)
    if isinstance(expected, type):
        with pytest.raises(expected) as caught:
            endpoint(office).call(context, tool, ARGUMENTS)
        assert type(caught.value) is expected
    elif isinstance(expected, str):
        assert expected in str(endpoint(office).call(context, tool, ARGUMENTS)["message"])
    else:
        assert endpoint(office).call(context, tool, ARGUMENTS) == expected
    assert len(office.asked) == 1


def test_a_refusals_reason_is_told_in_short(context: ToolContext, office: Office) -> None:
    office.status, office.body = 422, json.dumps({"error": {"message": "no such project " + "x" * 9_000}}).encode()
    with pytest.raises(RequestRejected, match="422: no such project") as caught:
        endpoint(office).call(context, raising(office), ARGUMENTS)
    assert len(str(caught.value)) < 400


def test_a_tool_with_a_callback_may_answer_later(context: ToolContext, office: Office) -> None:
    office.status = 202
    with pytest.raises(AnswersLater):
        endpoint(office).call(replace(context, callback_url="https://p.example/cb"), raising(office), ARGUMENTS)
    assert office.asked[0][2]["parlour-callback"] == "https://p.example/cb"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b'{"id": 7}', {"id": 7}),
        (404, b"", None),
        (410, b"", None),
        (200, b"[]", OutcomeUnknown),
        (202, b"{}", OutcomeUnknown),
        (500, b"", OutcomeUnknown),
        (401, b"", OutcomeUnknown),
    ],
)
def test_what_is_made_of_a_lookup(
    context: ToolContext, office: Office, status: int, body: bytes, expected: Any
) -> None:
    office.status, office.body = status, body
    context.connection.cancel()  # a call that was given up is looked up all the same
    if expected is OutcomeUnknown:
        with pytest.raises(OutcomeUnknown):
            endpoint(office).lookup(context, raising(office))
    else:
        assert endpoint(office).lookup(context, raising(office)) == expected
    assert office.asked[0][:2] == ("GET", "/rfis/by-key/turn%3A1%3Acall%2F1")


@pytest.mark.parametrize(("writes", "expected"), [(True, OutcomeUnknown), (False, ToolFailed)])
def test_a_line_that_breaks_off(context: ToolContext, office: Office, writes: bool, expected: type[ModelError]) -> None:
    office.cut = True
    with pytest.raises(expected) as caught:
        endpoint(office).call(context, raising(office, writes=writes), ARGUMENTS)
    assert type(caught.value) is expected


@pytest.mark.parametrize(("writes", "expected"), [(True, StillUnderWay), (False, ToolTimedOut)])
@pytest.mark.parametrize("slow", ["wait", "drip"])
def test_a_call_ends_by_its_time_also_when_the_answer_drips(
    context: ToolContext, office: Office, slow: str, writes: bool, expected: type[ModelError]
) -> None:
    setattr(office, slow, 3.0 if slow == "wait" else 0.4)
    office.body = b'{"a": "%s"}' % (b"x" * 50)
    began = time.monotonic()
    with pytest.raises(expected):
        endpoint(office).call(context, raising(office, writes=writes, timeout_seconds=1), ARGUMENTS)
    assert time.monotonic() - began < 2.5


def test_a_call_ends_when_the_invocation_does(context: ToolContext, office: Office) -> None:
    office.wait = 3.0
    with pytest.raises(StillUnderWay):
        endpoint(office).call(replace(context, seconds_left=lambda: 0.5), raising(office), ARGUMENTS)


@pytest.mark.parametrize(("writes", "expected"), [(True, StillUnderWay), (False, ToolCancelled)])
def test_a_call_under_way_ends_when_the_line_is_hung_up(
    context: ToolContext, office: Office, writes: bool, expected: type[ModelError]
) -> None:
    office.wait = 5.0
    threading.Timer(0.5, context.connection.cancel).start()
    began = time.monotonic()
    with pytest.raises(expected):
        endpoint(office).call(context, raising(office, writes=writes), ARGUMENTS)
    assert time.monotonic() - began < 2.0


def test_an_answer_that_is_too_long_is_not_read_to_its_end(context: ToolContext, office: Office) -> None:
    office.body = b'{"a": "%s"}' % (b"x" * 2 * MAX_RESPONSE_BYTES)
    with pytest.raises(ToolFailed):
        endpoint(office).call(context, raising(office, writes=False), ARGUMENTS)
    assert "It was done" in str(endpoint(office).call(context, raising(office), ARGUMENTS)["message"])


def test_what_cannot_be_connected_was_surely_not_done(context: ToolContext, office: Office) -> None:
    with closed_port() as port:
        host = f"office.example:{port}"
        tool = raising(office, endpoint=f"http://{host}/rfis", allowed_hosts=(host,))
        reached = HttpEndpoint(Safe(), PrivateHosts.parse(f"acme@{host}"), lambda host, port: ["127.0.0.1"])
        with pytest.raises(ToolFailed, match="nothing was done") as caught:
            reached.call(context, tool, ARGUMENTS)
    assert caught.value.retryable


def test_a_server_that_does_not_speak_tls_was_surely_not_reached(context: ToolContext, office: Office) -> None:
    tool = raising(office, endpoint=f"https://{office.host}/rfis")
    with pytest.raises(ToolFailed, match="nothing was done"):
        endpoint(office).call(context, tool, ARGUMENTS)
    assert office.asked == []


def test_the_next_address_is_tried_when_one_cannot_be_connected(context: ToolContext, office: Office) -> None:
    private = PrivateHosts.parse(f"acme@{office.host}")
    both = HttpEndpoint(Safe(), private, lambda host, port: ["127.0.0.2", "127.0.0.1"])
    assert both.call(context, raising(office), ARGUMENTS) == {"id": 7}


def test_a_name_without_an_address_was_surely_not_reached(context: ToolContext, office: Office) -> None:
    def nowhere(host: str, port: int) -> list[str]:
        raise socket.gaierror

    private = PrivateHosts.parse(f"acme@{office.host}")
    with pytest.raises(ToolFailed, match="nothing was done"):
        HttpEndpoint(Safe(), private, nowhere).call(context, raising(office), ARGUMENTS)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "0",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
    ],
)
def test_no_spelling_of_a_private_address_is_reached(context: ToolContext, office: Office, host: str) -> None:
    """The tenant lists the host and the server is there: only the address is in the way."""
    listed = f"{host}:{office.port}"
    tool = raising(office, endpoint=f"https://{listed}/rfis", allowed_hosts=(listed,))
    with pytest.raises((ToolNotAvailable, ToolFailed)) as caught:
        HttpEndpoint(Safe(), PrivateHosts.parse(""), resolve_host).call(context, tool, ARGUMENTS)
    assert "nothing was done" in str(caught.value) or "not a public one" in str(caught.value)
    assert office.asked == []


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], ["64:ff9b::169.254.169.254"]])
def test_one_private_address_is_enough_to_refuse_a_name(
    context: ToolContext, office: Office, addresses: list[str]
) -> None:
    tool = raising(office, endpoint="https://rebound.example/rfis", allowed_hosts=("rebound.example",))
    with pytest.raises(ToolNotAvailable, match="not a public one"):
        HttpEndpoint(Safe(), PrivateHosts.parse(""), lambda host, port: addresses).call(context, tool, ARGUMENTS)


def test_a_name_is_resolved_once_and_that_address_is_called(context: ToolContext, office: Office) -> None:
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    reached = HttpEndpoint(Safe(), PrivateHosts.parse(f"acme@{office.host}"), rebinding)
    assert reached.call(context, raising(office), ARGUMENTS) == {"id": 7}
    assert asked == ["office.example"]


@pytest.mark.parametrize("hosts", [(), ("other.example",)])
def test_a_host_that_is_not_listed_any_more_is_refused(
    context: ToolContext, office: Office, hosts: tuple[str, ...]
) -> None:
    with pytest.raises(ToolNotAvailable):
        endpoint(office).call(context, raising(office, allowed_hosts=hosts), ARGUMENTS)
    assert office.asked == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_private_host_of_one_tenant_is_no_other_tenants(context: ToolContext, office: Office, scheme: str) -> None:
    """The other tenant lists the same host, and its name leads to the same private address."""
    tool = raising(office, endpoint=f"{scheme}://{office.host}/rfis", tenant_slug="brick")
    with pytest.raises(ToolNotAvailable):
        endpoint(office).call(context, tool, ARGUMENTS)
    assert office.asked == []


def test_plain_http_is_for_the_deployments_own_hosts_only(context: ToolContext, office: Office) -> None:
    with pytest.raises(ToolNotAvailable):
        HttpEndpoint(Safe(), PrivateHosts.parse("")).call(context, raising(office), ARGUMENTS)
    assert office.asked == []


def test_the_deployment_may_answer_for_a_host_elsewhere(context: ToolContext, office: Office) -> None:
    tool = raising(office, endpoint="https://office.example/rfis", allowed_hosts=("office.example",))
    private = PrivateHosts.parse(f"acme@office.example=http://127.0.0.1:{office.port}")
    assert HttpEndpoint(Safe(), private).call(context, tool, ARGUMENTS) == {"id": 7}


def test_proxies_of_the_environment_are_not_used(
    context: ToolContext, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert endpoint(office).call(context, raising(office), ARGUMENTS) == {"id": 7}


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that nobody listens at."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
