"""Whatever a model asks for or a tool does, the turn gets a result; only what concerns the whole turn goes through."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.errors import (
    DatabaseUnavailable,
    LeaseLost,
    ModelError,
    ParlourError,
    ProviderRejected,
    ToolFailed,
)
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.principal import system_principal
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.result import MAX_RESULT_CHARS
from parlour.tools.run import BuiltinTool, Endpoints, ToolContext, run_tool, run_tool_by_name
from parlour.tools.tool_definition import Tool

SCHEMA: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ECHO = Tool("echo", "Says it again.", SCHEMA, "python:echo")


def no_connection(seconds: float) -> Any:
    raise AssertionError("these tools need no database")


@pytest.fixture
def context(now: datetime) -> ToolContext:
    ids = UUID(int=1), UUID(int=2)
    return ToolContext(system_principal(UUID(int=3)), Database(no_connection), *ids, now, fencing_token=1)


def echo(context: ToolContext, arguments: JsonObject) -> JsonObject:
    return {"said": arguments["text"]}


def python(builtins: Mapping[str, BuiltinTool]) -> Endpoints:
    return {"python": PythonEndpoint(builtins)}


def raising(error: BaseException) -> BuiltinTool:
    def run(context: ToolContext, arguments: JsonObject) -> JsonObject:
        raise error

    return run


def test_a_call_is_answered(context: ToolContext) -> None:
    result = run_tool_by_name(context, "echo", {"text": "hi"}, [ECHO], python({"echo": echo}))
    assert (result.ok, result.content) == (True, {"said": "hi"})


def test_an_unknown_tool_is_answered_with_those_there_are(context: ToolContext) -> None:
    result = run_tool_by_name(context, "ehco" * 100, {}, [ECHO], python({"echo": echo}))
    assert (result.ok, result.code, result.retryable) == (False, "unknown_tool", False)
    message = str(result.content["message"])
    assert message.endswith("there are: echo")
    assert len(message) < 200


def test_wrong_arguments_never_reach_the_tool(context: ToolContext) -> None:
    result = run_tool(context, ECHO, {"text": 3}, python({"echo": raising(AssertionError())}))
    assert result.code == "invalid_arguments"


@pytest.mark.parametrize("tool", [replace(ECHO, writes=True), replace(ECHO, heavy=True)])
def test_only_reads_run(context: ToolContext, tool: Tool) -> None:
    result = run_tool(context, tool, {"text": "hi"}, python({"echo": raising(AssertionError())}))
    assert (result.code, result.retryable) == ("not_available", False)


def test_a_tools_own_refusal_is_told(context: ToolContext) -> None:
    result = run_tool(context, ECHO, {"text": "hi"}, python({"echo": raising(ToolFailed("the register is closed"))}))
    assert result.content["message"] == "the register is closed"
    assert result.retryable


@pytest.mark.parametrize("error", [ValueError("Anita's phone"), KeyError("x"), ProviderRejected("key abc")])
def test_a_broken_tool_is_told_without_its_reasons(
    context: ToolContext, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    result = run_tool(context, ECHO, {"text": "hi"}, python({"echo": raising(error)}))
    assert (result.ok, result.code) == (False, "tool_failed")
    said = result.text + str([vars(record) for record in caplog.records])
    assert "'action': 'tool_failed'" in said
    assert "Anita" not in said
    assert "abc" not in said


def test_a_tool_nobody_built_in_is_told_as_a_failure(context: ToolContext) -> None:
    assert run_tool(context, ECHO, {"text": "hi"}, python({})).code == "tool_failed"


@pytest.mark.parametrize("error", [DatabaseUnavailable(), LeaseLost()])
def test_what_concerns_the_whole_turn_goes_through(context: ToolContext, error: ParlourError) -> None:
    assert not isinstance(error, ModelError)
    with pytest.raises(type(error)):
        run_tool(context, ECHO, {"text": "hi"}, python({"echo": raising(error)}))


def test_an_interruption_goes_through(context: ToolContext) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_tool(context, ECHO, {"text": "hi"}, python({"echo": raising(KeyboardInterrupt())}))


def test_a_long_answer_is_shortened(context: ToolContext) -> None:
    result = run_tool(context, ECHO, {"text": "x" * 100_000}, python({"echo": echo}))
    assert result.ok
    assert len(result.text) <= MAX_RESULT_CHARS


def test_the_context_reaches_the_tool(context: ToolContext) -> None:
    seen: list[ToolContext] = []

    def keep(context: ToolContext, arguments: JsonObject) -> JsonObject:
        seen.append(context)
        return {}

    run_tool(context, ECHO, {"text": "hi"}, python({"echo": keep}))
    assert seen == [context]
