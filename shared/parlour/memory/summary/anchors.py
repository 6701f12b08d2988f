"""Anchors of a long conversation: every fifty messages, one row that says what they dealt with, to be found by a search
that knows no single message's words. Pure.

An anchor says only what the user said, and what the agent said from nothing that could be closed one day: so it never
has to be taken back for a document's sake.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from parlour.context import recap
from parlour.context.tokens import count
from parlour.infra.jsonable import JsonObject
from parlour.knowledge.index.rows import RowDraft
from parlour.memory.summary.stretch import Spoken, Turn
from parlour.memory.summary.telling import telling
from parlour.text.words import word_parts

EVERY = 50
"""Messages from one anchor to the next."""

MOST_TURNS = 150
"""Turns that one anchor is made of at most."""

MOST_TOKENS = 200
"""What an embedder reads of a row as a rule: 256 of its tokens."""

_TOPICS, _TOPIC_FROM = 8, 5
"""Words that were said most, and the letters from which on a word is one."""


def is_due(messages: int, anchored: int) -> bool:
    """Whether the messages that no anchor covers are enough for one; the counts are the session's."""
    return messages - anchored >= EVERY


def anchor(turns: Sequence[Turn], number: int, first: int, title: str, speaker: str, level: int) -> RowDraft | None:
    """The anchor of these turns, the `number`th of its session; `first` is the place of its first message. None where
    nothing of it can be told."""
    spoken = [(turn, one) for turn in turns for one in turn.messages if not (one.ours and turn.drawn)]
    if not spoken:
        return None
    last = first + sum(turn.said for turn in turns) - 1
    lead = f"{_dates([one.sent_at for _, one in spoken])}messages {first} to {last}"
    topics = _topics([one.text for _, one in spoken])
    about = f"{lead}: about {', '.join(topics)}" if topics else lead
    lines = _lines([one for _, one in spoken], speaker, MOST_TOKENS - count(about))
    metadata: JsonObject = {
        "kind": "anchor", "lead": 0, "from_turn": turns[0].number, "to_turn": turns[-1].number,
        "date": spoken[-1][1].sent_at.date().isoformat(),
    }  # fmt: skip
    return RowDraft("summary_anchor", number, title, "\n".join([about, *lines]), level, metadata)


def _dates(times: Sequence[datetime]) -> str:
    first, last = min(times).date().isoformat(), max(times).date().isoformat()
    return f"[{first}] " if first == last else f"[{first} to {last}] "


def _topics(texts: Sequence[str]) -> list[str]:
    """The words that most of these texts have, and more than one."""
    words = Counter(word for text in texts for word in {one.casefold() for one in word_parts(text)})
    long = [(word, times) for word, times in words.most_common() if times > 1 and len(word) >= _TOPIC_FROM]
    return [word for word, _ in long[:_TOPICS]]


def _lines(spoken: Sequence[Spoken], speaker: str, room: int) -> list[str]:
    """The lines that tell most, in their order, as many as have room."""
    ranked = sorted(range(len(spoken)), key=lambda place: -_worth(spoken[place]))
    chosen: list[int] = []
    for place in ranked:
        if (tokens := count(_line(spoken[place], speaker))) <= room:
            chosen.append(place)
            room -= tokens
    return [_line(spoken[place], speaker) for place in sorted(chosen)]


def _worth(one: Spoken) -> float:
    """What the user says leads; what has figures, names or decisions tells more."""
    return len(telling(one.text)) + (0.5 if not one.ours else 0.0) + min(len(one.text), 200) / 400


def _line(one: Spoken, speaker: str) -> str:
    return f"{speaker if one.ours else 'User'}: {recap.line(one.text)}"
