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

from parlour.erasure import quotations, store
from parlour.erasure.erasure_plan import ErasurePlan
from parlour.erasure.progress import BEFORE_FIRST_RECORD, HashesByMonth, SearchProgress
from parlour.erasure.store import LedgerRow, RecordScope
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.prompts.ledger import store as prompt_store
from parlour.prompts.ledger.prompt_record import ErasureQuery, PromptRecord, block_hashes, message_hashes

_RECORD_BATCH_SIZE = 400
"""Records read in one transaction; some five megabytes."""

_MIN_SECONDS_LEFT = 8.0
"""With less time than this no further records are read."""

_TEXT_BATCH_SIZE = 5_000
"""Texts looked at for words in one statement."""

_BEGINNING_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)

type _Read[R] = Callable[[Transaction], R]


class ReadTransaction(Protocol):
    """Does some reading in a transaction: one of its own, or the one that is open."""

    def __call__[R](self, work: Callable[[Transaction], R], /) -> R: ...


@dataclass(slots=True)
class ErasedTexts:
    """Texts that are blanked, and texts that are deleted.

    searched_count          how many prompt records were searched.
    is_complete             whether none was left out.
    records_naming_handles  prompt records, by turn and step, that stay and lose a handle.
    """

    redacted: HashesByMonth = field(default_factory=dict)
    deleted: HashesByMonth = field(default_factory=dict)
    searched_count: int = 0
    is_complete: bool = True
    records_naming_handles: Set[tuple[UUID, int]] = frozenset()


