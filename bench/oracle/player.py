"""Plays one conversation and records its prompts. What is said in it stands in `bench.oracle.conversations`."""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from bench.oracle.fakes import Answer, Breakage, Sent
from bench.oracle.product import LAYERS, Person, Step, Turn, World

type Said = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] | Breakage
"""What the model answers: words, a call (`use`), several of both, or what breaks instead."""

_NOTE = re.compile(r"^(\d+)\. .+ = ", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] (?:\d{4}-\d\d-\d\d )?(user|agent): (.*)$", re.MULTILINE)
_DOCUMENT = re.compile(r"^\[(\d+)\] [^\n]+\n([^\n]+)$", re.MULTILINE)
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FRACTION = re.compile(r"(\d\d:\d\d:\d\d)\.\d+")
_WORDS = re.compile(r"[A-Za-z]+")
_SUMMARY_WORDS, _STATEMENTS, _LONGEST_STATEMENT = 7, 8, 240
_DIGITS = 16


class ScriptError(Exception):
    """A conversation does not go as it is written; the message says where."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request as a provider was sent it.

    text    hash of all of its words, without cache marks.
    layers  hash of each layer's blocks, by the layer's number.
    marks   after which blocks it is marked for the cache.
    words   everything it says, for people.
    """

    text: str
    layers: Mapping[int, str]
    marks: Sequence[int]
    tokens: int
    words: str


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """One turn and its prompts. `place`: a letter for the session, and the turn's number in it."""

    place: str
    state: str
    prompts: Sequence[Prompt]


@dataclass
class Played:
    """A conversation that was played.

    jobs       the hash of every question to a model that no turn asked, behind the kind of its job.
    job_words  the same questions, for people.
    coverage   how often each layer, kind of source, reason, cause and cache miss occurred, by what it is.
    """

    turns: list[PlayedTurn] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    job_words: list[str] = field(default_factory=list)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)


def use(tool: str, **arguments: Any) -> dict[str, Any]:
    """The model calls a tool."""
    return {"type": "tool_use", "name": tool, "input": arguments}


def search(query: str, **more: Any) -> dict[str, Any]:
    """The model searches."""
    return use("search_knowledge", query=query, **more)


