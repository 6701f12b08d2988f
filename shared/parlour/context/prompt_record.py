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
from typing import Annotated, cast

from parlour.context.assemble import Assembled, Begun
from parlour.context.budget import Profile
from parlour.context.cache import Miss
from parlour.context.calls import Round
from parlour.context.lead import Kept, Lead, Summary
from parlour.context.ledger import Entry
from parlour.context.materials import Materials
from parlour.context.past import Message, PastTurn
from parlour.context.pins import Pinned
from parlour.context.render import Prompt, render
from parlour.context.segment import Item, Layer, Lot, Segment, Source, foreign
from parlour.context.standing import Standing
from parlour.context.stored_text import AS_JSON_TEXT, Erased, TextHash, Texts, text_hash
from parlour.infra.jsonable import adapter, canonical

#: Characters below which a text may be anybody's: a yes or no, a greeting. Erasing one deletes the text, and the next
#: prompt that holds it stores it again; a longer one that was erased is never stored again in its month.
MIN_IDENTIFYING_CHARS = 24

#: zlib's level; higher ones save a tenth of the bytes and take twice the time. The database's own compression keeps
#: twice as much: it does not look back far enough for hashes that stand in a record three times.
_LEVEL = 3

_EMPTY = text_hash("")

#: Layers and kinds of items that hold the tenant's own words, not those of the people that it talks with.
_TENANT_LAYERS = frozenset({Layer.TOOLS, Layer.TIERS, Layer.BRIEFING, Layer.REMINDER})
_TENANT_LOTS = frozenset(lot for lot in Lot if lot.layer in {*_TENANT_LAYERS, Layer.DELTAS}) | {Lot.FLOATING}

#: Sources whose ids begin with the session's: "session/rest".
_OF_SESSIONS = frozenset({"agent_states", "summaries", "kept_verbatim"})

#: The key of a handle whose record was erased; it leads to nothing.
_ERASED_KEY = "forgotten"


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """What a turn's prompts were made of: enough to assemble them again, also under another budget.

    standing  the session's as the turn began.
    begun     what the turn's prompts have in common.
    """

    materials: Materials
    standing: Standing
    profile: Profile
    begun: Begun


@dataclass(frozen=True, slots=True)
class PromptStepRecord:
    """What one prompt adds to its turn's inputs: the calls so far, its cache marks, what was lost of the prompt
    before."""

    rounds: tuple[Annotated[Round, *AS_JSON_TEXT], ...]
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    marked: tuple[int, ...]
    miss: Miss | None = None

    @classmethod
    def of(cls, rounds: tuple[Round, ...], assembled: Assembled) -> "PromptStepRecord":
        """Return the record of a step's prompt, made after these rounds of calls."""
        ledger = assembled.ledger
        segments = tuple(one for one in ledger.segments if one.layer is Layer.CALLS or one.placement == "last")
        entries = tuple(one for one in ledger.entries if one.item.lot is Lot.CALLS)
        return cls(rounds, segments, entries, ledger.marked, ledger.miss)


type Part = PromptInputs | PromptStepRecord


def dump(part: Part) -> tuple[bytes, dict[str, str]]:
    """Return a part as it is stored, and the texts that it names, by hash."""
    texts: dict[str, str] = {}
    written = adapter(type(part)).dump_json(part, exclude_defaults=True, context=texts)
    return zlib.compress(written, _LEVEL), texts


def read[T: Part](kind: type[T], stored: bytes, texts: Mapping[str, str] | None = None) -> tuple[T, set[str]]:
    """Return a part, and the hashes of the texts it names that are not in `texts`: a `TextHash` stands for each."""
    known = Texts((texts or {}).items())
    part: T = adapter(kind).validate_json(zlib.decompress(stored), context=known)
    return part, known.missing


def restore[T: Part](kind: type[T], stored: bytes, texts: Mapping[str, str]) -> T:
    """Return a part with all its texts.

    Raises:
        Erased: names the texts that are gone.
    """
    part, missing = read(kind, stored, texts)
    if missing:
        raise Erased(missing)
    return part


def rebuild(segments: Sequence[Segment], marked: Sequence[int], texts: Mapping[str, str]) -> Prompt:
    """Return the prompt as it was sent, from segments whose pieces are hashes and all their texts."""
    return render([_with_texts(segment, texts) for segment in segments], marked)


