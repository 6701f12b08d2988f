"""The scenes of the demo model: when one is played, which tools it calls, and what its replies quote. Pure.

A scene comes from a pack (`demo/<name>.yaml`, `packs/scene_format.py`) and is stored as JSON in the tenant's settings.
Its texts have slots that are filled while a turn runs: `{name}` is a value, `[name]` the citation number of a quote.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Self

from parlour.infra.json_values import Json, JsonObject
from parlour.models.model import object_items

DEMO_SETTING = "demo_scenes"
"""The tenant's setting that holds the scenes of its pack, by name."""

DATE_SUM, DATE_DIFFERENCE = "add_days", "days_between"
"""The two calculations: a date and a number of days later; the days from one date to another."""

_SLOT = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*)\}")
_BRACES = re.compile(r"\{[^{}\s]{1,100}\}")
_CITATION = re.compile(r"\[([a-z][a-z0-9_]*)\](?!\()")
_EMPHASIS = re.compile(r"\*\*|<!--.*?-->")
_DATE_FORMATS = ("%d %B %Y", "%d %b %Y", "%Y-%m-%d")

_MAX_QUESTION_CHARS = 500
"""Characters of a message that patterns are tried on: some patterns take long on long texts."""


class SlotMissing(Exception):
    """A slot that nothing fills: the scene does not fit what the tools returned."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A value that is quoted: the first group of `pattern`, or all of it.

    title     words of the title of the document that has it; "" for any.
    is_fact   whether it stands in what is remembered of the user, and not in a document.
    """

    pattern: re.Pattern[str]
    title: str = ""
    is_fact: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A possible reply, and the pattern that some tool result of the turn has to match."""

    text: str
    result_has: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What one tool call came to: its name, its result as JSON and as text."""

    tool: str
    content: JsonObject
    text: str
    is_offline: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """The user's last message and what came of it so far.

    previous    the user's message before it; "" if there is none.
    remembered  the runtime's own text beside the message, with the facts about the user.
    attachment  what came with the message: `kind` (image or file), `format` and `size`; empty for nothing.
    late        the result of an earlier tool call that this message reports.
    """

    question: str
    previous: str = ""
    remembered: str = ""
    attachment: Mapping[str, str] = field(default_factory=dict)
    outcomes: Sequence[ToolOutcome] = ()
    late: ToolOutcome | None = None

    @property
    def all_outcomes(self) -> list[ToolOutcome]:
        """Return the late result, then those of this turn."""
        return [*([self.late] if self.late else []), *self.outcomes]


@dataclass(frozen=True, slots=True)
class Scene:
    """One scene: its conditions, its tool calls in order, and its possible replies in order.

    after      the scene that the user's previous message asked for.
    result_of  the tool whose late result the message reports.
    pulse_of   the record whose Pulse the scene writes; the replies are its statements.
    tools      tools that the agent must have, besides those of the calls.
    """

    name: str
    ask: tuple[re.Pattern[str], ...]
    after: str
    attachment: str
    result_of: str
    pulse_of: str
    tools: frozenset[str]
    calls: tuple[tuple[str, JsonObject], ...]
    quotes: Mapping[str, Quote]
    calculations: Mapping[str, tuple[str, str, str]]
    replies: tuple[Reply, ...]

    @classmethod
    def from_json(cls, name: str, value: JsonObject) -> Self:
        """Return the scene that is stored under this name."""
        calls = object_items(value.get("calls"))
        return cls(
            name=name,
            ask=tuple(map(compile_pattern, _texts(value, "ask"))),
            after=str(value.get("after") or ""),
            attachment=str(value.get("attachment") or ""),
            result_of=str(value.get("result_of") or ""),
            pulse_of=str(value.get("pulse_of") or ""),
            tools=frozenset([*_texts(value, "tools"), *(str(call["tool"]) for call in calls)]),
            calls=tuple((str(call["tool"]), _object(call.get("arguments"))) for call in calls),
            quotes={key: _quote(_object(one)) for key, one in _object(value.get("quotes")).items()},
            calculations={key: _calculation(_object(one)) for key, one in _object(value.get("calculations")).items()},
            replies=tuple(map(_reply, object_items(value.get("replies")))),
        )

    @property
    def condition_count(self) -> int:
        """How many conditions a scene has besides the user's words and the tools that it calls."""
        conditions = (self.after, self.attachment, self.result_of, self.tools - {tool for tool, _ in self.calls})
        return sum(map(bool, conditions))


