"""A long call under watch: in a thread of its own, so that it can be given up, out of time or by request."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from parlour.infra.errors import StillUnderWay, ToolCancelled, ToolTimedOut
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.tools.http_endpoint import MAX_REQUEST_SECONDS
from parlour.tools.run import Endpoint, ToolContext
from parlour.tools.tool_definition import Tool

_POLL_SECONDS = 1.0
"""How often it is asked whether somebody wants the call stopped."""

_CANCEL_GRACE_SECONDS = 3.0
"""How long a call that was given up may take to end by itself; then its thread is left behind."""


@dataclass(slots=True)
class _Outcome:
    """What the thread came to."""

    answer: JsonObject | None = None
    problem: BaseException | None = None
    ended: threading.Event = field(default_factory=threading.Event)


class CancellableEndpoint:
    """An endpoint whose calls are given up when their time is over, or when `is_stopped` says so.

    A connection to the database belongs to one thread, so the call is given one of its own.
    """

    def __init__(
        self, endpoint: Endpoint, is_stopped: Callable[[], bool], open_database: Callable[[], Database]
    ) -> None:
        self._endpoint = endpoint
        self._is_stopped = is_stopped
        self._open_database = open_database

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        """Return the endpoint's answer. A write that was given up may still be done: it raises OutcomeUnknown."""
        outcome = _Outcome()
        seconds = min(tool.max_wait_seconds, MAX_REQUEST_SECONDS, context.seconds_left())
        deadline = time.monotonic() + seconds + _CANCEL_GRACE_SECONDS  # an endpoint that minds its time is let end
        threading.Thread(target=self._run, args=(outcome, context, tool, arguments), daemon=True).start()
        while not outcome.ended.wait(_POLL_SECONDS):
            if self._is_stopped():
                return self._cancel_call(outcome, context, tool, ToolCancelled())
            if time.monotonic() > deadline:
                return self._cancel_call(outcome, context, tool, ToolTimedOut())
        return _answer_or_raise(outcome)

    def lookup(self, context: ToolContext, tool: Tool, /) -> JsonObject | None:
        """As the endpoint says; it takes seconds."""
        return self._endpoint.lookup(context, tool)

    def _cancel_call(
        self, outcome: _Outcome, context: ToolContext, tool: Tool, why: ToolCancelled | ToolTimedOut
    ) -> JsonObject:
        context.connection.cancel()
        if outcome.ended.wait(_CANCEL_GRACE_SECONDS):
            return _answer_or_raise(outcome)
        if tool.writes:
            raise StillUnderWay
        raise why

    def _run(self, outcome: _Outcome, context: ToolContext, tool: Tool, arguments: JsonObject) -> None:
        database = self._open_database()
        try:
            outcome.answer = self._endpoint.call(replace(context, database=database), tool, arguments)
        except BaseException as problem:  # noqa: BLE001 - it is raised again in the thread that waits
            outcome.problem = problem
        finally:
            database.close()
            outcome.ended.set()


def _answer_or_raise(outcome: _Outcome) -> JsonObject:
    if outcome.problem is not None:
        raise outcome.problem
    return outcome.answer or {}
