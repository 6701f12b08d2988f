"""The texts of earlier prompts that go: found in the records of prompts, which name every text by its hash.

Every record that is left is looked through, for a Pulse or a briefing of somebody else's may tell of what goes. Texts
that only records of what goes name are deleted; what a record that stays names loses its words, and the record says so
when it is built again. A person's own records are all read before anything goes, for with these nobody could say any
more which texts were theirs. Where there is no time to look through all others', what might be somebody else's, too,
goes as well: it is better that an old prompt cannot be shown than that something forgotten can.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import batched
from typing import Protocol
from uuid import UUID

from parlour.context.prompt_record import ErasureQuery, PromptRecord, block_hashes, message_hashes
from parlour.forgetting import echoes, store
from parlour.forgetting.lineage import Reach
from parlour.forgetting.store import LedgerRow, Whose
from parlour.forgetting.under_way import BEFORE_ALL, Hashes, Seen
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.turns.prompts import store as prompt_store

_AT_ONCE = 400
"""Records read in one transaction; some five megabytes."""

_SECONDS_KEPT = 8.0
"""With less time than this no further records are read."""

_TEXTS_AT_ONCE = 5_000
"""Texts looked at for words in one statement."""

_EVER = datetime(1970, 1, 1, tzinfo=UTC)

type _Read[R] = Callable[[Transaction], R]


class Reads(Protocol):
    """Does some reading in a transaction: one of its own, or the one that is open."""

    def __call__[R](self, work: Callable[[Transaction], R], /) -> R: ...


@dataclass(slots=True)
class Texts:
    """What goes: texts that lose their words, and those that are deleted.

    naming  records of prompts, by turn and step, that stay and lose a handle.
    looked  how many records were looked through; is_whole: whether none went unseen.
    """

    emptied: Hashes = field(default_factory=dict)
    dropped: Hashes = field(default_factory=dict)
    looked: int = 0
    is_whole: bool = True
    naming: Set[tuple[UUID, int]] = frozenset()


@dataclass(slots=True)
class Search:
    """The looking through: `seen` is what was found so far, and goes on from there."""

    read: Reads
    reach: Reach
    seen: Seen

    def look(self, left: SecondsLeft) -> bool:
        """Go on as long as there is time; whether the records of theirs were all read, and of others' any. What is the
        tenant's own is looked for only where not all of others' were, by reading theirs once more."""
        seen = self.seen
        if seen.stage == "theirs" and self._through(left, _EVER, mine=True):
            seen.stage = "others"
        if seen.stage == "others":
            looked = seen.looked
            seen.is_whole = self._through(left, _EVER, mine=False)
            if seen.is_whole or seen.looked > looked:
                seen.last = BEFORE_ALL
                seen.stage = "over" if seen.is_whole or not self.reach.sessions else "everybodys"
        if seen.stage == "everybodys" and self._through(left, _EVER, mine=True):
            seen.stage = "over"
        return seen.stage == "over"

    def look_again(self, since: datetime) -> None:
        """What was written since then, while it was looked."""
        self.seen.last = BEFORE_ALL
        for mine in (True, False):
            self._through(lambda: _SECONDS_KEPT, since, mine=mine)

    def found(self, bodies: Sequence[str]) -> Texts:
        """The texts that go with what is reached; `bodies` are those of the messages among it."""
        seen = self.seen
        emptied = {month: set(some) for month, some in seen.emptied.items()}
        texts = Texts(emptied, {}, seen.looked, seen.is_whole or seen.is_again, seen.naming)
        for month, own in seen.own.items():
            if seen.is_whole:
                texts.dropped[month] = own - seen.shared.get(month, set())
            else:  # what a prompt that comes counts on may be among them, and must be known to be forgotten
                texts.emptied.setdefault(month, set()).update(own - seen.everybodys)
        self._by_words(texts, bodies)
        self._in_pieces(texts)
        return texts

    def _through(self, left: SecondsLeft, since: datetime, *, mine: bool) -> bool:
        """Whether there was time to read all records of theirs, or of others, from some time on."""
        seen, query = self.seen, _query(self.reach)
        first = self.read(store.first_month)
        month = max(first or since.date(), since.date().replace(day=1))
        whose = Whose([*self.reach.sessions, *self.reach.touched], self.reach.user_id, mine, since)
        while left() >= _SECONDS_KEPT:
            rows = self.read(_reading(whose, month, seen.last))
            for row in rows:
                (self._of_theirs if mine else self._of_others)(row, query)
            seen.looked += len(rows) if seen.stage != "everybodys" else 0
            if len(rows) < _AT_ONCE:
                seen.last = BEFORE_ALL
                return True
            seen.last = rows[-1].turn_id, rows[-1].step
        return False

    def _of_theirs(self, row: LedgerRow, query: ErasureQuery) -> None:
        """A record of the same people or conversations."""
        record = PromptRecord.read(row.basis, row.made)
        if row.session_id in self.reach.sessions:
            _note(self.seen.own, row, record.texts)
            if self.seen.stage not in {"theirs", "others"} and not self.seen.is_whole:
                self.seen.everybodys.update(record.tenant_texts())
            return
        _note(self.seen.talked, row, record.texts)
        of_session = replace(query, numbers=self.reach.numbers.get(row.session_id or row.turn_id, set()))
        self._found(row, record, of_session)
        if str(row.turn_id) in query.turns:
            _note(self.seen.emptied, row, PromptRecord.read(None, row.made).personal_texts())

    def _of_others(self, row: LedgerRow, query: ErasureQuery) -> None:
        record = PromptRecord.read(row.basis, row.made)
        _note(self.seen.shared, row, record.texts & self.seen.own.get(row.month, set()))
        self._found(row, record, query)

    def _found(self, row: LedgerRow, record: PromptRecord, query: ErasureQuery) -> None:
        _note(self.seen.emptied, row, record.texts_of(query))
        if record.names(self.reach.handles):
            self.seen.naming.add((row.turn_id, row.step))
        if row.session_id in self.reach.nearby:
            _note(self.seen.near, row, record.personal_texts())
        partly = _sources(self.reach.said_of())
        if partly.sources:
            _note(self.seen.suspects, row, record.texts_of(partly))

    def _by_words(self, texts: Texts, bodies: Sequence[str]) -> None:
        """What goes for its words alone: the very text of a message, and what repeats its telling words."""
        very = {key for body in bodies if body.strip() for key in message_hashes(body)}
        patterns = echoes.patterns(self.reach.needles)
        for month, hashes in self.seen.talked.items():
            found = texts.emptied.setdefault(month, set())
            found |= hashes & very
            for some in batched(sorted(hashes), _TEXTS_AT_ONCE, strict=False) if patterns else ():
                found |= set(self.read(_saying(month, some, patterns)))
        values = echoes.patterns(self.reach.values)
        for month, hashes in self.seen.suspects.items() if values else ():
            said = self.read(_saying(month, sorted(hashes), values))
            texts.emptied.setdefault(month, set()).update(said)
        telling = echoes.patterns(self.reach.telling)
        for month, hashes in self.seen.near.items() if telling else ():
            for some in batched(sorted(hashes), _TEXTS_AT_ONCE, strict=False):
                texts.emptied.setdefault(month, set()).update(self.read(_saying(month, some, telling)))

    def _in_pieces(self, texts: Texts) -> None:
        """A message of calls that goes was sent block by block, and each block is a text of its own."""
        for month, hashes in texts.emptied.items():
            named = sorted(hashes & (self.seen.talked.get(month, set()) | self.seen.near.get(month, set())))
            words = self.read(_words(month, named)) if named else {}
            hashes |= {key for text in words.values() for key in block_hashes(text)}


def _note(into: Hashes, row: LedgerRow, hashes: set[str]) -> None:
    into.setdefault(row.month, set()).update(hashes)


def _sources(told: Sequence[str]) -> ErasureQuery:
    return ErasureQuery({(table, one) for table, _, one in (each.partition("/") for each in told)})


def _query(reach: Reach) -> ErasureQuery:
    sources = set(_sources(reach.told()).sources)
    sources |= {(table, str(one)) for table in ("pulses", "pulse_changes") for one in reach.pulses}
    sources |= {(table, str(one)) for table in ("agent_states", "summaries", "kept_verbatim") for one in reach.touched}
    sources |= {("turns", str(one)) for one in reach.turns}  # what was called in them, as history tells of it
    return ErasureQuery(sources, {str(one) for one in reach.turns})


def _reading(whose: Whose, month: date, last: tuple[UUID, int]) -> _Read[list[LedgerRow]]:
    return lambda tx: store.ledgers_after(tx, whose, month, *last, _AT_ONCE)


def _words(month: date, hashes: Sequence[str]) -> _Read[dict[str, str]]:
    return lambda tx: prompt_store.blobs(tx, month, hashes)


def _saying(month: date, hashes: Sequence[str], patterns: Sequence[str]) -> _Read[list[str]]:
    return lambda tx: store.texts_saying(tx, month, hashes, patterns)
