"""The model that does the work of memory in a played month, by the script's annotations, a third of its answers wrong.
The benchmark measures what memory stores of them.

Asked for facts, it gives for each message what is true of it, except that some of it is missing or garbled (half a
value, another key, another person, another duration), and what the script has a weak model take. Together these are a
third of what it says. Every seventh answer is no JSON at first. Every third episode that it tells of never happened.

Asked for a second look, it knows what is true, and gives one of the four other answers instead every tenth time.

Asked for a summary it writes one from the first words of what is new: every third has lost all that was older, and
every third has figures that nobody gave.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

from bench.month_script import Month, Planted, Truth, Turn, Wrong, plain, planted
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.memory.extraction import second_look
from parlour.memory.facts import fact_keys
from parlour.memory.facts.fact import SecondAnswer
from parlour.memory.facts.own_text import own_text
from parlour.models.model import Completion, ModelRequest, StreamPart, TokenUsage, content_blocks
from parlour.text import token_counter

_LINE = re.compile(r"^\[(\d+)\] (?:\d{4}-\d\d-\d\d )?(user|agent): (.*)$", re.MULTILINE)
_BEFORE = re.compile(r"<parlour:summary>\n(.*?)\n</parlour:summary>", re.DOTALL)
_SUMMARISES = "dropped_message_ids"
"""What a question for a summary says, and none for facts does."""

_DATED_LINE = re.compile(r"^\[(\d+)\] (\d{4}-\d\d-\d\d) user: (.*)$", re.MULTILINE)
_MESSAGE = re.compile(r"^> (\d{4}-\d\d-\d\d) user: (.*)$")
_NOTE = re.compile(r"^(\d+)\. (over: )?(.+?) = (.*?)(?: until \d{4}-\d\d-\d\d)?$")

_NOWHERE = 999

#: Shares of the true facts that the first call misses, and garbles; what the script has it take makes up the third.
DROPPED, GARBLED, WRONG = 0.01, 0.03, 1 / 3

#: The share of the second look's answers that are wrong.
WRONG_SECOND = 0.1

_GARBLED_KEYS = ("city", "company", "job", "diet", "plan", "home_town", "budget")
_SECOND_ANSWERS: Sequence[SecondAnswer] = get_args(SecondAnswer.__value__)
_SECOND_OF_WRONG: dict[str, SecondAnswer] = {
    "other person": "other person",
    "temporary": "temporary",
    "planned": "temporary",
    "supposed": "temporary",
    "joke": "temporary",
}
_OPENING, _OLDER = 14, 320
"""Words that a summary takes from each message, and how many of the summary before it keeps."""

_BROKEN_EVERY, _WRONG_EVERY = 7, 3
_MADE_UP = "The user owes a fee of ₹99,431 under QX-99310."
_DREAMT = "The user bought three helicopters named Odin in Reykjavik."


@dataclass
class Summariser:
    """Writes summaries. faulty: whether some are wrong; read: the tokens of every question."""

    faulty: bool = False
    provider: str = "anthropic"
    read: list[int] = field(default_factory=list)

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:  # noqa: ARG002
        yield _completed(request, self.answer(_asked(request)))

    def answer(self, asked: str) -> str:
        """The summary before, as much of it as fits, and the first words of each new message."""
        self.read.append(token_counter.count_tokens(asked))
        before = _BEFORE.search(asked)
        older = before[1].split()[-_OLDER:] if before and not before[1].startswith("(none") else []
        lines = [(int(number), who, text.split()) for number, who, text in _LINE.findall(asked)]
        new = [f"The {who} said: {' '.join(words[:_OPENING]).rstrip('.')}." for _, who, words in lines]
        kind = len(self.read) % _WRONG_EVERY if self.faulty else 0
        parts = [*([] if kind == 1 else older), *new, *([_MADE_UP] if kind == 2 else [])]
        return canonical_json(
            {
                "summary": " ".join(parts),
                "dropped_message_ids": [number for number, _, _ in lines[1::2]],
                "agent_state_item_updates": [],
            }
        )


@dataclass(frozen=True)
class Given:
    """An answer of the first call: what the script says, and what is wrong with it; "" where nothing is."""

    turn: Turn
    key: str
    value: str | None
    why: str


@dataclass
class Clerk:
    """Answers for all work of memory, and counts what it was asked for.

    given      every fact that the first call gave or missed.
    second     of each answer of the second look, whether it was wrong.
    tokens     read and written, by question: "first" and "second".
    refused    what the second look did not support: turn, key and value.
    """

    month: Month
    seed: int = 1
    provider: str = "anthropic"
    extractions: int = 0
    episodes: int = 0
    summariser: Summariser = field(default_factory=lambda: Summariser(faulty=True))
    given: list[Given] = field(default_factory=list)
    second: list[bool] = field(default_factory=list)
    tokens: dict[str, list[int]] = field(default_factory=lambda: {"first": [0, 0], "second": [0, 0]})
    refused: set[tuple[int, str, str]] = field(default_factory=set)
    _values: list[Planted] = field(default_factory=list)
    _by_words: dict[str, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _readings: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _garbled: dict[int, list[Wrong]] = field(default_factory=lambda: defaultdict(list))
    _taken: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        turns = self.month.turns
        for turn in turns:
            self._by_words[_plain(own_text(turn.user))].append(turn)
        self._values = planted(self.month)
        told = sum(len(turn.truth) for turn in turns)
        wanted = round(told * (1 - DROPPED - GARBLED) * WRONG / (1 - WRONG) - told * (DROPPED + GARBLED))
        entries = [id(wrong) for turn in turns for wrong in turn.wrong]
        self._taken = set(random.Random(self.seed).sample(entries, min(len(entries), max(0, wanted))))

    def is_accepted(self, value: Planted) -> bool:
        """Return whether the first call gave a value rightly, and no second look refused it."""
        spellings = set(map(plain, value.spellings))
        return any(
            given.turn is value.told_in
            and not given.why
            and _key(given.key) == value.key
            and plain(given.value or "") in spellings
            and (id(given.turn), value.key, plain(given.value or "")) not in self.refused
            for given in self.given
        )

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:  # noqa: ARG002
        asked, system = _asked(request), str(request.system[0]["text"])
        if _SUMMARISES in system:
            yield _completed(request, self.summariser.answer(asked))
            return
        is_second = system == second_look.SYSTEM_PROMPT
        answer = self._second_look(asked) if is_second else self._facts(asked, is_first=len(request.messages) == 1)
        completed = _completed(request, answer)
        counted = self.tokens["second" if is_second else "first"]
        counted[0] += completed.usage.input_tokens
        counted[1] += completed.usage.output_tokens
        yield completed

    def _facts(self, asked: str, *, is_first: bool) -> str:
        self.extractions += is_first
        if is_first and self.extractions % _BROKEN_EVERY == 0:
            return "Here is what I found: the user is very nice."
        lines = [(int(number), day, text) for number, day, text in _DATED_LINE.findall(asked)]
        facts = [
            entry
            for number, day, text in lines
            for turn in [self._turn_of(text, day)]
            if turn is not None
            for entry in self._entries(turn, number)
        ]
        return canonical_json({"facts": facts, "episodes": self._told([(number, text) for number, _, text in lines])})

    def _turn_of(self, text: str, day: str) -> Turn | None:
        """Return the turn with these words, of several that which is nearest to the day."""
        return min(
            self._by_words.get(_plain(text), ()),
            key=lambda turn: (turn.at.date().isoformat() != day, turn.at),
            default=None,
        )

    def _entries(self, turn: Turn, number: int) -> Iterator[JsonObject]:
        """Yield what the model takes from a message; each reading of it draws again."""
        self._readings[id(turn)] += 1
        place = next(at for at, one in enumerate(self.month.turns) if one is turn)
        draw = random.Random(f"{self.seed}:{place}:{self._readings[id(turn)]}")
        for truth in turn.truth:
            chance = draw.random()
            if chance < DROPPED:
                self.given.append(Given(turn, truth.key, truth.value[0], "missed"))
            elif chance < DROPPED + GARBLED:
                garbled = _garble(truth, draw)
                self._garbled[id(turn)].append(garbled)
                self.given.append(Given(turn, garbled.key, garbled.value, garbled.why))
                yield _entry(garbled, number)
            else:
                taken = _as_taken(truth)
                self.given.append(Given(turn, truth.key, taken.value, ""))
                yield _entry(taken, number)
                yield from (_entry(slip, number) for slip in self._slips(turn, truth))
        for wrong in turn.wrong:
            if id(wrong) in self._taken:
                self.given.append(Given(turn, wrong.key, wrong.value, wrong.why))
                yield _entry(wrong, number)

    def _slips(self, turn: Turn, truth: Truth) -> Iterator[Wrong]:
        """Yield the end of the wrong one of several values, which a correction tells along with the right one."""
        for value in self._values:
            if truth.change == "corrects" and value.ended_in is turn and value.is_one_of_several:
                yield Wrong(key=value.key, value=value.spellings[0], quote=truth.quote, polarity="ends", why="")

    def _second_look(self, asked: str) -> str:
        """Answer each note, a tenth of them wrongly."""
        answers: JsonObject = {}
        turn: Turn | None = None
        for line in asked.splitlines():
            message, note = _MESSAGE.match(line), _NOTE.match(line)
            if message:
                turn = self._turn_of(message[2], message[1])
            elif note:
                right = self._right_answer(turn, note)
                draw = random.Random(f"{self.seed}:{len(self.second)}")
                is_wrong = draw.random() < WRONG_SECOND
                self.second.append(is_wrong)
                others = [answer for answer in _SECOND_ANSWERS if answer != right]
                answer = draw.choice(others) if is_wrong else right
                answers[note[1]] = answer
                if answer != "supports":
                    self.refused.add((id(turn), note[3], plain(note[4])))
        return canonical_json(answers)

    def _right_answer(self, turn: Turn | None, note: re.Match[str]) -> SecondAnswer:
        is_over, key, value = bool(note[2]), note[3], plain(note[4])
        if turn is None:
            return "not said"
        if self._is_over(turn, key, value) if is_over else _is_said(turn, key, value):
            return "supports"
        for wrong in (*turn.wrong, *self._garbled[id(turn)]):
            if _key(wrong.key) == key and (is_over or plain(wrong.value or "") == value):
                return wrong.second or _SECOND_OF_WRONG.get(wrong.why, "not said")
        return "not said"

    def _is_over(self, turn: Turn, key: str, value: str) -> bool:
        """Return whether the message says that values of a key are over, and none of them still holds."""
        named = [
            one
            for one in self._values
            if (one.who, one.key) == (turn.who, key)
            and one.since <= turn.at
            and not set(map(plain, one.spellings)).isdisjoint(value.split("; "))
        ]
        ended = [one for one in self._values if one.ended_in is turn and one.key == key]
        return bool(ended) and all(one.until is not None and one.until <= turn.at for one in named)

    def _told(self, lines: Sequence[tuple[int, str]]) -> list[JsonObject]:
        """An episode of the longest of the lines; there is none of a few short ones."""
        number, text = max(lines, key=lambda one: len(one[1]), default=(0, ""))
        if len(text.split()) < _OPENING // 2:
            return []
        self.episodes += 1
        is_wrong = self.episodes % _WRONG_EVERY == 0
        return [{"text": _DREAMT if is_wrong else f"The user wrote: {text}"[:500], "messages": [number]}]


def _as_taken(truth: Truth) -> Wrong:
    """Return the fact as it is asked for: in the user's words, and of a correction the whole value."""
    return Wrong(
        key=truth.key,
        value=max(truth.value, key=len) if truth.change == "corrects" else truth.value[0],
        quote=truth.quote,
        subject=truth.subject,
        polarity="ends" if truth.change == "ends" else "holds",
        duration=truth.duration,
        until=truth.until,
        why="",
    )


