"""Having something forgotten: whatever was made of it is taken away, and a report says what became of each row.

First what it hangs on is read, and the records of prompts are looked through. Then the files go; in one transaction
what others were told and what led to that, and whoever is at work on any of it is interrupted; dead letters; and last
whole conversations and their user. Every part may be done twice: what broke off in the middle is finished by asking
again. What others drew from more than that is written anew from the rest.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.forgetting import archives, lineage, prompts, records, report, store
from parlour.forgetting.letters import Known
from parlour.forgetting.lineage import Reach
from parlour.forgetting.report import Beyond, Report, Target
from parlour.forgetting.store import ReportRow
from parlour.forgetting.texts import Search, Texts
from parlour.infra import log, work_due
from parlour.infra.dead_letters import DeadLetters
from parlour.infra.errors import NotFound, QueueUnavailable, RetryError
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.objects import Store, Uploads
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.knowledge.files import uploads
from parlour.knowledge.records import stale
from parlour.principal import Principal
from parlour.tenancy import audit, roles
from parlour.turns.prompts.prompting import ANYBODYS

_MOST_LETTERS = 1_000
"""Dead letters of one queue that are looked at."""

_MESSAGES_OF_AN_ANCHOR = 50
_MANY_OBJECTS = 500

_SECONDS_KEPT = 3.0
"""With less time than this no further conversation is taken away."""


class Unfinished(RetryError):
    """Part of it is forgotten; ask again, and it goes on from there."""

    code = "unfinished"


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
    RetryError leaves a part to whoever asks again.
    """
    roles.require(principal, "admin")
    now = services.clock()
    told = Report(services.new_id(now), wish.target, principal.name, now, wish.dry_run)
    act_id = services.new_id(now)
    try:
        found = services.database.run(principal, lambda tx: _reach(tx, wish))
    except NotFound:
        return _before(principal, services, wish)
    work = _Work(principal, services, wish, found, told, now)
    work.look(seconds_left)
    if not wish.dry_run:
        work.erase(seconds_left)
        services.database.run(principal, lambda tx: work.end(tx, act_id))
        log.info("forgotten", principal=principal.name, kind=wish.target.kind, id=wish.target.id)
    return told.to_json()


def reports(principal: Principal, tx: Transaction, most: int = 50) -> list[ReportRow]:
    """What was forgotten in the tenant, latest first. Needs the role admin."""
    roles.require(principal, "admin")
    return store.reports(tx, most)


def one_report(principal: Principal, tx: Transaction, report_id: UUID) -> JsonObject:
    """One report; NotFound when there is none of that id. Needs the role admin."""
    roles.require(principal, "admin")
    for row in store.reports(tx, 1, report_id=report_id):
        return row.report
    raise NotFound("there is no report of that id")


def _reach(tx: Transaction, wish: Wish) -> Reach:
    return lineage.reach(tx, wish.target, keep_records=wish.keep_records)


def _before(principal: Principal, services: Services, wish: Wish) -> JsonObject:
    """What became of it when it was forgotten; NotFound when it never was."""
    for row in services.database.run(principal, lambda tx: store.reports(tx, 1, target_id=wish.target.id)):
        return row.report
    raise NotFound(f"there is no such {wish.target.kind}, and none was forgotten")


