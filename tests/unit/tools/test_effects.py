"""An effect is carried out at most once, whatever fails where, and its book says what is known of it."""

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import pytest

from parlour.infra.errors import (
    AnswersLater,
    DatabaseUnavailable,
    LeaseLost,
    OutcomeUnknown,
    StillUnderWay,
    ToolFailed,
    ToolRefused,
)
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.principal import system_principal
from parlour.tools.effects import perform_effect, resolve_overdue
from parlour.tools.result import ToolResult
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool

SCHEMA: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
POST = Tool("post", "Posts it.", SCHEMA, "python:post", writes=True)
LOOKED_UP = replace(POST, lookup="python:posted")
REPEATABLE = replace(POST, idempotent=True)
READ = replace(POST, writes=False, heavy=True)
ARGUMENTS: JsonObject = {"text": "hi"}
DONE: JsonObject = {"id": 7}


def no_connection(_: float) -> Any:
    raise AssertionError("an effect needs no database of its own")


@pytest.fixture
def context(now: datetime) -> ToolContext:
    return ToolContext(
        system_principal(UUID(int=3)), Database(no_connection), UUID(int=1), UUID(int=2), now, fencing_token=1
    )


@dataclass
class Script:
    """An endpoint that does what the test says, one entry per call and per lookup; what is raised is raised."""

    calls: Sequence[JsonObject | Exception] = ()
    lookups: Sequence[JsonObject | Exception | None] = ()
    log: list[str] = field(default_factory=list)

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        self.log.append("call")
        answer = self.calls[self.log.count("call") - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def lookup(self, context: ToolContext, tool: Tool, /) -> JsonObject | None:
        self.log.append("look")
        answer = self.lookups[self.log.count("look") - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class Notes:
    """A book that remembers."""

    written: list[str] = field(default_factory=list)
    broken: Exception | None = None

    def begin(self) -> None:
        self.written.append("running")
        if self.broken:
            raise self.broken

    def end(self, state: str, result: ToolResult, /) -> None:
        self.written.append(state)


def carried_out(
    context: ToolContext, tool: Tool, script: Script, was: Literal["reserved", "running"] = "reserved"
) -> tuple[ToolResult, list[str]]:
    notes = Notes()
    return perform_effect(context, tool, ARGUMENTS, was, {"python": script}, notes), notes.written


def test_a_call_is_begun_made_and_ended(context: ToolContext) -> None:
    result, written = carried_out(context, POST, script := Script([DONE]))
    assert (result.ok, result.content, written, script.log) == (True, DONE, ["running", "done"], ["call"])


def test_wrong_arguments_end_it_before_it_is_begun(context: ToolContext) -> None:
    notes = Notes()
    result = perform_effect(context, POST, {"text": 3}, "reserved", {"python": Script()}, notes)
    assert (result.code, notes.written) == ("invalid_arguments", ["failed"])


def test_a_tool_that_cannot_be_reached_from_here_is_not_begun(context: ToolContext) -> None:
    notes = Notes()
    assert perform_effect(context, POST, ARGUMENTS, "reserved", {}, notes).code == "not_available"
    assert notes.written == ["failed"]


def test_nothing_is_called_when_the_book_cannot_be_written(context: ToolContext) -> None:
    script = Script([DONE])
    for problem in (DatabaseUnavailable(), LeaseLost()):
        with pytest.raises(type(problem)):
            perform_effect(context, POST, ARGUMENTS, "reserved", {"python": script}, Notes(broken=problem))
    assert script.log == []


@pytest.mark.parametrize(
    ("tool", "was", "calls", "lookups", "state", "code", "log"),
    [
        (POST, "reserved", [ToolRefused("full")], [], "failed", "refused", "call"),
        (POST, "reserved", [ToolFailed()], [], "failed", "tool_failed", "call"),
        (POST, "reserved", [OutcomeUnknown()], [], "unknown", "outcome_unknown", "call"),
        (POST, "reserved", [StillUnderWay()], [], "unknown", "outcome_unknown", "call"),
        (POST, "reserved", [ValueError("broke")], [], "unknown", "outcome_unknown", "call"),
        (POST, "running", [], [], "unknown", "outcome_unknown", ""),
        (LOOKED_UP, "running", [], [DONE], "done", "", "look"),
        (LOOKED_UP, "running", [DONE], [None], "done", "", "look call"),
        (LOOKED_UP, "running", [ToolRefused()], [None], "failed", "refused", "look call"),
        (LOOKED_UP, "running", [], [OutcomeUnknown()], "unknown", "outcome_unknown", "look"),
        (LOOKED_UP, "running", [], [ToolFailed()], "unknown", "outcome_unknown", "look"),
        (LOOKED_UP, "running", [], [KeyError("x")], "unknown", "outcome_unknown", "look"),
        (LOOKED_UP, "running", [OutcomeUnknown()], [None, DONE], "done", "", "look call look"),
        (LOOKED_UP, "running", [OutcomeUnknown()], [None, None], "failed", "tool_failed", "look call look"),
        (LOOKED_UP, "reserved", [OutcomeUnknown()], [DONE], "done", "", "call look"),
        (LOOKED_UP, "reserved", [OutcomeUnknown(), DONE], [None], "done", "", "call look call"),
        (LOOKED_UP, "reserved", [StillUnderWay()], [None], "unknown", "outcome_unknown", "call look"),
        (LOOKED_UP, "reserved", [StillUnderWay()], [DONE], "done", "", "call look"),
        (REPEATABLE, "running", [DONE], [], "done", "", "call"),
        (REPEATABLE, "reserved", [OutcomeUnknown(), DONE], [], "done", "", "call call"),
        (REPEATABLE, "reserved", [StillUnderWay(), OutcomeUnknown()], [], "unknown", "outcome_unknown", "call call"),
        (REPEATABLE, "reserved", [OutcomeUnknown(), ToolFailed()], [], "unknown", "outcome_unknown", "call call"),
        (REPEATABLE, "running", [ToolRefused()], [], "unknown", "outcome_unknown", "call"),
        (READ, "running", [DONE], [], "done", "", "call"),
        (READ, "reserved", [ToolFailed()], [], "failed", "tool_failed", "call"),
        (READ, "reserved", [ValueError()], [], "failed", "tool_failed", "call"),
        (READ, "reserved", [OutcomeUnknown(), OutcomeUnknown()], [], "failed", "tool_failed", "call call"),
    ],
)
def test_what_a_call_comes_to(
    context: ToolContext, tool: Tool, was: Any, calls: Any, lookups: Any, state: str, code: str, log: str
) -> None:
    script = Script(calls, lookups)
    result, written = carried_out(context, tool, script, was)
    assert (written[-1], result.code, " ".join(script.log)) == (state, code, log)


@pytest.mark.parametrize("problem", [DatabaseUnavailable(), LeaseLost(), AnswersLater()])
def test_what_concerns_the_whole_run_goes_through_and_leaves_the_book_as_it_is(
    context: ToolContext, problem: Exception
) -> None:
    notes = Notes()
    with pytest.raises(type(problem)):
        perform_effect(context, POST, ARGUMENTS, "reserved", {"python": Script([problem])}, notes)
    assert notes.written == ["running"]


def test_a_call_that_was_given_up_beforehand_is_not_made(context: ToolContext) -> None:
    context.connection.cancel()
    result, written = carried_out(context, POST, script := Script())
    assert (result.code, written, script.log) == ("cancelled", ["failed"], [])


def test_a_repeatable_call_that_was_given_up_is_not_made_again(context: ToolContext) -> None:
    class GivenUp(Script):
        def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
            context.connection.cancel()
            return super().call(context, tool, arguments)

    result, written = carried_out(context, REPEATABLE, script := GivenUp([StillUnderWay()]))
    assert (result.code, written[-1], script.log) == ("outcome_unknown", "unknown", ["call"])


@pytest.mark.parametrize(
    ("tool", "lookups", "state", "code"),
    [
        (POST, [], "unknown", "timed_out"),
        (LOOKED_UP, [DONE], "done", ""),
        (LOOKED_UP, [None], "unknown", "timed_out"),
        (LOOKED_UP, [OutcomeUnknown()], "unknown", "timed_out"),
        (REPEATABLE, [], "unknown", "timed_out"),
        (READ, [], "failed", "timed_out"),
    ],
)
def test_what_a_tool_took_and_never_answered_is_looked_up_and_not_made_again(
    context: ToolContext, tool: Tool, lookups: Any, state: str, code: str
) -> None:
    notes, script = Notes(), Script([], lookups)
    result = resolve_overdue(context, tool, {"python": script}, notes)
    assert (notes.written, result.code) == ([state], code)
    assert "call" not in script.log


class Died(BaseException):
    """The process is gone."""


class World:
    """A row, an endpoint that counts what it did, and deaths at chosen moments. Deliveries follow one another until
    one ends the call."""

    def __init__(self, deaths: Sequence[bool], endings: Sequence[Callable[[], None]]) -> None:
        self.state: str = "reserved"
        self.done = 0
        self._deaths = iter(deaths)
        self._endings = iter(endings)

    def _moment(self) -> None:
        if next(self._deaths, False):
            raise Died

    def begin(self) -> None:
        self._moment()
        self.state = "running"
        self._moment()

    def end(self, state: str, result: ToolResult, /) -> None:
        self._moment()
        self.state = state
        self._moment()

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        self._moment()
        self.done += 1
        self._moment()
        next(self._endings, lambda: None)()
        return DONE

    def lookup(self, context: ToolContext, tool: Tool, /) -> JsonObject | None:
        self._moment()
        return DONE if self.done else None


def breaks(error: Exception) -> Callable[[], None]:
    def ending() -> None:
        raise error

    return ending


ENDINGS = (lambda: None, breaks(OutcomeUnknown()), breaks(StillUnderWay()), breaks(ValueError()))


@pytest.mark.parametrize("tool", [POST, LOOKED_UP], ids=["no lookup", "lookup"])
def test_whatever_fails_where_a_write_is_done_at_most_once(context: ToolContext, tool: Tool) -> None:
    for deaths, ending in itertools.product(itertools.product((False, True), repeat=8), ENDINGS):
        world = World(deaths, [ending])
        while world.state in {"reserved", "running"}:
            was: Any = world.state
            with suppress(Died):
                perform_effect(context, tool, ARGUMENTS, was, {"python": world}, world)
        assert world.done <= 1
        assert world.done == 1 or world.state != "done"
        assert world.state != "failed" or world.done == 0
