"""Decorated functions: their tool files, their arguments, and what they tell the model."""

import datetime as dt
from typing import Annotated

import pytest
from pydantic import Field

import parlour

CALL = parlour.ToolCall("turn:1:call_1", "salon", "user:1", "session")


@parlour.tool(writes=True, timeout_seconds=5)
def book(
    start: dt.date, call: parlour.ToolCall, seats: Annotated[int, Field(ge=1, description="How many.")] = 1
) -> dict[str, object]:
    """Book seats."""
    return {"start": start, "seats": seats, "key": call.key}


def test_a_function_becomes_the_tool_file_of_its_types_and_flags() -> None:
    assert book.definition("desk.book") == {
        "description": "Book seats.",
        "schema": {
            "type": "object",
            "properties": {
                "start": {"type": "string", "format": "date"},
                "seats": {"type": "integer", "minimum": 1, "default": 1, "description": "How many."},
            },
            "required": ["start"],
            "additionalProperties": False,
        },
        "endpoint": "function:desk.book",
        "writes": True,
        "timeout_seconds": 5,
    }


def test_arguments_arrive_with_their_types_and_the_call() -> None:
    answer = book.run({"start": "2026-03-02", "seats": 2}, CALL)
    assert answer == {"start": dt.date(2026, 3, 2), "seats": 2, "key": "turn:1:call_1"}


def test_arguments_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(parlour.ToolRefusal, match="seats: Input should be greater than or equal to 1"):
        book.run({"start": "2026-03-02", "seats": 0}, CALL)


def test_a_decorated_function_is_called_like_any_other() -> None:
    assert book(dt.date(2026, 3, 2), CALL)["seats"] == 1


def test_a_function_without_docstring_or_types_is_refused() -> None:
    def silent(when: str) -> None: ...

    def untyped(when) -> None:  # type: ignore[no-untyped-def]
        """Do it."""

    with pytest.raises(TypeError, match="needs a docstring"):
        parlour.tool(silent)
    with pytest.raises(TypeError, match="give the parameter when a type"):
        parlour.tool(untyped).definition("desk.untyped")
