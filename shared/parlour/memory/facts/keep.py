"""Candidates become facts, or do not; either way it is written down: in one transaction, one at a time for a user."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.memory.facts import keys, rules, store
from parlour.memory.facts.fact import MOST_LIVE, Candidate, Decision, Known, Refusal, Scope
from parlour.memory.facts.rules import Verdict
from parlour.memory.facts.store import Bounds, NewDecision

EVERYTHING, FORGOTTEN = "everything", "forgotten"
"""Why words from before are not heard again: all was to be forgotten, or what they had said."""

_MOST_ENDED = 60
"""Facts that one sentence takes back at most; "forget everything" takes back all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a candidate, and the fact that it became or was held against."""

    candidate: Candidate
    decision: Decision
    fact_id: UUID | None = None


def new_ids(candidates: Sequence[Candidate], refusals: Sequence[Refusal], new_id: NewId, now: datetime) -> list[UUID]:
    """As many ids as keeping these may take; made outside of the transaction, which may run twice."""
    ended = sum(_most_ended(one) for one in candidates if one.ends)
    count = 3 * len(candidates) + ended + len(refusals) + _most_crowded_out(candidates)
    return [new_id(now) for _ in range(count)]


def keep(
    tx: Transaction, scope: Scope, session_id: UUID, turn_id: UUID | None, candidates: Sequence[Candidate],
    refusals: Sequence[Refusal], ids: Sequence[UUID], now: datetime,
) -> list[Outcome]:  # fmt: skip
    """Hold each candidate against what is known, the one that was said first first, and write down what became of it.

    scope  as the session says; of a conversation that others read along there is none.
    ids    of `new_ids`.
    """
    if not candidates and not refusals:
        return []
    if not store.lock(tx, scope):
        return []
    latest = store.latest(tx, scope, {one.key for one in candidates})
    said_in = {message for one in candidates for message in one.messages}
    bounds = store.bounds(tx, scope, session_id, said_in)
    keeping = _Keeping(tx, scope, session_id, turn_id, iter(ids), now, latest, bounds)
    for one in sorted(candidates, key=lambda candidate: candidate.at):
        keeping.take(one)
    keeping.make_room(_most_crowded_out(candidates))
    keeping.refuse(refusals)
    store.note_decisions(tx, scope, session_id, turn_id, keeping.decisions, now)
    return keeping.outcomes


def _most_ended(candidate: Candidate) -> int:
    return MOST_LIVE if candidate.everything else _MOST_ENDED


def _most_crowded_out(candidates: Sequence[Candidate]) -> int:
    """More than are added: where two users turned out to be one, there is room again after a while."""
    return 2 * len(candidates)


@dataclass(slots=True)
class _Keeping:
    """One user's facts while they change."""

    tx: Transaction
    scope: Scope
    session_id: UUID
    turn_id: UUID | None
    ids: Iterator[UUID]
    now: datetime
    latest: dict[str, Known]
    bounds: Bounds
    outcomes: list[Outcome] = field(default_factory=list)
    decisions: list[NewDecision] = field(default_factory=list)

    def take(self, candidate: Candidate) -> None:
        reason = self._forgotten(candidate)
        if reason:
            decision: Decision = "older" if reason == EVERYTHING else "duplicate"
            self._note(candidate, decision, None, reason)
            return
        live = [one for one in self.latest.values() if one.is_live and self._may_be_meant(candidate, one)]
        resolved = rules.resolve(candidate, live)[: _most_ended(candidate)]
        for one in resolved:
            self._decide(one)
        if not resolved:
            self._note(candidate, "nothing_to_end", None)
        if candidate.everything:
            self.decisions.append(
                NewDecision(
                    next(self.ids), "", candidate.origin, "forgotten", EVERYTHING, candidate.confidence,
                    candidate.messages, at=candidate.at,
                )
            )  # fmt: skip

    def _forgotten(self, candidate: Candidate) -> str:
        """Why what somebody had forgotten is not made anew by words from before; "" where nothing is against it."""
        if candidate.ends:
            return ""
        all_at = self.bounds.all_forgotten_at
        if all_at is not None and candidate.at < all_at:
            return EVERYTHING
        return FORGOTTEN if candidate.messages and set(candidate.messages) <= set(self.bounds.forgotten) else ""

    def _may_be_meant(self, candidate: Candidate, known: Known) -> bool:
        """Whether "forget that" may mean a fact: what was said just now, and not what was told before a task of which
        somebody thinks better."""
        is_bare = candidate.ends and not (candidate.key or candidate.value or candidate.everything)
        return not is_bare or not {*candidate.messages, *self.bounds.before}.isdisjoint(known.messages)

    def refuse(self, refusals: Sequence[Refusal]) -> None:
        self.decisions += [
            NewDecision(next(self.ids), one.key, one.origin, one.decision, one.reason, one.confidence, one.messages)
            for one in refusals
        ]

    def make_room(self, most: int) -> None:
        """Where too many are live, those of the least use end; what has a key of the vocabulary stays, and what a
        person put right."""
        over = sum(one.is_live for one in self.latest.values()) - MOST_LIVE
        if over > 0:
            gone = store.crowd_out(self.tx, self.scope, keys.KEYS, min(over, most), self.now)
            self.decisions += [
                NewDecision(
                    next(self.ids), one.key, one.origin, "crowded_out", confidence=one.confidence, fact_id=one.id
                )
                for one in gone
            ]  # fmt: skip

    def _decide(self, candidate: Candidate) -> None:
        """A person who puts the fact right, or has it forgotten, waits for nobody: where one has done so since it was
        read, what is known now decides."""
        decided = self._taken(candidate)
        if decided is None:
            self.latest = store.latest(self.tx, self.scope, {*self.latest, candidate.key})
            decided = self._taken(candidate)
        if decided is not None:
            self._note(candidate, *decided)

    def _taken(self, candidate: Candidate) -> tuple[Decision, UUID | None] | None:
        """The decision, carried out, and the fact that it is about; None when that one is live no more."""
        latest = self.latest.get(candidate.key)
        verdict = rules.decide(candidate, latest)
        fact_id: UUID | None = latest.id if latest else None
        is_done = True
        match verdict.decision:
            case "new":
                fact_id = self._insert(next(self.ids), candidate, verdict, candidate.messages)
            case "same" if latest:
                is_done = self._confirm(candidate, verdict, latest)
            case "refines" | "contradicts" if latest:
                fact_id = self._replace(candidate, verdict, latest)
                is_done = fact_id is not None
            case "retracted" if latest:
                is_done = self._end(candidate, latest, "retracted", None)
        return (verdict.decision, fact_id) if is_done else None

    def _insert(self, fact_id: UUID, candidate: Candidate, verdict: Verdict, messages: Sequence[UUID]) -> UUID:
        fact = Known(
            fact_id, candidate.key, verdict.value, verdict.confidence, candidate.origin, candidate.at, candidate.at,
            session_id=self.session_id, messages=tuple(messages),
        )  # fmt: skip
        store.insert(self.tx, self.scope, fact, self.turn_id, self.now)
        self.latest[fact.key] = fact
        return fact.id

    def _confirm(self, candidate: Candidate, verdict: Verdict, latest: Known) -> bool:
        messages = rules.merged_messages(latest.messages, candidate.messages)
        self.latest[latest.key] = replace(
            latest, confidence=verdict.confidence, valid_from=min(latest.valid_from, candidate.at),
            sure_at=max(latest.sure_at, candidate.at), messages=tuple(messages),
        )  # fmt: skip
        return store.confirm(self.tx, latest.id, verdict.confidence, messages, candidate.at)

    def _replace(self, candidate: Candidate, verdict: Verdict, latest: Known) -> UUID | None:
        """The old row ends first: there is never more than one that is live. What says both was taken from both."""
        both = verdict.value != candidate.value
        messages = rules.merged_messages(latest.messages, candidate.messages) if both else candidate.messages
        new_id = next(self.ids)
        ended = "refined" if verdict.decision == "refines" else "contradicted"
        if not self._end(candidate, latest, ended, new_id):
            return None
        return self._insert(new_id, candidate, verdict, messages)

    def _end(self, candidate: Candidate, latest: Known, ended: str, superseded_by: UUID | None) -> bool:
        self.latest[latest.key] = replace(latest, valid_until=max(latest.valid_from, candidate.at))
        return store.end(self.tx, latest.id, ended, superseded_by, candidate.at)

    def _note(self, candidate: Candidate, decision: Decision, fact_id: UUID | None, reason: str = "") -> None:
        self.outcomes.append(Outcome(candidate, decision, fact_id))
        self.decisions.append(
            NewDecision(
                next(self.ids), candidate.key, candidate.origin, decision, reason, candidate.confidence,
                messages=candidate.messages, fact_id=fact_id,
            )
        )  # fmt: skip