def scenes_from_settings(settings: JsonObject) -> tuple[Scene, ...]:
    """Return the scenes of a tenant's settings, by name."""
    return tuple(
        Scene.from_json(name, _object(one)) for name, one in sorted(_object(settings.get(DEMO_SETTING)).items())
    )


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of a pack, which ignores case. Raises re.error with the reason."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def malformed_slots(text: str) -> list[str]:
    """Return what is in braces and is no slot, such as `{free_bikes.e-bike}`: it would be sent as it is written."""
    return [found for found in _BRACES.findall(text) if not _SLOT.fullmatch(found)]


def slot_names(text: str) -> tuple[list[str], list[str]]:
    """Return the names of a text's values and of its citations."""
    return _SLOT.findall(text), _CITATION.findall(text)


def find_scene(scenes: Sequence[Scene], exchange: Exchange, tools: frozenset[str]) -> Scene | None:
    """Return the scene that fits the user's last message and the agent's tools; None when none does.

    Of several, the one with the most conditions is played, then the one whose pattern matches the longest text.
    """
    chat = [scene for scene in scenes if not scene.pulse_of]
    asked_before = {scene.name for scene in chat if _ask_match(scene, exchange.previous)}
    fitting = [scene for scene in chat if _fits(scene, exchange, tools, asked_before)]
    return max(fitting, key=lambda scene: (scene.condition_count, _match_length(scene, exchange)), default=None)


def fill_arguments(scene: Scene, exchange: Exchange, arguments: JsonObject, schema: JsonObject) -> JsonObject:
    """Return a call's arguments with their slots filled, as the types that the tool's schema says.

    Raises SlotMissing.
    """
    slots, properties = _Slots(scene, exchange), _object(schema.get("properties"))
    filled = {name: _fill_json(slots, value) for name, value in arguments.items()}
    return {name: _to_schema_type(value, _object(properties.get(name))) for name, value in filled.items()}


def fill_reply(scene: Scene, exchange: Exchange) -> str:
    """Return the first reply that the tool results allow. Raises SlotMissing when there is none."""
    slots = _Slots(scene, exchange)
    for reply in scene.replies:
        if reply.result_has and not any(reply.result_has.search(one.text) for one in exchange.all_outcomes):
            continue
        try:
            return slots.fill_cited(reply.text)
        except SlotMissing:
            continue
    raise SlotMissing(scene.name)


def fill_statements(scene: Scene, exchange: Exchange) -> list[tuple[str, list[int]]]:
    """Return the statements of a Pulse that its material fills, each with the numbers of its sources."""
    slots, statements = _Slots(scene, exchange), list[tuple[str, list[int]]]()
    for reply in scene.replies:
        values, citations = slot_names(reply.text)
        try:
            numbers = [slots.citation(name) for name in dict.fromkeys([*values, *citations])]
            statements.append((slots.fill(_CITATION.sub("", reply.text)).strip(), list(dict.fromkeys(numbers))))
        except SlotMissing:
            continue
    return statements


def documents_of(outcomes: Sequence[ToolOutcome]) -> Iterator[JsonObject]:
    """Yield the numbered documents of tool results, in the order found."""
    for outcome in outcomes:
        yield from object_items(outcome.content.get("documents"))


def _fits(scene: Scene, exchange: Exchange, tools: frozenset[str], asked_before: set[str]) -> bool:
    late = exchange.late.tool if exchange.late else ""
    return (
        scene.tools <= tools
        and scene.result_of == late
        and (not scene.after or scene.after in asked_before)
        and scene.attachment == exchange.attachment.get("kind", "")
        and (not scene.ask or _ask_match(scene, exchange.question) is not None)
    )


def _match_length(scene: Scene, exchange: Exchange) -> int:
    match = _ask_match(scene, exchange.question)
    return len(match[0]) if match else 0


def _ask_match(scene: Scene, question: str) -> re.Match[str] | None:
    text = one_line(question)[:_MAX_QUESTION_CHARS]
    return next((match for pattern in scene.ask if (match := pattern.search(text))), None)


