"""The record of a prompt: its types, how they are stored, and what erasure does to them. Pure.

`PromptInputs` and `PromptStepRecord` are stored as compressed JSON in which each text is named by its hash (see
`stored_text`). Nothing outside this module knows the fields of that JSON, except the queries beside
`turns/prompts/store.py`.
"""

import dataclasses
import functools
import json
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

from pydantic import ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator

from parlour.infra.json_values import canonical_json, type_adapter
from parlour.prompts.assembly.assembler import AssembledPrompt, PreparedTurn
from parlour.prompts.assembly.briefing_cache import CachedBriefing
from parlour.prompts.assembly.budget import BudgetProfile
from parlour.prompts.assembly.cache_hits import CacheMiss
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.compaction import CompactedHistory, KeyDetailLine, Summary
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.materials import PromptMaterials
from parlour.prompts.assembly.past_turn import Message, PastTurn
from parlour.prompts.assembly.reminder import Closing
from parlour.prompts.assembly.rendering import Prompt, render_prompt
from parlour.prompts.assembly.segment import Item, Layer, Segment, Source, SourceKind, escape_untrusted
from parlour.prompts.assembly.stored_text import TextHash, TextsByHash, TextsErased, stored_hashes
from parlour.prompts.assembly.tool_rounds import ToolRound

#: Characters below which a text may be anybody's: a yes or no, a greeting. Erasing one deletes the text, and the next
#: prompt that holds it stores it again; a longer one that was erased is never stored again in its month.
MIN_IDENTIFYING_CHARS = 24

#: zlib's level; higher ones save a tenth of the bytes and take twice the time. The database's own compression keeps
#: twice as much: it does not look back far enough for hashes that stand in a record three times.
_ZLIB_LEVEL = 3

_EMPTY_TEXT_HASHES = stored_hashes("")

#: Layers and kinds of items that hold the tenant's own words, not those of the people that it talks with.
_TENANT_LAYERS = frozenset({Layer.TOOLS, Layer.TIERS, Layer.BRIEFING, Layer.REMINDER})
_TENANT_KINDS = frozenset(lot for lot in SourceKind if lot.layer in {*_TENANT_LAYERS, Layer.DELTAS}) | {
    SourceKind.FLOATING_INSTRUCTIONS
}

#: Sources whose ids begin with the session's: "session/rest".
_SESSION_TABLES = frozenset({"agent_states", "summaries", "summary_key_details"})

#: The key of a handle whose record was erased; it leads to nothing.
_ERASED_KEY = "erased"


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """What a turn's prompts were made of: enough to assemble them again, also under another budget.

    cache_state    the session's as the turn began.
    prepared_turn  what the turn's prompts have in common.
    """

    materials: PromptMaterials
    cache_state: PromptCacheState
    profile: BudgetProfile
    prepared_turn: PreparedTurn


