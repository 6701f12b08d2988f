"""Scripts of conversations, as `bench.prompt_cost` plays them: what is said, called and changed, and when.

A file holds one script, a list of them, or {"scripts": [...]}; a folder is all its *.json. Wherever words stand, a
whole number may stand instead: that many tokens of made-up words, the same in every run.

    {"name": "A morning on site",
     "model": "claude-sonnet-5-5",            who is asked; its minimum decides what is cached (default as here)
     "budget": {"profile": "entity"},         as an agent's `budget` (default as here)
     "about": "project/harbour",              what the conversation is about (default as here)
     "tools": 1481,                           tokens of the tool definitions together, or the definitions
     "tiers": 800,                            tokens of persona, team and agent together, or their words
     "briefing": {"pulse": 250, "record": 400, "linked": [60, 60], "tree": 150, "nearest": [80, 80, 80]},
                                              candidates for the briefing by lot: words, or a list of them
     "reminders": ["Answer in metric units."],
     "turns": [
       {"user": "What is open on the crane?",
        "after": 45,                          seconds since the turn before (default 60; the first turn's is ignored)
        "edits": ["status: open -> closed"],  changes of the record since the turn before, oldest first
        "recalled": [60, 45],                 older messages that were found for this turn
        "facts": [20],                        what is remembered about the user
        "calls": [                            rounds: what one step of the model asks for, all at once
          [{"tool": "search_knowledge", "input": {"query": "crane"}, "result": {"documents": [...]}},
           {"tool": "search_knowledge", "input": {"query": "permit"}, "found": [180, 150]}]],
                                              `found`: a search's result, documents of so many tokens each
        "seconds": 4,                         that each step takes (default 4)
        "reply": 120}]}

Every turn needs `user` and `reply`; everything else may be left out.
"""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parlour.infra.errors import Misconfigured
from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly.budget import resolve_profile
from parlour.prompts.assembly.segment import Layer, SourceKind
from parlour.text.token_counter import TokenCounter

TOOLS, TIERS = 1_481, 800
"""Tokens of the construction pack's tool definitions, and of a persona as it stands there."""

BRIEFING: JsonObject = {
    "pulse": 250,
    "record": 400,
    "linked": [60, 60, 60],
    "tree": 150,
    "nearest": [80, 80, 80, 80],
}

_PLAIN = TokenCounter({"latin": 1.0})
_VOCABULARY = """
crane foundation concrete delivery permit inspection north south tower sector level slab beam column crack survey
drawing revision approval contractor supplier invoice schedule delay weather safety scaffold rebar formwork pour
curing strength sample test report engineer foreman meeting request change order budget cost claim defect repair
drainage cable duct pump valve riser facade window door lift stair roof gutter fence gate road access traffic noise
dust water power meter fuel rental return damaged missing complete pending open closed urgent
"""


class Malformed(Exception):
    """A script that cannot be played; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call and its result."""

    tool: str
    given: JsonObject
    result: JsonObject


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a script; see the module for what its parts mean."""

    user: str
    reply: str
    after: float
    seconds: float
    edits: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    rounds: tuple[tuple[Call, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """One conversation; see the module for what its parts mean."""

    name: str
    model: str
    budget: JsonObject
    about: str
    tools: tuple[JsonObject, ...]
    tiers: str
    briefing: Mapping[SourceKind, tuple[str, ...]]
    reminders: tuple[str, ...]
    turns: tuple[Turn, ...]


def read(path: Path) -> list[Script]:
    """The scripts of a file or a folder. Malformed names the file, and the line or the turn that cannot be played."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    found = [script for file in files for script in _scripts(file)]
    if not found:
        raise Malformed(f"{path}: no scripts here")
    return found


