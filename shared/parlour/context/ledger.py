"""The record of a prompt: every candidate, in or out and why, and the prompt's bytes so that it can be built again."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import Literal, get_args

from parlour.context.cache import Miss
from parlour.context.pins import Cause
from parlour.context.render import Prompt, render
from parlour.context.segment import Item, Layer, Segment
from parlour.infra.errors import NotFound

type Reason = Literal[
    "over_budget", "covered_by_pulse", "below_floor", "duplicate", "clearance", "too_large", "unreadable", "cut"
]  # fmt: skip
"""Why a candidate is out: no room; the Pulse says it already, and there was no room for it besides; its score is too
low to help; another one says the same; its reader may not see it; it alone is larger than its layer may be; it is a
file of which there is only a name; the history was cut and the recap speaks for it."""

REASONS: tuple[str, ...] = get_args(Reason.__value__)


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate and what became of it. `tokens` is what it takes, or would have; `reason` is None when it is in.

    shortened  it is in with fewer words than it has.
    """

    item: Item
    tokens: int
    reason: Reason | None = None
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """One prompt, accounted for.

    entries   every candidate of the turn, and the results of its calls; of a pinned briefing those that are in it. What
              had no place in it was accounted for when it was rendered.
    segments  the prompt's blocks.
    marked    after how many of its blocks it was marked for the cache.
    cause     why the briefing was rendered anew; None when the pinned one stayed.
    miss      what of the last prompt was lost, None when nothing was.
    """

    entries: tuple[Entry, ...]
    segments: tuple[Segment, ...]
    marked: tuple[int, ...]
    cause: Cause | None = None
    miss: Miss | None = None

    @property
    def tokens_by_layer(self) -> dict[str, int]:
        """The tokens of each layer, in the order of the layers; layers without any are left out."""
        found: dict[Layer, int] = {}
        for segment in self.segments:
            found[segment.layer] = found.get(segment.layer, 0) + segment.tokens
        return {layer.name.lower(): found[layer] for layer in sorted(found) if found[layer]}

    def blobs(self) -> dict[str, str]:
        """Every text of the ledger by its hash: the prompt's pieces, and the candidates that are out. What its reader
        may not see is not kept."""
        pieces = [piece for segment in self.segments for block in segment.blocks for piece in block.pieces]
        out = [entry.item.text for entry in self.entries if entry.reason not in {None, "clearance"}]
        return {text_hash(text): text for text in [*pieces, *out]}


def text_hash(text: str) -> str:
    """What a text is kept under: the hex SHA-256 of its canonical JSON."""
    return hashlib.sha256(encode_basestring(text).encode()).hexdigest()


class Forgotten(NotFound):
    """Parts of this prompt were forgotten; it cannot be built again byte for byte."""

    def __init__(self, hashes: Iterable[str]) -> None:
        gone = sorted(hashes)
        named = ", ".join(one[:12] for one in gone[:5])
        super().__init__(f"{len(gone)} parts of this prompt were forgotten, or their retention is over: {named}")
        self.hashes = tuple(gone)


def rebuild(segments: Sequence[Segment], marked: Sequence[int], blobs: Mapping[str, str]) -> Prompt:
    """The prompt as it was sent, from what was `recorded` of it. Forgotten names the texts that are gone."""
    if missing := {piece for one in segments for block in one.blocks for piece in block.pieces} - blobs.keys():
        raise Forgotten(missing)
    return render([_with_pieces(one, blobs.__getitem__) for one in segments], marked)


def recorded(segment: Segment) -> Segment:
    """A segment with the hashes of its pieces in the place of its pieces."""
    return _with_pieces(segment, text_hash)


def _with_pieces(segment: Segment, piece: Callable[[str], str]) -> Segment:
    blocks = tuple(replace(block, pieces=tuple(map(piece, block.pieces))) for block in segment.blocks)
    return replace(segment, blocks=blocks)
