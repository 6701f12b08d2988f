"""Taking away what hangs together by words or by what stands yet: in the one transaction in which it is read.

Nothing of it could be found again with a part of it gone: a reply that repeats a message by the message's words, a turn
that drew from a record by the record's handle. What is known by ids goes later, step by step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from uuid import UUID

from parlour.context.prompt_record import MIN_IDENTIFYING_CHARS
from parlour.forgetting import echoes, records, report, store
from parlour.forgetting.lineage import Reach
from parlour.forgetting.report import Beyond, Report
from parlour.forgetting.texts import Texts
from parlour.infra.ids import NewId
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.knowledge.records import stale
from parlour.principal import Principal
from parlour.turns.prompts import store as prompt_store

_MESSAGES_OF_AN_ANCHOR = 50
_TEXTS_AT_ONCE = 5_000


def interrupt(tx: Transaction, reach: Reach, now: datetime) -> None:
    """Whoever is at work on it, or in another conversation of the same user, is so no more: what they would write is
    refused from now on."""
    users = reach.ids("users") or ([reach.user_id] if reach.user_id else [])
    sessions = [*reach.sessions, *reach.touched, *reach.nearby, *store.ids(tx, "sessions_of", users=users)]
    store.run(tx, "fence", ids=sessions)
    store.run(tx, "interrupt", ids=[*sessions, *reach.pulses], now=now)


def bodies(tx: Transaction, reach: Reach) -> list[str]:
    """What the messages say that lose their words."""
    return store.words(tx, "bodies", ids=reach.ids("messages", "emptied"))


def tell(told: Report, reach: Reach, texts: Texts) -> None:
    """What becomes of each row, and what is out of reach."""
    for table, rows in reach.rows.items():
        for fate in dict.fromkeys(rows.values()):
            told.note(fate, table, [one for one, its in rows.items() if its == fate])
    for row in reach.kept:
        told.note("kept", row.place, [row.id], "your records are kept")
    for month, hashes in texts.dropped.items():
        told.note("removed", "ledger_blobs", [f"{len(hashes)} texts of {month:%Y-%m}"] if hashes else [])
    for month, hashes in texts.emptied.items():
        told.note("emptied", "ledger_blobs", [f"{len(hashes)} texts of {month:%Y-%m}"] if hashes else [])
    told.note("emptied", "ledgers", [f"{turn}/{step}" for turn, step in sorted(texts.naming) if step >= 0])
    told.note("emptied", "pulse_ledgers", [one for one, step in sorted(texts.naming) if step < 0])
    told.objects = list(dict.fromkeys([*told.objects, *reach.objects, *(one.object_key for one in reach.archives)]))
    told.beyond += [one for one in _beyond(reach, texts) if one not in told.beyond]


def _beyond(reach: Reach, texts: Texts) -> list[Beyond]:
    found = report.beyond(reach.models, reach.channels)
    if not texts.is_whole:
        found.append(_too_many(texts.looked))
    if reach.is_cut:
        found.append(_long())
    if reach.briefed:
        found.append(_briefed(len(reach.briefed)))
    if reach.target.kind == "fact":
        found.append(Beyond("messages", "what it was drawn from still says it: forget the message, too"))
    return found


@dataclass(slots=True)
class Taking:
    """One forgetting's taking away."""

    tx: Transaction
    principal: Principal
    reach: Reach
    texts: Texts
    told: Report
    now: datetime
    new_id: NewId

    def run(self) -> None:
        """All of it."""
        tx, reach = self.tx, self.reach
        interrupt(tx, reach, self.now)
        if reach.sessions:
            work = [UUID(one.rpartition("/")[2]) for one in reach.keys("work_due")]
            store.run(tx, "close_sessions", ids=reach.sessions, work=work)
        store.run(tx, "drop_context", ids=reach.standing_rows)
        records.take_back(tx, self.principal, reach, self.told, self.now, self.new_id)
        self._told_to_others()
        self._texts()
        if reach.touched or reach.nearby or reach.ids("messages", "emptied"):
            self._conversation()
        if reach.target.kind == "user":
            store.run(tx, "unname_users", ids=reach.ids("users"))

    def _told_to_others(self) -> None:
        """Facts and episodes, Pulses, and what pinned briefings say."""
        tx, reach = self.tx, self.reach
        gone = self._without_supported()
        earlier = store.ids(tx, "earlier_facts", ids=gone) if gone and reach.target.kind == "message" else []
        if reach.target.kind == "fact":
            store.run(tx, "note_forgotten", id=self.told.id, fact_id=reach.target.id, now=self.now)
        store.run(tx, "drop_facts", ids=gone, decisions=reach.ids("fact_decisions"), messages=reach.messages)
        if earlier:
            self.told.note("restored", "facts", store.ids(tx, "restore_facts", ids=earlier))
        store.run(tx, "drop_pulses", **reach.told_pulses())
        own = set(reach.ids("entities"))
        again = [one for one in reach.pulses if one not in own]
        stale.mark_alone(tx, again, "changed", self.now)
        self._anew("pulse", again)
        touched = [*reach.touched, *reach.nearby]
        prompt_store.erase_standings(tx, [*reach.briefed, *touched], touched)

    def _without_supported(self) -> list[UUID]:
        """The facts that go: those that another message says as well stay."""
        reach = self.reach
        if reach.target.kind != "message" or not reach.ids("facts"):
            return reach.ids("facts")
        kept = set(store.ids(self.tx, "keep_supported", messages=reach.messages))
        if kept:
            recalled = store.placed(self.tx, "hanging", rows=[], facts=list(kept), episodes=[])
            self.told.untell("recalls", [one.id for one in recalled])
            self.told.untell("facts", kept)
            self.told.note("kept", "facts", kept, "another message says it as well")
        return [one for one in reach.ids("facts") if one not in kept]

    def _texts(self) -> None:
        for month, hashes in sorted(self.texts.emptied.items()):
            for some in batched(sorted(hashes), _TEXTS_AT_ONCE, strict=False):
                store.run(self.tx, "empty_texts", month=month, hashes=list(some), short=MIN_IDENTIFYING_CHARS)
        for month, hashes in sorted(self.texts.dropped.items()):
            for some in batched(sorted(hashes), _TEXTS_AT_ONCE, strict=False):
                store.run(self.tx, "drop_texts", month=month, hashes=list(some))

    def _conversation(self) -> None:
        """A conversation stays, without what was said in some turns; what is left of it is told anew."""
        tx, reach = self.tx, self.reach
        emptied, touched = reach.ids("messages", "emptied"), {str(one) for one in [*reach.touched, *reach.nearby]}
        summaries = [one for one in reach.keys("summaries") if one.partition("/")[0] in touched]
        file_id = reach.target.id if reach.target.kind == "file" else None
        store.run(tx, "empty_turns", turns=[*reach.silenced, *reach.hushed], messages=emptied, file_id=file_id)
        store.run(tx, "empty_messages", ids=emptied)
        titled = reach.touched if reach.target.kind == "message" else []
        store.run(
            tx, "drop_memory", episodes=reach.ids("episodes"), kept=reach.ids("kept_verbatim"),
            sessions=reach.touched, states=reach.ids("agent_states"), titled=titled, summaries=summaries,
            saying=reach.titled, firsts=[min(reach.numbers.get(one, ()), default=None) for one in reach.touched],
            now=self.now,
        )  # fmt: skip
        store.run(tx, "count_anchors", sessions=[*reach.touched, *reach.nearby], each=_MESSAGES_OF_AN_ANCHOR)
        again = sorted({UUID(one.partition("/")[0]) for one in summaries})
        for session_id in again:
            work_due.schedule(tx, "summary", session_id, self.now)
        self._anew("summary", again)

    def _anew(self, kind: str, ids: Sequence[UUID]) -> None:
        known = set(self.told.anew)
        self.told.anew += [named for one in ids if (named := f"{kind}/{one}") not in known]


def _briefed(many: int) -> Beyond:
    what = f"{many} had it in their briefing: a reply there that repeats it, and names no source, is not found"
    return Beyond("conversations of others", what)


def _long() -> Beyond:
    what = f"what repeats it was looked for by {echoes.MOST} of its lines and words, and by no others"
    return Beyond("a long message", what)


def _too_many(looked: int) -> Beyond:
    what = (
        f"{looked} were looked through in the time there was; texts that may be others', too, went unseen,"
        " and what tells of it in the rest goes with its retention"
    )
    return Beyond("records of prompts", what)
