"""What people read of approvals: the exact effect, the open questions, how they ended. Pure; never by a model."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime

from parlour.approvals.rows import Approval
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.prompts.assembly.tool_rounds import ASKED
from parlour.records.property_text import format_property
from parlour.records.record_type import RecordType
from parlour.text.literal_text import escape_markdown, show_invisible
from parlour.tools.builtin.definitions import CREATE_ENTITY, UPDATE_ENTITY
from parlour.tools.tool_definition import ARGUMENT_ORDER, Tool

_MAX_HEADING_CHARS = 200
_MAX_ARGUMENT_CHARS = 300
"""Characters of a call's arguments in the list of open questions."""

_UNANSWERED = (
    "The user's new message does not count as an answer to them. If it sounds like one, say that only yes or no "
    "counts, as the question below asks for it."
)
_FINAL_LINE = "This cannot be taken back."
_FINAL_WORDING = re.compile(r"\bcannot be (?:taken back|undone)\b", re.IGNORECASE)
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FIRST_LINE, _NEXT_LINE = "- ", "\n  > "
_LINE_MARKS = (_FIRST_LINE, _NEXT_LINE[1:])
"""What a question's lines begin with: the first line of an argument, and its further lines."""


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """An argument as people read it."""

    label: str
    value: str


def argument_rows(arguments: JsonObject, schema: JsonObject | None = None) -> list[ArgumentRow]:
    """Return the arguments in the order of the tool's file, with the schema's titles as labels, else names in words.

    An argument that is an object has a row for each of its values: "Properties, owner". Names and values hold every
    character of the arguments, the invisible ones by number.
    """
    properties = (schema or {}).get("properties")
    known = properties if isinstance(properties, dict) else {}
    rows: list[ArgumentRow] = []
    for name, argument in _in_file_order(arguments, schema or {}).items():
        label = label_text(name, known.get(name))
        if isinstance(argument, dict) and argument:
            parts = ((f"{label}, {_name_text(part)}", value) for part, value in argument.items())
            rows += [ArgumentRow(part_label, _value_text(value)) for part_label, value in parts]
        else:
            rows.append(ArgumentRow(label, _value_text(argument)))
    return rows


def _in_file_order(arguments: JsonObject, schema: JsonObject) -> JsonObject:
    listed = schema.get(ARGUMENT_ORDER)
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    return {name: arguments[name] for name in dict.fromkeys([*names, *arguments]) if name in arguments}


def question_text(tool: Tool, arguments: JsonObject, record_type: RecordType | None = None) -> str:
    """Return the exact effect: what is done, and each argument on a line of its own.

    The first line has the tool by its schema's title or its name. Of a tool that writes a record it names the record,
    and the record's properties come as people call them, in the order and with the units of its type. Where the tool's
    description says that a call cannot be taken back, the last line says so.
    """
    heading, rows = _record_question(tool, arguments, record_type or RecordType("", ""))
    # Each further line of a value is marked, so that none of them reads as a line of the question.
    lines = [f"{_FIRST_LINE}{row.label}: {row.value.replace('\n', _NEXT_LINE)}" for row in rows]
    ending = [_FINAL_LINE] if _FINAL_WORDING.search(tool.description) else []
    return "\n".join([f"{heading}{':' if lines else ''}", *lines, *ending])


def written_record_type(tool: Tool, arguments: JsonObject) -> str:
    """Return the type of the record that a call creates or changes; "" for any other call."""
    if tool.endpoint == CREATE_ENTITY.endpoint:
        return str(arguments.get("kind", ""))
    return str(arguments.get("entity", "")).partition("/")[0] if tool.endpoint == UPDATE_ENTITY.endpoint else ""


def _record_question(tool: Tool, arguments: JsonObject, record_type: RecordType) -> tuple[str, list[ArgumentRow]]:
    """Return the first line of a question and its rows."""
    shown = dict(arguments)
    kind, name, handle = (str(arguments.get(part, "")) for part in ("kind", "name", "entity"))
    if tool.endpoint == CREATE_ENTITY.endpoint and _is_plain(kind) and _is_plain(name):
        heading = f"Create the {_name_text(kind)} “{show_invisible(name)}”"
        shown = {part: value for part, value in shown.items() if part not in {"kind", "name"}}
    elif tool.endpoint == UPDATE_ENTITY.endpoint and _is_plain(handle):
        heading = f"Change {show_invisible(handle)}"
        shown.pop("entity")
    else:
        return label_text(tool.name, tool.schema), argument_rows(arguments, tool.schema)
    properties = shown.get("properties")
    if not isinstance(properties, dict):
        return heading, argument_rows(shown, tool.schema)
    other_rows = argument_rows({part: value for part, value in shown.items() if part != "properties"}, tool.schema)
    labels = {row.label for row in other_rows}
    rows = [
        ArgumentRow(
            f"Properties, {_name_text(part)}" if label in labels else label,
            _property_text(record_type.properties.get(part), value),
        )
        for part, value in record_type.ordered(properties).items()
        for label in [label_text(part, None)]
    ]
    return heading, [*rows, *other_rows]


