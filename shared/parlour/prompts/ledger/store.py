"""The prompts' way to the database: the named queries, and the records they read and write."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject, from_json, to_json
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries
from parlour.jobs.work_due import SWEEP_DELAY
from parlour.prompts.assembly.briefing_cache import CachedBriefing
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.compaction import KEY_DETAIL_KINDS

SQL = Queries.for_module(__file__)

_KEY_DETAILS_PER_KIND = 4
"""Lines beside a summary that are read, of each kind; some twenty have room in all."""


@dataclass(frozen=True, slots=True)
class StoredCacheState:
    """A session's cache state as it is stored: the state without its briefing, and the briefing."""

    cache_state: JsonObject
    briefing: JsonObject | None

    @classmethod
    def from_cache_state(cls, cache_state: PromptCacheState) -> "StoredCacheState":
        """Return a cache state as it is stored."""
        return cls(
            to_json(replace(cache_state, cached_briefing=None)),
            to_json(cache_state.cached_briefing) if cache_state.cached_briefing else None,
        )

    def to_cache_state(self) -> PromptCacheState:
        """Return the cache state with its briefing."""
        pinned = from_json(CachedBriefing, self.briefing) if self.briefing else None
        return replace(from_json(PromptCacheState, self.cache_state), cached_briefing=pinned)


@dataclass(frozen=True, slots=True)
class _SessionPromptsRow:
    """A session with its stored cache state."""

    session_id: UUID
    cache_state: JsonObject
    briefing: JsonObject | None


@dataclass(frozen=True, slots=True)
class _SessionIdRow:
    """The id of a session."""

    id: UUID


@dataclass(frozen=True, slots=True)
class PreviousPromptsRow:
    """What a session's next prompt continues from.

    cache_state, briefing  its stored cache state; None before the first prompt.
    past_turns             its finished turns, oldest first: {id, number, tool_messages, messages, is_restricted,
                           dead_citation_numbers}.
    restricted_turns       numbers of turns, also of those in the recap, with sources that the reader may not see.
    token_factors          before the first prompt: the model's learned token factors, by script.
    summary                the newest that the reader may see: {version, until_turn, text, key_details: [{turn_number,
                           text, message_id, from_agent}]}.
    is_summary_restricted  whether the prompts' current summary must be withheld; None without one.
    is_summary_pending     whether a newer summary is being written or will be retried; None where none is requested.
    """

    cache_state: JsonObject | None
    briefing: JsonObject | None
    past_turns: list[JsonObject] | None
    restricted_turns: list[int] | None
    token_factors: dict[str, float] | None
    summary: JsonObject | None = None
    is_summary_restricted: bool | None = None
    is_summary_pending: bool | None = None


@dataclass(frozen=True, slots=True)
class StepRequest:
    """A prompt's session and turn, the model that is asked, and when."""

    session_id: UUID
    turn_id: UUID
    provider: str
    model: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The record of one prompt, with compressed `prompt_inputs` and `step_record`.

    prompt_inputs  of a turn's first prompt, and of the first after a restart.
    """

    step: int
    month: date
    at: datetime
    model: str
    prompt_hash: str
    prompt_inputs: bytes | None
    step_record: bytes


@dataclass(frozen=True, slots=True)
class PromptWrites:
    """Everything that is stored of a prompt before its model is asked.

    asking            whose prompt it is, and which model is asked.
    row               its record, and texts: what the record names and is not stored yet, by hash.
    cache_state       what the session's next prompt continues from.
    has_new_briefing  whether its briefing differs from the one before.
    look_at           when retention is to be checked, if that is not scheduled yet.
    refused           attachments of the turn's messages without room in its prompts; None where that is not decided by
                      this prompt.
    """

    asking: StepRequest
    row: LedgerRow
    texts: Mapping[str, str]
    cache_state: StoredCacheState
    has_new_briefing: bool
    look_at: datetime
    refused: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True)
class TurnPosition:
    """Where a turn stands in its session, and the turns before and after it whose prompts have records."""

    session_id: UUID
    number: int
    previous_turn_id: UUID | None
    next_turn_id: UUID | None


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """A model's report on one prompt; `cache_miss` as the turn stored it, `cost_usd` a decimal as text."""

    step: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: str | None
    cache_miss: JsonObject | None


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The current classification of a source, and whether it was deleted."""

    table: str
    id: str
    classification: int
    is_deleted: bool


@dataclass(frozen=True, slots=True)
class LedgerText:
    """A text by its hash; `text` is None once it was erased."""

    hash: str
    text: str | None


NO_PREVIOUS_PROMPTS = PreviousPromptsRow(None, None, None, None, None, None, None)


def read_previous_prompts(
    tx: Transaction, session_id: UUID, *, model: str, before_turn: int, limit: int, clearance: int, now: datetime
) -> PreviousPromptsRow:
    """Read what the session's next prompt continues from: the newest `limit` turns before `before_turn`."""
    found = tx.first(
        SQL["read_previous_prompts"],
        PreviousPromptsRow,
        session_id=session_id,
        model=model,
        before=before_turn,
        most=limit,
        clearance=clearance,
        lines=_KEY_DETAILS_PER_KIND,
        kinds=list(KEY_DETAIL_KINDS),
        at=now,
        awaited=now + SWEEP_DELAY,
    )
    return found or NO_PREVIOUS_PROMPTS


