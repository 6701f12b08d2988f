"""Layer 3: the compacted history, which replaces older turns. Pure.

It holds a summary where a model wrote one, the key details that the summary lost, a recap of turns without a summary,
and a pasted text that the conversation is about. A cut fixes all of it, byte for byte, until the next cut.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from parlour.prompts.assembly import recap
from parlour.prompts.assembly.ledger_entries import LedgerEntry, OmissionReason
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT, PastTurn
from parlour.prompts.assembly.segment import (
    Block,
    Item,
    Source,
    SourceKind,
    escape_untrusted,
    join_pieces,
    text_block,
    wrap_in_tag,
)
from parlour.prompts.assembly.stored_text import StoredText
from parlour.text.similarity import containment
from parlour.text.token_counter import TokenCounter
from parlour.text.words import key_terms

type KeyDetailKind = Literal["identifier", "amount", "date", "name", "decision", "approval", "promise"]

#: The kinds of details that a summary must keep word for word, in order of importance.
KEY_DETAIL_KINDS: tuple[str, ...] = get_args(KeyDetailKind.__value__)

MAX_SUMMARY_TOKENS = 1_000
"""The longest summary; with what stands beside it the 1,500 of a long conversation (design section 7, layer 3)."""

MAX_BESIDE_SUMMARY_TOKENS = 500
"""What the recap and the lines that are kept word for word take together at most: all that there is without a summary
(design section 7, layer 3)."""

MAX_KEY_DETAIL_TOKENS = 250
"""Of those the most that is kept word for word; what has no room is found again by a search."""

MAX_COMPACTED_TOKENS = MAX_SUMMARY_TOKENS + MAX_BESIDE_SUMMARY_TOKENS

_DETAILS_HEADING = "Said there, word for word (the summary is newer where it says otherwise):\n"
_DETAILS_ALONE_HEADING = "Said earlier in this conversation, word for word:\n"
"""Such a line is of the day on which it was said; what was taken back since is in the summary, where there is one."""

MIN_PASTED_TOKENS = 400
"""A message from this length on may be a pasted document."""

_TOPIC_SHARE = 0.25
"""The share of the newest messages' telling words that a pasted text must hold for the talk to be about it."""

_TOPIC_WORD_CHARS = 6
"""Letters from which on a word tells what is talked about; the words that every talk has are shorter, figures aside."""

_AGENT_PREFIX, _USER_PREFIX, _ATTACHMENT_PREFIX, _UNNAMED_FILE = "- you: ", "- user: ", "- user sent ", "a file"