def _is_plain(text: str) -> bool:
    """Return whether a text can be in the first line without hiding what follows it."""
    return 0 < len(text) <= _MAX_HEADING_CHARS and not {"\n", "“", "”"} & set(text)


def _property_text(definition: Json, value: Json) -> str:
    """Return a property's value: a number with its unit, a date as it is written out."""
    if isinstance(value, str) and _ISO_DATE.fullmatch(value):
        with suppress(ValueError):
            day = date.fromisoformat(value)
            return f"{day.day} {day:%B %Y}"
    if isinstance(value, int | float):
        return format_property(definition, value)
    return "(removed)" if value is None else _value_text(value)


def asked_result(approval: Approval) -> JsonObject:
    """Return what the model reads of a call about which a person is asked."""
    return {
        "ok": False,
        "code": ASKED,
        "retryable": False,
        "status": "asked",
        "message": "Waiting: a person is asked, by the runtime, whether to do this. It is no failure, and nothing is "
        "done yet; the outcome comes by itself as a message. Call again only if the user wants it otherwise.",
        "approver": approval.approver,
        "approval_id": str(approval.id),
    }


def open_questions_text(approvals: Sequence[Approval], clearance: int, *, is_unanswered: bool = False) -> str:
    """Return what the model reads of open questions: in which order they are asked, about which calls, and of whom.

    clearance      the reader's; arguments of a call that rests on more are left out.
    is_unanswered  whether the user wrote something after them that is no answer to them.
    """
    if not approvals:
        return ""
    lines = [
        f"{number}. {approval.tool}{_arguments_text(approval, clearance)}, asked at {time_text(approval.created_at)}, "
        "waits for the yes of " + ("the user" if approval.approver == "user" else "a member of the team")
        for number, approval in enumerate(approvals, start=1)
    ]
    text = "Open questions, which the runtime asks again below your reply: " + "; ".join(lines)
    return f"{text}. {_UNANSWERED}" if is_unanswered else text


def approved_calls_text(approvals: Sequence[Approval], clearance: int) -> str:
    """Return what the model reads of calls that were agreed to and have not ended; "" for none."""
    if not approvals:
        return ""
    calls = "; ".join(f"{approval.tool}{_arguments_text(approval, clearance)}" for approval in approvals)
    return (
        f"Agreed to, being done: {calls}. The outcome comes by itself as a message: do not call again, nor say that it "
        "is done."
    )


def _arguments_text(approval: Approval, clearance: int) -> str:
    if approval.shown_level > clearance:
        return ""
    text = canonical_json(approval.arguments)
    return f" {text if len(text) <= _MAX_ARGUMENT_CHARS else f'{text[:_MAX_ARGUMENT_CHARS]} ...'}"


def effects_text(questions: Sequence[str]) -> str:
    """Return the exact effects, as `question_text` wrote them, as Markdown; several are numbered."""
    texts = ["\n".join(map(_escape_line, question.split("\n"))) for question in questions]
    return (
        texts[0] if len(texts) == 1 else "\n\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))
    )


def until_text(approvals: Sequence[Approval]) -> str:
    """Return until when all of the questions can be answered."""
    return time_text(min(approval.expires_at for approval in approvals))


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


def _escape_line(line: str) -> str:
    mark = next((mark for mark in _LINE_MARKS if line.startswith(mark)), "")
    return mark + escape_markdown(line.removeprefix(mark))


def label_text(name: str, definition: Json) -> str:
    """Return what people read for a name: the title of its definition, else its words."""
    title = definition.get("title") if isinstance(definition, dict) else None
    if isinstance(title, str) and title.strip():
        return " ".join(title.split())
    words = _name_text(name)
    return words[:1].upper() + words[1:]


def _name_text(name: str) -> str:
    return show_invisible(name.replace("_", " ")).replace("\n", "<U+000A>")


def _value_text(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return show_invisible(value if isinstance(value, str) else canonical_json(value))


def _clock(at: datetime | None) -> str:
    return f"{at:%H:%M} UTC on {at:%d %B %Y}" if at else "an unknown time"