class _Slots:
    """The values of one scene's slots, from the user's words, the tool results and what is remembered."""

    def __init__(self, scene: Scene, exchange: Exchange) -> None:
        self._scene, self._exchange = scene, exchange
        match = _ask_match(scene, exchange.question)
        self._groups = {name: text.strip() for name, text in match.groupdict().items() if text} if match else {}

    def fill(self, text: str) -> str:
        """Return a text with its slots filled."""
        filled = _CITATION.sub(lambda slot: f"[{self.citation(slot[1])}]", text)
        return _SLOT.sub(lambda slot: self.value(slot[1]), filled)

    def fill_cited(self, text: str) -> str:
        """Return a text with its slots filled; SlotMissing if it quotes a document that it does not cite."""
        values, citations = slot_names(text)
        quoted = {self._find_quote(name)[1] for name in values if name in self._scene.quotes} - {None}
        if not quoted <= {self.citation(name) for name in citations}:
            raise SlotMissing(text)
        return self.fill(text)

    def value(self, name: str) -> str:
        """Return the value of one slot."""
        first, _, path = name.partition(".")
        if first == "attachment":
            return _present(self._exchange.attachment.get(path))
        if path:
            return _present(self._result_value(first, path.split(".")))
        if name in self._scene.calculations:
            return self._calculate(*self._scene.calculations[name])
        if name in self._scene.quotes:
            return self._find_quote(name)[0]
        return _present(self._groups.get(name))

    def citation(self, name: str) -> int:
        """Return the number of the document that a quote is from."""
        number = self._find_quote(name)[1]
        if number is None:
            raise SlotMissing(name)
        return number

    def _find_quote(self, name: str) -> tuple[str, int | None]:
        quote = self._scene.quotes.get(name)
        if quote is None:
            raise SlotMissing(name)
        if quote.is_fact:
            return _matched(quote.pattern.search(self._exchange.remembered)), None
        for document in documents_of(self._exchange.outcomes):
            number = document.get("n")
            if quote.title.lower() in str(document.get("title", "")).lower() and isinstance(number, int):
                match = quote.pattern.search(one_line(str(document.get("contents", ""))))
                if match:
                    return _matched(match), number
        raise SlotMissing(name)

    def _result_value(self, tool: str, path: Sequence[str]) -> Json:
        found = [one for one in self._exchange.all_outcomes if one.tool == tool]
        value: Json = found[-1].content if found else None
        for step in path:
            if isinstance(value, list) and step.isdigit():
                value = value[int(step)] if int(step) < len(value) else None
            else:
                value = value.get(step) if isinstance(value, dict) else None
        return value

    def _calculate(self, kind: str, first: str, second: str) -> str:
        begin = _parse_date(self.value(first))
        if kind == DATE_SUM:
            days = self.value(second)
            if not days.isdigit():
                raise SlotMissing(second)
            moved = begin + timedelta(days=int(days))
            return f"{moved.day} {moved:%B %Y}"
        between = (_parse_date(self.value(second)) - begin).days
        if between < 0:
            raise SlotMissing(second)
        return str(between)


def one_line(text: str) -> str:
    """Return a text on one line without emphasis and comments: patterns need not know where lines break."""
    return " ".join(_EMPHASIS.sub("", text).split())


def _fill_json(slots: _Slots, value: Json) -> Json:
    match value:
        case str():
            only = _CITATION.fullmatch(value)
            return slots.citation(only[1]) if only else slots.fill(value)
        case list():
            return [_fill_json(slots, item) for item in value]
        case dict():
            return {name: _fill_json(slots, item) for name, item in value.items()}
        case _:
            return value


def _to_schema_type(value: Json, schema: JsonObject) -> Json:
    """Return a text as the number or truth value that the schema asks for; what is none stays text."""
    wanted = {"integer": int, "number": float, "boolean": bool}.get(str(schema.get("type")))
    if wanted is None or not isinstance(value, str):
        return value
    try:
        read: Json = json.loads(value)
    except ValueError:
        return value
    is_number = isinstance(read, int | float) and not isinstance(read, bool)
    fits = isinstance(read, bool) if wanted is bool else is_number
    return read if fits else value


def _present(value: Json) -> str:
    if value is None or isinstance(value, dict) or value == "":
        raise SlotMissing
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _matched(match: re.Match[str] | None) -> str:
    if match is None:
        raise SlotMissing
    return str(match[1] if match.re.groups else match[0]).strip()


def _parse_date(text: str) -> date:
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(text, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    raise SlotMissing(text)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _texts(value: JsonObject, name: str) -> list[str]:
    found = value.get(name)
    return [str(one) for one in found] if isinstance(found, list) else []


def _quote(value: JsonObject) -> Quote:
    return Quote(compile_pattern(str(value["pattern"])), str(value.get("title", "")), value.get("source") == "facts")


def _calculation(value: JsonObject) -> tuple[str, str, str]:
    ((kind, names),) = value.items()
    first, second = names if isinstance(names, list) else ("", "")
    return kind, str(first), str(second)


def _reply(value: JsonObject) -> Reply:
    pattern = str(value.get("result_has", ""))
    return Reply(str(value["text"]), compile_pattern(pattern) if pattern else None)
