"""Facts and candidates as tests of their rules make them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from parlour.memory.facts import explicit_facts, merge_rules
from parlour.memory.facts.fact import FactCandidate, KnownFact, ModelAnswers, Origin, UserMessage
from parlour.memory.facts.merge_rules import MergeVerdict

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def at_minute(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def message_id(number: int) -> UUID:
    return UUID(int=number)


def make_candidate(
    value: str,
    minute: int = 0,
    key: str = "city",
    confidence: float = 0.9,
    origin: Origin = "stated",
    *,
    is_retraction: bool = False,
    holds_until: datetime | None = None,
) -> FactCandidate:
    """Said in a message of its own, the minute's."""
    answers = ModelAnswers({}) if origin in ("extracted", "consolidated") else None
    return FactCandidate(
        key,
        value,
        confidence,
        origin,
        at_minute(minute),
        (message_id(minute),),
        is_retraction=is_retraction,
        holds_until=holds_until,
        answers=answers,
    )


def make_known_fact(
    value: str, minute: int = 0, key: str = "city", confidence: float = 0.9, origin: Origin = "stated"
) -> KnownFact:
    """Live, and said in a message of its own."""
    return KnownFact(
        message_id(10_000 + minute),
        key,
        value,
        confidence,
        origin,
        at_minute(minute),
        at_minute(minute),
        None,
        None,
        (message_id(minute),),
    )


def find_facts(text: str, minute: int = 0) -> list[FactCandidate]:
    """The obvious facts of a message."""
    return explicit_facts.find_explicit_facts([UserMessage(message_id(minute), text, at_minute(minute))])


def stated_pairs(text: str) -> list[tuple[str, str]]:
    """The same, as keys and values; what is taken back is not among it."""
    return [(one.key, one.value) for one in find_facts(text) if not one.is_retraction]


class FactMemory:
    """What is known of one user, changed by the rules as the database is."""

    def __init__(self) -> None:
        self.rows: list[KnownFact] = []
        self.ended: dict[UUID, str] = {}
        self.decisions: list[str] = []

    def merge(self, one: FactCandidate) -> list[MergeVerdict]:
        found = []
        for resolved in merge_rules.resolve_keys(one, self.live):
            verdict = merge_rules.decide(resolved, [row for row in self.rows if row.key == resolved.key])
            self._apply(resolved, verdict)
            self.decisions.append(verdict.decision)
            found.append(verdict)
        return found

    @property
    def live(self) -> list[KnownFact]:
        return [one for one in self.rows if one.is_live]

    def values(self, key: str) -> set[str]:
        return {one.value for one in self.live if one.key == key}

    def value(self, key: str = "city") -> str | None:
        return next((one.value for one in self.live if one.key == key), None)

    def _apply(self, one: FactCandidate, verdict: MergeVerdict) -> None:
        match verdict.decision:
            case "same":
                (known,) = verdict.compared
                self._put(
                    known,
                    known.value,
                    verdict.confidence,
                    min(known.valid_from, one.stated_at),
                    max(known.last_confirmed_at, one.stated_at),
                    (*known.message_ids, *one.message_ids),
                )
            case "new" | "refines" | "corrects" | "contradicts":
                for row in verdict.compared:
                    self._close(row, one.stated_at)
                row = KnownFact(
                    UUID(int=len(self.rows) + 50_000),
                    one.key,
                    verdict.value,
                    verdict.confidence,
                    one.origin,
                    one.stated_at,
                    one.stated_at,
                    message_ids=one.message_ids,
                )
                self.rows.append(row)
            case "retracted":
                for row in verdict.compared:
                    self._close(row, one.stated_at)

    def _put(
        self, row: KnownFact, value: str, confidence: float, since: datetime, sure: datetime, messages: tuple[UUID, ...]
    ) -> None:
        changed = KnownFact(row.id, row.key, value, confidence, row.origin, since, sure, message_ids=messages)
        self.rows[self.rows.index(row)] = changed

    def _close(self, row: KnownFact, when: datetime) -> None:
        ended = KnownFact(
            row.id,
            row.key,
            row.value,
            row.confidence,
            row.origin,
            row.valid_from,
            row.last_confirmed_at,
            max(row.valid_from, when),
            row.session_id,
            row.message_ids,
        )
        self.rows[self.rows.index(row)] = ended
