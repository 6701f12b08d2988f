"""The decision about a call: by its tool, the rights, the approval and the arguments."""

from dataclasses import replace
from uuid import UUID

import pytest

from parlour.infra.errors import ToolNotAvailable
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal, WriteRights
from parlour.tools.call_decision import (
    AskPerson,
    CallDecision,
    Dispatch,
    PerformEffect,
    Refuse,
    RunRead,
    decide_call,
)
from parlour.tools.tool_definition import Tool

SCHEMA: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
READ = Tool("count", "Counts.", SCHEMA, "https://tools.example/count")
WRITE = replace(READ, writes=True)
HEAVY = replace(READ, heavy=True)
ARGUMENTS: JsonObject = {"text": "hi"}


def decide(
    tool: Tool | None,
    rights: WriteRights = "all",
    arguments: JsonObject = ARGUMENTS,
    *,
    is_reserved: bool = False,
    asks: bool = False,
) -> CallDecision:
    principal = Principal(UUID(int=1), "user", writes=rights)
    return decide_call(tool, principal, principal, arguments, is_reserved=is_reserved, must_ask=lambda _: asks)


@pytest.mark.parametrize(
    ("tool", "decision"),
    [
        (None, RunRead(None)),
        (READ, RunRead(READ)),
        (WRITE, PerformEffect(WRITE)),
        (HEAVY, Dispatch(HEAVY)),
    ],
)
def test_a_call_that_is_allowed_runs_as_its_tool_does(tool: Tool | None, decision: CallDecision) -> None:
    assert decide(tool) == decision


def test_a_write_without_rights_is_refused_before_a_person_is_asked() -> None:
    decision = decide(WRITE, "none", asks=True)

    assert isinstance(decision, Refuse)
    assert isinstance(decision.error, ToolNotAvailable)


@pytest.mark.parametrize("tool", [READ, WRITE, HEAVY])
def test_a_call_that_needs_approval_asks_a_person(tool: Tool) -> None:
    assert decide(tool, asks=True) == AskPerson(tool)


def test_a_reserved_effect_runs_without_asking_again() -> None:
    assert decide(WRITE, is_reserved=True, asks=True) == PerformEffect(WRITE)


def test_a_heavy_call_with_wrong_arguments_is_refused() -> None:
    assert isinstance(decide(HEAVY, arguments={"text": 3}), Refuse)


def test_an_effect_with_wrong_arguments_fails_where_it_runs() -> None:
    assert decide(WRITE, arguments={"text": 3}) == PerformEffect(WRITE)
