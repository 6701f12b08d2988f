"""No pattern of shared/parlour takes more than linear time on hostile text, as far as its form shows.

A match holds Python's lock and cannot be interrupted: one slow pattern stops a worker for as long as its invocation
may last.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import parlour

op: Any = importlib.import_module("re._constants")
_parser: Any = importlib.import_module("re._parser")
_compiler: Any = importlib.import_module("re._compiler")

type Item = tuple[Any, Any]

_FUNCTIONS = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
_REPEATS = {op.MAX_REPEAT, op.MIN_REPEAT}
_SAMPLE = [chr(code) for code in (*range(0x100), 0x0915, 0x0B95, 0x2019, 0x2028, 0x3042)]


def find_slow_forms(pattern: str, flags: int = 0) -> list[str]:
    """Return what in the form of a pattern is slow on hostile text: overlapping repeats, repeats of repeats, and
    repeats of line ends behind `^`."""
    tree = _parser.parse(pattern, flags)
    return sorted(set(_find_in(tree, tree.state.flags)))


def _without_groups(items: Iterable[Item]) -> list[Item]:
    """Return the items with those of groups in their places."""
    return [inner for item in items for inner in (_without_groups(item[1][3]) if item[0] is op.SUBPATTERN else [item])]


def _find_in(sequence: Iterable[Item], flags: int) -> Iterator[str]:
    items = _without_groups(sequence)
    for place, (kind, value) in enumerate(items):
        rest = items[place + 1 :]
        if (kind, value) == (op.AT, op.AT_BEGINNING) and flags & re.MULTILINE and _repeats_at_start(rest, "\n", flags):
            yield "a repeat of line ends behind ^"
        if _is_endless(items[place]):
            body = _without_groups(value[2])
            if any(_is_endless(part) and _are_optional([*body[:at], *body[at + 1 :]]) for at, part in enumerate(body)):
                yield "a repeat of a repeat"
            if any(letter in _first(rest, flags) for letter in _characters(body, flags)):
                yield "two repeats of the same characters side by side"
        for branch in _branches(items[place]):
            yield from _find_in(branch, flags)


def _repeats_at_start(items: list[Item], letter: str, flags: int) -> bool:
    return bool(items) and _is_endless(items[0]) and letter in _characters(_without_groups(items[0][1][2]), flags)


def _first(items: list[Item], flags: int) -> set[str]:
    """Return the characters of the endless repeats that may follow at once; none where something else is between."""
    found: set[str] = set()
    for item in items:
        if _is_endless(item):
            found |= _characters(_without_groups(item[1][2]), flags)
        if not _are_optional([item]):
            break
    return found


def _is_endless(item: Item) -> bool:
    """Whether an item repeats without an end and gives characters back."""
    return item[0] in _REPEATS and item[1][1] == op.MAXREPEAT


def _are_optional(items: Iterable[Item]) -> bool:
    """Whether all items may match nothing."""
    return all(
        (kind in _REPEATS | {op.POSSESSIVE_REPEAT} and (value[0] == 0 or _are_optional(_without_groups(value[2]))))
        or kind in {op.AT, op.ASSERT, op.ASSERT_NOT}
        for kind, value in items
    )


def _branches(item: Item) -> Iterator[list[Item]]:
    kind, value = item
    match kind:
        case op.BRANCH:
            yield from map(list, value[1])
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            yield list(value[2])
        case op.ASSERT | op.ASSERT_NOT:
            yield list(value[1])
        case op.ATOMIC_GROUP:
            yield list(value)


def _characters(body: list[Item], flags: int) -> set[str]:
    """Return the characters of a sample that a repeat of one character matches; none for a longer body."""
    if len(body) != 1 or body[0][0] not in {op.IN, op.ANY, op.LITERAL, op.NOT_LITERAL}:
        return set()
    state = _parser.State()
    state.flags = flags
    one = _parser.SubPattern(state, body)
    matcher = _compiler.compile(one, flags)
    return {letter for letter in _SAMPLE if matcher.fullmatch(letter)}


def _patterns() -> Iterator[tuple[str, str, int]]:
    """Yield where each pattern of the package is, the pattern and its flags: compiled ones, and those in calls."""
    for module in pkgutil.walk_packages(parlour.__path__, "parlour."):
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in _compiled(value):
                yield f"{module.name}.{name}", pattern.pattern, pattern.flags
    for path in Path("shared/parlour").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and isinstance(call.func.value, ast.Name)
                and (call.func.value.id, call.func.attr) in {("re", name) for name in _FUNCTIONS}
                and call.args
                and isinstance(call.args[0], ast.Constant)
                and isinstance(call.args[0].value, str)
            ):
                is_multiline = any("MULTILINE" in ast.dump(part) for part in (*call.args, *call.keywords))
                yield f"{path}:{call.lineno}", call.args[0].value, re.MULTILINE if is_multiline else 0


def _compiled(value: object) -> Iterator[re.Pattern[str]]:
    """Yield the compiled patterns of a value, also those in tuples, lists and mappings."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, dict):
        yield from (found for part in value.values() for found in _compiled(part))
    elif isinstance(value, list | tuple):
        yield from (found for part in value for found in _compiled(part))


def test_no_pattern_has_a_form_that_is_slow_on_hostile_text() -> None:
    slow = {(where, form, pattern) for where, pattern, flags in _patterns() for form in find_slow_forms(pattern, flags)}
    assert sorted(slow) == []


@pytest.mark.parametrize(
    "pattern",
    [r"(?m)^\s*>", r"(?m)^\s+x|y", r"(a+)*b", r"(?:\s*x?)+y", r"(?s)(.+?)\s+(\d)", r"\s*,?\s*x", r"a(?:b|\w*\d*)"],
)
def test_a_slow_form_is_noticed(pattern: str) -> None:
    assert find_slow_forms(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"(?m)^[^\S\n]*+>", r"^\s*>", r"(?m)^\s?x", r"(?:a+b)*", r"\s*+,?\s*+x", r"(\S+)\s+(\S+)", r"\d{1,3}\d*"],
)
def test_a_linear_form_is_let_through(pattern: str) -> None:
    assert not find_slow_forms(pattern)
