"""Facts in the database, as they are written."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.memory.facts.fact import Known, Origin, Scope

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """Whose memory a session writes to."""

    user_id: UUID
    binding_id: UUID
    memory_policy: JsonObject


@dataclass(frozen=True, slots=True)
class _Fact:
    """The newest fact of a key."""

    id: UUID
    key: str
    value: str
    confidence: float
    origin: Origin
    valid_from: datetime
    sure_at: datetime
    valid_until: datetime | None
    session_id: UUID | None
    messages: list[UUID]

    def known(self) -> Known:
        return Known(
            self.id, self.key, self.value, self.confidence, self.origin, self.valid_from, self.sure_at,
            self.valid_until, self.session_id, tuple(self.messages),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bounds:
    """What keeps messages from making facts.

    forgotten         those of them whose facts somebody had forgotten.
    all_forgotten_at  when everything said until then was to be forgotten; None when never.
    before            what the user said in the turn before.
    """

    forgotten: list[UUID]
    all_forgotten_at: datetime | None
    before: list[UUID]


@dataclass(frozen=True, slots=True)
class CommonRow:
    """What is known under a key to a whole persona or team."""

    id: UUID
    value: str


@dataclass(frozen=True, slots=True)
class NewDecision:
    """What became of a candidate; `fact_id`: the fact that it became, or was held against; `at`: when, None for now."""

    id: UUID
    key: str
    origin: Origin
    decision: str
    reason: str = ""
    confidence: float | None = None
    messages: Sequence[UUID] = ()
    fact_id: UUID | None = None
    at: datetime | None = None


def scope_of(tx: Transaction, session_id: UUID, turn: int) -> ScopeRow | None:
    """None where others read the session along, or could when the turn of this number began."""
    return tx.first(SQL["scope_of_session"], ScopeRow, session_id=session_id, turn=turn)


def lock(tx: Transaction, scope: Scope) -> bool:
    """False when the user or the binding is gone."""
    found = tx.value(SQL["lock_facts"], user_id=scope.user_id, binding_id=scope.binding_id)
    return found is not None


def latest(tx: Transaction, scope: Scope, keys: Collection[str] = ()) -> dict[str, Known]:
    """The newest fact by key: every live one, and of `keys` the one that ended last where none is live."""
    whose = {"user_id": scope.user_id, "binding_id": scope.binding_id}
    rows = tx.all(SQL["latest_facts"], _Fact, **whose, keys=sorted(keys))
    return {row.key: row.known() for row in rows}


def bounds(tx: Transaction, scope: Scope, session_id: UUID, messages: Collection[UUID]) -> Bounds:
    """What bounds the facts that these messages may make."""
    found = tx.first(
        SQL["what_bounds"], Bounds, user_id=scope.user_id, binding_id=scope.binding_id, session_id=session_id,
        messages=sorted(messages),
    )  # fmt: skip
    return found or Bounds([], None, [])


def insert(tx: Transaction, scope: Scope, fact: Known, turn_id: UUID | None, now: datetime) -> None:
    tx.run(
        SQL["insert_fact"], id=fact.id, user_id=scope.user_id, binding_id=scope.binding_id, key=fact.key,
        value=fact.value, confidence=fact.confidence, origin=fact.origin, at=fact.valid_from,
        session_id=fact.session_id, turn_id=turn_id, messages=list(fact.messages), now=now,
    )  # fmt: skip


def confirm(tx: Transaction, fact_id: UUID, confidence: float, messages: Sequence[UUID], at: datetime) -> bool:
    """False when it is live no more."""
    return tx.run(SQL["confirm_fact"], id=fact_id, confidence=confidence, messages=list(messages), at=at) > 0


def end(tx: Transaction, fact_id: UUID, ended: str, superseded_by: UUID | None, at: datetime) -> bool:
    """False when it is live no more."""
    return tx.run(SQL["end_fact"], id=fact_id, ended=ended, superseded_by=superseded_by, at=at) > 0


def crowd_out(tx: Transaction, scope: Scope, kept: Collection[str], most: int, now: datetime) -> list[Known]:
    """The facts that ended, those of the least use; none of the keys that are `kept`."""
    rows = tx.all(
        SQL["crowd_out"], _Fact, user_id=scope.user_id, binding_id=scope.binding_id, kept=sorted(kept), most=most,
        now=now,
    )  # fmt: skip
    return [row.known() for row in rows]


def note_decisions(
    tx: Transaction, scope: Scope, session_id: UUID | None, turn_id: UUID | None, decisions: Sequence[NewDecision],
    now: datetime,
) -> None:  # fmt: skip
    whose: dict[str, object] = {"user_id": scope.user_id, "binding_id": scope.binding_id}
    rows = [
        {
            **whose, "id": one.id, "session_id": session_id, "turn_id": turn_id, "fact_id": one.fact_id,
            "now": one.at or now, "key": one.key, "origin": one.origin, "decision": one.decision, "reason": one.reason,
            "confidence": one.confidence, "messages": list(one.messages),
        }
        for one in decisions
    ]  # fmt: skip
    tx.run_many(SQL["note_decision"], rows)


def whose(tx: Transaction, scope: str, slug: str) -> UUID | None:
    """The persona or team of that slug."""
    found: UUID | None = tx.value(SQL["whose_common"], scope=scope, slug=slug)
    return found


def hold_common(tx: Transaction, scope: str, owner: UUID, key: str) -> CommonRow | None:
    return tx.first(SQL["hold_common"], CommonRow, scope=scope, whose=owner, key=key)


def insert_common(
    tx: Transaction, fact_id: UUID, scope: str, owner: UUID, key: str, value: str, edited_by: str, now: datetime
) -> bool:
    """False when somebody else has written under that key."""
    return tx.run(
        SQL["insert_common"], id=fact_id, scope=scope, whose=owner, key=key, value=value, edited_by=edited_by, now=now
    ) > 0  # fmt: skip
