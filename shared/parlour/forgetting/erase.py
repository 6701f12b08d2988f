"""Having something forgotten: whatever was made of it is taken away, and a report says what became of each row.

It is written down from its beginning, and may break off anywhere: whoever asks again goes on with it. First what it
hangs on is read, and the records of prompts are looked through. In one transaction, in which that is read once more,
whoever is at work on any of it is interrupted, and what hangs together by words only goes: what was said, what others
were told, what led to that. Files, dead letters and whole conversations, which are known by ids, are written down there
and go step by step. The last rows go with the report's end. What others drew from more than that is written anew from
the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import batched
from uuid import UUID

from parlour.context.prompt_record import without_handles
from parlour.forgetting import archives, lineage, report, store, taking, under_way
from parlour.forgetting.letters import Known
from parlour.forgetting.lineage import Reach
from parlour.forgetting.report import Beyond, Report, Target, Unfinished
from parlour.forgetting.store import ListedRow, ReportRow, UnderWayRow
from parlour.forgetting.texts import Search
from parlour.forgetting.under_way import Done, Left, Seen
from parlour.infra import log
from parlour.infra.errors import NotFound, QueueUnavailable
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject, to_json
from parlour.infra.objects import Store, Uploads
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.jobs.dead_letters import DeadLetters
from parlour.knowledge.files import uploads
from parlour.principal import Principal
from parlour.tenancy import audit, roles

_MOST_LETTERS = 1_000
"""Dead letters of one queue that are looked at, where there is time for that."""

_LETTERS_A_SECOND = 50

_MANY_OBJECTS = 500
_MANY_ROWS = 1_000
"""Messages, or turns, that one statement takes away with all that hangs on them: some half a second."""

_MANY_RECORDS = 200
"""Records of prompts that are written again at once; some two megabytes."""

_UNCOUNTED = "it broke off once while these were looked through: those that went then are not counted"

_AGAIN = "ask again, and it goes on from there"
_SECONDS_KEPT = 3.0
"""With less time than this no further step is begun."""

_OVERLAP = timedelta(hours=1)
"""What was written by whoever began so long before the looking, and committed during it, is looked at again."""


@dataclass(frozen=True, slots=True)
class Services:
    """What forgetting reaches. media: the bucket of what came with messages and of old messages; files: of uploads."""

    database: Database
    media: Store
    files: Uploads
    dead_letters: Mapping[str, DeadLetters]
    clock: Callable[[], datetime]
    new_id: NewId


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be forgotten, and how.

    dry_run       nothing is changed; the report says what would be.
    keep_records  what its turns did to the tenant's records stays, and is listed.
    """

    target: Target
    dry_run: bool = False
    keep_records: bool = False


def forget(principal: Principal, services: Services, wish: Wish, seconds_left: SecondsLeft) -> JsonObject:
    """The report, as `Report.to_json` has it. Asked again of what was forgotten before, it is that report.

    Needs the role admin. NotFound when there is no such thing, Conflict while a turn that goes is being answered. A
    RetryError leaves a part to whoever asks again, as it was wished first.
    """
    roles.require(principal, "admin")
    now = services.clock()
    report_id, act_id = services.new_id(now), services.new_id(now)
    told = Report(report_id, wish.target, principal.name, now, wish.dry_run)
    if wish.dry_run:
        return _dry(principal, services, wish, told, seconds_left)
    begun = services.database.run(principal, lambda tx: _begun(tx, wish, told))
    if isinstance(begun, ReportRow):
        return begun.report
    row, reach = begun
    told = Report(row.id, wish.target, row.asked_by, now)
    work = _Work(principal, services, wish.target, row, reach, told, now, act_id, seconds_left)
    found = work.run()
    log.info("forgotten", principal=principal.name, kind=wish.target.kind, id=wish.target.id)
    return found


def reports(principal: Principal, tx: Transaction, most: int = 50) -> list[ListedRow]:
    """What was forgotten in the tenant, or is being forgotten, latest first. Needs the role admin."""
    roles.require(principal, "admin")
    return store.listed(tx, most)


def one_report(principal: Principal, tx: Transaction, report_id: UUID) -> JsonObject:
    """One report; NotFound when there is none of that id. Needs the role admin."""
    roles.require(principal, "admin")
    for row in store.reports(tx, 1, report_id=report_id):
        return row.report
    raise NotFound("there is no report of that id")


def _dry(
    principal: Principal, services: Services, wish: Wish, told: Report, seconds_left: SecondsLeft
) -> JsonObject:  # fmt: skip
    def read[R](work: Callable[[Transaction], R]) -> R:
        return services.database.run(principal, work)

    try:
        reach = read(lambda tx: lineage.reach(tx, wish.target, keep_records=wish.keep_records))
    except NotFound:
        return read(lambda tx: _before(tx, wish)).report
    search = Search(read, reach, Seen())
    search.look(seconds_left)
    taking.tell(told, reach, search.found(read(lambda tx: taking.bodies(tx, reach))))
    return told.to_json()


