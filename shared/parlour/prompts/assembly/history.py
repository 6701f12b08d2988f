"""Layer 4: the turns since the last cut, verbatim; the compacted history replaces the turns before.

History only grows at its end until it is cut: at more than 20 messages, or when its tokens or image bytes exceed their
room. A cut leaves the newest 10 messages, or fewer where they do not fit, so the bytes then stay the same for a while.
While a summary of the cut turns is being written, a cut waits for it as long as there is room.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly import compaction as leading
from parlour.prompts.assembly.compaction import CompactedHistory, CompactionInput
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.past_turn import Message, PastTurn
from parlour.prompts.assembly.segment import (
    Block,
    Item,
    Layer,
    Role,
    Segment,
    escape_untrusted,
    opaque_block,
    text_block,
    wrap_in_tag,
)
from parlour.text.token_counter import TokenCounter

MAX_MESSAGES, MESSAGES_AFTER_CUT = 20, 10
"""Past the first, history is cut to the second (design section 7, layer 4, and section 16)."""

MAX_MESSAGES_AWAITING_SUMMARY = 30
"""Past this many a cut waits for no summary any more."""

_FILL_SHARE = 0.6
"""The share of its room that a cut history may fill, so that it is not cut again by the next message."""

MAX_IMAGE_BYTES = 12 * 1024 * 1024
"""Bytes of all pictures of a prompt, as `models/pictures.py` puts them in."""

_EMPTY_MESSAGE = "(nothing that can be read)"

NO_COMPACTION_INPUT = CompactionInput()

WITHHELD_TABLE = "withheld"
"""The table that the source of an attachment names once it must not be told any more, not by its name either."""


@dataclass(frozen=True, slots=True)
class HistorySelection:
    """The history as it is sent: compacted history, verbatim turns and their blocks, and the turns that were just cut.

    omitted_entries  candidates that the compacted history has no room for, or does not need.
    """

    compacted_history: CompactedHistory
    verbatim_turns: tuple[PastTurn, ...] = ()
    blocks: tuple[Block, ...] = ()
    cut_turns: tuple[PastTurn, ...] = ()
    omitted_entries: tuple[LedgerEntry, ...] = ()

    @property
    def tokens(self) -> int:
        """The tokens of the verbatim turns."""
        return sum(block.tokens for block in self.blocks)


def select_history(
    counter: TokenCounter,
    compacted_history: CompactedHistory,
    turns: Sequence[PastTurn],
    max_tokens: int,
    new_messages: Sequence[Message] = (),
    max_image_bytes: int = MAX_IMAGE_BYTES,
    compaction_input: CompactionInput = NO_COMPACTION_INPUT,
) -> HistorySelection:
    """Select the turns that stay verbatim in `max_tokens` and `max_image_bytes`, and cut the others where that is due.

    `new_messages` are the user's in this turn; `compaction_input` may replace what is cut.
    """
    kept = tuple(turn for turn in turns if turn.number >= compacted_history.since_turn)
    whole = HistorySelection(compacted_history, kept, _turns_blocks(counter, kept))
    fits = whole.tokens <= max_tokens and image_bytes(kept) <= max_image_bytes
    if fits and _message_count(kept) <= MAX_MESSAGES:
        return whole
    stays = _newest_turns(counter, kept, max_tokens, max_image_bytes)
    cut = kept[: len(kept) - len(stays)]
    if not cut or (fits and not _is_cut_due(kept, cut, compaction_input)):
        return whole
    since = stays[0].number if stays else kept[-1].number + 1
    led = leading.compact(
        counter,
        compacted_history,
        since,
        cut,
        [
            *[one.text for turn in stays for one in (*turn.user_messages, *turn.replies)],
            *(one.text for one in new_messages),
        ],
        compaction_input,
    )
    return HistorySelection(led.compacted_history, stays, _turns_blocks(counter, stays), cut, led.omitted_entries)


def has_too_many_messages(
    counter: TokenCounter, turns: Sequence[PastTurn], max_tokens: int, compaction_input: CompactionInput
) -> bool:
    """Return whether the number of messages alone causes a cut."""
    stays = _newest_turns(counter, turns, max_tokens, MAX_IMAGE_BYTES)
    return _is_cut_due(turns, turns[: len(turns) - len(stays)], compaction_input)


def _is_cut_due(turns: Sequence[PastTurn], cut: Sequence[PastTurn], compaction_input: CompactionInput) -> bool:
    """Return whether there are too many messages; the limit is higher while a summary of the cut turns is pending."""
    is_covered = compaction_input.summary is not None and (
        not cut or cut[-1].number <= compaction_input.summary.covered_until_turn
    )
    waits = compaction_input.is_summary_pending and not is_covered
    return _message_count(turns) > (MAX_MESSAGES_AWAITING_SUMMARY if waits else MAX_MESSAGES)


def _message_count(turns: Sequence[PastTurn]) -> int:
    """How many messages people would count in these turns."""
    return sum(turn.message_count for turn in turns)


def history_segments(counter: TokenCounter, selection: HistorySelection) -> tuple[Segment, ...]:
    """Return layers 3 and 4; layer 3 only where something was cut."""
    history = Segment(Layer.HISTORY, "append_only", "messages", selection.blocks)
    lead = leading.compacted_block(counter, selection.compacted_history)
    return (Segment(Layer.SUMMARY, "until_compaction", "messages", lead), history) if lead else (history,)


def history_tokens(counter: TokenCounter, turns: Sequence[PastTurn]) -> int:
    """Return the tokens of turns as they are sent."""
    return sum(block.tokens for block in _turns_blocks(counter, turns))


def image_bytes(turns: Sequence[PastTurn], *sent: Item) -> int:
    """Return the bytes of the images in these turns and of the images `sent` now."""
    items = (*sent, *(one for turn in turns for one in turn.attachments))
    return sum(json.loads(one.text)["source"].get("bytes", 0) for one in items if one.is_json and one.text)


def user_message_blocks(
    counter: TokenCounter, messages: Sequence[Message], attachments: Sequence[Item] = ()
) -> tuple[Block, ...]:
    """Render a user's messages. The API requires a user block, so an unreadable message gets a placeholder."""
    blocks = tuple(text_block(counter, escape_untrusted(one.text), role="user") for one in messages if one.text.strip())
    return blocks if blocks or attachments else (text_block(counter, _EMPTY_MESSAGE, role="user"),)


