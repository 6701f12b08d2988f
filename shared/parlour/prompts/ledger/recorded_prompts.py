"""The records of a turn's prompts, read back: what stood where by the hashes of its words, and the words beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly import cache_hits
from parlour.prompts.assembly.briefing_cache import RefreshCause
from parlour.prompts.assembly.cache_hits import CacheHit
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.rendering import sort_segments
from parlour.prompts.assembly.segment import Block, Segment, Source
from parlour.prompts.ledger import source_status, store
from parlour.prompts.ledger.prompt_record import PromptInputs, PromptStepRecord
from parlour.prompts.ledger.prompt_record import deserialize_part as read_part
from parlour.prompts.ledger.store import LedgerRow, ReportedUsage, TurnPosition
from parlour.tenancy import roles

_NOT_FOUND = "turn not found, or it has no stored prompts: it called no model, or the retention period is over"


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """One prompt of a turn. Segments, in the order of their bytes, and entries name their texts by hash.

    inputs                what it shares with the other prompts since the turn was begun or restarted; texts by their
                          hashes.
    ledger_rows           the records since then, up to its own.
    refresh_causes        why the briefing was rendered; only a turn's first prompt has any.
    cache_hit             what the provider had cached of the previous prompt, as far as its texts are still there.
    previous_breakpoints  after how many blocks the previous prompt had its cache breakpoints.
    is_restart            the turn was restarted with it: it was redriven, or a source of earlier prompts was
                          restricted.
    """

    step: int
    at: datetime
    model: str
    prompt_hash: str
    inputs: PromptInputs
    ledger_rows: tuple[LedgerRow, ...]
    step_record: PromptStepRecord
    segments: tuple[Segment, ...]
    entries: tuple[LedgerEntry, ...]
    refresh_causes: tuple[RefreshCause, ...]
    cache_hit: CacheHit
    previous_breakpoints: tuple[int, ...]
    is_restart: bool = False

    @property
    def tokens(self) -> int:
        """What it counts for in the budget."""
        return sum(one.tokens for one in self.segments)

    @property
    def cached_blocks(self) -> int:
        """How many of its first blocks the provider was to read from its cache: up to the last mark of the prompt
        before whose bytes are the same."""
        return max((place for place in self.previous_breakpoints if place <= self.cache_hit.block_count), default=0)


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """The prompts of one turn.

    stored_texts     the texts that they name, by hash; erased ones are missing.
    visible_texts    the same as its reader may see them now: a placeholder in place of what is withheld.
    withheld_hashes  of the texts that are withheld from the reader.
    deleted_sources  the sources of them that were deleted since.
    """

    turn_id: UUID
    position: TurnPosition
    prompts: tuple[RecordedPrompt, ...]
    stored_texts: Mapping[str, str]
    visible_texts: Mapping[str, str]
    withheld_hashes: frozenset[str]
    deleted_sources: tuple[Source, ...]
    usage_by_step: Mapping[int, ReportedUsage]

    def prompt_of_step(self, number: int | None) -> RecordedPrompt:
        """Return the prompt of a step, the last for None. NotFound when the turn had no such step."""
        found = self.prompts[-1] if number is None else next((one for one in self.prompts if one.step == number), None)
        if found is None:
            known = ", ".join(str(one.step) for one in self.prompts)
            raise NotFound(f"this turn has no stored prompt for step {number}; it has {known}")
        return found

    def previous_prompt(self, asked: RecordedPrompt) -> RecordedPrompt:
        """Return the prompt before one; the first itself for the first."""
        return self.prompts[max(0, self.prompts.index(asked) - 1)]

    def visible_hashes(self) -> set[str]:
        """Return the hashes of the texts in the turn's prompts and of its candidates.

        A record names more, such as texts that its reader was not to see.
        """
        blocks = [block for one in self.prompts for each in one.segments for block in each.blocks]
        items = [entry.item for one in self.prompts for entry in one.entries]
        pieces = {piece for block in blocks for piece in block.pieces}
        return pieces.union(text for one in items for text in (one.text, one.title))


def read_recorded_turn(principal: Principal, tx: Transaction, turn_id: UUID) -> RecordedTurn:
    """Return the records of a turn's prompts, for a viewer of the tenant.

    NotFound when there are none, or when the turn's binding or user has more clearance than the reader; prompts that
    were made for more clearance are left out. What was deleted or restricted since is withheld.
    """
    roles.require_role(principal, "viewer")
    place = store.find_turn_position(tx, turn_id)
    asked, kept = _read_prompts(
        tx, store.group_by_inputs(store.list_ledger_rows(tx, turn_id, principal.clearance)), principal.clearance
    )
    if place is None or not asked:
        raise NotFound(_NOT_FOUND)
    items = [entry.item for one in asked for entry in one.entries]
    given = [
        item
        for one in asked
        for item in (*one.inputs.materials.briefing_candidates, *one.inputs.materials.tail_candidates)
    ]
    leads = [one.inputs.prepared_turn.cache_state.compacted_history for one in asked]
    recap = [pair for lead in leads for pair in zip(lead.recap, lead.recap_turns, strict=False)]
    segments = [segment for one in asked for segment in one.segments]
    became = source_status.find_restrictions(principal, tx, place.session_id, [*items, *given], segments, recap, kept)
    words = {**kept, **dict.fromkeys(became.withheld_hashes, source_status.WITHHELD_PLACEHOLDER)}
    return RecordedTurn(
        turn_id,
        place,
        asked,
        kept,
        words,
        became.withheld_hashes,
        became.deleted_sources,
        store.read_reported_usage(tx, turn_id),
    )


def _read_prompts(
    tx: Transaction, begun: Sequence[Sequence[LedgerRow]], clearance: int
) -> tuple[tuple[RecordedPrompt, ...], Mapping[str, str]]:
    """Return the prompts of each time that the turn was begun, and their texts."""
    asked: list[RecordedPrompt] = []
    kept: dict[str, str] = {}
    for number, rows in enumerate(begun):
        inputs, hashes = read_part(PromptInputs, rows[0].prompt_inputs or b"")
        if inputs.prepared_turn.context.clearance > clearance:
            continue
        records = [read_part(PromptStepRecord, row.step_record) for row in rows]
        words = store.read_texts(tx, rows[0].month, sorted(hashes.union(*(more for _, more in records))))
        kept.update(words)
        asked += _recorded_prompts(inputs, rows, [one for one, _ in records], words, is_anew=number > 0)
    return tuple(asked), kept


def _recorded_prompts(
    inputs: PromptInputs,
    rows: Sequence[LedgerRow],
    records: Sequence[PromptStepRecord],
    words: Mapping[str, str],
    *,
    is_anew: bool,
) -> list[RecordedPrompt]:
    """Return the prompts since a turn was begun, each compared with the one before as it was made."""
    standing, causes, found = inputs.cache_state, inputs.prepared_turn.refresh_causes, list[RecordedPrompt]()
    for place, (row, record) in enumerate(zip(rows, records, strict=True)):
        segments = tuple(sort_segments([*inputs.prepared_turn.segments, *record.segments]))
        prints = cache_hits.fingerprint_blocks([_segment_with_texts(one, words) for one in segments])
        served = cache_hits.compare_prompts(
            standing.fingerprints,
            prints,
            last_asked_at=standing.last_asked_at,
            at=row.at,
            is_same_model=row.model == standing.model,
            refresh_causes=causes,
        )
        found.append(
            RecordedPrompt(
                row.step,
                row.at,
                row.model,
                row.prompt_hash,
                inputs,
                tuple(rows[: place + 1]),
                record,
                segments,
                (*inputs.prepared_turn.entries, *record.entries),
                causes,
                served,
                standing.breakpoints,
                is_anew and place == 0,
            )
        )
        standing, causes = standing.after_prompt(row.at, row.model, prints, record.breakpoints), ()
    return found


def _segment_with_texts(segment: Segment, words: Mapping[str, str]) -> Segment:
    """Return a segment with its texts; a hash stands in place of an erased text."""
    return replace(segment, blocks=tuple(replace(one, pieces=piece_texts(one, words)) for one in segment.blocks))


def piece_texts(block: Block, words: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts of a block's pieces, a hash in place of an erased text."""
    return tuple(words.get(one, one) for one in block.pieces)