def _begun(tx: Transaction, wish: Wish, told: Report) -> tuple[UnderWayRow, Reach] | ReportRow:
    """It is under way from now on, as it may be already; or how it ended, if it was forgotten as thoroughly before."""
    kind, target_id = wish.target.kind, wish.target.id
    if row := store.under_way(tx, kind, target_id):
        return row, _what_is_there(tx, wish.target, row) if row.left is None else Reach(wish.target)
    for before in store.reports(tx, 1, target=(kind, target_id)):
        if wish.keep_records or not before.keep_records:
            return before
    try:
        reach = lineage.reach(tx, wish.target, keep_records=wish.keep_records)
    except NotFound:
        return _before(tx, wish)
    store.begin_forgetting(
        tx, ReportRow(told.id, kind, target_id, told.asked_by, wish.keep_records, "under way", told.to_json(), told.at)
    )  # fmt: skip
    begun = store.under_way(tx, kind, target_id)
    if begun is None:  # somebody else's ended between the two
        raise Unfinished(f"somebody else is at it; {_AGAIN}")
    return begun, reach


def _what_is_there(tx: Transaction, target: Target, row: UnderWayRow) -> Reach:
    """What is there of it, which may be nothing any more."""
    try:
        return lineage.reach(tx, target, keep_records=row.keep_records)
    except NotFound:
        return Reach(target)


def _before(tx: Transaction, wish: Wish) -> ReportRow:
    """How it ended when it was forgotten; NotFound when it never was."""
    for row in store.reports(tx, 1, target=(wish.target.kind, wish.target.id)):
        return row
    raise NotFound(f"there is no such {wish.target.kind}, and none was forgotten")


