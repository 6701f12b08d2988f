"""The records of a turn's prompts, read back: what stood where by the hashes of its words, and the words beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.context import cache
from parlour.context.cache import Served
from parlour.context.ledger import Entry
from parlour.context.pins import Cause
from parlour.context.prompt_record import PromptInputs, PromptStepRecord
from parlour.context.prompt_record import read as read_part
from parlour.context.render import in_order
from parlour.context.segment import Block, Segment, Source
from parlour.infra.errors import NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import roles
from parlour.turns.prompts import fates, store
from parlour.turns.prompts.store import LedgerRow, Place, Reported

_NOTHING_KEPT = (
    "there is no such turn, or no record of its prompts: no model was asked in it, or the record's retention is over"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt of a turn. Segments, in the order of their bytes, and entries name their words by hash.

    inputs         what it has in common with the others since the turn was begun, or begun anew; texts by their hash.
    rows           the records since then, up to its own.
    causes         why the briefing was rendered anew; only a turn's first prompt has any.
    served         what the provider had of the prompt before, as far as its words are still there to tell.
    marked_before  after how many blocks the prompt before was marked.
    is_anew        the turn was begun anew with it: it was redriven, or what the prompts before told of was closed.
    """

    step: int
    at: datetime
    model: str
    hash: str
    inputs: PromptInputs
    rows: tuple[LedgerRow, ...]
    record: PromptStepRecord
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    causes: tuple[Cause, ...]
    served: Served
    marked_before: tuple[int, ...]
    is_anew: bool = False

    @property
    def tokens(self) -> int:
        """What it counts for in the budget."""
        return sum(one.tokens for one in self.segments)

    @property
    def cached(self) -> int:
        """How many of its first blocks the provider was to read from its cache: up to the last mark of the prompt
        before whose bytes are the same."""
        return max((place for place in self.marked_before if place <= self.served.blocks), default=0)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The prompts of one turn.

    kept      the texts that they name, by hash; those that were forgotten are missing.
    words     the same as its reader may see them now: `CLOSED` in the place of what is `withheld`.
    gone      the sources of them that were deleted since.
    """

    turn_id: UUID
    place: Place
    asked: tuple[Asked, ...]
    kept: Mapping[str, str]
    words: Mapping[str, str]
    withheld: frozenset[str]
    gone: tuple[Source, ...]
    reported: Mapping[int, Reported]

    def step(self, number: int | None) -> Asked:
        """The prompt of a step, the last for None. NotFound when the turn had no such step."""
        found = self.asked[-1] if number is None else next((one for one in self.asked if one.step == number), None)
        if found is None:
            known = ", ".join(str(one.step) for one in self.asked)
            raise NotFound(f"this turn has no record of a step {number}; it has {known}")
        return found

    def before(self, asked: Asked) -> Asked:
        """The prompt before one; the first is told as it is."""
        return self.asked[max(0, self.asked.index(asked) - 1)]

    def shown(self) -> set[str]:
        """The hashes of what stood in the turn's prompts and of its candidates: a record names more, such as words that
        its reader was not to see."""
        blocks = [block for one in self.asked for each in one.segments for block in each.blocks]
        items = [entry.item for one in self.asked for entry in one.entries]
        pieces = {piece for block in blocks for piece in block.pieces}
        return pieces.union(text for one in items for text in (one.text, one.title))


def read(principal: Principal, tx: Transaction, turn_id: UUID) -> Recorded:
    """The records of a turn's prompts, for a viewer of the tenant.

    NotFound when there are none, or when the turn is one of a binding or a user of more clearance than the reader's;
    prompts that were made for more clearance are not there for the reader either. What was deleted or closed to the
    reader since is withheld.
    """
    roles.require(principal, "viewer")
    place = store.place(tx, turn_id)
    asked, kept = _read(tx, store.begun(store.ledgers(tx, turn_id, principal.clearance)), principal.clearance)
    if place is None or not asked:
        raise NotFound(_NOTHING_KEPT)
    became = _became(principal, tx, place, asked, kept)
    words = {**kept, **dict.fromkeys(became.withheld, fates.CLOSED)}
    return Recorded(
        turn_id, place, asked, kept, words, became.withheld, became.gone, store.reported(tx, turn_id)
    )  # fmt: skip


def _read(
    tx: Transaction, begun: Sequence[Sequence[LedgerRow]], clearance: int
) -> tuple[tuple[Asked, ...], Mapping[str, str]]:
    """The prompts each time that the turn was begun, and their words."""
    asked: list[Asked] = []
    kept: dict[str, str] = {}
    for number, rows in enumerate(begun):
        inputs, hashes = read_part(PromptInputs, rows[0].basis or b"")
        if inputs.begun.moment.clearance > clearance:
            continue
        records = [read_part(PromptStepRecord, row.made) for row in rows]
        words = store.blobs(tx, rows[0].month, sorted(hashes.union(*(more for _, more in records))))
        kept.update(words)
        asked += _asked(inputs, rows, [one for one, _ in records], words, is_anew=number > 0)
    return tuple(asked), kept


def _became(
    principal: Principal, tx: Transaction, place: Place, asked: Sequence[Asked], kept: Mapping[str, str]
) -> fates.Standing:
    items = [entry.item for one in asked for entry in one.entries]
    given = [item for one in asked for item in (*one.inputs.materials.briefing, *one.inputs.materials.tail)]
    leads = [one.inputs.begun.standing.lead for one in asked]
    recap = [pair for lead in leads for pair in zip(lead.recap, lead.turns, strict=False)]
    segments = [segment for one in asked for segment in one.segments]
    return fates.standing(principal, tx, place.session_id, [*items, *given], segments, recap, kept)


def _asked(
    inputs: PromptInputs,
    rows: Sequence[LedgerRow],
    records: Sequence[PromptStepRecord],
    words: Mapping[str, str],
    *,
    is_anew: bool,
) -> list[Asked]:
    """The prompts since a turn was begun, each held against the one before as it was when it was made."""
    standing, causes, found = inputs.standing, inputs.begun.causes, list[Asked]()
    for place, (row, record) in enumerate(zip(rows, records, strict=True)):
        segments = tuple(in_order([*inputs.begun.segments, *record.segments]))
        prints = cache.prints([_said(one, words) for one in segments])
        served = cache.compare(
            standing.prints, prints, asked=standing.asked, at=row.at, same_model=row.model == standing.model,
            causes=causes,
        )  # fmt: skip
        found.append(
            Asked(
                row.step, row.at, row.model, row.prompt_hash, inputs, tuple(rows[: place + 1]), record, segments,
                (*inputs.begun.entries, *record.entries), causes, served, standing.marked, is_anew and place == 0,
            )
        )  # fmt: skip
        standing, causes = standing.after_asking(row.at, row.model, prints, record.marked), ()
    return found


def _said(segment: Segment, words: Mapping[str, str]) -> Segment:
    """A segment with its words; a hash stands where they were forgotten, and is no words of anybody's."""
    return replace(segment, blocks=tuple(replace(one, pieces=pieces_of(one, words)) for one in segment.blocks))


def pieces_of(block: Block, words: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a block's pieces, the hash in the place of what was forgotten."""
    return tuple(words.get(one, one) for one in block.pieces)
