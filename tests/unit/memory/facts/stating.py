"""Facts and candidates as tests of their rules make them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from parlour.memory.facts import obvious, rules
from parlour.memory.facts.fact import Candidate, Known, Origin, Utterance
from parlour.memory.facts.rules import Verdict

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def message(number: int) -> UUID:
    return UUID(int=number)


def candidate(
    value: str, minute: int = 0, key: str = "city", confidence: float = 0.9, origin: Origin = "said", *,
    ends: bool = False,
) -> Candidate:  # fmt: skip
    """Said in a message of its own, the minute's."""
    return Candidate(key, value, confidence, origin, at(minute), (message(minute),), ends=ends)


def known(value: str, minute: int = 0, key: str = "city", confidence: float = 0.9, origin: Origin = "said") -> Known:
    """Live, and said in a message of its own."""
    return Known(
        message(10_000 + minute), key, value, confidence, origin, at(minute), at(minute), None, None,
        (message(minute),),
    )  # fmt: skip


def told(text: str, minute: int = 0) -> list[Candidate]:
    """The obvious facts of a message."""
    return obvious.find_facts([Utterance(message(minute), text, at(minute))])


def pairs(text: str) -> list[tuple[str, str]]:
    """The same, as keys and values; what is taken back is not among it."""
    return [(one.key, one.value) for one in told(text) if not one.ends]


class Memory:
    """What is known of one user, changed by the rules as the database is."""

    def __init__(self) -> None:
        self.rows: list[Known] = []
        self.ended: dict[UUID, str] = {}
        self.taken: list[str] = []

    def take(self, one: Candidate) -> list[Verdict]:
        found = []
        for resolved in rules.resolve(one, self.live):
            latest = self.latest.get(resolved.key)
            verdict = rules.decide(resolved, latest)
            self._apply(resolved, verdict, latest)
            self.taken.append(verdict.decision)
            found.append(verdict)
        return found

    @property
    def live(self) -> list[Known]:
        return [one for one in self.rows if one.is_live]

    @property
    def latest(self) -> dict[str, Known]:
        newest: dict[str, Known] = {}
        for one in self.rows:
            before = newest.get(one.key)
            if before is None or one.is_live or (not before.is_live and _end(one) >= _end(before)):
                newest[one.key] = one
        return newest

    def value(self, key: str = "city") -> str | None:
        return next((one.value for one in self.live if one.key == key), None)

    def _apply(self, one: Candidate, verdict: Verdict, latest: Known | None) -> None:
        match verdict.decision:
            case "same" if latest:
                self._put(latest, latest.value, verdict.confidence, min(latest.valid_from, one.at),
                          max(latest.sure_at, one.at), (*latest.messages, *one.messages))  # fmt: skip
            case "new" | "refines" | "contradicts":
                if latest and latest.is_live:
                    self._close(latest, one.at)
                row = Known(UUID(int=len(self.rows) + 50_000), one.key, verdict.value, verdict.confidence, one.origin,
                            one.at, one.at, messages=one.messages)  # fmt: skip
                self.rows.append(row)
            case "retracted" if latest:
                self._close(latest, one.at)

    def _put(
        self, row: Known, value: str, confidence: float, since: datetime, sure: datetime, messages: tuple[UUID, ...]
    ) -> None:
        changed = Known(row.id, row.key, value, confidence, row.origin, since, sure, messages=messages)
        self.rows[self.rows.index(row)] = changed

    def _close(self, row: Known, when: datetime) -> None:
        ended = Known(row.id, row.key, row.value, row.confidence, row.origin, row.valid_from, row.sure_at,
                      max(row.valid_from, when), row.session_id, row.messages)  # fmt: skip
        self.rows[self.rows.index(row)] = ended


def _end(row: Known) -> datetime:
    return row.valid_until or datetime.max.replace(tzinfo=UTC)
