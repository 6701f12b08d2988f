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

from parlour.erasure import archives, erasure_plan, progress, report, store, transaction
from parlour.erasure.dead_letter_filter import DeadLetterFilter
from parlour.erasure.erasure_plan import ErasurePlan
from parlour.erasure.progress import CompletedWork, RemainingWork, SearchProgress
from parlour.erasure.prompt_texts import PromptRecordSearch
from parlour.erasure.report import ErasureReport, ErasureTarget, ErasureUnfinished, OutOfReach
from parlour.erasure.store import ErasureListItem, ErasureRow, RunningErasureRow
from parlour.files import uploads
from parlour.infra import log
from parlour.infra.errors import NotFound, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, to_json
from parlour.infra.objects import ObjectStore, UploadStore
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.jobs.dead_letters import DeadLetters
from parlour.principal import Principal
from parlour.prompts.ledger.prompt_record import erase_handles
from parlour.tenancy import audit, roles

_MAX_DEAD_LETTERS = 1_000
"""Dead letters of one queue that are looked at, where there is time for that."""

_DEAD_LETTERS_PER_SECOND = 50

_OBJECT_BATCH_SIZE = 500
_ROW_BATCH_SIZE = 1_000
"""Messages, or turns, that one statement takes away with all that hangs on them: some half a second."""

_RECORD_BATCH_SIZE = 200
"""Records of prompts that are written again at once; some two megabytes."""

_COUNT_INCOMPLETE = "an earlier run stopped while checking these: messages that it deleted are not counted"

_RESUME_HINT = "send the request again to continue"
_MIN_SECONDS_LEFT = 3.0
"""With less time than this no further step is begun."""

_RESCAN_OVERLAP = timedelta(hours=1)
"""What was written by whoever began so long before the looking, and committed during it, is looked at again."""


@dataclass(frozen=True, slots=True)
class ErasureDependencies:
    """What forgetting reaches. media: the bucket of what came with messages and of old messages; files: of uploads."""

    database: Database
    media: ObjectStore
    files: UploadStore
    dead_letters: Mapping[str, DeadLetters]
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """What is to be forgotten, and how.

    dry_run       nothing is changed; the report says what would be.
    keep_records  what its turns did to the tenant's records stays, and is listed.
    """

    target: ErasureTarget
    dry_run: bool = False
    keep_records: bool = False


def erase(
    principal: Principal, dependencies: ErasureDependencies, request: ErasureRequest, seconds_left: SecondsLeft
) -> JsonObject:
    """Erase and return the report, as `ErasureReport.to_json` has it.

    A target that was erased before gives that report again. Needs the role admin. NotFound when there is no such thing,
    Conflict while a turn that goes is being answered. After a RetryError the next request for the same target continues
    with the options of the first.
    """
    roles.require_role(principal, "admin")
    now = dependencies.clock()
    report_id, act_id = uuid7(now), uuid7(now)
    told = ErasureReport(report_id, request.target, principal.name, now, request.dry_run)
    if request.dry_run:
        return _dry_run(principal, dependencies, request, told, seconds_left)
    begun = dependencies.database.run(principal, lambda tx: _begin_or_resume(tx, request, told))
    if isinstance(begun, ErasureRow):
        return begun.report
    row, reach = begun
    told = ErasureReport(row.id, request.target, row.requested_by, now)
    work = _Erasure(principal, dependencies, request.target, row, reach, told, now, act_id, seconds_left)
    found = work.run()
    log.info("erasure_finished", principal=principal.name, kind=request.target.kind, id=request.target.id)
    return found


def list_erasures(principal: Principal, tx: Transaction, cursor: str = "", limit: int = 50) -> Page[ErasureListItem]:
    """Return a page of the tenant's erasures, finished and running, latest first. Needs the role admin.

    InvalidRequest for a bad cursor.
    """
    roles.require_role(principal, "admin")
    rows = store.list_erasures(tx, decode_id_cursor(cursor) if cursor else None, limit + 1)
    return cut_page(rows, limit, lambda erasure: (erasure.at, erasure.id))


