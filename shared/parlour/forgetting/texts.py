"""The texts of earlier prompts that go: found in the records of prompts, which name every text by its hash.

Every record that is left is looked through, for a Pulse or a briefing of somebody else's may tell of what goes. Texts
that only records of what goes name are deleted; what a record that stays names loses its words, and the record says so
when it is built again. Where there is no time to look through all, what might be somebody else's, too, goes as well:
it is better that an old prompt cannot be shown than that something forgotten can.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from uuid import UUID

from parlour.context.ledger import text_hash
from parlour.context.segment import foreign
from parlour.forgetting import echoes, store
from parlour.forgetting.lineage import Reach
from parlour.forgetting.shelves import Shelf, Sought
from parlour.forgetting.store import LedgerRow, Whose
from parlour.infra.jsonable import JsonObject, canonical
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.principal import Principal
from parlour.turns.prompts import store as kept

_AT_ONCE = 400
"""Records read in one transaction; some five megabytes."""

_SECONDS_KEPT = 8.0
"""With less time than this no further records are read."""

_EMPTY = text_hash("")
_BEFORE_ALL = (UUID(int=0), -2)

type Hashes = dict[date, set[str]]
"""Texts by the month that they are kept under."""

type _Read[R] = Callable[[Transaction], R]


@dataclass(slots=True)
class Texts:
    """What goes: texts that lose their words, and those that are deleted.

    looked  how many records were looked through; is_whole: whether that were all.
    """

    emptied: Hashes = field(default_factory=dict)
    dropped: Hashes = field(default_factory=dict)
    looked: int = 0
    is_whole: bool = True


@dataclass(slots=True)
class Search:
    """The looking through, with what was found so far.

    own         what the records that go name; everybodys: what of that is the tenant's own.
    shared      what of it others name, too.
    talked      what those records of the same conversations and people name that stay.
    suspects    what was told of records of which some values go.
    """

    database: Database
    principal: Principal
    reach: Reach
    left: SecondsLeft
    texts: Texts = field(default_factory=Texts)
    own: Hashes = field(default_factory=dict)
    everybodys: set[str] = field(default_factory=set)
    shared: Hashes = field(default_factory=dict)
    talked: Hashes = field(default_factory=dict)
    suspects: Hashes = field(default_factory=dict)

    def run(self, bodies: Sequence[str]) -> Texts:
        """The texts that go with what is reached; `bodies` are those of the messages among it."""
        month = self.database.run(self.principal, store.first_month)
        if month is None:
            return self.texts
        sought = _sought(self.reach)
        for row in self._records(month, mine=True):
            self._of_theirs(row, sought)
        for row in self._records(month, mine=False):
            self._of_others(row, sought)
        for month_, own in self.own.items():
            if self.texts.is_whole:
                self.texts.dropped[month_] = own - self.shared.get(month_, set())
            else:  # what a prompt that comes counts on may be among them, and must be known to be forgotten
                self.texts.emptied.setdefault(month_, set()).update(own - self.everybodys)
        self._by_words(bodies)
        self._in_pieces()
        return self.texts

    def _of_theirs(self, row: LedgerRow, sought: Sought) -> None:
        """A record of the same people or conversations."""
        shelves, hashes = _opened(row)
        if row.session_id in self.reach.sessions:
            _note(self.own, row, hashes)
            self.everybodys.update(*(one.everybodys() for one in shelves))
            return
        _note(self.talked, row, hashes)
        of_session = replace(sought, numbers=self.reach.numbers.get(row.session_id or row.turn_id, set()))
        self._found(row, shelves, of_session)
        if row.made is not None and str(row.turn_id) in sought.turns:
            made = Shelf.of(row.made)
            _note(self.texts.emptied, row, made.hashes - made.everybodys() - {_EMPTY})

    def _of_others(self, row: LedgerRow, sought: Sought) -> None:
        shelves, hashes = _opened(row)
        _note(self.shared, row, hashes & self.own.get(row.month, set()))
        self._found(row, shelves, sought)

    def _found(self, row: LedgerRow, shelves: Sequence[Shelf], sought: Sought) -> None:
        ids = sought.ids
        found = {text for one in shelves if sought.numbers or one.mentions(ids) for text in one.sought(sought)}
        _note(self.texts.emptied, row, found - {_EMPTY})
        partly = _sources(self.reach.said_of())
        if partly.sources and any(one.mentions(partly.ids) for one in shelves):
            _note(self.suspects, row, {text for one in shelves for text in one.sought(partly)})

    def _records(self, month: date, *, mine: bool) -> Iterator[LedgerRow]:
        """Records from a month on, as long as there is time."""
        whose = Whose([*self.reach.sessions, *self.reach.touched], self.reach.user_id, mine)
        last = _BEFORE_ALL
        while self.left() >= _SECONDS_KEPT:
            rows = self.database.run(self.principal, _reading(whose, month, last))
            self.texts.looked += len(rows)
            yield from rows
            if len(rows) < _AT_ONCE:
                return
            last = rows[-1].turn_id, rows[-1].step
        self.texts.is_whole = False

    def _by_words(self, bodies: Sequence[str]) -> None:
        """What goes for its words alone: the very text of a message, and what repeats its telling words."""
        very = {text_hash(form) for body in bodies for form in (body, foreign(body)) if body.strip()}
        patterns = echoes.patterns(self.reach.needles)
        for month, hashes in self.talked.items():
            found = self.texts.emptied.setdefault(month, set())
            found |= hashes & very
            if patterns:
                found |= set(self.database.run(self.principal, _saying(month, sorted(hashes), patterns)))
        values = echoes.patterns(self.reach.values)
        for month, hashes in self.suspects.items() if values else ():
            said = self.database.run(self.principal, _saying(month, sorted(hashes), values))
            self.texts.emptied.setdefault(month, set()).update(said)

    def _in_pieces(self) -> None:
        """A message of calls that goes was sent block by block, and each block is a text of its own."""
        for month, hashes in self.texts.emptied.items():
            named = sorted(hashes & self.talked.get(month, set()))
            words = self.database.run(self.principal, _words(month, named)) if named else {}
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
