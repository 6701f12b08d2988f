"""Summaries in the database: the named queries, and the records they read and write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.memory.summaries.key_details import KeyDetail
from parlour.search.index.context_rows import RowDraft

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class SummarySessionRow:
    """A session whose summary is written.

    agent_name              the agent's display name.
    classification          the highest level that its user may see.
    anchored_message_count  messages that its `anchor_count` anchors cover.
    """

    user_id: UUID
    binding_id: UUID
    title: str
    agent_name: str
    classification: int
    anchor_count: int
    anchored_message_count: int


@dataclass(frozen=True, slots=True)
class BaseSummaryRow:
    """The summary that the next one continues. `message_count` is the number of messages that it covers."""

    version: int
    until_turn: int
    text: str
    message_count: int


NO_BASE_SUMMARY = BaseSummaryRow(0, 0, "", 0)


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn with its messages: {"id", "from_agent", "body", "sent_at"} each.

    tool_messages  its calls as history shows them.
    late_results   the bodies of results that came after their turn: {"tool", "result", ...} as JSON.
    """

    id: UUID
    number: int
    is_reply_withheld: bool
    has_reply_sources: bool
    messages: list[JsonObject]
    tool_messages: list[JsonObject]
    late_results: list[str]


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary version to insert.

    base_version    the version that it continues.
    turn_ids        the turns that it adds.
    reply_turn_ids  those of them whose replies it was written from.
    is_skipped      no model could summarise these turns.
    """

    base_version: int
    until_turn: int
    text: str
    included_message_ids: Sequence[UUID]
    omitted_message_ids: Sequence[UUID]
    message_count: int
    turn_ids: Sequence[UUID]
    reply_turn_ids: Sequence[UUID]
    is_skipped: bool
    provider: str
    model: str
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class NewKeyDetail:
    """A key detail to insert, and the message that says it."""

    id: UUID
    message_id: UUID
    turn_number: int
    from_agent: bool
    key_detail: KeyDetail


@dataclass(frozen=True, slots=True)
class KeyDetailRow:
    """A stored key detail."""

    id: UUID
    kind: str
    value: str
    missing_from_summary: bool


@dataclass(frozen=True, slots=True)
class LostDetailRow:
    """A line that the newest summary does not say."""

    text: str


def schedule_summary(tx: Transaction, session_id: UUID, due_at: datetime) -> bool:
    """Make a summary due; return False when one is due already."""
    return tx.run(SQL["schedule_summary"], session_id=session_id, due_at=due_at) > 0


def find_session(tx: Transaction, session_id: UUID) -> SummarySessionRow | None:
    return tx.first(SQL["find_session"], SummarySessionRow, session_id=session_id)


def find_base_summary(tx: Transaction, session_id: UUID, clearance: int, *, needs_text: bool) -> BaseSummaryRow:
    found = tx.first(
        SQL["find_base_summary"], BaseSummaryRow, session_id=session_id, clearance=clearance, words=needs_text
    )
    return found or NO_BASE_SUMMARY


def list_turns_after(tx: Transaction, session_id: UUID, after_turn: int, clearance: int, limit: int) -> list[TurnRow]:
    return tx.all(
        SQL["list_turns_after"], TurnRow, session_id=session_id, after=after_turn, clearance=clearance, most=limit
    )


def add_summary(tx: Transaction, session_id: UUID, summary: NewSummary, now: datetime) -> int | None:
    """Insert the summary and return its version; None when one of its sources was deleted meanwhile."""
    version: int | None = tx.value(
        SQL["add_summary"],
        session_id=session_id,
        base=summary.base_version,
        until=summary.until_turn,
        text=summary.text,
        kept=list(summary.included_message_ids),
        dropped=list(summary.omitted_message_ids),
        messages=summary.message_count,
        turns=list(summary.reply_turn_ids),
        is_passed=summary.is_skipped,
        provider=summary.provider,
        model=summary.model,
        cost_usd=summary.cost_usd,
        now=now,
    )
    return version


def add_key_details(tx: Transaction, session_id: UUID, details: Sequence[NewKeyDetail], now: datetime) -> None:
    tx.run_many(
        SQL["add_key_detail"],
        [
            {
                "id": one.id,
                "session_id": session_id,
                "message_id": one.message_id,
                "turn": one.turn_number,
                "ours": one.from_agent,
                "kind": one.key_detail.kind,
                "value": one.key_detail.value,
                "text": one.key_detail.text,
                "now": now,
            }
            for one in details
        ],
    )


def list_newest_details(tx: Transaction, session_id: UUID, limit: int) -> list[KeyDetailRow]:
    return tx.all(SQL["list_newest_details"], KeyDetailRow, session_id=session_id, most=limit)


def list_lost_details(tx: Transaction, session_id: UUID, limit: int) -> list[str]:
    """Of its user, what was said last first."""
    return [one.text for one in tx.all(SQL["list_lost_details"], LostDetailRow, session_id=session_id, most=limit)]


def toggle_missing(tx: Transaction, ids: Sequence[UUID]) -> None:
    """Flip whether these details count as missing from the summary."""
    tx.run(SQL["toggle_missing"], ids=list(ids))


def find_last_anchored_turn(tx: Transaction, session_id: UUID) -> int:
    until: int | None = tx.value(SQL["find_last_anchored_turn"], session_id=session_id)
    return until or 0


def add_anchor(tx: Transaction, row_id: UUID, session_id: UUID, row: RowDraft, now: datetime) -> None:
    tx.run(
        SQL["add_anchor"],
        id=row_id,
        session_id=session_id,
        ordinal=row.ordinal,
        title=row.title,
        content=row.content,
        content_hash=row.content_hash,
        classification=row.classification,
        metadata=row.metadata,
        now=now,
    )


def set_anchor_counts(tx: Transaction, session_id: UUID, anchor_count: int, anchored_message_count: int) -> None:
    tx.run(SQL["set_anchor_counts"], session_id=session_id, anchors=anchor_count, anchored=anchored_message_count)