def _with_texts(segment: Segment, texts: Mapping[str, str]) -> Segment:
    return replace(
        segment, blocks=tuple(replace(one, pieces=tuple(texts[key] for key in one.pieces)) for one in segment.blocks)
    )


@dataclass(frozen=True, slots=True)
class ErasureQuery:
    """What is erased: sources by table and id, whole turns by id, and turns of the prompt's session by number."""

    sources: Set[tuple[str, str]] = frozenset()
    turns: Set[str] = frozenset()
    numbers: Set[int] = frozenset()

    def covers(self, node: object) -> bool:
        """Return whether this part of a record is erased as a whole."""
        match node:
            case Source():
                first = node.id.partition("/")[0] if node.table in _OF_SESSIONS else node.id
                return (node.table, first) in self.sources
            case Item():
                return any(self.covers(one) for one in (node.source, *node.also))
            case Message() | Kept():
                return self.covers(node.source)
            case PastTurn():
                return node.id in self.turns
            case Summary():
                return bool(self.numbers) and node.until >= min(self.numbers)
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
        parts: list[Part] = []
        if inputs is not None:
            parts.append(read(PromptInputs, inputs)[0])
        if step is not None:
            parts.append(read(PromptStepRecord, step)[0])
        text = "\n".join(zlib.decompress(one).decode() for one in (inputs, step) if one is not None)
        return cls(tuple(_nodes(parts)), text)

    @property
    def texts(self) -> set[str]:
        """The hashes of all texts that it names."""
        return {str(node) for node in self.nodes if isinstance(node, TextHash)} - {_EMPTY}

    def texts_of(self, query: ErasureQuery) -> set[str]:
        """Return the hashes of the texts that are erased with what the query covers."""
        return {key for node in self.nodes for key in _erased_texts(node, query)} - {_EMPTY}

    def personal_texts(self) -> set[str]:
        """Return the hashes of the texts that are not the tenant's own."""
        return self.texts - self.tenant_texts()

    def tenant_texts(self) -> set[str]:
        """Return the hashes of the tenant's own texts: its persona, tools, records and documents."""
        return {key for node in self.nodes for key in _tenant_texts(node)}

    def names(self, handles: Iterable[str]) -> bool:
        """Return whether one of these handles stands in it outside its texts."""
        return any(f'"{one}"' in self.text for one in handles)


def without_handles(stored: bytes, handles: Iterable[str]) -> bytes:
    """Return a stored part with a handle that leads to nothing in the place of each of these."""
    text = zlib.decompress(stored).decode()
    for one in handles:
        text = text.replace(f'"{one}"', f'"{one.partition("/")[0]}/{_ERASED_KEY}"')
    return zlib.compress(text.encode(), _LEVEL)


def message_hashes(body: str) -> set[str]:
    """Return the hashes under which the text of a message may be stored."""
    return {text_hash(body), text_hash(foreign(body))}


def block_hashes(text: str) -> set[str]:
    """Return the hashes of the blocks that a message of calls, stored as JSON, was sent as; none for other texts."""
    with suppress(ValueError):
        message = json.loads(text) if text.startswith("{") else None
        content = message.get("content") if isinstance(message, dict) else None
        return {text_hash(canonical(one)) for one in content or () if isinstance(one, dict)}
    return set()


def _erased_texts(node: object, query: ErasureQuery) -> Iterable[str]:
    if isinstance(node, Lead):
        return [line for line, turn in zip(node.recap, node.turns, strict=False) if turn in query.numbers]
    if isinstance(node, Pinned):  # its items are stored without their words: the pieces in their places
        pieces = [piece for block in node.segment.blocks for piece in block.pieces]
        return [pieces[one.place] for one in node.held if query.covers(one.item) and one.place < len(pieces)]
    return _hashes(node) if query.covers(node) else ()


def _tenant_texts(node: object) -> Iterable[str]:
    match node:
        case Item() if node.lot in _TENANT_LOTS:
            return _hashes(node)
        case Segment() if node.layer in _TENANT_LAYERS:
            return _hashes(node)
        case Materials():
            return _hashes([node.tools, node.reminders, node.floating, node.about])
        case Begun():
            return _hashes(node.reminders)
        case Pinned():
            return _hashes(node.about)
        case _:
            return ()


def _hashes(value: object) -> Iterator[str]:
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