def _scripts(file: Path) -> Iterator[Script]:
    try:
        given = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise Malformed(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Malformed(f"{file}: not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise Malformed(f"{file}, line {error.lineno}, column {error.colno}: {error.msg}") from error
    if isinstance(given, dict) and "scripts" in given:
        given = given["scripts"]
    for number, one in enumerate(given if isinstance(given, list) else [given], start=1):
        name = one.get("name") if isinstance(one, dict) else None
        yield _script(Reader(f"{file}, script {number}" + (f" ({name})" if name else "")), one)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads values, and knows where they stand."""

    where: str

    def at(self, place: str) -> "Reader":
        """A reader of something further in."""
        return Reader(f"{self.where}, {place}")

    def fail(self, why: str) -> Malformed:
        """What is wrong here."""
        return Malformed(f"{self.where}: {why}")

    def mapping(self, value: Any, known: str) -> dict[str, Any]:
        """A mapping with nothing in it but what is known."""
        if not isinstance(value, dict):
            raise self.fail(f"expected an object, found {value!r:.60}")
        if unknown := sorted(set(value) - set(known.split())):
            raise self.fail(f"unknown key {unknown[0]!r}; known are {', '.join(known.split())}")
        return value

    def text(self, value: Any) -> str:
        """Words, or as many tokens of them as a number says."""
        if isinstance(value, str):
            return value
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100_000:
            raise self.fail(f"expected words, or how many tokens of them, found {value!r:.60}")
        return made_up(value, self.where.partition(", ")[2])

    def texts(self, value: Any) -> tuple[str, ...]:
        """A list of words; one alone is a list of one."""
        values = value if isinstance(value, list) else [value]
        return tuple(self.at(f"number {place}").text(one) for place, one in enumerate(values, start=1))

    def number(self, value: Any) -> float:
        """A number, of seconds as a rule."""
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self.fail(f"expected a number from 0 on, found {value!r:.60}")
        return float(value)


def made_up(count: int, seed: str) -> str:
    """`count` tokens of made-up words; the same seed gives the same ones."""
    chosen, known = random.Random(seed), _VOCABULARY.split()
    words = [chosen.choice(known) + (str(chosen.randrange(90)) if chosen.random() < 0.1 else "") for _ in range(count)]
    return _PLAIN.truncate(" ".join(words), count)


def _script(reader: Reader, given: Any) -> Script:
    script = reader.mapping(given, "name model budget about tools tiers briefing reminders turns")
    turns = script.get("turns")
    if not isinstance(turns, list) or not turns:
        raise reader.fail("`turns` is a list of at least one turn")
    return Script(
        name=str(script.get("name", "unnamed")),
        model=str(script.get("model", "claude-sonnet-5-5")),
        budget=_budget(reader.at("budget"), script.get("budget", {"profile": "entity"})),
        about=str(script.get("about", "project/harbour")),
        tools=_tools(reader.at("tools"), script.get("tools", TOOLS)),
        tiers=reader.at("tiers").text(script.get("tiers", TIERS)),
        briefing=_briefing(reader.at("briefing"), script.get("briefing", BRIEFING)),
        reminders=reader.at("reminders").texts(script.get("reminders", [])),
        turns=tuple(_turn(reader.at(f"turn {number}"), one) for number, one in enumerate(turns, start=1)),
    )


def _budget(reader: Reader, given: Any) -> JsonObject:
    if not isinstance(given, dict):
        raise reader.fail(f"expected an object, found {given!r:.60}")
    try:
        resolve_profile(given)
    except Misconfigured as error:
        raise reader.fail(str(error)) from error
    return given


def _tools(reader: Reader, given: Any) -> tuple[JsonObject, ...]:
    if isinstance(given, list) and all(isinstance(one, dict) for one in given):
        return tuple(given)
    text = reader.text(given).split()
    each = max(1, len(text) // 6)
    parts = [" ".join(text[begin : begin + each]) for begin in range(0, len(text), each)]
    return tuple(
        {"name": f"tool_{place}", "description": part, "input_schema": {"type": "object"}}
        for place, part in enumerate(parts)
    )


def _briefing(reader: Reader, given: Any) -> dict[SourceKind, tuple[str, ...]]:
    lots = [str(lot) for lot in SourceKind if lot.layer is Layer.BRIEFING]
    named = reader.mapping(given, " ".join(lots))
    return {SourceKind(name): reader.at(name).texts(value) for name, value in named.items()}


def _turn(reader: Reader, given: Any) -> Turn:
    turn = reader.mapping(given, "user after edits recalled facts calls seconds reply")
    if missing := [key for key in ("user", "reply") if key not in turn]:
        raise reader.fail(f"`{missing[0]}` is missing")
    rounds = turn.get("calls", [])
    if not isinstance(rounds, list) or not all(isinstance(one, list) and one for one in rounds):
        raise reader.fail("`calls` is a list of rounds, each a list of calls")
    return Turn(
        user=reader.at("user").text(turn["user"]),
        reply=reader.at("reply").text(turn["reply"]),
        after=reader.at("after").number(turn.get("after", 60)),
        seconds=reader.at("seconds").number(turn.get("seconds", 4)),
        edits=reader.at("edits").texts(turn.get("edits", [])),
        recalled=reader.at("recalled").texts(turn.get("recalled", [])),
        facts=reader.at("facts").texts(turn.get("facts", [])),
        rounds=tuple(
            tuple(_call(reader.at(f"round {place}, call {number}"), one) for number, one in enumerate(calls, start=1))
            for place, calls in enumerate(rounds, start=1)
        ),
    )


def _call(reader: Reader, given: Any) -> Call:
    call = reader.mapping(given, "tool input result found")
    arguments, result = call.get("input", {}), call.get("result")
    if not isinstance(arguments, dict):
        raise reader.at("input").fail(f"expected an object, found {arguments!r:.60}")
    if ("found" in call) == ("result" in call):
        raise reader.fail("a call has either `result` or `found`")
    if "found" in call:
        result = _found(reader.at("found").texts(call["found"]))
    if not isinstance(result, dict):
        result = {"ok": True, "text": reader.at("result").text(result)}
    return Call(str(call.get("tool", "search_knowledge")), arguments, result)


def _found(contents: tuple[str, ...]) -> JsonObject:
    return {
        "documents": [
            {"n": number, "title": f"Report {number}", "metadata": {"page": number}, "contents": one}
            for number, one in enumerate(contents, start=1)
        ]
    }
