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


Name = Annotated[str, field_formats.identifier]
Pattern = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_regular_expression)]
TwoNames = Annotated[tuple[Name, ...], Field(min_length=2, max_length=2)]


class SceneCall(PackModel):
    """A tool call of a scene."""

    tool: Name = Field(description="Name of the tool.")
    arguments: dict[str, JsonValue] = Field(default={}, description="Its arguments. Texts may have slots.")


class SceneQuote(PackModel):
    """A value that is quoted from a document that the calls found, or from the facts about the user."""

    pattern: Pattern = Field(
        description="Regular expression; its first group is the value, or all of it. Line breaks and ** are removed "
        "before."
    )
    title: Annotated[str, Field(max_length=300)] = Field(
        default="", description="Words of the document's title. Left out, any document will do."
    )
    source: Literal["documents", "facts"] = Field(default="documents", description="Where the value is looked for.")


class Calculation(PackModel):
    """A value that is worked out from quotes, by their names."""

    add_days: TwoNames | None = Field(default=None, description="`[date, days]`: the date so many days later.")
    days_between: TwoNames | None = Field(default=None, description="`[first, last]`: the days between two dates.")

    @model_validator(mode="after")
    def _check_one_kind(self) -> Self:
        if (self.add_days is None) == (self.days_between is None):
            raise ValueError(f"give {DATE_SUM} or {DATE_DIFFERENCE}, not both")
        return self


class SceneReply(PackModel):
    """A possible reply. The first one whose slots can all be filled is given."""

    text: Annotated[str, Field(min_length=1, max_length=8_000)] = Field(description="The reply, with slots.")
    result_has: Pattern | None = Field(
        default=None, description="Regular expression that a tool result of the turn must match."
    )


TextOrReply = Annotated[SceneReply, BeforeValidator(_expand_reply, json_schema_input_type=str | SceneReply)]


class Scene(PackModel):
    """One scene of the demo, which plays where there is no model key."""

    field_hints: ClassVar[Mapping[str, str]] = {"reply": "use the list `replies`", "patterns": "use `ask`"}

    ask: tuple[Pattern, ...] = Field(
        default=(), description="Regular expressions. One is found in the user's message; named groups are slots."
    )
    after: Annotated[str, field_formats.slug] | None = Field(
        default=None, description="The scene that the user's previous message asked for."
    )
    attachment: Literal["image", "file"] | None = Field(default=None, description="What came with the message.")
    result_of: Name | None = Field(default=None, description="The tool whose late result the message reports.")
    pulse_of: Annotated[str, field_formats.record_reference] | None = Field(
        default=None, description="The record whose Pulse the scene writes; each reply is a statement."
    )
    tools: tuple[Name, ...] = Field(default=(), description="Tools that the agent must have, besides those called.")
    calls: Annotated[tuple[SceneCall, ...], Field(max_length=4)] = Field(
        default=(), description="The tool calls, in order."
    )
    quotes: dict[Name, SceneQuote] = Field(default={}, description="Name of a slot and the value quoted for it.")
    calculations: dict[Name, Calculation] = Field(default={}, description="Name of a slot and how it is worked out.")
    replies: Annotated[tuple[TextOrReply, ...], Field(min_length=1)] = Field(
        description="The replies to choose from; a text alone is a reply without a condition."
    )
