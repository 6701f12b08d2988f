"""Taking away what hangs together by words or by what stands yet: in the one transaction in which it is read.

Nothing of it could be found again with a part of it gone: a reply that repeats a message by the message's words, a turn
that drew from a record by the record's handle. What is known by ids goes later, step by step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from uuid import UUID

from parlour.erasure import quotations, record_reversal, report, store
from parlour.erasure.erasure_plan import ErasurePlan
from parlour.erasure.prompt_texts import ErasedTexts
from parlour.erasure.report import ErasureReport, OutOfReach
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.principal import Principal
from parlour.prompts.ledger import store as prompt_store
from parlour.prompts.ledger.prompt_record import MIN_IDENTIFYING_CHARS
from parlour.records import staleness

_MESSAGES_PER_ANCHOR = 50
_TEXT_BATCH_SIZE = 5_000


def revoke_leases(tx: Transaction, plan: ErasurePlan, now: datetime) -> None:
    """Whoever is at work on it, or in another conversation of the same user, is so no more: what they would write is
    refused from now on."""
    users = plan.ids_of("users") or ([plan.user_id] if plan.user_id else [])
    sessions = [
        *plan.sessions,
        *plan.affected_sessions,
        *plan.foreign_sessions,
        *store.read_ids(tx, "list_sessions_of", users=users),
    ]
    store.execute(tx, "revoke_session_leases", ids=sessions)
    store.execute(tx, "revoke_job_leases", ids=[*sessions, *plan.affected_pulse_records], now=now)


def read_message_bodies(tx: Transaction, plan: ErasurePlan) -> list[str]:
    """Return the bodies of the messages that lose their text."""
    return store.read_texts(tx, "read_message_bodies", ids=plan.ids_of("messages", "redacted"))


def report_rows(report: ErasureReport, plan: ErasurePlan, texts: ErasedTexts) -> None:
    """Report what becomes of each row, and what is out of reach."""
    for table, rows in plan.rows_by_table.items():
        for fate in dict.fromkeys(rows.values()):
            report.record_rows(fate, table, [one for one, its in rows.items() if its == fate])
    for row in plan.kept_rows:
        report.record_rows("kept", row.table_name, [row.id], "your records are kept")
    for month, hashes in texts.deleted.items():
        report.record_rows("deleted", "ledger_texts", [f"{len(hashes)} texts of {month:%Y-%m}"] if hashes else [])
    for month, hashes in texts.redacted.items():
        report.record_rows("redacted", "ledger_texts", [f"{len(hashes)} texts of {month:%Y-%m}"] if hashes else [])
    report.record_rows(
        "redacted", "ledgers", [f"{turn}/{step}" for turn, step in sorted(texts.records_naming_handles) if step >= 0]
    )
    report.record_rows(
        "redacted", "pulse_ledgers", [one for one, step in sorted(texts.records_naming_handles) if step < 0]
    )
    report.object_keys = list(
        dict.fromkeys([*report.object_keys, *plan.object_keys, *(one.object_key for one in plan.archives)])
    )
    report.out_of_reach += [one for one in _find_out_of_reach(plan, texts) if one not in report.out_of_reach]


def _find_out_of_reach(plan: ErasurePlan, texts: ErasedTexts) -> list[OutOfReach]:
    found = report.find_out_of_reach(plan.models, plan.channels)
    if not texts.is_complete:
        what = (
            f"{texts.searched_count} were searched before the time was over; texts that others may have written, too,"
            " were deleted without a check, and quotations in the other records are deleted when those expire"
        )
        found.append(OutOfReach("records of prompts", what))
    if plan.has_more_terms:
        what = (
            f"what repeats it was looked for by {quotations.MAX_SEARCH_TERMS} of its lines and words, and by no others"
        )
        found.append(OutOfReach("a long message", what))
    if plan.briefed_foreign_sessions:
        many = len(plan.briefed_foreign_sessions)
        what = f"{many} had it in their briefing: a reply there that repeats it, and names no source, is not found"
        found.append(OutOfReach("conversations of others", what))
    if plan.target.kind == "fact":
        found.append(OutOfReach("messages", "what it was drawn from still says it: forget the message, too"))
    return found


@dataclass(slots=True)
class ErasureTransaction:
    """One forgetting's taking away."""

    tx: Transaction
    principal: Principal
    plan: ErasurePlan
    texts: ErasedTexts
    report: ErasureReport
    now: datetime

    def run(self) -> None:
        """All of it."""
        tx, reach = self.tx, self.plan
        revoke_leases(tx, reach, self.now)
        if reach.sessions:
            work = [UUID(one.rpartition("/")[2]) for one in reach.keys_of("work_due")]
            store.execute(tx, "close_sessions_and_work", ids=reach.sessions, work=work)
        store.execute(tx, "delete_context_rows", ids=reach.searchable_rows_to_delete)
        store.execute(tx, "delete_agent_writes", ids=reach.ids_of("agent_writes"))
        store.execute(tx, "delete_pack_changes", ids=reach.ids_of("pack_changes"))
        record_reversal.revert_record_writes(tx, self.principal, reach, self.report, self.now)
        self._erase_facts_and_pulses()
        for month, hashes in sorted(self.texts.redacted.items()):
            for some in batched(sorted(hashes), _TEXT_BATCH_SIZE, strict=False):
                store.execute(self.tx, "redact_texts", month=month, hashes=list(some), short=MIN_IDENTIFYING_CHARS)
        for month, hashes in sorted(self.texts.deleted.items()):
            for some in batched(sorted(hashes), _TEXT_BATCH_SIZE, strict=False):
                store.execute(self.tx, "delete_texts", month=month, hashes=list(some))
        if reach.affected_sessions or reach.foreign_sessions or reach.ids_of("messages", "redacted"):
            self._redact_conversations()
        if reach.target.kind == "user":
            store.execute(tx, "anonymise_users", ids=reach.ids_of("users"))

    def _erase_facts_and_pulses(self) -> None:
        """Facts and episodes, Pulses, and what pinned briefings say."""
        tx, reach = self.tx, self.plan
        gone = self._unsupported_fact_ids()
        earlier = (
            store.read_ids(tx, "find_superseded_facts", ids=gone) if gone and reach.target.kind == "message" else []
        )
        if reach.target.kind == "fact":
            store.execute(tx, "record_fact_erasure", id=self.report.id, fact_id=reach.target.id, now=self.now)
        store.execute(
            tx, "delete_facts", ids=gone, decisions=reach.ids_of("fact_decisions"), messages=reach.message_ids
        )
        if earlier:
            self.report.record_rows("restored", "facts", store.read_ids(tx, "restore_facts", ids=earlier))
        store.execute(tx, "delete_pulse_texts", **reach.pulse_deletion_parameters())
        own = set(reach.ids_of("entities"))
        again = [one for one in reach.affected_pulse_records if one not in own]
        staleness.mark_stale_without_parents(tx, again, "changed", self.now)
        self._record_recreated("pulse", again)
        touched = [*reach.affected_sessions, *reach.foreign_sessions]
        prompt_store.erase_cache_states(tx, [*reach.briefed_foreign_sessions, *touched], touched)

    def _unsupported_fact_ids(self) -> list[UUID]:
        """Return the facts that go; facts that another message states, too, stay."""
        reach = self.plan
        if reach.target.kind != "message" or not reach.ids_of("facts"):
            return reach.ids_of("facts")
        kept = set(store.read_ids(self.tx, "detach_supported_facts", messages=reach.message_ids))
        if kept:
            recalled = store.read_table_rows(self.tx, "plan_dependent_rows", rows=[], facts=list(kept), episodes=[])
            self.report.remove_rows("recalls", [one.id for one in recalled])
            self.report.remove_rows("facts", kept)
            self.report.record_rows("kept", "facts", kept, "another message says it as well")
        return [one for one in reach.ids_of("facts") if one not in kept]

    def _redact_conversations(self) -> None:
        """Redact some turns of conversations that stay; what is left is summarised again."""
        tx, reach = self.tx, self.plan
        emptied, touched = (
            reach.ids_of("messages", "redacted"),
            {str(one) for one in [*reach.affected_sessions, *reach.foreign_sessions]},
        )
        summaries = [one for one in reach.keys_of("summaries") if one.partition("/")[0] in touched]
        file_id = reach.target.id if reach.target.kind == "file" else None
        store.execute(
            tx,
            "redact_turns",
            turns=[*reach.redacted_turns, *reach.redacted_foreign_turns],
            messages=emptied,
            file_id=file_id,
        )
        store.execute(tx, "redact_messages", ids=emptied)
        titled = reach.affected_sessions if reach.target.kind == "message" else []
        store.execute(
            tx,
            "delete_session_memory",
            episodes=reach.ids_of("episodes"),
            kept=reach.ids_of("summary_key_details"),
            sessions=reach.affected_sessions,
            states=reach.ids_of("agent_states"),
            titled=titled,
            summaries=summaries,
            saying=reach.retitled_sessions,
            firsts=[min(reach.redacted_turn_numbers.get(one, ()), default=None) for one in reach.affected_sessions],
            now=self.now,
        )
        store.execute(
            tx,
            "recount_anchors",
            sessions=[*reach.affected_sessions, *reach.foreign_sessions],
            each=_MESSAGES_PER_ANCHOR,
        )
        again = sorted({UUID(one.partition("/")[0]) for one in summaries})
        for session_id in again:
            work_due.schedule(tx, "summary", session_id, self.now)
        self._record_recreated("summary", again)

    def _record_recreated(self, kind: str, ids: Sequence[UUID]) -> None:
        known = set(self.report.recreated)
        self.report.recreated += [named for one in ids if (named := f"{kind}/{one}") not in known]
