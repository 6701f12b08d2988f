"""Two prompts compared: whose bytes changed, from where on, and which candidates came and went."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from uuid import UUID

from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.segment import Block, Layer, Segment
from parlour.prompts.ledger import explanation, recorded_prompts, source_status
from parlour.prompts.ledger.recorded_prompts import RecordedPrompt, RecordedTurn, piece_texts

_EXCERPT_CHARS = 60
"""Letters shown of each side from the first change on."""


@dataclass(frozen=True, slots=True)
class _ComparedPrompt:
    """One of two prompts: its record, its step, and its blocks in the order of their bytes."""

    recorded: RecordedTurn
    prompt: RecordedPrompt

    @property
    def blocks(self) -> list[tuple[Layer, Block]]:
        return [(one.layer, block) for one in self.prompt.segments for block in one.blocks]

    def to_json(self) -> JsonObject:
        return {
            "turn_id": str(self.recorded.turn_id),
            "number": self.recorded.position.number,
            "step": self.prompt.step,
            "hash": self.prompt.prompt_hash,
            "tokens": self.prompt.tokens,
            "restarted": self.prompt.is_restart,
        }


def compare_turn_prompts(
    principal: Principal,
    tx: Transaction,
    turn_id: UUID,
    before_turn_id: UUID,
    step: int | None = None,
    before_step: int | None = None,
) -> JsonObject:
    """Compare a prompt of turn `before_turn_id` with one of `turn_id`, for a viewer of the tenant.

    Without steps the turn's first prompt is compared with the last of the turn before, which is what the provider was
    sent last; inside one turn the last with the one before it.

    {"before", "after": {"turn_id", "number", "step", "restarted", "hash", "tokens"}, "is_same": bool, "segments":
    [{"layer", "placement", "change", "before", "after", "delta"}], "first_change": {"block", "layer", "byte", "within",
    "before", "after"} | null, "added", "removed", "now_in", "now_out": candidates}

    `byte` counts from the prompt's first block on, without cache breakpoints: they are no part of what is cached.
    NotFound as `read_recorded_turn`.
    """
    later = recorded_prompts.read_recorded_turn(principal, tx, turn_id)
    earlier = later if before_turn_id == turn_id else recorded_prompts.read_recorded_turn(principal, tx, before_turn_id)
    if before_turn_id == turn_id:
        after = later.prompt_of_step(step)
        one = _ComparedPrompt(
            earlier, earlier.prompt_of_step(before_step) if before_step else earlier.previous_prompt(after)
        )
    else:
        after = later.prompt_of_step(step or later.prompts[0].step)
        one = _ComparedPrompt(earlier, earlier.prompt_of_step(before_step))
    other = _ComparedPrompt(later, after)
    words = {**one.recorded.visible_texts, **other.recorded.visible_texts}
    words |= dict.fromkeys(
        one.recorded.withheld_hashes | other.recorded.withheld_hashes, source_status.WITHHELD_PLACEHOLDER
    )
    first = _first_change(one.blocks, other.blocks, {**one.recorded.stored_texts, **other.recorded.stored_texts})
    if first is not None:
        place = int(str(first["block"])) - 1
        told = [(name, side, side.blocks[place : place + 1]) for name, side in (("before", one), ("after", other))]
        hidden = {
            name: source_status.WITHHELD_PLACEHOLDER
            for name, side, blocks in told
            if any(piece in side.recorded.withheld_hashes for _, block in blocks for piece in block.pieces)
        }
        first = {**first, **hidden}
    return {
        "before": one.to_json(),
        "after": other.to_json(),
        "is_same": one.prompt.prompt_hash == other.prompt.prompt_hash,
        "segments": _segment_changes(one.prompt.segments, other.prompt.segments),
        "first_change": first,
        **_candidate_changes(_comparable_entries(one, other), _comparable_entries(other, one), words),
    }


def _comparable_entries(side: _ComparedPrompt, other: _ComparedPrompt) -> list[LedgerEntry]:
    """Return the candidates of a side that the other has, too; of a cached briefing only those that are in."""
    both = bool(side.prompt.refresh_causes and other.prompt.refresh_causes)
    return [one for one in side.prompt.entries if both or not one.reason or one.item.kind.layer is not Layer.BRIEFING]


def _segment_changes(one: Sequence[Segment], other: Sequence[Segment]) -> list[Json]:
    places = dict.fromkeys((each.layer, each.placement) for each in sorted([*one, *other], key=lambda x: x.layer))
    found: list[Json] = []
    for layer, placement in places:
        before, after = (
            [each for each in side if (each.layer, each.placement) == (layer, placement) and each.blocks]
            for side in (one, other)
        )
        if before or after:
            had, has = sum(each.tokens for each in before), sum(each.tokens for each in after)
            found.append(
                {
                    "layer": layer.name.lower(),
                    "placement": placement,
                    "change": _change_kind(before, after),
                    "before": had,
                    "after": has,
                    "delta": has - had,
                }
            )
    return found


def _change_kind(before: Sequence[Segment], after: Sequence[Segment]) -> str:
    """Return same, added, removed, grown (everything is still there, and more follows) or changed."""
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
    same = sum(
        1 for _ in takewhile(lambda pair: _block_text(pair[0][1], words) == _block_text(pair[1][1], words), pairs)
    )
    if same == len(one) == len(other):
        return None
    before, after = (_block_text(side[same][1], words) if same < len(side) else "" for side in (one, other))
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip_longest(before, after)))
    layer = (other if same < len(other) else one)[same][0]
    within = len(after[:alike].encode())
    return {
        "block": same + 1,
        "layer": layer.name.lower(),
        "within": within,
        "byte": sum(len(_block_text(block, words).encode()) for _, block in other[:same]) + within,
        "before": before[alike : alike + _EXCERPT_CHARS],
        "after": after[alike : alike + _EXCERPT_CHARS],
    }


def _block_text(block: Block, words: Mapping[str, str]) -> str:
    """Return a block as its text is sent; a hash in place of an erased text."""
    said = "".join(piece_texts(block, words))
    return said if block.is_json else canonical_json({"type": "text", "text": said})


def _candidate_changes(
    before: Sequence[LedgerEntry], after: Sequence[LedgerEntry], words: Mapping[str, str]
) -> JsonObject:
    """Who is new, who is gone, and who changed sides."""
    had, has = _entries_by_source(before), _entries_by_source(after)
    sides = {key for key in had.keys() & has.keys() if (had[key].reason is None) != (has[key].reason is None)}
    chosen = {
        "added": [one for key, one in has.items() if key not in had],
        "removed": [one for key, one in had.items() if key not in has],
        "now_in": [has[key] for key in has if key in sides and has[key].reason is None],
        "now_out": [has[key] for key in has if key in sides and has[key].reason is not None],
    }
    return {name: [explanation.candidate_json(one, words) for one in entries] for name, entries in chosen.items()}


def _entries_by_source(entries: Sequence[LedgerEntry]) -> dict[tuple[object, ...], LedgerEntry]:
    """Entries by lot and source, those of one source told apart by their number."""
    seen: Counter[tuple[object, ...]] = Counter()
    found: dict[tuple[object, ...], LedgerEntry] = {}
    for one in entries:
        key = (one.item.kind, one.item.source.table, one.item.source.id)
        found[*key, seen[key]] = one
        seen[key] += 1
    return found
