"""What `demo/<name>.yaml` may say: one scene that the demo model plays where there is no model key."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, model_validator

from parlour.models.demo_scenes import DATE_DIFFERENCE, DATE_SUM, compile_pattern
from parlour.packs import field_formats
from parlour.packs.pack_model import PackModel


def _regular_expression(value: str) -> str:
    try:
        compile_pattern(value)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return value


def _expand_reply(value: object) -> object:
    """Return a text alone as a reply without a condition."""
    return {"text": value} if isinstance(value, str) else value


Name = Annotated[str, AfterValidator(field_formats.identifier)]
Pattern = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_regular_expression)]
TwoNames = Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)]


class SceneCall(PackModel):
    """A tool call. Texts of `arguments` may have slots."""

    tool: Name
    arguments: dict[str, JsonValue] = {}  # noqa: RUF012 - pydantic copies it


class SceneQuote(PackModel):
    """A value that is quoted from a document that the calls found, or from the facts about the user.

    pattern  a regular expression; its first group is the value, or all of it. Line breaks and ** are taken out before.
    title    words of the document's title; left out, any document will do.
    """

    pattern: Pattern
    title: Annotated[str, Field(max_length=300)] = ""
    source: Literal["documents", "facts"] = "documents"


class Calculation(PackModel):
    """A value that is worked out: `add_days: [date, days]` or `days_between: [first, last]`, by names of quotes."""

    add_days: TwoNames | None = None
    days_between: TwoNames | None = None

    @model_validator(mode="after")
    def _check_one_kind(self) -> Self:
        if (self.add_days is None) == (self.days_between is None):
            raise ValueError(f"give {DATE_SUM} or {DATE_DIFFERENCE}, not both")
        return self


class SceneReply(PackModel):
    """A possible reply: the first whose slots can all be filled is given.

    result_has  a regular expression that a tool result of the turn must match.
    """

    text: Annotated[str, Field(min_length=1, max_length=8_000)]
    result_has: Pattern | None = None


class Scene(PackModel):
    """One scene of the demo.

    ask         regular expressions; one of them is found in the user's message. Named groups are slots.
    after       the scene that the user's previous message asked for.
    attachment  what came with the message.
    result_of   the tool whose late result the message reports.
    pulse_of    the record whose Pulse it writes; each reply is a statement.
    tools       tools that the agent must have, besides those that are called.
    """

    field_hints: ClassVar[Mapping[str, str]] = {"reply": "use the list `replies`", "patterns": "use `ask`"}

    ask: tuple[Pattern, ...] = ()
    after: Annotated[str, AfterValidator(field_formats.slug)] | None = None
    attachment: Literal["image", "file"] | None = None
    result_of: Name | None = None
    pulse_of: Annotated[str, AfterValidator(field_formats.record_reference)] | None = None
    tools: tuple[Name, ...] = ()
    calls: Annotated[tuple[SceneCall, ...], Field(max_length=4)] = ()
    quotes: dict[Name, SceneQuote] = {}  # noqa: RUF012 - pydantic copies it
    calculations: dict[Name, Calculation] = {}  # noqa: RUF012 - pydantic copies it
    replies: Annotated[tuple[Annotated[SceneReply, BeforeValidator(_expand_reply)], ...], Field(min_length=1)]
