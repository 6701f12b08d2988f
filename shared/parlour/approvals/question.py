"""What people read of approvals: the exact effect, the open questions, how they ended. Pure; never by a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from parlour.approvals.rows import Approval
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.tools.tool_definition import Tool

ASKED = "approval_asked"
"""The code of a tool call about which a person was asked."""


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """An argument as people read it."""

    label: str
    value: str


def argument_rows(arguments: JsonObject, schema: JsonObject | None = None) -> list[ArgumentRow]:
    """Return the arguments with the schema's titles as labels, else their names in words.

    An argument that is an object has a row for each of its values: "Properties, owner".
    """
    properties = (schema or {}).get("properties")
    known = properties if isinstance(properties, dict) else {}
    rows: list[ArgumentRow] = []
    for name, argument in arguments.items():
        label = _label(name, known.get(name))
        if isinstance(argument, dict) and argument:
            parts = ((_one_line(f"{label}, {part.replace('_', ' ')}"), value) for part, value in argument.items())
            rows += [ArgumentRow(part_label, _value_text(value)) for part_label, value in parts]
        else:
            rows.append(ArgumentRow(label, _value_text(argument)))
    return rows


def question_text(tool: Tool, arguments: JsonObject) -> str:
    """Return the exact effect: the tool, by its schema's title or its name, and each argument on a line of its own."""
    # Each further line of a value is marked, so that none of them reads as a line of the question.
    rows = argument_rows(arguments, tool.schema)
    lines = [f"- {row.label}: " + "\n  > ".join(row.value.splitlines()) for row in rows]
    return "\n".join([f"{_label(tool.name, tool.schema)}{':' if lines else ''}", *lines])


def asked_result(approval: Approval) -> JsonObject:
    """Return what the model reads of a call about which a person is asked."""
    return {
        "ok": False,
        "code": ASKED,
        "retryable": False,
        "status": "asked",
        "message": "A person was asked whether to do this; it is not done yet. The outcome comes by itself as a "
        "message. Do not call the tool again.",
        "approval_id": str(approval.id),
    }


def effects_text(approvals: Sequence[Approval]) -> str:
    """Return the exact effects of questions; several are numbered."""
    if len(approvals) == 1:
        return approvals[0].question
    return "\n\n".join(f"{number}. {one.question}" for number, one in enumerate(approvals, start=1))


def until_text(approvals: Sequence[Approval]) -> str:
    """Return until when all of the questions can be answered."""
    return time_text(min(one.expires_at for one in approvals))


def time_text(at: datetime) -> str:
    """Return a time as the questions have it in every language."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def closed_text(approval: Approval) -> str:
    """Return how a question stands that is not open any more."""
    answered = _clock(approval.answered_at)
    match approval.state:
        case "done":
            ended = _clock(approval.done_at)
            return f"It was approved at {answered} and ended at {ended}; the conversation has the outcome."
        case "approved" | "claimed":
            return f"It was approved at {answered} and is being done."
        case "refused":
            return f"It was refused at {answered}. Nothing was done."
        case "expired":
            return f"The question expired at {_clock(approval.expires_at)}. Nothing was done; ask for it again."
        case "superseded":
            return f"{approval.reason or 'This question was replaced by a newer one.'} Nothing was done."
        case _:
            return "The question is open."


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _label(name: str, definition: Json) -> str:
    title = definition.get("title") if isinstance(definition, dict) else None
    return _one_line(title if isinstance(title, str) and title.strip() else name.replace("_", " ").capitalize())


def _value_text(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else canonical_json(value)


def _clock(at: datetime | None) -> str:
    return f"{at:%H:%M} UTC on {at:%d %B %Y}" if at else "an unknown time"