def get_report(principal: Principal, tx: Transaction, report_id: UUID) -> JsonObject:
    """Return the report, of a running erasure without rows; NotFound when there is none. Needs the role admin."""
    roles.require_role(principal, "admin")
    for row in store.find_reports(tx, 1, report_id=report_id):
        if row.report:
            return row.report
        return ErasureReport(row.id, ErasureTarget(row.kind, row.target_id), row.requested_by, row.at).to_json()
    raise NotFound("erasure report not found")


def _dry_run(
    principal: Principal,
    services: ErasureDependencies,
    request: ErasureRequest,
    report: ErasureReport,
    seconds_left: SecondsLeft,
) -> JsonObject:
    def read[R](work: Callable[[Transaction], R]) -> R:
        return services.database.run(principal, work)

    try:
        reach = read(lambda tx: erasure_plan.make_plan(tx, request.target, keep_records=request.keep_records))
    except NotFound:
        return read(lambda tx: _find_finished(tx, request)).report
    search = PromptRecordSearch(read, reach, SearchProgress())
    search.search(seconds_left)
    transaction.report_rows(
        report, reach, search.erased_texts(read(lambda tx: transaction.read_message_bodies(tx, reach)))
    )
    return report.to_json()


def _begin_or_resume(
    tx: Transaction, request: ErasureRequest, report: ErasureReport
) -> tuple[RunningErasureRow, ErasurePlan] | ErasureRow:
    """Start or resume the erasure; or return how it ended, if it was as thorough before."""
    kind, target_id = request.target.kind, request.target.id
    if row := store.lock_running_erasure(tx, kind, target_id):
        return row, _plan_what_exists(tx, request.target, row) if row.remaining_work is None else ErasurePlan(
            request.target
        )
    for before in store.find_reports(tx, 1, target=(kind, target_id)):
        if request.keep_records or not before.keep_records:
            return before
    try:
        reach = erasure_plan.make_plan(tx, request.target, keep_records=request.keep_records)
    except NotFound:
        return _find_finished(tx, request)
    store.begin_erasure(
        tx,
        ErasureRow(
            report.id,
            kind,
            target_id,
            report.requested_by,
            request.keep_records,
            "running",
            report.to_json(),
            report.at,
        ),
    )
    begun = store.lock_running_erasure(tx, kind, target_id)
    if begun is None:  # somebody else's ended between the two
        raise ErasureUnfinished(f"this erasure is already running; {_RESUME_HINT}")
    return begun, reach


def _plan_what_exists(tx: Transaction, target: ErasureTarget, row: RunningErasureRow) -> ErasurePlan:
    """Return the plan for what still exists of the target, which may be nothing."""
    try:
        return erasure_plan.make_plan(tx, target, keep_records=row.keep_records)
    except NotFound:
        return ErasurePlan(target)


def _find_finished(tx: Transaction, request: ErasureRequest) -> ErasureRow:
    """How it ended when it was forgotten; NotFound when it never was."""
    for row in store.find_reports(tx, 1, target=(request.target.kind, request.target.id)):
        return row
    raise NotFound(f"{request.target.kind} not found, and none with this id was erased")


