"""Queries that write facts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.memory.facts.fact import KnownFact, MemoryScope, ModelAnswers, Origin

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class SessionScopeRow:
    """The user and the binding whose memory a session writes."""

    user_id: UUID
    binding_id: UUID
    memory_policy: JsonObject


@dataclass(frozen=True, slots=True)
class _FactRow:
    """A live fact, or one that ended last."""

    id: UUID
    key: str
    value: str
    confidence: float
    origin: Origin
    valid_from: datetime
    last_confirmed_at: datetime
    valid_until: datetime | None
    session_id: UUID | None
    message_ids: list[UUID]
    member: UUID | None
    holds_until: datetime | None

    def to_fact(self) -> KnownFact:
        return KnownFact(
            self.id,
            self.key,
            self.value,
            self.confidence,
            self.origin,
            self.valid_from,
            self.last_confirmed_at,
            self.valid_until,
            self.session_id,
            tuple(self.message_ids),
            self.member,
            self.holds_until,
        )


@dataclass(frozen=True, slots=True)
class MergeConstraints:
    """Limits on the facts that messages may make.

    erased_message_ids         messages whose facts were erased.
    all_retracted_at           when the user last retracted everything; None when never.
    previous_turn_message_ids  the user's messages of the turn before.
    """

    erased_message_ids: list[UUID]
    all_retracted_at: datetime | None
    previous_turn_message_ids: list[UUID]


@dataclass(frozen=True, slots=True)
class SharedFactRow:
    """The live fact that a persona or a team has under a key."""

    id: UUID
    value: str


@dataclass(frozen=True, slots=True)
class NewFactDecision:
    """The decision about a candidate.

    fact_id     the fact that it became, or was compared with.
    decided_at  when; None for now.
    answers     what models said of it.
    """

    id: UUID
    key: str
    origin: Origin
    decision: str
    reason: str = ""
    confidence: float | None = None
    message_ids: Sequence[UUID] = ()
    fact_id: UUID | None = None
    decided_at: datetime | None = None
    answers: ModelAnswers | None = None


def find_scope(tx: Transaction, session_id: UUID, turn_number: int) -> SessionScopeRow | None:
    """Return the session's scope; None when it has other readers, or could have had when the turn began."""
    return tx.first(SQL["find_scope"], SessionScopeRow, session_id=session_id, turn=turn_number)


def lock_facts(tx: Transaction, scope: MemoryScope) -> bool:
    """Lock the user's facts; return False when the user or the binding is gone."""
    found = tx.value(SQL["lock_facts"], user_id=scope.user_id, binding_id=scope.binding_id)
    return found is not None


def find_latest_facts(tx: Transaction, scope: MemoryScope, keys: Collection[str] = ()) -> list[KnownFact]:
    """Return the live facts, and for `keys` those that ended last and that no live one continues."""
    whose = {"user_id": scope.user_id, "binding_id": scope.binding_id}
    return [row.to_fact() for row in tx.all(SQL["find_latest_facts"], _FactRow, **whose, keys=sorted(keys))]


def end_expired_facts(tx: Transaction, scope: MemoryScope, now: datetime) -> None:
    """End the facts whose end date has passed."""
    tx.run(SQL["end_expired_facts"], user_id=scope.user_id, binding_id=scope.binding_id, now=now)


def doubt_facts(tx: Transaction, fact_ids: Sequence[UUID], now: datetime) -> None:
    """Note that it is unclear whether the facts still hold, each once in its life."""
    if fact_ids:
        tx.run(SQL["doubt_facts"], ids=list(fact_ids), now=now)


def read_merge_constraints(
    tx: Transaction, scope: MemoryScope, session_id: UUID, message_ids: Collection[UUID]
) -> MergeConstraints:
    """Return the limits on the facts that these messages may make."""
    found = tx.first(
        SQL["read_merge_constraints"],
        MergeConstraints,
        user_id=scope.user_id,
        binding_id=scope.binding_id,
        session_id=session_id,
        messages=sorted(message_ids),
    )
    return found or MergeConstraints([], None, [])