def _garble(truth: Truth, draw: random.Random) -> Wrong:
    """Return the fact with half its value, another key, another person or another duration."""
    right, parts = _as_taken(truth), truth.value[0].split()
    half = " ".join(parts[: len(parts) // 2])
    ways: list[tuple[str, dict[str, str]]] = [
        ("wrong key", {"key": draw.choice([key for key in _GARBLED_KEYS if key != truth.key])}),
        ("other person", {"subject": "other: friend"}),
        ("temporary", {"duration": "temporary"}),
    ]
    if half and plain(half) not in map(plain, truth.value):
        ways.append(("half value", {"value": half}))
    why, change = draw.choice(ways)
    return right.model_copy(update={**change, "why": why})


def _entry(one: Wrong, number: int) -> JsonObject:
    told: JsonObject = {
        "message": _NOWHERE if one.line == "nowhere" else number,
        "quote": one.quote,
        "certainty": one.certainty,
        "key": one.key,
    }
    for name, value, usual in (
        ("subject", one.subject, "self"),
        ("polarity", one.polarity, "holds"),
        ("duration", one.duration, "lasting"),
        ("until", one.until.isoformat() if one.until else None, None),
        ("value", one.value, None),
    ):
        if value != usual:
            told[name] = value
    return told


def _is_said(turn: Turn, key: str, value: str) -> bool:
    """Return whether the message says that the value holds."""
    return any(
        _key(truth.key) == key
        and truth.change != "ends"
        and value in map(plain, truth.value)
        and truth.duration in ("lasting", "until")
        for truth in turn.truth
    )


def _key(name: str) -> str:
    return fact_keys.proposed_key(name) or name


def _completed(request: ModelRequest, answer: str) -> Completion:
    usage = TokenUsage(
        token_counter.count_tokens(canonical_json(request.to_json())), token_counter.count_tokens(answer)
    )
    return Completion(({"type": "text", "text": answer},), "end_turn", usage)


def _asked(request: ModelRequest) -> str:
    """The user's first words, whatever was asked again."""
    return str(content_blocks(request.messages[0])[0]["text"])


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