def insert_prompt_record(tx: Transaction, writes: PromptWrites) -> None:
    """Store that a model is about to be asked: the request, the prompt's record and the cache state.

    Two turns that store the same new texts wait for each other. Both insert in the order of the hashes, which is
    jsonb's own, so they cannot deadlock.
    """
    asking, row, stored = writes.asking, writes.row, writes.cache_state
    tx.run(
        SQL["insert_prompt_record"],
        turn_id=asking.turn_id,
        session_id=asking.session_id,
        provider=asking.provider,
        asked=asking.model,
        requested_at=asking.at,
        step=row.step,
        month=row.month,
        at=row.at,
        model=row.model,
        prompt_hash=row.prompt_hash,
        basis=row.prompt_inputs,
        made=row.step_record,
        texts=jsonb(dict(sorted(writes.texts.items()))),
        standing=stored.cache_state,
        briefing=stored.briefing if writes.has_new_briefing else None,
        anew=writes.has_new_briefing,
        look_at=writes.look_at,
    )


def mark_omitted_attachments(tx: Transaction, turn_id: UUID, omitted_ids: Sequence[UUID]) -> None:
    """Mark the attachments of a turn that had no room in its prompts."""
    tx.run(SQL["mark_omitted_attachments"], turn_id=turn_id, refused=list(omitted_ids))


def list_ledger_rows(tx: Transaction, turn_id: UUID, clearance: int) -> list[LedgerRow]:
    """Return the records of a turn's prompts, by step, that a reader of this clearance may see."""
    return tx.all(SQL["list_ledger_rows"], LedgerRow, turn_id=turn_id, clearance=clearance)


def group_by_inputs(rows: Sequence[LedgerRow]) -> list[list[LedgerRow]]:
    """Group a turn's records by restart: each group begins with prompt inputs. Records before the first inputs are
    dropped.
    """
    found: list[list[LedgerRow]] = []
    for row in rows:
        if row.prompt_inputs is not None:
            found.append([row])
        elif found:
            found[-1].append(row)
    return found


def read_source_status(
    tx: Transaction, session_id: UUID, ids_by_table: Mapping[str, Collection[str]]
) -> list[SourceStatus]:
    """Return the status of these sources, given as ids by table.

    Tables: entities, documents, files, context_rows, messages, facts, episodes, turns, summaries, citation_numbers,
    handles. A deleted source has no row, or is marked as deleted.
    """
    tables = ("entities", "documents", "files", "messages", "facts", "episodes")
    uuids = {name: [*ids_by_table.get(name, ())] for name in tables}
    return tx.all(
        SQL["read_source_status"],
        SourceStatus,
        session_id=session_id,
        rows=[*ids_by_table.get("context_rows", ())],
        handles=[*ids_by_table.get("handles", ())],
        turns=[int(one) for one in ids_by_table.get("turns", ())],
        numbers=[int(one) for one in ids_by_table.get("citation_numbers", ())],
        summaries=[int(one) for one in ids_by_table.get("summaries", ())],
        **uuids,
    )


def find_turn_position(tx: Transaction, turn_id: UUID) -> TurnPosition | None:
    """Return the turn's position in its session; None for an unknown turn."""
    return tx.first(SQL["find_turn_position"], TurnPosition, turn_id=turn_id)


def read_reported_usage(tx: Transaction, turn_id: UUID) -> dict[int, ReportedUsage]:
    """Return what the models reported on the turn's prompts, by step."""
    return {one.step: one for one in tx.all(SQL["read_reported_usage"], ReportedUsage, turn_id=turn_id)}


def read_texts(tx: Transaction, month: date, hashes: Sequence[str]) -> dict[str, str]:
    """Return the texts with these hashes; erased ones are missing."""
    found = tx.all(SQL["read_texts"], LedgerText, month=month, hashes=list(hashes))
    return {one.hash: one.text for one in found if one.text is not None}


def delete_before(tx: Transaction, before: date, limit: int) -> int:
    """Delete up to `limit` ledgers and texts of each kind from months before `before`; return how many."""
    dropping = ("delete_expired_ledgers", "delete_expired_pulse_ledgers", "delete_expired_texts")
    return sum(tx.run(SQL[name], before=before, most=limit) for name in dropping)


def find_oldest_month(tx: Transaction) -> date | None:
    """Return the oldest month with a prompt record; None without any."""
    found: date | None = tx.value(SQL["find_oldest_month"])
    return found


def find_sessions_briefed_from(tx: Transaction, sources: Sequence[str]) -> list[UUID]:
    """Return the sessions whose cached briefing has one of these sources (table/id)."""
    return [one.id for one in tx.all(SQL["find_sessions_briefed_from"], _SessionIdRow, sources=list(sources))]


def erase_cache_states(tx: Transaction, sessions: Collection[UUID], erased_histories: Collection[UUID]) -> None:
    """Erase the briefing texts in these sessions' cache states; in `erased_histories` also the compacted history."""
    for row in tx.all(SQL["read_cache_states"], _SessionPromptsRow, ids=[*sessions]):
        kept = StoredCacheState.from_cache_state(
            StoredCacheState(row.cache_state, row.briefing)
            .to_cache_state()
            .without_text(is_history_erased=row.session_id in erased_histories)
        )
        tx.run(SQL["update_cache_state"], session_id=row.session_id, standing=kept.cache_state, briefing=kept.briefing)


def update_token_factor(tx: Transaction, model: str, script: str, factor: float) -> None:
    """Store a further measurement of how many tokens a model counts."""
    tx.run(SQL["update_token_factor"], model=model, script=script, factor=factor)