@dataclass(slots=True)
class _Work:
    """One forgetting under way."""

    principal: Principal
    services: Services
    wish: Wish
    reach: Reach
    told: Report
    now: datetime
    texts: Texts | None = None

    def look(self, seconds_left: SecondsLeft) -> None:
        """What goes, without changing anything."""
        reach, told = self.reach, self.told
        bodies = self._run(lambda tx: store.words(tx, "bodies", ids=reach.ids("messages", "emptied")))
        self.texts = Search(self.services.database, self.principal, reach, seconds_left).run(bodies)
        self._tell_rows(self.texts)
        told.objects += [*reach.objects, *(one.object_key for one in reach.archives)]
        told.beyond += report.beyond(reach.models, reach.channels)
        if not self.texts.is_whole:
            told.beyond.append(_too_many(self.texts.looked))
        if reach.briefed:
            told.beyond.append(_briefed(len(reach.briefed)))
        if reach.target.kind == "fact":
            told.beyond.append(Beyond("messages", "what it was drawn from still says it: forget the message, too"))

    def _tell_rows(self, texts: Texts) -> None:
        """What becomes of each row."""
        for table, rows in self.reach.rows.items():
            for fate in dict.fromkeys(rows.values()):
                self.told.note(fate, table, [one for one, its in rows.items() if its == fate])
        for row in self.reach.kept:
            self.told.note("kept", row.place, [row.id], "your records are kept")
        for month, hashes in texts.dropped.items():
            self.told.note("removed", "ledger_blobs", [f"{len(hashes)} texts of {month:%Y-%m}"] if hashes else [])
        for month, hashes in texts.emptied.items():
            self.told.note("emptied", "ledger_blobs", [f"{len(hashes)} texts of {month:%Y-%m}"] if hashes else [])

    def erase(self, seconds_left: SecondsLeft) -> None:
        """Take everything away. Unfinished when there is no time left for it."""
        reach = self.reach
        if reach.sessions:
            work = [UUID(one.rpartition("/")[2]) for one in reach.keys("work_due")]
            self._run(lambda tx: store.run(tx, "close_sessions", ids=reach.sessions, work=work))
        self._objects()
        self._run(self._made_of_it)
        if reach.target.kind == "file":
            self._file()
        self._letters()
        for session_id in reach.sessions:
            if seconds_left() < _SECONDS_KEPT:
                raise Unfinished
            self._run(_dropping(session_id))

    def end(self, tx: Transaction, act_id: UUID) -> None:
        """The last of it, and the report."""
        told = self.told
        if self.reach.target.kind == "user":
            store.run(tx, "drop_users", ids=self.reach.ids("users"))
        told.is_finished = True
        self._keep_report(tx)
        action, target = f"{told.target.kind}.forgotten", f"{told.target.kind}:{told.target.id}"
        audit.record(self.principal, tx, action, target, report.counted(told.rows), told.at, lambda _: act_id)

    def _keep_report(self, tx: Transaction) -> None:
        told = self.told
        store.keep_report(
            tx, ReportRow(told.id, told.target.kind, told.target.id, told.asked_by, told.to_json(), told.at)
        )  # fmt: skip

    def _made_of_it(self, tx: Transaction) -> None:
        """What hangs on it only by what its turns did or said goes at once, or it would not be found again."""
        reach = self.reach
        store.run(tx, "interrupt", ids=[*reach.sessions, *reach.touched, *reach.pulses], now=self.now)
        store.run(tx, "fence", ids=reach.touched)
        store.run(tx, "drop_context", ids=reach.standing_rows)
        records.take_back(tx, self.principal, reach, self.told, self.now, self.services.new_id)
        self._told_to_others(tx)
        self._texts(tx)
        if reach.touched:
            self._conversation(tx)
        self._keep_report(tx)

    def _run[R](self, work: Callable[[Transaction], R]) -> R:
        return self.services.database.run(self.principal, work)

    def _objects(self) -> None:
        services, reach = self.services, self.reach
        for start in range(0, len(reach.objects), _MANY_OBJECTS):
            services.media.delete(reach.objects[start : start + _MANY_OBJECTS])
        archives.without(self.principal, services.database, services.media, reach)

    def _file(self) -> None:
        """An uploaded file; who drew from it is known by its rows until now."""
        services = self.services
        with suppress(NotFound):  # it was deleted before; what is left of it is gone by now
            uploads.delete(
                self.principal, services.database, services.files, self.reach.target.id, self.now, services.new_id
            )  # fmt: skip

    def _told_to_others(self, tx: Transaction) -> None:
        """Facts and episodes, Pulses, and what pinned briefings say."""
        reach = self.reach
        gone = self._without_supported(tx)
        earlier = store.ids(tx, "earlier_facts", ids=gone) if gone and reach.target.kind == "message" else []
        if reach.target.kind == "fact":
            store.run(tx, "note_forgotten", id=self.told.id, fact_id=reach.target.id, now=self.now)
        store.run(tx, "drop_facts", ids=gone, decisions=reach.ids("fact_decisions"))
        if earlier:
            self.told.note("restored", "facts", store.ids(tx, "restore_facts", ids=earlier))
        store.run(tx, "drop_pulses", **reach.told_pulses())
        own = set(reach.ids("entities"))
        again = [one for one in reach.pulses if one not in own]
        stale.mark_alone(tx, again, "changed", self.now)
        self.told.anew += [f"pulse/{one}" for one in again if f"pulse/{one}" not in self.told.anew]
        prompts.blank(tx, reach.briefed, reach.touched)

    def _without_supported(self, tx: Transaction) -> list[UUID]:
        """The facts that go: those that another message says as well stay."""
        reach = self.reach
        if reach.target.kind != "message" or not reach.ids("facts"):
            return reach.ids("facts")
        kept = set(store.ids(tx, "keep_supported", messages=reach.messages))
        if kept:
            self.told.rows = [one for one in self.told.rows if one.table != "facts" or UUID(one.id) not in kept]
            self.told.note("kept", "facts", kept, "another message says it as well")
        return [one for one in reach.ids("facts") if one not in kept]

    def _texts(self, tx: Transaction) -> None:
        texts = self.texts or Texts()
        for month, hashes in sorted(texts.emptied.items()):
            store.run(tx, "empty_texts", month=month, hashes=sorted(hashes), short=ANYBODYS)
        for month, hashes in sorted(texts.dropped.items()):
            store.run(tx, "drop_texts", month=month, hashes=sorted(hashes))

    def _conversation(self, tx: Transaction) -> None:
        """A conversation stays, without what was said in some turns; what is left of it is told anew."""
        reach = self.reach
        emptied, touched = reach.ids("messages", "emptied"), {str(one) for one in reach.touched}
        summaries = [one for one in reach.keys("summaries") if one.partition("/")[0] in touched]
        file_id = reach.target.id if reach.target.kind == "file" else None
        store.run(tx, "empty_turns", turns=reach.silenced, messages=emptied, file_id=file_id)
        store.run(tx, "empty_messages", ids=emptied)
        titled = reach.touched if reach.target.kind == "message" else []
        store.run(
            tx, "drop_memory", episodes=reach.ids("episodes"), kept=reach.ids("kept_verbatim"),
            sessions=reach.touched, titled=titled, summaries=summaries,
        )  # fmt: skip
        store.run(tx, "count_anchors", sessions=reach.touched, each=_MESSAGES_OF_AN_ANCHOR)
        again = {UUID(one.partition("/")[0]) for one in summaries}
        for session_id in sorted(again):
            work_due.mark(tx, "summary", session_id, self.now)
        self._anew("summary", again)

    def _anew(self, kind: str, ids: set[UUID]) -> None:
        named = [f"{kind}/{one}" for one in sorted(ids)]
        self.told.anew += [one for one in named if one not in self.told.anew]

    def _letters(self) -> None:
        """Dead letters; a queue that does not answer is told of, and nothing else waits for it."""
        reach = self.reach
        if reach.target.kind not in {"user", "message"}:
            return
        ours = self._run(lambda tx: store.words(tx, "routing_keys"))
        ids = {str(one) for one in reach.sessions} | set(reach.keys("outbox")) | set(reach.keys("tool_calls"))
        known = Known(
            set(ours), set(reach.addresses), set(reach.provider_ids), ids if reach.sessions else {str(reach.target.id)}
        )
        for name, letters in self.services.dead_letters.items():
            self._letters_of(name, letters, known)

    def _letters_of(self, name: str, letters: DeadLetters, known: Known) -> None:
        try:
            found = letters.discard(known.is_about, _MOST_LETTERS)
        except QueueUnavailable as problem:
            self.told.beyond.append(Beyond(f"dead letters of {name}", str(problem)))
            return
        if found.gone:
            self.told.letters[name] = found.gone
        if found.unseen:
            what = (
                f"about {found.unseen} could not be looked at: redrive or throw away those before them, and ask again"
            )
            self.told.beyond.append(Beyond(f"dead letters of {name}", what))


def _dropping(session_id: UUID) -> Callable[[Transaction], int]:
    return lambda tx: store.run(tx, "drop_session", id=session_id)


def _briefed(many: int) -> Beyond:
    what = f"{many} had it in their briefing: a reply there that repeats it, and names no source, is not found"
    return Beyond("conversations of others", what)


def _too_many(looked: int) -> Beyond:
    what = (
        f"{looked} were looked through in the time there was; texts that may be others', too, went unseen,"
        " and what tells of it in the rest goes with its retention"
    )
    return Beyond("records of prompts", what)
