"""The lines of a corpus and of its queries, as `bench.retrieval` takes them: checked, a problem said with its line."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

KINDS = ("message", "chunk")

_WRITTEN = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M")
"""How public sets of conversations write times that are not ISO 8601."""

type Line = dict[str, Any]


class BadLine(Exception):
    """A line that cannot be taken in, in words that say which and what to do about it."""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of a corpus: a message of its scope's conversation, or a chunk of its own."""

    scope: str
    id: str
    is_message: bool
    text: str
    title: str = ""
    speaker: str = ""
    sent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A line of the queries. previous: what the same person asked before, oldest first."""

    scope: str
    text: str
    previous: tuple[str, ...]
    relevant: frozenset[str]


def read_corpus(path: Path) -> list[Text]:
    """The texts in the order of their lines. BadLine for the first that is none, or has an id for the second time."""
    texts: list[Text] = []
    seen: dict[tuple[str, str], int] = {}
    for number, line in _objects(path):
        field = _Fields(path, number, line)
        kind = field.of_strings("kind")
        if kind not in KINDS:
            raise field.problem(f'"kind" is {kind!r}; say "message" or "chunk"')
        text = Text(
            field.name("scope"),
            field.name("id"),
            kind == "message",
            field.of_strings("text"),
            field.of_strings("title", ""),
            field.of_strings("speaker", ""),
            field.time("sent_at"),
        )
        first = seen.setdefault((text.scope, text.id), number)
        if first != number:
            raise field.problem(f"the id {text.id!r} is that of line {first}; ids are unique within a scope")
        texts.append(text)
    return _some(path, texts)


def read_questions(path: Path, corpus: Sequence[Text]) -> list[Question]:
    """The queries that have relevant ids. BadLine for the first that is none, or asks in a scope without a line.

    Relevant ids that no line has are counted on the screen, and as not found in every figure.
    """
    known = {(text.scope, text.id) for text in corpus}
    scopes = {text.scope for text in corpus}
    questions: list[Question] = []
    unknown = 0
    for number, line in _objects(path):
        field = _Fields(path, number, line)
        relevant = frozenset(field.names("relevant"))
        question = Question(field.name("scope"), field.of_strings("text"), field.strings("previous"), relevant)
        if not question.text.strip():
            raise field.problem('"text" is empty; give the question')
        if question.scope not in scopes:
            raise field.problem(
                f"no line of the corpus has the scope {question.scope!r}; add its lines or leave this out"
            )
        unknown += len([one for one in relevant if (question.scope, one) not in known])
        questions += [question] if relevant else []
    if unknown:
        print(f"{path}: {unknown} relevant ids are in no line of the corpus, and count as not found", file=sys.stderr)
    return _some(path, questions)


@dataclass(frozen=True, slots=True)
class _Fields:
    """One line's fields, each of them checked as it is read."""

    path: Path
    number: int
    line: Mapping[str, Any]

    def problem(self, what: str) -> BadLine:
        return BadLine(f"{self.path}, line {self.number}: {what}")

    def of_strings(self, key: str, otherwise: str | None = None) -> str:
        value = self.line.get(key)
        if value is None and otherwise is not None:
            return otherwise
        if not isinstance(value, str):
            raise self.problem(f'"{key}" is {_said(value)}; give a string')
        return _storable(value)

    def name(self, key: str) -> str:
        value = self.line.get(key)
        return self._name(key, value)

    def names(self, key: str) -> list[str]:
        return [self._name(key, value) for value in self._listed(key)]

    def strings(self, key: str) -> tuple[str, ...]:
        values = self._listed(key)
        if any(not isinstance(value, str) for value in values):
            raise self.problem(f'"{key}" holds something else than strings; give what was asked before, oldest first')
        return tuple(_storable(value) for value in values if value.strip())

    def time(self, key: str) -> datetime | None:
        value = self.line.get(key)
        if value is None or value == "":
            return None
        time = _time(value) if isinstance(value, str) else None
        if time is None:
            raise self.problem(f'"{key}" is {_said(value)}; give ISO 8601 ("2026-03-02T09:30:00Z") or nothing')
        return time if time.tzinfo else time.replace(tzinfo=UTC)

    def _listed(self, key: str) -> list[Any]:
        value = self.line.get(key)
        if value is not None and not isinstance(value, list):
            raise self.problem(f'"{key}" is {_said(value)}; give a list')
        return value or []

    def _name(self, key: str, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise self.problem(f'"{key}" is {_said(value)}; give a string that is not empty')
        return _storable(str(value))


def _objects(path: Path) -> Iterator[tuple[int, Line]]:
    """The objects of a JSON lines file with the numbers of their lines; empty lines are passed over."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _object(path, number, line)
    except (OSError, UnicodeDecodeError) as error:
        raise BadLine(f"{path}: cannot be read as UTF-8 text: {error}") from None


def _object(path: Path, number: int, line: str) -> Line:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise BadLine(f"{path}, line {number}: is not valid JSON ({error}); give one object a line") from None
    if not isinstance(value, dict):
        raise BadLine(f"{path}, line {number}: is {_said(value)}; give one object a line")
    return value


def _time(text: str) -> datetime | None:
    """None when the text is no time."""
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    for form in _WRITTEN:
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=UTC)
    return None


def _some[T](path: Path, found: list[T]) -> list[T]:
    if not found:
        raise BadLine(f"{path}: there is nothing in it to measure with")
    return found


def _storable(text: str) -> str:
    """Without what no database keeps, as the doors of the product have it: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _said(value: object) -> str:
    return "missing" if value is None else repr(value)[:60]
