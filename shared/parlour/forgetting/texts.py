"""The texts of earlier prompts that go: found in the records of prompts, which name every text by its hash.

Every record that is left is looked through, for a Pulse or a briefing of somebody else's may tell of what goes. Texts
that only records of what goes name are deleted; what a record that stays names loses its words, and the record says so
when it is built again. A person's own records are all read before anything goes, for with these nobody could say any
more which texts were theirs. Where there is no time to look through all others', what might be somebody else's, too,
goes as well: it is better that an old prompt cannot be shown than that something forgotten can.
"""

import json
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import batched
from typing import Protocol
from uuid import UUID

from parlour.context.ledger import text_hash
from parlour.context.segment import foreign
from parlour.forgetting import echoes, names, store
from parlour.forgetting.lineage import Reach
from parlour.forgetting.shelves import Shelf, Sought
from parlour.forgetting.store import LedgerRow, Whose
from parlour.forgetting.under_way import BEFORE_ALL, Hashes, Seen
from parlour.infra.jsonable import JsonObject, canonical
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.turns.prompts import store as kept

_AT_ONCE = 400
"""Records read in one transaction; some five megabytes."""

_SECONDS_KEPT = 8.0
"""With less time than this no further records are read."""

_TEXTS_AT_ONCE = 5_000
"""Texts looked at for words in one statement."""

_EMPTY = text_hash("")
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
        seen, sought = self.seen, _sought(self.reach)
        first = self.read(store.first_month)
        month = max(first or since.date(), since.date().replace(day=1))
        whose = Whose([*self.reach.sessions, *self.reach.touched], self.reach.user_id, mine, since)
        while left() >= _SECONDS_KEPT:
            rows = self.read(_reading(whose, month, seen.last))
            for row in rows:
                (self._of_theirs if mine else self._of_others)(row, sought)
            seen.looked += len(rows) if seen.stage != "everybodys" else 0
            if len(rows) < _AT_ONCE:
                seen.last = BEFORE_ALL
                return True
            seen.last = rows[-1].turn_id, rows[-1].step
        return False

    def _of_theirs(self, row: LedgerRow, sought: Sought) -> None:
        """A record of the same people or conversations."""
        shelves, hashes = _opened(row)
        if row.session_id in self.reach.sessions:
            _note(self.seen.own, row, hashes)
            if self.seen.stage not in {"theirs", "others"} and not self.seen.is_whole:
                self.seen.everybodys.update(*(one.everybodys() for one in shelves))
            return
        _note(self.seen.talked, row, hashes)
        of_session = replace(sought, numbers=self.reach.numbers.get(row.session_id or row.turn_id, set()))
        self._found(row, shelves, of_session)
        if row.made is not None and str(row.turn_id) in sought.turns:
            made = Shelf.of(row.made)
            _note(self.seen.emptied, row, made.hashes - made.everybodys() - {_EMPTY})

    def _of_others(self, row: LedgerRow, sought: Sought) -> None:
        shelves, hashes = _opened(row)
        _note(self.seen.shared, row, hashes & self.seen.own.get(row.month, set()))
        self._found(row, shelves, sought)

    def _found(self, row: LedgerRow, shelves: Sequence[Shelf], sought: Sought) -> None:
        ids = sought.ids
        found = {text for one in shelves if sought.numbers or one.mentions(ids) for text in one.sought(sought)}
        _note(self.seen.emptied, row, found - {_EMPTY})
        if any(names.are_in(one.text, self.reach.handles) for one in shelves):
            self.seen.naming.add((row.turn_id, row.step))
        if row.session_id in self.reach.nearby:
            _note(self.seen.near, row, {text for one in shelves for text in one.hashes - one.everybodys()} - {_EMPTY})
        partly = _sources(self.reach.said_of())
        if partly.sources and any(one.mentions(partly.ids) for one in shelves):
            _note(self.seen.suspects, row, {text for one in shelves for text in one.sought(partly)})

    def _by_words(self, texts: Texts, bodies: Sequence[str]) -> None:
        """What goes for its words alone: the very text of a message, and what repeats its telling words."""
        very = {text_hash(form) for body in bodies for form in (body, foreign(body)) if body.strip()}
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
            hashes |= {text_hash(canonical(one)) for text in words.values() for one in blocks(text)}


def blocks(text: str) -> list[JsonObject]:
    """The content blocks of a message that is kept as JSON; none of any other text."""
    if not text.startswith("{"):
        return []
    with suppress(ValueError):
        found = json.loads(text)
        content = found.get("content") if isinstance(found, dict) else None
        return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    return []


def _opened(row: LedgerRow) -> tuple[list[Shelf], set[str]]:
    shelves = [Shelf.of(given) for given in (row.basis, row.made) if given is not None]
    return shelves, set[str]().union(*(one.hashes for one in shelves)) - {_EMPTY}


def _note(into: Hashes, row: LedgerRow, hashes: set[str]) -> None:
    into.setdefault(row.month, set()).update(hashes)


def _sources(told: Sequence[str]) -> Sought:
    return Sought({(table, one) for table, _, one in (each.partition("/") for each in told)})


def _sought(reach: Reach) -> Sought:
    sources = set(_sources(reach.told()).sources)
    sources |= {(table, str(one)) for table in ("pulses", "pulse_changes") for one in reach.pulses}
    sources |= {(table, str(one)) for table in ("agent_states", "summaries", "kept_verbatim") for one in reach.touched}
    sources |= {("turns", str(one)) for one in reach.turns}  # what was called in them, as history tells of it
    return Sought(sources, {str(one) for one in reach.turns})


def _reading(whose: Whose, month: date, last: tuple[UUID, int]) -> _Read[list[LedgerRow]]:
    return lambda tx: store.ledgers_after(tx, whose, month, *last, _AT_ONCE)


def _words(month: date, hashes: Sequence[str]) -> _Read[dict[str, str]]:
    return lambda tx: kept.blobs(tx, month, hashes)


def _saying(month: date, hashes: Sequence[str], patterns: Sequence[str]) -> _Read[list[str]]:
    return lambda tx: store.texts_saying(tx, month, hashes, patterns)