def attachment_block(counter: TokenCounter, item: Item) -> Block:
    """Render an attachment for the model; one without text is only a name."""
    if not item.text:
        return refused_attachment_block(counter, item)
    if item.is_json:
        return Block((item.text,), opaque_block(counter, {"type": "image"}, "user").tokens, "user", is_json=True)
    return text_block(
        counter, *wrap_in_tag("file", escape_untrusted(item.title), "\n", escape_untrusted(item.text)), role="user"
    )


def refused_attachment_block(counter: TokenCounter, item: Item) -> Block:
    """Render the note that replaces an omitted attachment: its shorter text, else that it is too large."""
    return text_block(counter, _refusal_text(item), role="user")


def as_recorded_attachment(item: Item) -> Item:
    """Return the attachment with exactly the texts that a prompt may show, so that a record can withhold them."""
    text = item.text if item.is_json else escape_untrusted(item.text)
    return replace(item, text=text, title=escape_untrusted(item.title), shorter_texts=(_refusal_text(item),))


def _refusal_text(item: Item) -> str:
    return escape_untrusted(
        item.shorter_texts[0] if item.shorter_texts else f"[The user also sent {item.title!r}, too large to read here.]"
    )


def withheld_ids(turns: Sequence[PastTurn]) -> set[str]:
    """Return the ids of turns and attachments whose text is withheld from this reader."""
    sent = {one.source.id for turn in turns for one in turn.attachments if one.source.table == WITHHELD_TABLE}
    return sent.union(*(turn.withheld_ids for turn in turns))


def has_withholding_changed(turns: Sequence[PastTurn], withheld_before: Collection[str]) -> bool:
    """Return whether a text of these turns was withheld or released since `withheld_before`."""
    known = {turn.id for turn in turns}.union(one.source.id for turn in turns for one in turn.attachments)
    return any(one.partition("/")[0] in known for one in withheld_ids(turns).symmetric_difference(withheld_before))


def _turns_blocks(counter: TokenCounter, turns: Sequence[PastTurn]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for turn in turns:
        blocks += [attachment_block(counter, one) for one in turn.attachments]
        blocks += user_message_blocks(counter, turn.user_messages, turn.attachments)
        blocks += [block for message in turn.tool_messages for block in _message_blocks(counter, message)]
        replies = [escape_untrusted(one.text) for one in turn.replies if one.text.strip()]
        blocks += [text_block(counter, reply, role="assistant") for reply in replies]
    return tuple(blocks)


def _newest_turns(
    counter: TokenCounter, turns: Sequence[PastTurn], room: int, room_pictured: int
) -> tuple[PastTurn, ...]:
    """Return the newest turns that a cut leaves; the last one always stays if it fits."""
    kept = (
        turns[-1:] if history_tokens(counter, turns[-1:]) <= room and image_bytes(turns[-1:]) <= room_pictured else ()
    )
    for turn in reversed(turns[:-1] if kept else ()):
        longer = [turn, *kept]
        is_many = _message_count(longer) > MESSAGES_AFTER_CUT
        is_shown = image_bytes(longer) > int(room_pictured * _FILL_SHARE)
        if is_many or is_shown or history_tokens(counter, longer) > int(room * _FILL_SHARE):
            break
        kept = longer
    return tuple(kept)


def _message_blocks(counter: TokenCounter, message: JsonObject) -> list[Block]:
    role: Role = "assistant" if message["role"] == "assistant" else "user"
    content = message["content"]
    return (
        [opaque_block(counter, one, role) for one in content if isinstance(one, dict)]
        if isinstance(content, list)
        else []
    )
