"""Anchors of a long conversation: every fifty messages, one row that says what they dealt with, to be found by a search
that knows no single message's words. Pure.

An anchor says only what the user said, and what the agent said from nothing that could be closed one day: so it never
has to be taken back for a document's sake.
"""

from collections import Counter
from collections.abc import Sequence

from parlour.infra.json_values import JsonObject
from parlour.memory.summaries.key_details import key_details
from parlour.memory.summaries.summary_window import WindowMessage, WindowTurn
from parlour.prompts.assembly import recap
from parlour.search.index.context_rows import RowDraft
from parlour.text.token_counter import count_tokens
from parlour.text.words import word_parts

ANCHOR_INTERVAL = 50
"""Messages from one anchor to the next."""

MAX_ANCHOR_TURNS = 150
"""Turns that one anchor is made of at most."""

MAX_ANCHOR_TOKENS = 200
"""What an embedder reads of a row as a rule: 256 of its tokens."""

_MAX_TOPICS, _MIN_TOPIC_LETTERS = 8, 5
"""Words that were said most, and the letters from which on a word is one."""


def is_due(message_count: int, anchored_message_count: int) -> bool:
    """Whether the messages that no anchor covers are enough for one; the counts are the session's."""
    return message_count - anchored_message_count >= ANCHOR_INTERVAL


def build_anchor(
    turns: Sequence[WindowTurn],
    number: int,
    first_message_number: int,
    title: str,
    agent_name: str,
    classification: int,
) -> RowDraft | None:
    """Return the anchor of these turns, number `number` of its session; None when no message may be shown.

    `first_message_number` is the number of its first message in the session.
    """
    spoken = [(turn, one) for turn in turns for one in turn.messages if not (one.from_agent and turn.has_reply_sources)]
    if not spoken:
        return None
    last = first_message_number + sum(turn.message_count for turn in turns) - 1
    times = [one.sent_at for _, one in spoken]
    first_day, last_day = min(times).date().isoformat(), max(times).date().isoformat()
    period = first_day if first_day == last_day else f"{first_day} to {last_day}"
    lead = f"[{period}] messages {first_message_number} to {last}"
    topics = _find_topics([one.text for _, one in spoken])
    about = f"{lead}: about {', '.join(topics)}" if topics else lead
    lines = _select_lines([one for _, one in spoken], agent_name, MAX_ANCHOR_TOKENS - count_tokens(about))
    metadata: JsonObject = {
        "kind": "anchor",
        "prefix_length": 0,
        "from_turn": turns[0].number,
        "to_turn": turns[-1].number,
        "date": spoken[-1][1].sent_at.date().isoformat(),
    }
    return RowDraft("summary_anchor", number, title, "\n".join([about, *lines]), classification, metadata)


def _find_topics(texts: Sequence[str]) -> list[str]:
    """Return the most frequent long words, those that occur more than once."""
    words = Counter(word for text in texts for word in {one.casefold() for one in word_parts(text)})
    long = [(word, times) for word, times in words.most_common() if times > 1 and len(word) >= _MIN_TOPIC_LETTERS]
    return [word for word, _ in long[:_MAX_TOPICS]]


def _select_lines(messages: Sequence[WindowMessage], agent_name: str, max_tokens: int) -> list[str]:
    """Return the lines with the highest score that fit the tokens, in their original order."""
    ranked = sorted(range(len(messages)), key=lambda place: -_score(messages[place]))
    chosen: list[int] = []
    for place in ranked:
        if (tokens := count_tokens(_render_line(messages[place], agent_name))) <= max_tokens:
            chosen.append(place)
            max_tokens -= tokens
    return [_render_line(messages[place], agent_name) for place in sorted(chosen)]


def _score(message: WindowMessage) -> float:
    """Return how much a message says: user messages, figures, names and decisions count more."""
    return len(key_details(message.text)) + (0.5 if not message.from_agent else 0.0) + min(len(message.text), 200) / 400


def _render_line(message: WindowMessage, agent_name: str) -> str:
    return f"{agent_name if message.from_agent else 'User'}: {recap.recap_message(message.text)}"