@dataclass(slots=True)
class PromptRecordSearch:
    """The looking through: `seen` is what was found so far, and goes on from there."""

    read: ReadTransaction
    plan: ErasurePlan
    progress: SearchProgress

    def search(self, seconds_left: SecondsLeft) -> bool:
        """Go on as long as there is time; whether the records of theirs were all read, and of others' any. What is the
        tenant's own is looked for only where not all of others' were, by reading theirs once more."""
        seen = self.progress
        if seen.stage == "own_records" and self._read_records(seconds_left, _BEGINNING_OF_TIME, mine=True):
            seen.stage = "foreign_records"
        if seen.stage == "foreign_records":
            looked = seen.searched_count
            seen.is_complete = self._read_records(seconds_left, _BEGINNING_OF_TIME, mine=False)
            if seen.is_complete or seen.searched_count > looked:
                seen.last_record = BEFORE_FIRST_RECORD
                seen.stage = "finished" if seen.is_complete or not self.plan.sessions else "tenant_texts"
        if seen.stage == "tenant_texts" and self._read_records(seconds_left, _BEGINNING_OF_TIME, mine=True):
            seen.stage = "finished"
        return seen.stage == "finished"

    def search_since(self, since: datetime) -> None:
        """Search what was written since then, while the search ran."""
        self.progress.last_record = BEFORE_FIRST_RECORD
        for mine in (True, False):
            self._read_records(lambda: _MIN_SECONDS_LEFT, since, mine=mine)

    def erased_texts(self, bodies: Sequence[str]) -> ErasedTexts:
        """Return the texts that go with the plan; `bodies` are those of the messages in it."""
        seen = self.progress
        emptied = {month: set(some) for month, some in seen.redacted_texts.items()}
        texts = ErasedTexts(
            emptied, {}, seen.searched_count, seen.is_complete or seen.is_rescan, seen.records_naming_handles
        )
        for month, own in seen.own_texts.items():
            if seen.is_complete:
                texts.deleted[month] = own - seen.shared_texts.get(month, set())
            else:  # what a prompt that comes counts on may be among them, and must be known to be forgotten
                texts.redacted.setdefault(month, set()).update(own - seen.tenant_texts)
        self._collect_matching_texts(texts, bodies)
        self._collect_block_texts(texts)
        return texts

    def _read_records(self, left: SecondsLeft, since: datetime, *, mine: bool) -> bool:
        """Whether there was time to read all records of theirs, or of others, from some time on."""
        plan = self.plan
        sources = set(_source_query(plan.source_ids()).sources)
        sources |= {(table, str(one)) for table in ("pulses", "pulse_changes") for one in plan.affected_pulse_records}
        sources |= {
            (table, str(one))
            for table in ("agent_states", "summaries", "summary_key_details")
            for one in plan.affected_sessions
        }
        sources |= {("turns", str(one)) for one in plan.turns}  # what was called in them, as history tells of it
        seen, query = self.progress, ErasureQuery(sources, {str(one) for one in plan.turns})
        first = self.read(store.find_first_month)
        month = max(first or since.date(), since.date().replace(day=1))
        whose = RecordScope([*self.plan.sessions, *self.plan.affected_sessions], self.plan.user_id, mine, since)
        while left() >= _MIN_SECONDS_LEFT:
            rows = self.read(
                lambda tx: store.list_ledger_rows_after(tx, whose, month, *seen.last_record, _RECORD_BATCH_SIZE)
            )
            for row in rows:
                (self._search_own_record if mine else self._search_foreign_record)(row, query)
            seen.searched_count += len(rows) if seen.stage != "tenant_texts" else 0
            if len(rows) < _RECORD_BATCH_SIZE:
                seen.last_record = BEFORE_FIRST_RECORD
                return True
            seen.last_record = rows[-1].turn_id, rows[-1].step
        return False

    def _search_own_record(self, row: LedgerRow, query: ErasureQuery) -> None:
        """Search a record of the same people or conversations."""
        record = PromptRecord.read(row.prompt_inputs, row.step_record)
        if row.session_id in self.plan.sessions:
            _add_hashes(self.progress.own_texts, row, record.text_hashes)
            if self.progress.stage not in {"own_records", "foreign_records"} and not self.progress.is_complete:
                self.progress.tenant_texts.update(record.tenant_text_hashes())
            return
        _add_hashes(self.progress.conversation_texts, row, record.text_hashes)
        of_session = replace(
            query, turn_numbers=self.plan.redacted_turn_numbers.get(row.session_id or row.turn_id, set())
        )
        self._collect_texts(row, record, of_session)
        if str(row.turn_id) in query.turn_ids:
            _add_hashes(
                self.progress.redacted_texts, row, PromptRecord.read(None, row.step_record).personal_text_hashes()
            )

    def _search_foreign_record(self, row: LedgerRow, query: ErasureQuery) -> None:
        record = PromptRecord.read(row.prompt_inputs, row.step_record)
        _add_hashes(self.progress.shared_texts, row, record.text_hashes & self.progress.own_texts.get(row.month, set()))
        self._collect_texts(row, record, query)

    def _collect_texts(self, row: LedgerRow, record: PromptRecord, query: ErasureQuery) -> None:
        _add_hashes(self.progress.redacted_texts, row, record.erased_text_hashes(query))
        if record.names_any_handle(self.plan.handles):
            self.progress.records_naming_handles.add((row.turn_id, row.step))
        if row.session_id in self.plan.foreign_sessions:
            _add_hashes(self.progress.foreign_session_texts, row, record.personal_text_hashes())
        partly = _source_query(self.plan.partial_source_ids())
        if partly.sources:
            _add_hashes(self.progress.partial_source_texts, row, record.erased_text_hashes(partly))

    def _collect_matching_texts(self, texts: ErasedTexts, bodies: Sequence[str]) -> None:
        """Collect texts that go for their words alone: a message's text, and what repeats its distinctive words."""
        very = {key for body in bodies if body.strip() for key in message_hashes(body)}
        patterns = quotations.ilike_patterns(self.plan.quote_search_terms)
        for month, hashes in self.progress.conversation_texts.items():
            found = texts.redacted.setdefault(month, set())
            found |= hashes & very
            for some in batched(sorted(hashes), _TEXT_BATCH_SIZE, strict=False) if patterns else ():
                found |= set(self.read(_read_texts_matching(month, some, patterns)))
        values = quotations.ilike_patterns(self.plan.written_values)
        for month, hashes in self.progress.partial_source_texts.items() if values else ():
            said = self.read(_read_texts_matching(month, sorted(hashes), values))
            texts.redacted.setdefault(month, set()).update(said)
        telling = quotations.ilike_patterns(self.plan.distinctive_terms)
        for month, hashes in self.progress.foreign_session_texts.items() if telling else ():
            for some in batched(sorted(hashes), _TEXT_BATCH_SIZE, strict=False):
                texts.redacted.setdefault(month, set()).update(self.read(_read_texts_matching(month, some, telling)))

    def _collect_block_texts(self, texts: ErasedTexts) -> None:
        """Collect the blocks of a message with tool calls that goes: each block is a text of its own."""
        for month, hashes in texts.redacted.items():
            named = sorted(
                hashes
                & (
                    self.progress.conversation_texts.get(month, set())
                    | self.progress.foreign_session_texts.get(month, set())
                )
            )
            words = self.read(_read_texts(month, named)) if named else {}
            hashes |= {key for text in words.values() for key in block_hashes(text)}


def _add_hashes(into: HashesByMonth, row: LedgerRow, hashes: set[str]) -> None:
    into.setdefault(row.month, set()).update(hashes)


def _source_query(told: Sequence[str]) -> ErasureQuery:
    return ErasureQuery({(table, one) for table, _, one in (each.partition("/") for each in told)})


def _read_texts(month: date, hashes: Sequence[str]) -> _Read[dict[str, str]]:
    return lambda tx: prompt_store.read_texts(tx, month, hashes)


def _read_texts_matching(month: date, hashes: Sequence[str], patterns: Sequence[str]) -> _Read[list[str]]:
    return lambda tx: store.find_texts_matching(tx, month, hashes, patterns)