def add_fact(tx: Transaction, scope: MemoryScope, fact: KnownFact, turn_id: UUID | None, now: datetime) -> None:
    tx.run(
        SQL["add_fact"],
        id=fact.id,
        user_id=scope.user_id,
        binding_id=scope.binding_id,
        key=fact.key,
        value=fact.value,
        confidence=fact.confidence,
        origin=fact.origin,
        at=fact.valid_from,
        session_id=fact.session_id,
        turn_id=turn_id,
        messages=list(fact.message_ids),
        member=fact.member,
        holds_until=fact.holds_until,
        now=now,
    )


def confirm_fact(
    tx: Transaction, fact_id: UUID, confidence: float, message_ids: Sequence[UUID], stated_at: datetime
) -> bool:
    """Update a fact that was stated again; return False when it is no longer live."""
    return tx.run(SQL["confirm_fact"], id=fact_id, confidence=confidence, messages=list(message_ids), at=stated_at) > 0


def end_fact(tx: Transaction, fact_id: UUID, end_reason: str, superseded_by: UUID | None, ended_at: datetime) -> bool:
    """End a fact; return False when it is no longer live."""
    return tx.run(SQL["end_fact"], id=fact_id, ended=end_reason, superseded_by=superseded_by, at=ended_at) > 0


def evict_facts(
    tx: Transaction, scope: MemoryScope, protected_keys: Collection[str], limit: int, now: datetime
) -> list[KnownFact]:
    """End up to `limit` facts of the least use, except `protected_keys`, and return them."""
    rows = tx.all(
        SQL["evict_facts"],
        _FactRow,
        user_id=scope.user_id,
        binding_id=scope.binding_id,
        kept=sorted(protected_keys),
        most=limit,
        now=now,
    )
    return [row.to_fact() for row in rows]


def add_decisions(
    tx: Transaction,
    scope: MemoryScope,
    session_id: UUID | None,
    turn_id: UUID | None,
    decisions: Sequence[NewFactDecision],
    now: datetime,
) -> None:
    whose: dict[str, object] = {"user_id": scope.user_id, "binding_id": scope.binding_id}
    rows = [
        {
            **whose,
            "id": one.id,
            "session_id": session_id,
            "turn_id": turn_id,
            "fact_id": one.fact_id,
            "now": one.decided_at or now,
            "key": one.key,
            "origin": one.origin,
            "decision": one.decision,
            "reason": one.reason,
            "confidence": one.confidence,
            "messages": list(one.message_ids),
            "first_answer": one.answers and one.answers.first,
            "second_answer": one.answers and one.answers.second,
        }
        for one in decisions
    ]
    tx.run_many(SQL["add_decision"], rows)


def find_owner(tx: Transaction, scope: str, slug: str) -> UUID | None:
    """Return the persona or the team with this slug."""
    found: UUID | None = tx.value(SQL["find_owner"], scope=scope, slug=slug)
    return found


def lock_shared_fact(tx: Transaction, scope: str, owner: UUID, key: str) -> SharedFactRow | None:
    return tx.first(SQL["lock_shared_fact"], SharedFactRow, scope=scope, whose=owner, key=key)


@dataclass(frozen=True, slots=True)
class SharedFactValue:
    """What a persona or a team knows under a key. scope: human or team; owner: its id."""

    scope: str
    owner: UUID
    key: str
    value: str


def add_shared_fact(tx: Transaction, fact_id: UUID, fact: SharedFactValue, edited_by: str, now: datetime) -> bool:
    """Add the fact; False when somebody else has written under that key."""
    values = {"id": fact_id, "scope": fact.scope, "whose": fact.owner, "key": fact.key, "value": fact.value}
    return tx.run(SQL["add_shared_fact"], **values, edited_by=edited_by, now=now) > 0
