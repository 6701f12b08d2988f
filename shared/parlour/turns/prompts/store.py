"""The prompts' way to the database: the named queries, and the records they read and write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from parlour.context.segment import Source
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)

_CHECKED = frozenset({"entities", "handles", "context_rows", "files"})
"""Tables whose rows are classified."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept of a session's prompts: the standing without its briefing, and the briefing."""

    standing: JsonObject
    briefing: JsonObject | None


@dataclass(frozen=True, slots=True)
class PastRow:
    """A turn that is over: what it called, as history tells it, and its messages in order."""

    id: UUID
    number: int
    called: list[JsonObject] | None
    messages: list[JsonObject] | None


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The record of one prompt. `basis` belongs to a turn's first."""

    step: int
    month: date
    at: datetime
    model: str
    prompt_hash: str
    basis: JsonObject | None
    made: JsonObject


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn stands in its session, and the turns before and after it whose prompts have records."""

    session_id: UUID
    number: int
    previous: UUID | None
    next: UUID | None


@dataclass(frozen=True, slots=True)
class Reported:
    """What a model reported of one prompt; `miss` as the turn kept it, `cost_usd` a decimal as text."""

    step: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: str | None
    miss: JsonObject | None


@dataclass(frozen=True, slots=True)
class Blob:
    """A text by its hash; `words` is None once it was forgotten."""

    hash: str
    words: str | None


@dataclass(frozen=True, slots=True)
class Factor:
    """Tokens that a model reports for one of cl100k_base, in one script."""

    script: str
    factor: float


def standing(tx: Transaction, session_id: UUID) -> Kept | None:
    """What was kept of the session's prompts; None before its first."""
    return tx.first(SQL["standing"], Kept, session_id=session_id)


def keep_standing(tx: Transaction, session_id: UUID, kept: Kept, *, anew: bool, now: datetime) -> None:
    """Keep what the next prompt stands on; `anew` says that the briefing is another one than before."""
    tx.run(
        SQL["keep_standing"],
        session_id=session_id, standing=kept.standing, briefing=kept.briefing if anew else None, anew=anew, now=now,
    )  # fmt: skip


def put_ledger(tx: Transaction, turn_id: UUID, row: LedgerRow, blobs: Mapping[str, str]) -> None:
    """Store the record of a prompt, with the texts that it names."""
    tx.run(SQL["put_blobs"], month=row.month, hashes=list(blobs), texts=list(blobs.values()))
    tx.run(
        SQL["put_ledger"],
        turn_id=turn_id, step=row.step, month=row.month, at=row.at, model=row.model, prompt_hash=row.prompt_hash,
        basis=row.basis, made=jsonb(row.made),
    )  # fmt: skip


def ledgers(tx: Transaction, turn_id: UUID, clearance: int) -> list[LedgerRow]:
    """The records of a turn's prompts, by step, as far as a reader of that clearance may see them."""
    return tx.all(SQL["ledgers"], LedgerRow, turn_id=turn_id, clearance=clearance)


def place(tx: Transaction, turn_id: UUID) -> Place | None:
    """Where the turn stands in its session."""
    return tx.first(SQL["place"], Place, turn_id=turn_id)


def reported(tx: Transaction, turn_id: UUID) -> dict[int, Reported]:
    """What the models reported of the turn's prompts, by step."""
    return {one.step: one for one in tx.all(SQL["reported"], Reported, turn_id=turn_id)}


def blobs(tx: Transaction, month: date, hashes: Sequence[str]) -> dict[str, str]:
    """The texts of those hashes; those that were forgotten are missing."""
    found = tx.all(SQL["blobs"], Blob, month=month, hashes=list(hashes))
    return {one.hash: one.words for one in found if one.words is not None}


def drop_before(tx: Transaction, before: date, most: int) -> int:
    """Remove up to `most` ledgers and texts of months before `before`; says how many went."""
    return tx.run(SQL["drop_ledgers"], before=before, most=most) + tx.run(SQL["drop_blobs"], before=before, most=most)


def past_turns(tx: Transaction, session_id: UUID, *, since: int, before: int, most: int) -> list[PastRow]:
    """Up to `most` turns with numbers from `since` up to below `before`, newest first."""
    return tx.all(SQL["past_turns"], PastRow, session_id=session_id, since=since, before=before, most=most)


def factors(tx: Transaction, model: str) -> dict[str, float]:
    """What was learned of a model's tokens, by script."""
    return {one.script: one.factor for one in tx.all(SQL["factors"], Factor, model=model)}


def learn_factor(tx: Transaction, model: str, script: str, factor: float) -> None:
    """Take in a further report of how many tokens a model counts."""
    tx.run(SQL["learn_factor"], model=model, script=script, factor=factor)


def out_of_sight(tx: Transaction, sources: Sequence[Source], clearance: int) -> int:
    """How many of those sources are gone, or above that clearance."""
    checked = [one for one in sources if one.table in _CHECKED]
    if not checked:
        return 0
    found: int = tx.value(
        SQL["sources_out_of_sight"],
        tables=[one.table for one in checked], ids=[one.id for one in checked], clearance=clearance,
    )  # fmt: skip
    return found