@dataclass
class Play:
    """One conversation while it is played.

    holds     kinds of work that wait although their time has come: "extraction", "summary", "embedding".
    facts     what the model of memory takes from a message, by the message's text: {key: value}.
    episodes  what it tells of a message, by the message's text.
    notes     what the next summary changes in the agent's notes, as the product asks for it.
    """

    world: World
    holds: set[str] = field(default_factory=set)
    facts: dict[str, Mapping[str, str]] = field(default_factory=dict)
    episodes: dict[str, str] = field(default_factory=dict)
    notes: list[Mapping[str, Any]] = field(default_factory=list)
    is_summary_broken: bool = False
    played: Played = field(default_factory=Played)
    _script: list[Said] = field(default_factory=list)
    _missing: int = 0
    _calls: int = 0
    _kinds: list[str] = field(default_factory=list)
    _messages: int = 0
    _sessions: dict[UUID, str] = field(default_factory=dict)
    _people: list[Person] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world.answer_turn = self._answer
        self.world.answer_job = self._answer_job

    def phone(self, number: str = "+447700900501", app: str = "ParlourDemo", desk: str = "site-desk") -> "Talk":
        """Somebody on WhatsApp."""
        return self._talk(self.world.contact(number, desk), number, app)

    def visitor(self, desk: str = "contract-desk", about: str = "") -> "Talk":
        """Somebody new on the web, who talks about a record if one is named."""
        return self._talk(self.world.visitor(desk, about))

    def later(self, seconds: float = 0, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Time passes, and the work of memory is done when it is due."""
        passed = timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        self.world.remember(self.world.clock.now.replace(microsecond=0) + passed, without=sorted(self.holds))
        self._note_jobs()
        self._embed()

    def pulse(self, handle: str, question: str = "") -> None:
        """A record's Pulses are written, or a question about it is answered."""
        self.world.write_pulse(handle, question)
        self._note_jobs()

    def consolidate(self, talk: "Talk") -> None:
        """A conversation that fell silent is looked through once more."""
        self.world.consolidate(talk.person)
        self._note_jobs()
        self._embed()

    def file(self, name: str, text: str, about: str = "", level: int | None = None) -> UUID:
        """A file of the tenant's, uploaded and read."""
        made = self.world.file(name, text.encode(), about, level)
        self._note_jobs()
        return made

    def answer(self, *said: Said) -> None:
        """Every session that was woken is answered, and the prompts are recorded."""
        self._script, self._missing = list(said) or ["That is noted."], 0
        turns = self.world.run_turns()
        sent = _taken(self.world.model.sent)
        if self._script or self._missing:
            left = len(self._script)
            raise ScriptError(f"{left} answers were left over, {self._missing} were missing: {said!r:.200}")
        self._record(turns, sent)
        self._embed()

    def answer_without_model(self) -> None:
        """The same where no model is asked."""
        self._script, self._missing = [], 0
        self._record(self.world.run_turns(), _taken(self.world.model.sent))
        if self._missing:
            raise ScriptError("a model was asked")

    def finish(self) -> Played:
        """What was played; with it, which facts no model gave."""
        for person in {person.user: person for person in self._people}.values():
            found = self.world.facts(person)
            self.played.coverage.update(("facts by rules", key) for key, _, origin, _ in found if origin == "stated")
        return self.played

    def next_message(self) -> str:
        """The provider's id of a message."""
        self._messages += 1
        return f"m{self._messages}"

    def _talk(self, person: Person, number: str = "", app: str = "") -> "Talk":
        self._people.append(person)
        return Talk(self, person, number, app)

    def _embed(self) -> None:
        if "embedding" not in self.holds:
            self.world.embed()

    def _answer(self) -> Answer:
        if not self._script:
            self._missing += 1
            return [{"type": "text", "text": "Nothing was written for me to say here."}]
        said = self._script.pop(0)
        if isinstance(said, Breakage):
            return said
        parts = [said] if isinstance(said, str | Mapping) else said
        return [self._block(part) for part in parts]

    def _block(self, part: str | Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        self._calls += 1
        return {**part, "id": f"toolu_{self._calls:03}"}

    def _answer_job(self, kind: str, asked: str) -> str:
        self._kinds.append(kind)
        match kind:
            case "summary":
                return self._summary(asked)
            case "extraction" | "consolidation":
                return self._extracted(asked, is_last=kind == "consolidation")
            case "pulse" | "pulse question":
                return self._pulse(asked)
            case _:
                return "A note of the site office, told in short."

    def _pulse(self, asked: str) -> str:
        """What the first documents say, each in its first line."""
        statements = [
            {"text": line[:_LONGEST_STATEMENT], "sources": [int(number)]}
            for number, line in _DOCUMENT.findall(asked)[:_STATEMENTS]
        ]
        return json.dumps({"statements": statements})

    def _summary(self, asked: str) -> str:
        if self.is_summary_broken:
            return "I would rather not."
        lines = _NUMBERED.findall(asked)
        topics = [" ".join(_WORDS.findall(text)[:_SUMMARY_WORDS]).lower() for _, who, text in lines if who == "user"]
        told = " ".join(f"The user spoke of {topic}." for topic in topics if topic)
        numbers = [int(number) for number, _, _ in lines]
        items, self.notes = self.notes, []
        return json.dumps(
            {
                "summary": told or "Nothing new was said.",
                "dropped_message_ids": numbers[1::2],
                "agent_state_item_updates": items,
            }
        )

    def _extracted(self, asked: str, *, is_last: bool) -> str:
        if notes := _NOTE.findall(asked):
            return json.dumps(dict.fromkeys(notes, "supports"))
        found = _NUMBERED.findall(asked)
        lines = [(int(number), " ".join(text.split())) for number, who, text in found if who == "user"]
        facts = [
            {"message": number, "quote": text, "key": key, "value": value, "certainty": 0.9}
            for number, text in lines
            for key, value in self.facts.get(text, {}).items()
        ]
        episodes = [
            {"text": self.episodes[text], "messages": [number]} for number, text in lines if text in self.episodes
        ]
        if is_last and not episodes and lines:
            episodes = [{"text": f"The user wrote: {lines[0][1]}", "messages": [lines[0][0]]}]
        return json.dumps({"facts": facts, "episodes": episodes})

    def _note_jobs(self) -> None:
        for kind, sent in zip(_taken(self._kinds), _taken(self.world.background.sent), strict=True):
            words = [_normal(block) for _, block in _flat(sent)]
            self.played.jobs.append(f"{kind}:{_hash(words)}")
            self.played.job_words.append(f"{kind}\n\n" + "\n".join(map(_shown, words)))
            self.played.coverage["jobs", kind] += 1

    def _record(self, turns: Sequence[Turn], sent: list[Sent]) -> None:
        for turn in turns:
            letter = self._sessions.setdefault(turn.session, chr(ord("a") + len(self._sessions)))
            place = f"{letter}{turn.number}"
            requests = _of_turn(sent, turn.steps)
            for step in turn.steps:
                if not any(_is_same(request, step) for request in requests):
                    raise ScriptError(f"{place}: the ledger's step {step.number} was never sent like that")
            prompts = [self._prompt(place, request, turn.steps) for request in requests]
            self.played.turns.append(PlayedTurn(place, turn.state, prompts))
            self._count(turn)

    def _prompt(self, place: str, request: Sent, steps: Sequence[Step]) -> Prompt:
        flat = _flat(request)
        step = next((step for step in steps if _is_same(request, step)), None) or steps[-1]
        if len(flat) != len(step.blocks):
            raise ScriptError(f"{place}: {len(flat)} blocks were sent, the ledger has {len(step.blocks)}")
        by_layer: dict[int, list[Any]] = {}
        for (role, block), layer in zip(flat, step.blocks, strict=True):
            by_layer.setdefault(layer, []).append([role, _normal(block)])
        marks = [number for number, (_, block) in enumerate(flat, start=1) if "cache_control" in block]
        words = [
            f"== layer {layer} ({role})\n{_shown(_normal(block))}"
            for (role, block), layer in zip(flat, step.blocks, strict=True)
        ]
        told = "\n".join([request.model, *words, f"== marked after blocks {marks}, {step.tokens} tokens", ""])
        layers = {layer: _hash(blocks) for layer, blocks in sorted(by_layer.items())}
        return Prompt(_hash([[role, _normal(block)] for role, block in flat]), layers, marks, step.tokens, told)

    def _count(self, turn: Turn) -> None:
        count = self.played.coverage
        count["turns", turn.state + (f": {turn.problem.partition(':')[0]}" if turn.problem else "")] += 1
        for step in turn.steps:
            count.update(("layers", LAYERS[layer]) for layer in set(step.blocks))
            count.update(("causes", cause) for cause in step.causes)
            count.update([("cache misses", step.miss)] if step.miss else [])
            kinds = {kind for kind, how, _ in step.candidates if how == "in"}
            count.update(("kinds of sources", kind) for kind in kinds)
            count.update(("reasons", how) for how in {how for _, how, _ in step.candidates if how != "in"})
            count.update([("reasons", "shortened")] if any(short for *_, short in step.candidates) else [])


@dataclass
class Talk:
    """Somebody's conversation: by a number on WhatsApp, or on the web."""

    play: Play
    person: Person
    number: str = ""
    app: str = ""

    def say(
        self,
        text: str,
        *said: Said,
        after: float = 30,
        facts: Mapping[str, str] | None = None,
        episode: str = "",
        file: tuple[str, str, bytes] | None = None,
        attached: Sequence[Any] = (),
    ) -> None:
        """Write, so many seconds after what happened last, and be answered.

        facts, episode  what the model of memory takes from it later.
        file            what comes with it on WhatsApp: the provider's word for its kind, name, bytes.
        attached        what comes with it on the web.
        """
        self.write(text, after=after, facts=facts, episode=episode, file=file, attached=attached)
        self.play.answer(*said)

    def write(
        self,
        text: str,
        *,
        after: float = 30,
        facts: Mapping[str, str] | None = None,
        episode: str = "",
        file: tuple[str, str, bytes] | None = None,
        attached: Sequence[Any] = (),
    ) -> None:
        """Write, and wait for what comes next."""
        play, plain = self.play, " ".join(text.split())
        play.later(seconds=after)
        if facts:
            play.facts[plain] = facts
        if episode:
            play.episodes[plain] = episode
        if self.number:
            play.world.write(self.number, text, play.next_message(), self.app, file)
        else:
            play.world.write_web(self.person, text, attached)

    def further(self, about: str = "", *, shared: bool = False) -> "Talk":
        """Another conversation of the same person on the web."""
        return Talk(self.play, self.play.world.further_session(self.person, about, shared=shared))

    def join_phone(self, phone: "Talk") -> "Talk":
        """Say that this number is theirs; where they talk from then on."""
        return Talk(self.play, self.play.world.join_phone(self.person, phone.number))

    def upload(self, name: str, data: bytes) -> Any:
        """What comes with a later message."""
        return self.play.world.upload(self.person, name, data)

    def forget(self, part: str) -> None:
        """Have the message forgotten that begins like this."""
        found = [message for message, text in self.play.world.messages(self.person) if text.startswith(part)]
        if len(found) != 1:
            raise ScriptError(f"{len(found)} messages begin with {part!r}")
        self.play.world.erase("message", found[0])


def play(world: World, conversation: Callable[[Play], None]) -> Played:
    """Play one conversation. ScriptError when it does not go as it is written."""
    playing = Play(world)
    conversation(playing)
    return playing.finish()


def _of_turn(sent: list[Sent], steps: Sequence[Step]) -> list[Sent]:
    """The requests of a turn: up to the last that its ledger has, and those after it that were sent otherwise."""
    last = max((place for place, one in enumerate(sent) if any(_is_same(one, step) for step in steps)), default=-1)
    while steps and last + 1 < len(sent) and len(_flat(sent[last + 1])) == len(steps[-1].blocks):
        last += 1
    taken, sent[:] = sent[: last + 1], sent[last + 1 :]
    return taken


def _is_same(request: Sent, step: Step) -> bool:
    """Whether the ledger's text is what was sent, with pictures named by their hashes."""
    if not step.is_rebuilt:
        raise ScriptError(f"the ledger makes another prompt of step {step.number} than it recorded")
    tools, system, messages = json.loads(step.text)
    kept = Sent(tools, system, messages, "", is_answered=True)
    return [(role, _pictured(block)) for role, block in _flat(request)] == [
        (role, _pictured(block)) for role, block in _flat(kept)
    ]


def _flat(request: Sent) -> list[tuple[str, Mapping[str, Any]]]:
    """Every content block with where it stands, in the order of the bytes."""
    blocks: list[tuple[str, Any]] = [("tools", tool) for tool in request.tools]
    blocks += [("system", block) for block in request.system]
    for message in request.messages:
        content: Any = message["content"]
        whole = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks += [(str(message["role"]), block) for block in whole]
    return blocks


def _pictured(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """A picture by the hash of its bytes, whether they stand there or not; anything else as it is."""
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, Mapping):
        return block
    digest = source.get("sha256") or hashlib.sha256(base64.b64decode(str(source["data"]))).hexdigest()
    return {**block, "source": digest}


def _normal(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block without its cache mark, and without what hangs on how often ids were made and the clock was read."""
    plain = {key: value for key, value in _pictured(block).items() if key != "cache_control"}
    normal: Mapping[str, Any] = json.loads(_FRACTION.sub(r"\1", _ID.sub("<id>", json.dumps(plain))))
    return normal


def _shown(block: Mapping[str, Any]) -> str:
    """A block as people read it."""
    if block.get("type") == "text":
        return str(block["text"])
    return json.dumps(block, indent=1, ensure_ascii=False, sort_keys=True)


def _hash(words: Any) -> str:
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def _taken[T](waiting: list[T]) -> list[T]:
    taken = list(waiting)
    waiting.clear()
    return taken
