"""Two prompts compared: whose bytes changed, from where on, and which candidates came and went."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from uuid import UUID

from parlour.context.ledger import Entry
from parlour.context.segment import Block, Layer, Segment
from parlour.infra.jsonable import Json, JsonObject, canonical
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.turns.prompts import explain, fates, recorded
from parlour.turns.prompts.recorded import Asked, Recorded, pieces_of

_AROUND = 60
"""Letters shown of each side from the first change on."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two prompts: its record, its step, and its blocks in the order of their bytes."""

    found: Recorded
    asked: Asked

    @property
    def blocks(self) -> list[tuple[Layer, Block]]:
        return [(one.layer, block) for one in self.asked.segments for block in one.blocks]

    def to_json(self) -> JsonObject:
        return {
            "turn_id": str(self.found.turn_id), "number": self.found.place.number, "step": self.asked.step,
            "hash": self.asked.hash, "tokens": self.asked.tokens, "anew": self.asked.is_anew,
        }  # fmt: skip


def diff(
    principal: Principal, tx: Transaction, turn_id: UUID, before: UUID,
    step: int | None = None, before_step: int | None = None,
) -> JsonObject:  # fmt: skip
    """What changed from a prompt of turn `before` to one of `turn_id`, for a viewer of the tenant.

    Without steps the turn's first prompt is held against the last of the one before, which is what the provider was
    sent last; inside one turn the last against the one before it.

    {"before", "after": {"turn_id", "number", "step", "anew", "hash", "tokens"}, "same": bool,
     "segments": [{"layer", "placement", "change", "before", "after", "delta"}],
     "first_change": {"block", "layer", "byte", "within", "before", "after"} | null,
     "added", "removed", "now_in", "now_out": candidates}

    `byte` counts from the prompt's first block on, marks of the cache left out: they are no part of what is cached.
    NotFound as `recorded.read`.
    """
    later = recorded.read(principal, tx, turn_id)
    earlier = later if before == turn_id else recorded.read(principal, tx, before)
    if before == turn_id:
        after = later.step(step)
        one = _Side(earlier, earlier.step(before_step) if before_step else earlier.before(after))
    else:
        after = later.step(step or later.asked[0].step)
        one = _Side(earlier, earlier.step(before_step))
    return _compared(one, _Side(later, after))


def _compared(one: _Side, other: _Side) -> JsonObject:
    words = {**one.found.words, **other.found.words}
    words |= dict.fromkeys(one.found.withheld | other.found.withheld, fates.CLOSED)
    first = _first_change(one.blocks, other.blocks, {**one.found.kept, **other.found.kept})
    if first is not None:
        first = _as_shown(first, one, other)
    return {
        "before": one.to_json(), "after": other.to_json(), "same": one.asked.hash == other.asked.hash,
        "segments": _segments(one.asked.segments, other.asked.segments), "first_change": first,
        **_candidates(_told(one, other), _told(other, one), words),
    }  # fmt: skip


def _told(side: _Side, other: _Side) -> list[Entry]:
    """The candidates of a side that the other tells of, too: of a briefing that stayed pinned only what is in."""
    both = bool(side.asked.causes and other.asked.causes)
    return [one for one in side.asked.entries if both or not one.reason or one.item.lot.layer is not Layer.BRIEFING]


def _segments(one: Sequence[Segment], other: Sequence[Segment]) -> list[Json]:
    places = dict.fromkeys((each.layer, each.placement) for each in sorted([*one, *other], key=lambda x: x.layer))
    found: list[Json] = []
    for layer, placement in places:
        before, after = (
            [each for each in side if (each.layer, each.placement) == (layer, placement) and each.blocks]
            for side in (one, other)
        )
        if before or after:
            had, has = sum(each.tokens for each in before), sum(each.tokens for each in after)
            found.append({
                "layer": layer.name.lower(), "placement": placement, "change": _change(before, after),
                "before": had, "after": has, "delta": has - had,
            })  # fmt: skip
    return found


def _change(before: Sequence[Segment], after: Sequence[Segment]) -> str:
    """same, added, removed, grown (all that was there still is, and more follows it) or changed."""
    if not before or not after:
        return "added" if after else "removed"
    had, has = ([block.pieces for each in side for block in each.blocks] for side in (before, after))
    if had == has:
        return "same"
    return "grown" if has[: len(had)] == had else "changed"


def _first_change(
    one: Sequence[tuple[Layer, Block]], other: Sequence[tuple[Layer, Block]], words: Mapping[str, str]
) -> JsonObject | None:
    """Where the bytes part: the block, how far into it, and how both sides go on; None where neither does."""
    pairs = zip(one, other, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: _sent(pair[0][1], words) == _sent(pair[1][1], words), pairs))
    if same == len(one) == len(other):
        return None
    before, after = (_sent(side[same][1], words) if same < len(side) else "" for side in (one, other))
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip_longest(before, after)))
    layer = (other if same < len(other) else one)[same][0]
    within = len(after[:alike].encode())
    return {
        "block": same + 1, "layer": layer.name.lower(), "within": within,
        "byte": sum(len(_sent(block, words).encode()) for _, block in other[:same]) + within,
        "before": before[alike : alike + _AROUND], "after": after[alike : alike + _AROUND],
    }  # fmt: skip


def _as_shown(first: JsonObject, one: _Side, other: _Side) -> JsonObject:
    """Where the bytes part, without words that the reader may not see."""
    place = int(str(first["block"])) - 1
    told = [(name, side, side.blocks[place : place + 1]) for name, side in (("before", one), ("after", other))]
    hidden = {
        name: fates.CLOSED
        for name, side, blocks in told
        if any(piece in side.found.withheld for _, block in blocks for piece in block.pieces)
    }
    return {**first, **hidden}


def _sent(block: Block, words: Mapping[str, str]) -> str:
    """A block as its text is sent; a hash in the place of what was forgotten."""
    said = "".join(pieces_of(block, words))
    return said if block.is_json else canonical({"type": "text", "text": said})


def _candidates(before: Sequence[Entry], after: Sequence[Entry], words: Mapping[str, str]) -> JsonObject:
    """Who is new, who is gone, and who changed sides."""
    had, has = _by_source(before), _by_source(after)
    sides = {key for key in had.keys() & has.keys() if (had[key].reason is None) != (has[key].reason is None)}
    chosen = {
        "added": [one for key, one in has.items() if key not in had],
        "removed": [one for key, one in had.items() if key not in has],
        "now_in": [has[key] for key in has if key in sides and has[key].reason is None],
        "now_out": [has[key] for key in has if key in sides and has[key].reason is not None],
    }
    return {name: [explain.candidate(one, words) for one in entries] for name, entries in chosen.items()}


def _by_source(entries: Sequence[Entry]) -> dict[tuple[object, ...], Entry]:
    """Entries by lot and source, those of one source told apart by their number."""
    seen: Counter[tuple[object, ...]] = Counter()
    found: dict[tuple[object, ...], Entry] = {}
    for one in entries:
        key = (one.item.lot, one.item.source.table, one.item.source.id)
        found[*key, seen[key]] = one
        seen[key] += 1
    return found