@dataclass(slots=True)
class _Erasure:
    """One forgetting under way; reach: what was there of it as the looking began."""

    principal: Principal
    dependencies: ErasureDependencies
    target: ErasureTarget
    row: RunningErasureRow
    plan: ErasurePlan
    report: ErasureReport
    now: datetime
    act_id: UUID
    seconds_left: SecondsLeft
    remaining: RemainingWork = field(default_factory=RemainingWork)
    completed: CompletedWork = field(default_factory=CompletedWork)

    def run(self) -> JsonObject:
        """Return the report when everything is done; raise when the time is over before that."""
        if self.row.remaining_work is None:
            seen = progress.restore_progress(SearchProgress, self.row.search_progress)
            search = PromptRecordSearch(self._in_transaction, self.plan, seen)
            is_enough = search.search(self.seconds_left)
            self._in_transaction(lambda tx: store.save_search_progress(tx, self.row.id, to_json(seen)))
            if not is_enough:
                raise ErasureUnfinished(
                    f"nothing is deleted yet, {seen.searched_count} prompt records were checked; {_RESUME_HINT}"
                )
            self._apply_plan(seen)
        else:
            self._restore_progress(self.row)
        while True:
            self._delete_files()
            self._delete_dead_letters()
            for records in batched(self.remaining.records_naming_handles, _RECORD_BATCH_SIZE, strict=False):
                self._require_time("messages are deleted, prompt records that name them are still to be rewritten")
                self._in_transaction(_handle_erasure(records, self.remaining.handles))
            for query, ids in (
                ("delete_messages", self.remaining.message_ids_to_delete),
                ("delete_turns", self.remaining.turns),
            ):
                for some in batched(ids, _ROW_BATCH_SIZE, strict=False):
                    self._require_time("messages are deleted, the last rows are still to be deleted")
                    self._in_transaction(_deletion(query, list(some)))
            if found := self._in_transaction(self._finish):
                return found
            self._apply_plan(SearchProgress(stage="finished", is_rescan=True))

    def _in_transaction[R](self, work: Callable[[Transaction], R]) -> R:
        return self.dependencies.database.run(self.principal, work)

    def _require_time(self, step: str) -> None:
        if self.seconds_left() < _MIN_SECONDS_LEFT:
            raise ErasureUnfinished(f"{step}; {_RESUME_HINT}")

    def _apply_plan(self, progress: SearchProgress) -> None:
        """Take away what hangs together by words, and write down what is left; somebody else may have done so."""
        self._require_time(
            "newer messages are still to be deleted"
            if progress.is_rescan
            else "nothing is deleted yet, everything was checked"
        )
        with self.dependencies.database.transaction(self.principal) as tx:
            held = store.lock_running_erasure(tx, self.target.kind, self.target.id)
            if held is not None and held.remaining_work is not None:
                self._restore_progress(held)
            if held is not None and held.remaining_work == self.row.remaining_work:
                self._apply_plan_in(tx, progress)

    def _apply_plan_in(self, tx: Transaction, progress: SearchProgress) -> None:
        def read[R](work: Callable[[Transaction], R]) -> R:
            return work(tx)

        transaction.revoke_leases(tx, self.plan, self.now)
        reach = _plan_what_exists(tx, self.target, self.row)
        search = PromptRecordSearch(read, reach, progress)
        search.search_since(self.row.at - _RESCAN_OVERLAP)
        texts = search.erased_texts(transaction.read_message_bodies(tx, reach))
        transaction.report_rows(self.report, reach, texts)
        transaction.ErasureTransaction(tx, self.principal, reach, texts, self.report, self.now).run()
        self.remaining.merge(RemainingWork.from_plan(reach, progress))
        self.completed.are_files_deleted = False
        left, done = to_json(self.remaining), to_json(self.completed)
        store.save_remaining_work(tx, self.row.id, left, self.report.to_json(None), done)

    def _restore_progress(self, row: RunningErasureRow) -> None:
        """Restore the saved progress."""
        self.remaining.merge(progress.restore_progress(RemainingWork, row.remaining_work))
        self.completed = progress.restore_progress(CompletedWork, row.completed_work)
        report.merge_saved_report(row.partial_report or {}, self.report)
        self.row = row

    def _delete_files(self) -> None:
        """Delete objects in buckets. An archive of which only lines go is rewritten."""
        if self.completed.are_files_deleted:
            return
        services = self.dependencies
        for some in batched(self.remaining.object_keys, _OBJECT_BATCH_SIZE, strict=False):
            self._require_time("messages are deleted, files are still to be deleted")
            services.media.delete(some)
        archives.erase_archives(self.principal, services.database, services.media, self.remaining)
        if self.target.kind == "file":
            with suppress(NotFound):  # it was deleted before; what is left of it is gone by now
                uploads.delete_file(self.principal, services.database, services.files, self.target.id, self.now)
        self.completed.are_files_deleted = True
        self._save_completed()

    def _save_completed(self) -> None:
        done = to_json(self.completed)
        self._in_transaction(lambda tx: store.save_completed_work(tx, self.row.id, done))

    def _delete_dead_letters(self) -> None:
        """Dead letters; a queue that does not answer is told of, and nothing else waits for it."""
        if self.target.kind not in {"user", "message"}:
            return
        ours, left = self._in_transaction(lambda tx: store.read_texts(tx, "list_routing_keys")), self.remaining
        known = DeadLetterFilter(set(ours), set(left.addresses), set(left.provider_ids), set(left.ids))
        for name, letters in self.dependencies.dead_letters.items():
            if name not in self.completed.dead_letters:
                self._require_time(f"messages are deleted, dead letters of {name} are still to be checked")
                before, self.completed.current_queue = self.completed.current_queue, name
                self._save_completed()
                gone, problem = self._delete_from_queue(letters, known)
                self.completed.dead_letters[name] = gone, problem or (_COUNT_INCOMPLETE if before == name else "")
                self._save_completed()

    def _delete_from_queue(self, letters: DeadLetters, known: DeadLetterFilter) -> tuple[int, str]:
        most = min(_MAX_DEAD_LETTERS, int((self.seconds_left() - _MIN_SECONDS_LEFT + 1) * _DEAD_LETTERS_PER_SECOND))
        try:
            found = letters.discard(known.is_about, most)
        except QueueUnavailable as problem:
            return 0, str(problem)
        if not found.unexamined_count:
            return found.discarded_count, ""
        return found.discarded_count, (
            f"about {found.unexamined_count} could not be checked: redrive or delete those before them, then "
            "send the request again"
        )

    def _finish(self, tx: Transaction) -> JsonObject | None:
        """Delete the last rows and return the report; None when something new was said in what goes."""
        held, users = store.lock_running_erasure(tx, self.target.kind, self.target.id), self.remaining.users
        if held is None:  # somebody else ended it
            return store.find_reports(tx, 1, report_id=self.row.id)[0].report
        sessions = list({*self.remaining.sessions, *store.read_ids(tx, "list_sessions_of", users=users)})
        if users:
            store.execute(tx, "revoke_session_leases", ids=sessions)
            if store.read_ids(tx, "find_newer_turns", users=users, turns=self.remaining.turns):
                self.row = held
                return None
        store.execute(tx, "delete_sessions", ids=sessions)
        store.execute(tx, "delete_users", ids=users)
        told = self.report
        told.is_finished = True
        told.dead_letters = {name: gone for name, (gone, _) in self.completed.dead_letters.items() if gone}
        found = [
            OutOfReach(f"dead letters of {name}", what)
            for name, (_, what) in self.completed.dead_letters.items()
            if what
        ]
        told.out_of_reach += [one for one in found if one not in told.out_of_reach]
        store.finish_erasure(tx, self.row.id, told.to_json(), self.now)
        action, target = f"{self.target.kind}.erased", f"{self.target.kind}:{self.target.id}"
        audit.add_entry(
            self.principal, tx, action, target, report.count_by_action(told.rows), self.now, entry_id=self.act_id
        )
        return told.to_json()


def _deletion(query: str, ids: list[UUID]) -> Callable[[Transaction], int]:
    return lambda tx: store.execute(tx, query, ids=ids)


def _handle_erasure(records: Sequence[tuple[UUID, int]], handles: Sequence[str]) -> Callable[[Transaction], None]:
    def rename(tx: Transaction) -> None:
        for row in store.find_ledger_rows(tx, records):
            basis, made = (erase_handles(one, handles) if one else None for one in (row.prompt_inputs, row.step_record))
            store.update_ledger_row(tx, replace(row, prompt_inputs=basis, step_record=made))

    return rename
