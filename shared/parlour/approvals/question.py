"""What people read of approvals: the exact effect, the open questions, how they ended. Pure; never by a model."""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime

from parlour.approvals.rows import Approval
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.prompts.assembly.tool_rounds import ASKED
from parlour.records.properties import choices_of
from parlour.records.property_text import format_property
from parlour.records.record_type import RecordType
from parlour.text.literal_text import escape_markdown, show_invisible
from parlour.text.local_times import Locale
from parlour.tools.builtin.definitions import CREATE_ENTITY, UPDATE_ENTITY
from parlour.tools.tool_definition import ARGUMENT_ORDER, Tool

_MAX_HEADING_CHARS = 200
_MAX_ARGUMENT_CHARS = 300
"""Characters of a call's arguments in the list of open questions."""

_UNANSWERED = (
    "The user's new message does not count as an answer to them. If it sounds like one, say that only yes or no "
    "counts, as the question below asks for it."
)
_MAX_SENTENCE_VALUE_CHARS = 80
_FINAL_WORDING = re.compile(r"\bcannot be (?:taken back|undone)\b", re.IGNORECASE)
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ISO_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::00(?:\.0+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?")
_FIRST_LINE, _NEXT_LINE = "- ", "\n  > "
_LINE_MARKS = (_FIRST_LINE, _NEXT_LINE[1:])
"""What a question's lines begin with: the first line of an argument, and its further lines."""


@dataclass(frozen=True, slots=True)
class _Wording:
    """What a question says in one language."""

    create: str
    change: str
    removed: str
    final: str


_WORDINGS = {
    "en": _Wording("Create the {kind} “{name}”", "Change {record}", "(removed)", "This cannot be taken back."),
    "de": _Wording("{kind} “{name}” anlegen", "{record} ändern", "(entfernt)", "Das lässt sich nicht zurücknehmen."),
    "es": _Wording("Crear {kind} “{name}”", "Cambiar {record}", "(eliminado)", "Esto no se puede deshacer."),
    "fr": _Wording("Créer {kind} “{name}”", "Modifier {record}", "(supprimé)", "Cela ne peut pas être annulé."),
    "hi": _Wording("{kind} “{name}” बनाना", "{record} बदलना", "(हटाया गया)", "इसे वापस नहीं लिया जा सकता।"),
    "mr": _Wording("{kind} “{name}” तयार करणे", "{record} बदलणे", "(काढले)", "हे मागे घेता येत नाही."),
}
ENGLISH = Locale()
"""The locale of questions whose agent is gone, with times in UTC."""


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


def question_text(
    tool: Tool, arguments: JsonObject, record_type: RecordType | None = None, locale: Locale = ENGLISH
) -> str:
    """Return the exact effect: what is done, and each argument on a line of its own.

    The first line has the tool by its schema's title or its name. Of a tool that writes a record it names the record,
    and the record's properties come as people call them, in the order and with the units of its type: in one sentence
    where none of them is long. Days have their weekday, and times are those of the locale's zone. Where the tool's
    description says that a call cannot be taken back, the last line says so.
    """
    writing = _RecordWriting(record_type or RecordType("", ""), locale)
    heading, rows = writing.describe(tool, arguments)
    ending = [writing.wording.final] if _FINAL_WORDING.search(tool.description) else []
    if rows and all(row.phrase for row in rows):
        return "\n".join([f"{heading}: {', '.join(row.phrase for row in rows)}.", *ending])
    # Each further line of a value is marked, so that none of them reads as a line of the question.
    lines = [f"{_FIRST_LINE}{row.label}: {row.value.replace('\n', _NEXT_LINE)}" for row in rows]
    return "\n".join([f"{heading}{':' if lines else ''}", *lines, *ending])


def written_record_type(tool: Tool, arguments: JsonObject) -> str:
    """Return the type of the record that a call creates or changes; "" for any other call."""
    if tool.endpoint == CREATE_ENTITY.endpoint:
        return str(arguments.get("kind", ""))
    return str(arguments.get("entity", "")).partition("/")[0] if tool.endpoint == UPDATE_ENTITY.endpoint else ""


@dataclass(frozen=True, slots=True)
class _QuestionRow:
    """An argument of a question. phrase: the same within a sentence, "" for what needs a line of its own."""

    label: str
    value: str
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class _RecordWriting:
    """How a question shows the arguments of a tool that may write a record of this type."""

    record_type: RecordType
    locale: Locale

    @property
    def wording(self) -> _Wording:
        return _WORDINGS.get(self.locale.language, _WORDINGS["en"])

    def describe(self, tool: Tool, arguments: JsonObject) -> tuple[str, list[_QuestionRow]]:
        """Return the first line of a question and its rows."""
        shown = dict(arguments)
        kind, name, handle = (str(arguments.get(part, "")) for part in ("kind", "name", "entity"))
        if tool.endpoint == CREATE_ENTITY.endpoint and _is_plain(kind) and _is_plain(name):
            heading = self.wording.create.format(kind=_name_text(kind), name=show_invisible(name))
            shown = {part: value for part, value in shown.items() if part not in {"kind", "name"}}
        elif tool.endpoint == UPDATE_ENTITY.endpoint and _is_plain(handle):
            heading = self.wording.change.format(record=show_invisible(handle))
            shown.pop("entity")
        else:
            return label_text(tool.name, tool.schema), self._argument_rows(arguments, tool.schema)
        properties = shown.get("properties")
        if not isinstance(properties, dict):
            return heading, self._argument_rows(shown, tool.schema)
        other_arguments = {part: value for part, value in shown.items() if part != "properties"}
        other_rows = self._argument_rows(other_arguments, tool.schema)
        labels = {row.label for row in other_rows}
        ordered = self.record_type.ordered(properties)
        return heading, [*(self._property_row(part, value, labels) for part, value in ordered.items()), *other_rows]

    def _argument_rows(self, arguments: JsonObject, schema: JsonObject) -> list[_QuestionRow]:
        rows = argument_rows(arguments, schema)
        return [_QuestionRow(row.label, self._local_text(row.value) or row.value) for row in rows]

    def _property_row(self, part: str, value: Json, labels: Collection[str]) -> _QuestionRow:
        """Return a property's row: a number with its unit, a day with its weekday."""
        definition = self.record_type.properties.get(part)
        label = label_text(self.record_type.label(part) if definition else part, None)
        if label in labels:
            label = f"Properties, {_name_text(part)}"
        if isinstance(value, str):
            text = self._local_text(value)
            is_exact = bool(text) or value in choices_of(definition if isinstance(definition, dict) else {})
            text = text or _value_text(value)
            quoted = text if is_exact else f"“{text}”"
            fits = len(text) <= _MAX_SENTENCE_VALUE_CHARS and text.strip() and _is_plain(text)
            return _QuestionRow(label, text, f"{_lower_first(label)} {quoted}" if fits else "")
        text = self.wording.removed if value is None else _value_text(value)
        if isinstance(value, int | float):
            text = format_property(definition, value)
        is_short = value is None or isinstance(value, int | float)
        return _QuestionRow(label, text, f"{_lower_first(label)} {text}" if is_short else "")

    def _local_text(self, text: str) -> str:
        """Return a day or a time as people read it; "" for any other text."""
        with suppress(ValueError):
            if _ISO_DATE.fullmatch(text):
                return self.locale.day_text(date.fromisoformat(text))
            if _ISO_TIME.fullmatch(text):
                return self.locale.time_text(datetime.fromisoformat(text))
        return ""


def _lower_first(label: str) -> str:
    return label[:1].lower() + label[1:]


def _is_plain(text: str) -> bool:
    """Return whether a text can be in the first line without hiding what follows it."""
    return 0 < len(text) <= _MAX_HEADING_CHARS and not {"\n", "“", "”"} & set(text)


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


def open_questions_text(
    approvals: Sequence[Approval], clearance: int, locale: Locale, *, is_unanswered: bool = False
) -> str:
    """Return what the model reads of open questions: in which order they are asked, about which calls, and of whom.

    clearance      the reader's; arguments of a call that rests on more are left out.
    is_unanswered  whether the user wrote something after them that is no answer to them.
    """
    if not approvals:
        return ""
    lines = [
        f"{number}. {approval.tool}{_arguments_text(approval, clearance)}, "
        f"asked at {locale.time_text(approval.created_at)}, waits for the yes of "
        + ("the user" if approval.approver == "user" else "a member of the team")
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


def first_expiry(approvals: Sequence[Approval]) -> datetime:
    """Return until when all of the questions can be answered."""
    return min(approval.expires_at for approval in approvals)


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