@dataclass(slots=True)
class _Work:
    """One forgetting under way; reach: what was there of it as the looking began."""

    principal: Principal
    services: Services
    target: Target
    row: UnderWayRow
    reach: Reach
    told: Report
    now: datetime
    act_id: UUID
    seconds_left: SecondsLeft
    left: Left = field(default_factory=Left)
    done: Done = field(default_factory=Done)

    def run(self) -> JsonObject:
        """The report when all of it is done; Unfinished when there is no time left for that."""
        if self.row.left is None:
            self._take(self._look())
        else:
            self._take_up(self.row)
        while True:
            self._files()
            self._letters()
            self._rows()
            if found := self._run(self._end):
                return found
            self._take(Seen(stage="over", is_again=True))

    def _run[R](self, work: Callable[[Transaction], R]) -> R:
        return self.services.database.run(self.principal, work)

    def _in_time(self, step: str) -> None:
        if self.seconds_left() < _SECONDS_KEPT:
            raise Unfinished(f"{step}; {_AGAIN}")

    def _look(self) -> Seen:
        """Look the records of prompts through, without changing anything but how far that got."""
        seen = under_way.again(Seen, self.row.seen)
        search = Search(self._run, self.reach, seen)
        is_enough = search.look(self.seconds_left)
        self._run(lambda tx: store.note_seen(tx, self.row.id, to_json(seen)))
        if not is_enough:
            raise Unfinished(f"nothing is gone yet, {seen.looked} records of prompts were looked through; {_AGAIN}")
        return seen

    def _take(self, seen: Seen) -> None:
        """Take away what hangs together by words, and write down what is left; somebody else may have done so."""
        self._in_time(
            "what was said meanwhile is still to go" if seen.is_again else "nothing is gone yet, all was looked at"
        )
        with self.services.database.transaction(self.principal) as tx:
            held = store.under_way(tx, self.target.kind, self.target.id)
            if held is not None and held.left is not None:
                self._take_up(held)
            if held is not None and held.left == self.row.left:
                self._take_in(tx, seen)

    def _take_in(self, tx: Transaction, seen: Seen) -> None:
        def read[R](work: Callable[[Transaction], R]) -> R:
            return work(tx)

        taking.interrupt(tx, self.reach, self.now)
        reach = _what_is_there(tx, self.target, self.row)
        search = Search(read, reach, seen)
        search.look_again(self.row.at - _OVERLAP)
        texts = search.found(taking.bodies(tx, reach))
        taking.tell(self.told, reach, texts)
        taking.Taking(tx, self.principal, reach, texts, self.told, self.now, self.services.new_id).run()
        self.left.add(Left.of(reach, seen))
        self.done.are_files_gone = False
        left, done = to_json(self.left), to_json(self.done)
        store.note_left(tx, self.row.id, left, self.told.to_json(None), done)

    def _take_up(self, row: UnderWayRow) -> None:
        """What was written down goes on from here."""
        self.left.add(under_way.again(Left, row.left))
        self.done = under_way.again(Done, row.done)
        report.again(row.told or {}, self.told)
        self.row = row

    def _files(self) -> None:
        """What lies in buckets. An archive of which only lines go is written again."""
        if self.done.are_files_gone:
            return
        services = self.services
        for some in batched(self.left.objects, _MANY_OBJECTS, strict=False):
            self._in_time("what was said is gone, and files are still to go")
            services.media.delete(some)
        archives.without(self.principal, services.database, services.media, self.left)
        if self.target.kind == "file":
            with suppress(NotFound):  # it was deleted before; what is left of it is gone by now
                uploads.delete(
                    self.principal, services.database, services.files, self.target.id, self.now, services.new_id
                )  # fmt: skip
        self.done.are_files_gone = True
        self._note_done()

    def _note_done(self) -> None:
        done = to_json(self.done)
        self._run(lambda tx: store.note_done(tx, self.row.id, done))

    def _letters(self) -> None:
        """Dead letters; a queue that does not answer is told of, and nothing else waits for it."""
        if self.target.kind not in {"user", "message"}:
            return
        ours, left = self._run(lambda tx: store.words(tx, "routing_keys")), self.left
        known = Known(set(ours), set(left.addresses), set(left.provider_ids), set(left.ids))
        for name, letters in self.services.dead_letters.items():
            if name not in self.done.letters:
                self._in_time(f"what was said is gone, and dead letters of {name} are still to be looked at")
                before, self.done.queue = self.done.queue, name
                self._note_done()
                gone, problem = self._letters_of(letters, known)
                self.done.letters[name] = gone, problem or (_UNCOUNTED if before == name else "")
                self._note_done()

    def _letters_of(self, letters: DeadLetters, known: Known) -> tuple[int, str]:
        most = min(_MOST_LETTERS, int((self.seconds_left() - _SECONDS_KEPT + 1) * _LETTERS_A_SECOND))
        try:
            found = letters.discard(known.is_about, most)
        except QueueUnavailable as problem:
            return 0, str(problem)
        if not found.unseen:
            return found.gone, ""
        return found.gone, (
            f"about {found.unseen} could not be looked at: redrive or throw away those before them, and ask again"
        )

    def _rows(self) -> None:
        """The messages and turns of whole conversations, and handles in records that stay."""
        for records in batched(self.left.naming, _MANY_RECORDS, strict=False):
            self._in_time("what was said is gone, and records of prompts that name it are still to be written anew")
            self._run(_renaming(records, self.left.handles))
        for query, ids in (("drop_messages", self.left.lines), ("drop_turns", self.left.turns)):
            for some in batched(ids, _MANY_ROWS, strict=False):
                self._in_time("what was said is gone, and the last rows are still to go")
                self._run(_dropping(query, list(some)))

    def _end(self, tx: Transaction) -> JsonObject | None:
        """The last rows, and the report; None when something was said and done meanwhile in what goes."""
        held, users = store.under_way(tx, self.target.kind, self.target.id), self.left.users
        if held is None:  # somebody else ended it
            return store.reports(tx, 1, report_id=self.row.id)[0].report
        sessions = list({*self.left.sessions, *store.ids(tx, "sessions_of", users=users)})
        if users:
            store.run(tx, "fence", ids=sessions)
            if store.ids(tx, "newer_turns", users=users, turns=self.left.turns):
                self.row = held
                return None
        store.run(tx, "drop_sessions", ids=sessions)
        store.run(tx, "drop_users", ids=users)
        told = self._whole()
        store.end_forgetting(tx, self.row.id, told.to_json(), self.now)
        action, target = f"{self.target.kind}.forgotten", f"{self.target.kind}:{self.target.id}"
        audit.record(self.principal, tx, action, target, report.counted(told.rows), self.now, lambda _: self.act_id)
        return told.to_json()

    def _whole(self) -> Report:
        """The report with what is known at the end only."""
        told = self.told
        told.is_finished = True
        told.letters = {name: gone for name, (gone, _) in self.done.letters.items() if gone}
        found = [Beyond(f"dead letters of {name}", what) for name, (_, what) in self.done.letters.items() if what]
        told.beyond += [one for one in found if one not in told.beyond]
        return told


def _dropping(query: str, ids: list[UUID]) -> Callable[[Transaction], int]:
    return lambda tx: store.run(tx, query, ids=ids)


def _renaming(records: Sequence[tuple[UUID, int]], handles: Sequence[str]) -> Callable[[Transaction], None]:
    def rename(tx: Transaction) -> None:
        for row in store.ledgers_named(tx, records):
            basis, made = (without_handles(one, handles) if one else None for one in (row.basis, row.made))
            store.put_ledger(tx, replace(row, basis=basis, made=made))

    return rename
