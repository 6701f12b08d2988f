"""Every call that a handler makes to the outside, with a name; and the sudden end of its process at one of them.

Installed by a worker around one invocation, at the lowest seams there are: psycopg, botocore, httpx2, smtplib. The
product knows nothing of it.
"""

import functools
import os
import re
import signal
import smtplib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import httpx2
import psycopg
from botocore.client import BaseClient

from local.state import ROOT
from parlour.infra.queries import parse

WHOLE_INVOCATION = "the invocation"
"""The name of the outermost call: the handler itself. After it everything is done, but nobody was told."""

_IDS = re.compile(r"[0-9a-f]{8}[0-9a-f-]*[^/]*|[^/]{24,}", re.IGNORECASE)
_SUFFIX = re.compile(r"(_secret|Queue)?(-[0-9a-zA-Z]{6})?(\.fifo)?$")
_PREFIX = re.compile(r"^.*[/:]|^chaos-")


@dataclass(frozen=True, slots=True)
class KillPoint:
    """Just before or just after one port call: `call` is its name, with the number that tells it from others of it."""

    call: str
    is_after: bool

    def __str__(self) -> str:
        return f"{'after' if self.is_after else 'before'} {self.call}"


@dataclass(frozen=True, slots=True)
class RecordedInvocation:
    """What a wrapped handler answered, and the port calls it made, in the order in which they began."""

    answer: Any
    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tripwire:
    """Wraps an invocation: records its port calls, and gives its own process `end` at `point`, if it gets there.

    places   what servers are called in a port call's name, by host:port.
    cold     in a worker that has connected to nothing, so that the calls are the same every time.
    """

    server_names: Mapping[str, str]
    kill_point: KillPoint | None = None
    kill_signal: int = signal.SIGKILL
    needs_cold_worker: bool = True

    def __call__(self, call: Callable[[], Any]) -> RecordedInvocation:
        wire = _CallRecorder(self)
        with wire.patched(), wire.record_call(WHOLE_INVOCATION):
            answer = call()
        return RecordedInvocation(answer, tuple(wire.calls))


class _CallRecorder:
    def __init__(self, tripwire: Tripwire) -> None:
        self._tripwire = tripwire
        self._inside = threading.local()
        self._counting = threading.Lock()
        self._names: Counter[str] = Counter()
        self.calls: list[str] = []

    @contextmanager
    def record_call(self, name: str) -> Iterator[None]:
        """One port call; what it calls in its turn is part of it. The handler itself does not count as outer."""
        if self._is_inside():
            yield
            return
        call = self._add_call(name)
        self._kill_if_reached(KillPoint(call, is_after=False))
        self._inside.depth = 0 if name == WHOLE_INVOCATION else 1
        try:
            yield
        finally:
            self._inside.depth = 0
            self._kill_if_reached(KillPoint(call, is_after=True))

    @contextmanager
    def patched(self) -> Iterator[None]:
        """The seams, replaced for as long as the block lasts."""
        with ExitStack() as replaced:
            for target, name, called in _PATCHED_CALLS:
                original = getattr(target, name)
                bound = original.__func__ if isinstance(target.__dict__.get(name), classmethod) else original
                wrapped: Any = self._wrap(bound, called)
                if bound is not original:
                    wrapped = classmethod(wrapped)
                replaced.enter_context(mock.patch.object(target, name, wrapped))
            reading = self._wrap_body(httpx2.Response.iter_raw)
            replaced.enter_context(mock.patch.object(httpx2.Response, "iter_raw", reading))
            yield

    def _wrap(self, original: Callable[..., Any], called: "CallNamer") -> Callable[..., Any]:
        @functools.wraps(original)
        def replacement(*arguments: Any, **named: Any) -> Any:
            with self.record_call(called(self._tripwire.server_names, (*arguments, *named.values()))):
                return original(*arguments, **named)

        return replacement

    def _wrap_body(self, original: Callable[..., Iterator[bytes]]) -> Callable[..., Iterator[bytes]]:
        """A body that is read later than its call is a port call of its own: a model's stream."""

        @functools.wraps(original)
        def replacement(response: httpx2.Response, *arguments: Any, **named: Any) -> Iterator[bytes]:
            if self._is_inside():
                yield from original(response, *arguments, **named)
                return
            with self.record_call(
                f"{_name_http_call(self._tripwire.server_names, (None, response.request))}, the answer"
            ):
                yield from original(response, *arguments, **named)

        return replacement

    def _is_inside(self) -> bool:
        """Whether this thread is in a port call already."""
        return bool(getattr(self._inside, "depth", 0))

    def _add_call(self, name: str) -> str:
        with self._counting:
            self._names[name] += 1
            number = self._names[name]
            call = name if number == 1 else f"{name} ({number})"
            self.calls.append(call)
        return call

    def _kill_if_reached(self, point: KillPoint) -> None:
        if point == self._tripwire.kill_point:
            os.kill(os.getpid(), self._tripwire.kill_signal)


type CallNamer = Callable[[Mapping[str, str], tuple[Any, ...]], str]
"""How a call is named: the servers' names and the call's arguments in their order, self first."""


def _name_http_call(places: Mapping[str, str], arguments: tuple[Any, ...]) -> str:
    request = arguments[1]
    place = places.get(request.url.netloc.decode(), request.url.host)
    return f"{place}: {request.method} {_IDS.sub('...', request.url.path)}"


def _name_statement(_: Mapping[str, str], arguments: tuple[Any, ...]) -> str:
    query = arguments[1]
    text = query.decode() if isinstance(query, bytes) else str(query)
    known = _statement_names().get(text)
    return f"database: {known or ' '.join(text.split()[:1]).strip(';').lower()}"


def _name_aws_call(_: Mapping[str, str], arguments: tuple[Any, ...]) -> str:
    client, operation, parameters = arguments[:3]
    service = client.meta.service_model.service_id.lower().replace(" ", "")
    place = str(parameters.get("QueueUrl") or parameters.get("SecretId") or parameters.get("Bucket") or "")
    thing = _SUFFIX.sub("", _PREFIX.sub("", _PREFIX.sub("", place)))
    return f"{'secrets' if service == 'secretsmanager' else service}: {operation} {thing}".rstrip()


@functools.cache
def _statement_names() -> dict[str, str]:
    """The names of the rooms' statements, by their text."""
    files = (ROOT / "shared" / "parlour").rglob("queries.sql")
    return {query.sql: query.name for file in files for query in parse(file.read_text(), file.parent.name).values()}


def _fixed_name(name: str) -> CallNamer:
    return lambda _places, _arguments: f"database: {name}"


_PATCHED_CALLS: tuple[tuple[type, str, CallNamer], ...] = (
    (psycopg.Connection, "connect", _fixed_name("connect")),
    (psycopg.Connection, "commit", _fixed_name("commit")),
    (psycopg.Connection, "rollback", _fixed_name("rollback")),
    (psycopg.Cursor, "execute", _name_statement),
    (psycopg.Cursor, "executemany", _name_statement),
    (BaseClient, "_make_api_call", _name_aws_call),
    (httpx2.Client, "send", _name_http_call),
    (smtplib.SMTP, "connect", lambda _names, _arguments: "mail: connect"),
    (smtplib.SMTP, "send_message", lambda _names, _arguments: "mail: send"),
)