@dataclass(frozen=True, slots=True)
class KeyDetailLine:
    """A key detail that stays word for word after its turn was cut; `source` names its message."""

    text: StoredText
    turn_number: int
    source: Source
    from_agent: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of the turns up to number `until_turn`; without text where no model could write it.

    key_details  what must survive word for word and is not in the text, the most important first.
    """

    version: int
    until_turn: int
    text: StoredText
    key_details: tuple[KeyDetailLine, ...] = ()

    @property
    def covered_until_turn(self) -> int:
        """The number of the last turn that needs no recap; -1 where there is no text."""
        return self.until_turn if self.text else -1


@dataclass(frozen=True, slots=True)
class CompactionInput:
    """What may replace turns that are cut.

    summary             the newest summary.
    is_summary_pending  a newer one is being written: a cut may wait for it.
    max_tokens          tokens of the compacted history, without a pasted text.
    """

    summary: Summary | None = None
    is_summary_pending: bool = False
    max_tokens: int = MAX_COMPACTED_TOKENS


@dataclass(frozen=True, slots=True)
class CompactedHistory:
    """What replaces the turns before the history's last cut.

    since_turn     the number of the first turn that is verbatim.
    recap_turns    the turn number of each recap line.
    omitted_count  messages without room in the recap.
    summary        the summary as prompts show it, with the key details that had room.
    """

    since_turn: int = 0
    recap: tuple[StoredText, ...] = ()
    recap_turns: tuple[int, ...] = ()
    omitted_count: int = 0
    pasted_text: Item | None = None
    summary: Summary | None = None


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """A new compacted history, and the candidates without room in it."""

    compacted_history: CompactedHistory
    omitted_entries: tuple[LedgerEntry, ...] = ()


def compact(
    counter: TokenCounter,
    compacted_history: CompactedHistory,
    since_turn: int,
    cut_turns: Sequence[PastTurn],
    recent_texts: Sequence[str],
    compaction_input: CompactionInput,
) -> CompactionResult:
    """Compact `cut_turns`; the turn with number `since_turn` is the first that stays verbatim.

    `recent_texts` are the messages from there on. They decide whether a pasted text is still the topic.
    """
    summary = _choose_summary(counter, compacted_history.summary, compaction_input)
    covers = summary.covered_until_turn if summary else -1
    old = zip(compacted_history.recap_turns, compacted_history.recap, strict=True)
    anew = ((turn.number, escape_untrusted(line)) for turn in cut_turns for line in _recap_turn(turn))
    told = [(number, line) for number, line in (*old, *anew) if number > covers]
    kept, out = _select_key_details(counter, summary, since_turn, [line for _, line in told]) if summary else ((), ())
    left = MAX_BESIDE_SUMMARY_TOKENS - _lines_tokens(counter, [one.text for one in kept])
    lines = list(told)
    while lines and _lines_tokens(counter, [line for _, line in lines]) > left:
        lines.pop(0)
    first = min([*compacted_history.recap_turns, compacted_history.since_turn])
    covers_omitted = summary is not None and summary.covered_until_turn >= first - 1
    lost = len(told) - len(lines) + (0 if covers_omitted else compacted_history.omitted_count)
    pasted, earlier = _find_pasted_text(counter, cut_turns, recent_texts), compacted_history.pasted_text
    if pasted is None and earlier and _is_on_topic(recent_texts, earlier.text):
        pasted = earlier
    new = CompactedHistory(
        since_turn,
        tuple(line for _, line in lines),
        tuple(number for number, _ in lines),
        lost,
        pasted,
        replace(summary, key_details=kept) if summary else None,
    )
    return CompactionResult(new, out)


def withhold_turns(
    compacted_history: CompactedHistory, restricted_turns: Collection[int], *, is_summary_restricted: bool = False
) -> CompactedHistory:
    """Withhold the replies of restricted turns and the names of their attachments.

    With `is_summary_restricted`, also withhold the summary, because a source of it is restricted.
    """
    pairs = zip(compacted_history.recap, compacted_history.recap_turns, strict=True)
    lines = tuple(_withhold_line(line) if of in restricted_turns else line for line, of in pairs)
    told = compacted_history.summary and _withhold_in_summary(
        compacted_history.summary, restricted_turns, withdrawn=is_summary_restricted
    )
    return replace(compacted_history, recap=lines, summary=told)


def without_restricted_details(summary: Summary, restricted_turns: Collection[int]) -> Summary:
    """Return the summary without the key details from replies of restricted turns."""
    return _withhold_in_summary(summary, restricted_turns, withdrawn=False)


def is_summary_withheld(compacted_history: CompactedHistory) -> bool:
    """Return whether the summary was withheld, so that another one is needed."""
    return compacted_history.summary is not None and compacted_history.summary.text == WITHHELD_TEXT


def with_newest_summary(
    counter: TokenCounter, compacted_history: CompactedHistory, compaction_input: CompactionInput
) -> CompactedHistory:
    """Replace a withheld summary by the newest one."""
    summary = _choose_summary(counter, compacted_history.summary, compaction_input)
    if summary is None or summary.text == WITHHELD_TEXT:
        return compacted_history
    kept, _ = _select_key_details(counter, summary, compacted_history.since_turn, compacted_history.recap)
    return replace(compacted_history, summary=replace(summary, key_details=kept))


def without_summary(compacted_history: CompactedHistory) -> CompactedHistory:
    """Return the compacted history without its summary, for which there is no room."""
    return replace(
        compacted_history,
        summary=compacted_history.summary and replace(compacted_history.summary, text="", key_details=()),
    )


def compacted_items(compacted_history: CompactedHistory) -> list[Item]:
    """Return the parts of the compacted history as ledger items."""
    summary = compacted_history.summary
    text = [_summary_item(summary)] if summary and summary.text else []
    kept = [_key_detail_item(one, place) for place, one in enumerate(_details_by_turn(summary))]
    lines = [
        Item(SourceKind.SUMMARY, line, Source("sessions", "recap", number))
        for number, line in enumerate(compacted_history.recap)
    ]
    return [*text, *kept, *lines, *([compacted_history.pasted_text] if compacted_history.pasted_text else [])]


def summary_item(compacted_history: CompactedHistory) -> Item | None:
    """Return the summary as an item; None without a summary."""
    return (
        _summary_item(compacted_history.summary)
        if compacted_history.summary and compacted_history.summary.text
        else None
    )


def compacted_block(counter: TokenCounter, compacted_history: CompactedHistory) -> tuple[Block, ...]:
    """Render the compacted history; no block for an empty one."""
    parts: list[list[str]] = []
    summary = compacted_history.summary
    if summary and summary.text:
        parts.append(["Earlier in this conversation, summarised:\n", summary.text])
    if kept := _details_by_turn(summary):
        heading = _DETAILS_HEADING if summary and summary.text not in {"", WITHHELD_TEXT} else _DETAILS_ALONE_HEADING
        parts.append([heading, *join_pieces([one.text for one in kept], "\n")])
    if compacted_history.recap:
        more = (
            f"(and {compacted_history.omitted_count} messages before that)\n" if compacted_history.omitted_count else ""
        )
        when = "After that" if summary and summary.text else "Earlier in this conversation"
        parts.append([f"{when}, shortened:\n{more}", *join_pieces(compacted_history.recap, "\n")])
    if compacted_history.pasted_text:
        parts.append(["The user gave this text, whole:\n", escape_untrusted(compacted_history.pasted_text.text)])
    pieces = [piece for part in parts for piece in ("\n\n", *part)][1:]
    return (text_block(counter, *wrap_in_tag("earlier", *pieces), role="user"),) if pieces else ()


def compacted_tokens(counter: TokenCounter, compacted_history: CompactedHistory) -> int:
    """Return the tokens of layer 3."""
    return sum(one.tokens for one in compacted_block(counter, compacted_history))


def _choose_summary(counter: TokenCounter, pinned: Summary | None, compaction_input: CompactionInput) -> Summary | None:
    """Return the newest summary that may be shown, truncated to its room."""
    newest = compaction_input.summary
    if newest is None or (pinned and pinned.until_turn > newest.until_turn and pinned.text not in {"", WITHHELD_TEXT}):
        newest = replace(pinned, key_details=newest.key_details if newest else pinned.key_details) if pinned else None
    if newest is None:
        return None
    room = min(MAX_SUMMARY_TOKENS, compaction_input.max_tokens - MAX_BESIDE_SUMMARY_TOKENS)
    text = escape_untrusted(newest.text.strip())
    if room <= 0:
        text = ""
    elif counter.count(text) > room:
        text = counter.truncate(text, room - counter.count(" ...")).rstrip() + " ..."
    return replace(newest, text=text)


def _select_key_details(
    counter: TokenCounter, summary: Summary, since: int, told: Sequence[str]
) -> tuple[tuple[KeyDetailLine, ...], tuple[LedgerEntry, ...]]:
    """Select the key details of turns that are cut; also return the others, with the reason."""
    chosen: list[KeyDetailLine] = []
    out: list[tuple[KeyDetailLine, OmissionReason]] = []
    left = MAX_KEY_DETAIL_TOKENS
    for given in summary.key_details:
        one = replace(given, text=escape_untrusted(given.text))
        tokens = _lines_tokens(counter, [one.text])
        said = one.text.removeprefix(_AGENT_PREFIX).removeprefix(_USER_PREFIX)
        if one.turn_number >= since:
            continue
        if any(said in line for line in (*told, *(other.text for other in chosen))):
            out.append((one, "duplicate"))
        elif tokens > left:
            out.append((one, "over_budget"))
        else:
            chosen.append(one)
            left -= tokens
    first = len(chosen)
    entries = [
        LedgerEntry(_key_detail_item(one, first + place), counter.count(one.text), reason)
        for place, (one, reason) in enumerate(out)
    ]
    return tuple(chosen), tuple(entries)


def _details_by_turn(summary: Summary | None) -> list[KeyDetailLine]:
    return sorted(summary.key_details, key=lambda one: one.turn_number) if summary else []


def _summary_item(summary: Summary) -> Item:
    return Item(SourceKind.SUMMARY, summary.text, Source("summaries", str(summary.version)), title="summary")


def _key_detail_item(kept: KeyDetailLine, place: int) -> Item:
    return Item(SourceKind.SUMMARY, kept.text, replace(kept.source, version=place), title="kept word for word")


def _withhold_in_summary(summary: Summary, closed: Collection[int], *, withdrawn: bool) -> Summary:
    kept = tuple(one for one in summary.key_details if not (one.from_agent and one.turn_number in closed))
    return replace(summary, key_details=kept, text=WITHHELD_TEXT if withdrawn and summary.text else summary.text)


def _withhold_line(line: str) -> str:
    if line.startswith(_ATTACHMENT_PREFIX):
        return _ATTACHMENT_PREFIX + _UNNAMED_FILE
    return _AGENT_PREFIX + WITHHELD_TEXT if line.startswith(_AGENT_PREFIX) else line


def _lines_tokens(counter: TokenCounter, lines: Sequence[str]) -> int:
    """Return the tokens of lines with their separators."""
    return sum(counter.count(line) for line in join_pieces([*lines], "\n"))


def _recap_turn(turn: PastTurn) -> list[str]:
    sent = [f"{_ATTACHMENT_PREFIX}{' '.join(one.title.split()) or _UNNAMED_FILE}" for one in turn.attachments]
    asked = [f"{_USER_PREFIX}{recap.recap_message(one.text)}" for one in turn.user_messages if one.text.strip()]
    return [
        *sent,
        *asked,
        *(f"{_AGENT_PREFIX}{recap.recap_message(one.text)}" for one in turn.replies if one.text.strip()),
    ]


def _find_pasted_text(counter: TokenCounter, cut: Sequence[PastTurn], talk: Sequence[str]) -> Item | None:
    """Return the newest pasted text in the cut turns that the conversation is about."""
    for turn in reversed(cut):
        for message in reversed(turn.user_messages):
            if counter.count(message.text) >= MIN_PASTED_TOKENS and _is_on_topic(talk, message.text):
                return Item(SourceKind.PASTED_TEXT, message.text, message.source, title="a text that the talk is about")
    return None


def _is_on_topic(talk: Sequence[str], text: str) -> bool:
    """Return whether the text contains enough key terms of the recent messages, or they have none."""
    spoken = key_terms("\n".join(talk), _TOPIC_WORD_CHARS)
    return not spoken or containment(spoken, key_terms(text, _TOPIC_WORD_CHARS)) >= _TOPIC_SHARE
