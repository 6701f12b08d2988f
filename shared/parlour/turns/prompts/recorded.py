"""The records of a turn's prompts, read back: what stood where by the hashes of its words, and the words beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from uuid import UUID

from parlour.context import cache
from parlour.context.cache import Served
from parlour.context.ledger import Entry
from parlour.context.pins import Cause
from parlour.context.render import in_order
from parlour.context.segment import Block, Segment
from parlour.infra.errors import NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import roles
from parlour.turns.prompts import store
from parlour.turns.prompts.forms import Basis, Made, hashes, named
from parlour.turns.prompts.store import LedgerRow, Place, Reported

_NOTHING_KEPT = (
    "there is no such turn, or no record of its prompts: no model was asked in it, or the record's retention is over"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt of a turn. Segments, in the order of their bytes, and entries name their words by hash.

    causes         why the briefing was rendered anew; only a turn's first prompt has any.
    served         what the provider had of the prompt before, as far as its words are still there to tell.
    marked_before  after how many blocks the prompt before was marked.
    """

    step: int
    at: datetime
    model: str
    hash: str
    made: Made
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    causes: tuple[Cause, ...]
    served: Served
    marked_before: tuple[int, ...]

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

    basis  what they have in common, words named by hash.
    rows   the records as they are kept.
    words  the texts that they name, by hash; those that were forgotten are missing.
    """

    turn_id: UUID
    place: Place
    month: date
    basis: Basis
    asked: tuple[Asked, ...]
    rows: tuple[LedgerRow, ...]
    words: Mapping[str, str]
    reported: Mapping[int, Reported]

    def step(self, number: int | None) -> Asked:
        """The prompt of a step, the last for None. NotFound when the turn had no such step."""
        found = self.asked[-1] if number is None else next((one for one in self.asked if one.step == number), None)
        if found is None:
            known = ", ".join(str(one.step) for one in self.asked)
            raise NotFound(f"this turn has no record of a step {number}; it has {known}")
        return found

    def shown(self) -> set[str]:
        """The hashes of what stood in the turn's prompts and of its candidates: a record names more, such as words that
        its reader was not to see."""
        blocks = [block for one in self.asked for each in one.segments for block in each.blocks]
        items = [entry.item for one in self.asked for entry in one.entries]
        pieces = {piece for block in blocks for piece in block.pieces}
        return pieces.union(text for one in items for text in (one.text, one.title))

    def up_to(self, number: int) -> tuple[LedgerRow, ...]:
        """The records of the prompts up to a step."""
        return tuple(row for row in self.rows if row.step <= number)


def read(principal: Principal, tx: Transaction, turn_id: UUID) -> Recorded:
    """The records of a turn's prompts, for a viewer of the tenant.

    NotFound when there are none, or when the turn is one of a binding or a user of more clearance than the reader's,
    or was when its prompts were made.
    """
    roles.require(principal, "viewer")
    rows = store.ledgers(tx, turn_id, principal.clearance)
    place = store.place(tx, turn_id)
    if place is None or not rows or rows[0].basis is None:
        raise NotFound(_NOTHING_KEPT)
    basis = named(Basis, rows[0].basis)
    if basis.begun.moment.clearance > principal.clearance:
        raise NotFound(_NOTHING_KEPT)
    month = rows[0].month
    words = store.blobs(tx, month, sorted(hashes(rows[0].basis).union(*(hashes(row.made) for row in rows))))
    return Recorded(
        turn_id, place, month, basis, _asked(basis, rows, words), tuple(rows), words, store.reported(tx, turn_id)
    )  # fmt: skip


def _asked(basis: Basis, rows: list[LedgerRow], words: Mapping[str, str]) -> tuple[Asked, ...]:
    """The prompts, each held against the one before as it was when it was made."""
    standing, causes, found = basis.standing, basis.begun.causes, []
    for row in rows:
        made = named(Made, row.made)
        segments = tuple(in_order([*basis.begun.segments, *made.segments]))
        prints = cache.prints([_said(one, words) for one in segments])
        served = cache.compare(
            standing.prints, prints, asked=standing.asked, at=row.at, same_model=row.model == standing.model,
            causes=causes,
        )  # fmt: skip
        entries = (*basis.begun.entries, *made.entries)
        found.append(
            Asked(
                row.step, row.at, row.model, row.prompt_hash, made, segments, entries, causes, served, standing.marked
            )
        )
        standing, causes = standing.after_asking(row.at, row.model, prints, made.marked), ()
    return tuple(found)


def _said(segment: Segment, words: Mapping[str, str]) -> Segment:
    """A segment with its words; a hash stands where they were forgotten, and is no words of anybody's."""
    return replace(segment, blocks=tuple(replace(one, pieces=pieces_of(one, words)) for one in segment.blocks))


def pieces_of(block: Block, words: Mapping[str, str]) -> tuple[str, ...]:
    """The words of a block's pieces, the hash in the place of what was forgotten."""
    return tuple(words.get(one, one) for one in block.pieces)