def _read_round(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Read a round of calls; older records name it as a whole, by one hash."""
    if info.context is None or not isinstance(value, str):
        return handler(value)
    text = info.context[value]
    return text if isinstance(text, TextHash) else type_adapter(ToolRound).validate_json(text)


@dataclass(frozen=True, slots=True)
class PromptStepRecord:
    """What one prompt adds to its turn's inputs: the calls so far, its cache marks, what was lost of the prompt
    before, and why it may call no tool."""

    rounds: tuple[Annotated[ToolRound, WrapValidator(_read_round)], ...]
    segments: tuple[Segment, ...]
    entries: tuple[LedgerEntry, ...]
    breakpoints: tuple[int, ...]
    cache_miss: CacheMiss | None = None
    closing: Closing = ""

    @classmethod
    def from_assembled(
        cls, rounds: tuple[ToolRound, ...], assembled: AssembledPrompt, closing: Closing = ""
    ) -> "PromptStepRecord":
        """Return the record of a step's prompt, made after these rounds of calls."""
        ledger = assembled.ledger
        segments = tuple(one for one in ledger.segments if one.layer is Layer.CALLS or one.placement == "last")
        entries = tuple(one for one in ledger.entries if one.item.kind is SourceKind.CALLS)
        return cls(rounds, segments, entries, ledger.breakpoints, ledger.cache_miss, closing)


type RecordPart = PromptInputs | PromptStepRecord


def serialize_part(part: RecordPart) -> tuple[bytes, dict[str, str]]:
    """Return a part as it is stored, and the texts that it names, by hash."""
    texts: dict[str, str] = {}
    written = type_adapter(type(part)).dump_json(part, exclude_defaults=True, context=texts)
    return zlib.compress(written, _ZLIB_LEVEL), texts


def deserialize_part[T: RecordPart](
    part_type: type[T], stored: bytes, texts: Mapping[str, str] | None = None
) -> tuple[T, set[str]]:
    """Return a part, and the hashes of the texts it names that are not in `texts`: a `TextHash` stands for each."""
    known = TextsByHash((texts or {}).items())
    part: T = type_adapter(part_type).validate_json(zlib.decompress(stored), context=known)
    return part, known.missing


def restore_part[T: RecordPart](part_type: type[T], stored: bytes, texts: Mapping[str, str]) -> T:
    """Return a part with all its texts.

    Raises:
        Erased: names the texts that are gone.
    """
    part, missing = deserialize_part(part_type, stored, texts)
    if missing:
        raise TextsErased(missing)
    return part


def rebuild_prompt(segments: Sequence[Segment], breakpoints: Sequence[int], texts: Mapping[str, str]) -> Prompt:
    """Return the prompt as it was sent, from segments whose pieces are hashes and all their texts."""
    return render_prompt([_with_texts(segment, texts) for segment in segments], breakpoints)


def _with_texts(segment: Segment, texts: Mapping[str, str]) -> Segment:
    return replace(
        segment, blocks=tuple(replace(one, pieces=tuple(texts[key] for key in one.pieces)) for one in segment.blocks)
    )


@dataclass(frozen=True, slots=True)
class ErasureQuery:
    """What is erased: sources by table and id, whole turns by id, and turns of the prompt's session by number."""

    sources: Set[tuple[str, str]] = frozenset()
    turn_ids: Set[str] = frozenset()
    turn_numbers: Set[int] = frozenset()

    def covers(self, node: object) -> bool:
        """Return whether this part of a record is erased as a whole."""
        match node:
            case Source():
                first = node.id.partition("/")[0] if node.table in _SESSION_TABLES else node.id
                return (node.table, first) in self.sources
            case Item():
                return any(self.covers(one) for one in (node.source, *node.further_sources))
            case Message() | KeyDetailLine():
                return self.covers(node.source)
            case PastTurn():
                return node.id in self.turn_ids
            case Summary():
                return bool(self.turn_numbers) and node.until_turn >= min(self.turn_numbers)
            case _:
                return False


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """A stored prompt, read without its texts.

    nodes  every dataclass and every hash in it.
    text   its JSON.
    """

    nodes: tuple[object, ...]
    text: str

    @classmethod
    def read(cls, inputs: bytes | None, step: bytes | None) -> "PromptRecord":
        """Return the record that these two columns hold; a prompt has inputs when it is the first of its turn."""
        parts: list[RecordPart] = []
        if inputs is not None:
            parts.append(deserialize_part(PromptInputs, inputs)[0])
        if step is not None:
            parts.append(deserialize_part(PromptStepRecord, step)[0])
        text = "\n".join(zlib.decompress(one).decode() for one in (inputs, step) if one is not None)
        return cls(tuple(_nodes(parts)), text)

    @property
    def text_hashes(self) -> set[str]:
        """The hashes of all texts that it names."""
        return {str(node) for node in self.nodes if isinstance(node, TextHash)} - _EMPTY_TEXT_HASHES

    def erased_text_hashes(self, query: ErasureQuery) -> set[str]:
        """Return the hashes of the texts that are erased with what the query covers."""
        return {key for node in self.nodes for key in _erased_hashes(node, query)} - _EMPTY_TEXT_HASHES

    def personal_text_hashes(self) -> set[str]:
        """Return the hashes of the texts that are not the tenant's own."""
        return self.text_hashes - self.tenant_text_hashes()

    def tenant_text_hashes(self) -> set[str]:
        """Return the hashes of the tenant's own texts: its persona, tools, records and documents."""
        return {key for node in self.nodes for key in _tenant_hashes(node)}

    def names_any_handle(self, handles: Iterable[str]) -> bool:
        """Return whether one of these handles stands in it outside its texts."""
        return any(f'"{one}"' in self.text for one in handles)


def erase_handles(stored: bytes, handles: Iterable[str]) -> bytes:
    """Return a stored part with a handle that leads to nothing in the place of each of these."""
    text = zlib.decompress(stored).decode()
    for one in handles:
        text = text.replace(f'"{one}"', f'"{one.partition("/")[0]}/{_ERASED_KEY}"')
    return zlib.compress(text.encode(), _ZLIB_LEVEL)


def message_hashes(body: str) -> set[str]:
    """Return the hashes under which the text of a message may be stored."""
    return stored_hashes(body) | stored_hashes(escape_untrusted(body))


def block_hashes(text: str) -> set[str]:
    """Return the hashes of the blocks that a message of calls, stored as JSON, was sent as; none for other texts."""
    with suppress(ValueError):
        message = json.loads(text) if text.startswith("{") else None
        content = message.get("content") if isinstance(message, dict) else None
        blocks = (one for one in content or () if isinstance(one, dict))
        return {key for block in blocks for key in stored_hashes(canonical_json(block))}
    return set()


def _erased_hashes(node: object, query: ErasureQuery) -> Iterable[str]:
    if isinstance(node, CompactedHistory):
        return [line for line, turn in zip(node.recap, node.recap_turns, strict=False) if turn in query.turn_numbers]
    if isinstance(node, CachedBriefing):  # its items are stored without their words: the pieces in their places
        pieces = [piece for block in node.segment.blocks for piece in block.pieces]
        return [
            pieces[one.piece_index] for one in node.entries if query.covers(one.item) and one.piece_index < len(pieces)
        ]
    return _text_hashes(node) if query.covers(node) else ()


def _tenant_hashes(node: object) -> Iterable[str]:
    match node:
        case Item() if node.kind in _TENANT_KINDS:
            return _text_hashes(node)
        case Segment() if node.layer in _TENANT_LAYERS:
            return _text_hashes(node)
        case PromptMaterials():
            return _text_hashes([node.tools, node.reminders, node.floating_instructions, node.record_handle])
        case PreparedTurn():
            return _text_hashes(node.reminders)
        case CachedBriefing():
            return _text_hashes(node.record_handle)
        case _:
            return ()


def _text_hashes(value: object) -> Iterator[str]:
    return (node for node in _nodes(value) if isinstance(node, TextHash))


def _nodes(value: object) -> Iterator[object]:
    """Every dataclass and hash in a value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple | list):
            waiting += one
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, TextHash):
            yield one
        elif names := _field_names(cast("Hashable", type(one))):
            yield one
            waiting += [getattr(one, name) for name in names]


@functools.cache
def _field_names(kind: Hashable) -> tuple[str, ...]:
    return tuple(one.name for one in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()
