"""The model that does the work of memory in a played month, by hand-written answers, right ones and wrong ones: what is
tested is what becomes of them.

Asked for facts, it gives for each message what the script has it take, rightly and wrongly; every seventh answer is no
JSON at first. Every third episode that it tells of never happened. Asked for a summary it writes one from the first
words of what is new: every third has lost all that was older, and every third has figures that nobody gave.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.month_script import Month, Taken, Turn
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.memory.facts.evidence import own_text
from parlour.models.model import Completion, ModelRequest, StreamPart, TokenUsage, content_blocks
from parlour.text import token_counter

_LINE = re.compile(r"^\[(\d+)\] (?:\d{4}-\d\d-\d\d )?(user|agent): (.*)$", re.MULTILINE)
_BEFORE = re.compile(r"<parlour:summary>\n(.*?)\n</parlour:summary>", re.DOTALL)
_SUMMARISES = "kept_message_ids"
"""What a question for a summary says, and none for facts does."""

_NOWHERE = 999
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
                "kept_message_ids": [number for number, _, _ in lines[::2]],
                "dropped_message_ids": [number for number, _, _ in lines[1::2]],
                "agent_state_item_updates": [],
                "agent_state_updates": {},
            }
        )


@dataclass
class Clerk:
    """Answers for all work of memory, and counts what it was asked for. given: every fact that it gave."""

    month: Month
    provider: str = "anthropic"
    extractions: int = 0
    episodes: int = 0
    summariser: Summariser = field(default_factory=lambda: Summariser(faulty=True))
    given: list[Taken] = field(default_factory=list)
    _by_words: dict[str, list[Turn]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for turn in self.month.turns:
            self._by_words[_plain(own_text(turn.user))].append(turn)

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:  # noqa: ARG002
        asked = _asked(request)
        if _SUMMARISES in str(request.system[0]["text"]):
            yield _completed(request, self.summariser.answer(asked))
        else:
            yield _completed(request, self._facts(asked, is_first=len(request.messages) == 1))

    def _facts(self, asked: str, *, is_first: bool) -> str:
        self.extractions += is_first
        if is_first and self.extractions % _BROKEN_EVERY == 0:
            return "Here is what I found: the user is very nice."
        lines = [(int(number), text) for number, who, text in _LINE.findall(asked) if who == "user"]
        facts = [
            self._entry(one, number)
            for number, text in lines
            for turn in self._by_words.get(_plain(text), ())[:1]
            for one in (*turn.right, *turn.wrong)
        ]
        return canonical_json({"facts": facts, "episodes": self._told(lines)})

    def _entry(self, one: Taken, number: int) -> JsonObject:
        self.given.append(one)
        told: JsonObject = {"key": one.key, "confidence": one.confidence, "ends": one.ends}
        said: JsonObject = {} if one.value is None else {"value": one.value}
        return {**told, **said, "messages": [_NOWHERE if one.lines == "nowhere" else number]}

    def _told(self, lines: Sequence[tuple[int, str]]) -> list[JsonObject]:
        """An episode of the longest of the lines; there is none of a few short ones."""
        number, text = max(lines, key=lambda one: len(one[1]), default=(0, ""))
        if len(text.split()) < _OPENING // 2:
            return []
        self.episodes += 1
        is_wrong = self.episodes % _WRONG_EVERY == 0
        return [{"text": _DREAMT if is_wrong else f"The user wrote: {text}"[:500], "messages": [number]}]


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
