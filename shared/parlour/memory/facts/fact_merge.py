"""Merging of fact candidates into known facts: one transaction, one at a time per user, every decision recorded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.memory.facts import fact_keys, merge_rules, store
from parlour.memory.facts.fact import MAX_LIVE_FACTS, FactCandidate, FactDecision, KnownFact, MemoryScope, RejectedFact
from parlour.memory.facts.merge_rules import MergeVerdict
from parlour.memory.facts.store import MergeConstraints, NewFactDecision

ALL_FACTS_RETRACTED, FACT_ERASED = "all_retracted", "erased"
"""Why words from before are not heard again: all was to be forgotten, or what they had said."""

_END_REASONS = {"refines": "refined", "corrects": "corrected", "contradicts": "contradicted"}

_MAX_RETRACTIONS = 60
"""Facts that one sentence takes back at most; "forget everything" takes back all."""


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """The decision about a candidate, and the fact that it became or was compared with."""

    candidate: FactCandidate
    decision: FactDecision
    fact_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class FactBatch:
    """Facts to write, those that were rejected, and ids from `allocate_ids`. doubted_ids: known facts of which a model
    could not tell whether they still hold."""

    candidates: Sequence[FactCandidate]
    rejected: Sequence[RejectedFact]
    ids: Sequence[UUID]
    doubted_ids: Sequence[UUID] = ()


def allocate_ids(candidates: Sequence[FactCandidate], rejected: Sequence[RejectedFact], now: datetime) -> list[UUID]:
    """Return as many ids as merging may need. Call it outside the transaction, which may run twice."""
    ended = sum(_max_retractions(one) for one in candidates if one.is_retraction)
    count = 3 * len(candidates) + ended + len(rejected) + _max_evictions(candidates)
    return [uuid7(now) for _ in range(count)]


def merge_candidates(
    tx: Transaction,
    scope: MemoryScope,
    session_id: UUID,
    turn_id: UUID | None,
    batch: FactBatch,
    now: datetime,
) -> list[MergeOutcome]:
    """Compare each candidate with the known facts, in the order they were stated, and write what follows from it.

    `scope` is the session's; a session with other readers has none.
    """
    candidates, rejected = batch.candidates, batch.rejected
    if not (candidates or rejected):
        return []
    if not store.lock_facts(tx, scope):
        return []
    store.end_expired_facts(tx, scope, now)
    latest = store.find_latest_facts(tx, scope, {one.key for one in candidates})
    said_in = {message for one in candidates for message in one.message_ids}
    bounds = store.read_merge_constraints(tx, scope, session_id, said_in)
    keeping = _FactMerge(tx, scope, session_id, turn_id, iter(batch.ids), now, list(latest), bounds)
    for one in sorted(candidates, key=lambda candidate: candidate.stated_at):
        keeping.merge(one)
    keeping.evict(_max_evictions(candidates))
    keeping.record_rejected(rejected)
    store.doubt_facts(tx, batch.doubted_ids, now)
    store.add_decisions(tx, scope, session_id, turn_id, keeping.decisions, now)
    return keeping.outcomes


def _max_retractions(candidate: FactCandidate) -> int:
    return MAX_LIVE_FACTS if candidate.retracts_everything else _MAX_RETRACTIONS


def _max_evictions(candidates: Sequence[FactCandidate]) -> int:
    """Return more than are added, so that merging two users into one makes room again over time."""
    return 2 * len(candidates)


@dataclass(slots=True)
class _FactMerge:
    """The facts of one user during a merge."""

    tx: Transaction
    scope: MemoryScope
    session_id: UUID
    turn_id: UUID | None
    ids: Iterator[UUID]
    now: datetime
    facts: list[KnownFact]
    constraints: MergeConstraints
    outcomes: list[MergeOutcome] = field(default_factory=list)
    decisions: list[NewFactDecision] = field(default_factory=list)

    def merge(self, candidate: FactCandidate) -> None:
        reason = self._erasure_reason(candidate)
        if reason:
            decision: FactDecision = "older" if reason == ALL_FACTS_RETRACTED else "duplicate"
            self._record_outcome(candidate, decision, None, reason)
            return
        live = [one for one in self.facts if one.is_live and self._can_refer_to(candidate, one)]
        resolved = merge_rules.resolve_keys(candidate, live)[: _max_retractions(candidate)]
        for one in resolved:
            # A person who puts the fact right, or has it forgotten, waits for nobody: where one has done so
            # since it was read, what is known now decides.
            decided = self._apply_decision(one)
            if decided is None:
                keys = {one.key, *(fact.key for fact in self.facts)}
                self.facts = list(store.find_latest_facts(self.tx, self.scope, keys))
                decided = self._apply_decision(one)
            if decided is not None:
                self._record_outcome(one, *decided)
        if not resolved:
            self._record_outcome(candidate, "nothing_to_retract", None)
        if candidate.retracts_everything:
            self.decisions.append(
                NewFactDecision(
                    next(self.ids),
                    "",
                    candidate.origin,
                    "erased",
                    ALL_FACTS_RETRACTED,
                    candidate.confidence,
                    candidate.message_ids,
                    decided_at=candidate.stated_at,
                )
            )

    def _erasure_reason(self, candidate: FactCandidate) -> str:
        """Return why an erased or retracted fact must not come back from older words; "" when nothing forbids it."""
        if candidate.is_retraction:
            return ""
        all_at = self.constraints.all_retracted_at
        if all_at is not None and candidate.stated_at < all_at:
            return ALL_FACTS_RETRACTED
        return (
            FACT_ERASED
            if candidate.message_ids and set(candidate.message_ids) <= set(self.constraints.erased_message_ids)
            else ""
        )

    def _can_refer_to(self, candidate: FactCandidate, known: KnownFact) -> bool:
        """Return whether a retraction may mean this fact.

        A bare "forget that" means only facts from its own turn or the turn before.
        """
        is_bare = candidate.is_retraction and not (candidate.key or candidate.value or candidate.retracts_everything)
        return not is_bare or not {*candidate.message_ids, *self.constraints.previous_turn_message_ids}.isdisjoint(
            known.message_ids
        )

    def record_rejected(self, rejected: Sequence[RejectedFact]) -> None:
        self.decisions += [
            NewFactDecision(
                next(self.ids),
                one.key,
                one.origin,
                one.decision,
                one.reason,
                one.confidence,
                one.message_ids,
                answers=one.answers,
            )
            for one in rejected
        ]

    def evict(self, limit: int) -> None:
        """End the least used facts above the limit. Facts that a person edited and vocabulary keys stay."""
        over = sum(one.is_live for one in self.facts) - MAX_LIVE_FACTS
        if over > 0:
            gone = store.evict_facts(self.tx, self.scope, fact_keys.VOCABULARY, min(over, limit), self.now)
            self.decisions += [
                NewFactDecision(
                    next(self.ids), one.key, one.origin, "evicted", confidence=one.confidence, fact_id=one.id
                )
                for one in gone
            ]

    def _apply_decision(self, candidate: FactCandidate) -> tuple[FactDecision, UUID | None] | None:
        """Carry out the decision; return it with its fact, or None when that fact is no longer live."""
        verdict = merge_rules.decide(candidate, [fact for fact in self.facts if fact.key == candidate.key])
        fact_id = verdict.compared[0].id if verdict.compared else None
        is_done = True
        match verdict.decision:
            case "new":
                fact_id = self._insert(next(self.ids), candidate, verdict, None)
            case "same":
                is_done = self._confirm(candidate, verdict)
            case "refines" | "corrects" | "contradicts":
                fact_id = next(self.ids)
                is_done = self._end(candidate, verdict, _END_REASONS[verdict.decision], fact_id)
                if is_done:
                    self._insert(fact_id, candidate, verdict, verdict.compared[0])
            case "retracted":
                is_done = self._end(candidate, verdict, "retracted", None)
        return (verdict.decision, fact_id) if is_done else None

    def _confirm(self, candidate: FactCandidate, verdict: MergeVerdict) -> bool:
        (fact,) = verdict.compared
        messages = merge_rules.merge_message_ids(fact.message_ids, candidate.message_ids)
        self._put(
            replace(
                fact,
                confidence=verdict.confidence,
                valid_from=min(fact.valid_from, candidate.stated_at),
                last_confirmed_at=max(fact.last_confirmed_at, candidate.stated_at),
                message_ids=tuple(messages),
            )
        )
        return store.confirm_fact(self.tx, fact.id, verdict.confidence, messages, candidate.stated_at)

    def _insert(
        self, fact_id: UUID, candidate: FactCandidate, verdict: MergeVerdict, replaced: KnownFact | None
    ) -> UUID:
        """Insert the fact: in the place of another one, or beside the values that its key has."""
        if replaced is not None:
            member = replaced.member
        else:
            is_beside = fact_keys.has_several_values(candidate.key) or any(
                fact.is_live and fact.key == candidate.key for fact in self.facts
            )
            member = fact_id if is_beside else None
        fact = KnownFact(
            fact_id,
            candidate.key,
            verdict.value,
            verdict.confidence,
            candidate.origin,
            candidate.stated_at,
            candidate.stated_at,
            session_id=self.session_id,
            message_ids=tuple(candidate.message_ids),
            member=member,
            holds_until=candidate.holds_until,
        )
        store.add_fact(self.tx, self.scope, fact, self.turn_id, self.now)
        self.facts.append(fact)
        return fact.id

    def _end(
        self, candidate: FactCandidate, verdict: MergeVerdict, end_reason: str, superseded_by: UUID | None
    ) -> bool:
        """End the compared facts before a new one is inserted, so that never two of one place are live."""
        for fact in verdict.compared:
            self._put(replace(fact, valid_until=max(fact.valid_from, candidate.stated_at)))
        ended = [
            store.end_fact(self.tx, fact.id, end_reason, superseded_by, candidate.stated_at)
            for fact in verdict.compared
        ]
        return all(ended)

    def _put(self, changed: KnownFact) -> None:
        self.facts = [changed if fact.id == changed.id else fact for fact in self.facts]

    def _record_outcome(
        self, candidate: FactCandidate, decision: FactDecision, fact_id: UUID | None, reason: str = ""
    ) -> None:
        self.outcomes.append(MergeOutcome(candidate, decision, fact_id))
        self.decisions.append(
            NewFactDecision(
                next(self.ids),
                candidate.key,
                candidate.origin,
                decision,
                reason,
                candidate.confidence,
                message_ids=candidate.message_ids,
                fact_id=fact_id,
                answers=candidate.answers,
            )
        )
