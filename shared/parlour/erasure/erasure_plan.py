"""What hangs on something that is to be forgotten: read row by row, before anything is taken away.

A user takes along all that is theirs. A message takes along what was made of it: the reply of its turn, what models and
tools were told and said in it, later replies that repeat its telling words, and what memory drew from it. A file takes
along what was read from it and the turns that drew from that. A fact goes alone: where it came from stays, and says so.
Records that the calls of such turns made or changed go too, unless the tenant keeps its records; of one that somebody
else has worked on since only what the calls wrote. What others drew from those in conversations of their own goes as
far as it says what the calls wrote: a reply that does not, stays. So does every Pulse go that was written from any of
this, and whatever a pinned briefing says of it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import batched
from uuid import UUID

from parlour.erasure import quotations, store, tool_writes
from parlour.erasure.report import ErasureTarget, RowAction
from parlour.erasure.store import ArchiveRow, ChangedRecordRow, MessageRow, TableRow
from parlour.infra.errors import Conflict, NotFound
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.prompts.ledger import store as prompt_store

_SOURCE_TABLES = (
    *("entities", "documents", "files", "context_rows"),
    *("messages", "facts", "episodes", "handles", "handoffs"),
)
"""What prompts and Pulses name as the sources of their words."""

_REDACTED_TABLES = frozenset(
    {"messages", "steps", "tool_calls", "turns", "outbox", "session_prompts", "handoffs", "inbox_threads"}
)
"""Tables whose rows stay without words where the conversation itself stays."""

_BATCH_SIZE = 2_000
"""Messages, or turns, that one statement looks at: some tenths of a second."""

_TOOL_INPUT_TABLES = frozenset({"steps", "tool_calls", "turns", "events", "handoffs"})

_NAME_KEY = re.compile(r"[a-z]{4}")
"""A key that was made of a name."""

_TURN_OPEN = "it is being answered: send the request again in a minute"


@dataclass(slots=True)
class ErasurePlan:
    """What goes with a target, table by table, and what in other rows tells of it.

    rows_by_table             what becomes of which row.
    handles                   of records that go.
    user_id                   the owner, where it is somebody's.
    sessions                  that go as a whole.
    affected_sessions         that stay, of which some turns lose their text.
    turns                     that go or lose their text.
    redacted_turns            the latter, in sessions that stay; redacted_turn_numbers: their numbers.
    cascaded_rows             searchable rows that go with their sessions, by foreign keys.
    quote_search_terms        terms that quote the target wherever they occur; has_more_terms: more than are searched.
    retitled_sessions         sessions of the user whose titles quote it.
    changed_records           records that calls of these turns changed, or made and somebody else has changed since.
    written_values            values of such calls that the records still have.
    distinctive_terms         what tells of all that the calls wrote, wherever it occurs.
    redacted_foreign_turns    turns of others in which it was read and not said: their replies stay.
    foreign_sessions          the sessions of those.
    kept_rows                 what such calls did to records, where it stays.
    affected_pulse_records    records whose Pulses were written from any of this.
    briefed_foreign_sessions  sessions of others whose cached briefing tells of it.
    object_keys               in the media bucket; archives: of old messages, there too.
    addresses                 by which channels know the user.
    provider_ids              by which a provider knows the messages.
    """

    target: ErasureTarget
    rows_by_table: dict[str, dict[str, RowAction]] = field(default_factory=dict)
    handles: list[str] = field(default_factory=list)
    user_id: UUID | None = None
    sessions: list[UUID] = field(default_factory=list)
    affected_sessions: list[UUID] = field(default_factory=list)
    turns: list[UUID] = field(default_factory=list)
    redacted_turns: list[UUID] = field(default_factory=list)
    redacted_turn_numbers: dict[UUID, set[int]] = field(default_factory=dict)
    cascaded_rows: set[UUID] = field(default_factory=set)
    quote_search_terms: list[str] = field(default_factory=list)
    has_more_terms: bool = False
    retitled_sessions: list[UUID] = field(default_factory=list)
    changed_records: list[ChangedRecordRow] = field(default_factory=list)
    written_values: list[str] = field(default_factory=list)
    distinctive_terms: list[str] = field(default_factory=list)
    redacted_foreign_turns: list[UUID] = field(default_factory=list)
    foreign_sessions: list[UUID] = field(default_factory=list)
    kept_rows: list[TableRow] = field(default_factory=list)
    affected_pulse_records: list[UUID] = field(default_factory=list)
    briefed_foreign_sessions: list[UUID] = field(default_factory=list)
    object_keys: list[str] = field(default_factory=list)
    archives: list[ArchiveRow] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    provider_ids: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    channels: list[str] = field(default_factory=list)

    @property
    def message_ids(self) -> list[UUID]:
        """Those that go or lose their words."""
        return self.ids_of("messages")

    @property
    def requesters(self) -> list[str]:
        """How the users that go are called as who asked for something."""
        return [f"user:{one}" for one in self.rows_by_table.get("users", ())]

    def ids_of(self, table: str, action: RowAction | None = None) -> list[UUID]:
        """Return the rows of a table that go, of tables with one id; with `action` only those."""
        rows = self.rows_by_table.get(table, {})
        return [UUID(one) for one, its in rows.items() if action in (None, its)]

    @property
    def searchable_rows_to_delete(self) -> list[UUID]:
        """Searchable rows that somebody has to take away."""
        return [one for one in self.ids_of("context_rows") if one not in self.cascaded_rows]

    def keys_of(self, table: str) -> list[str]:
        """Return the rows of a table that go, by key."""
        return list(self.rows_by_table.get(table, ()))

    def add_rows(self, table: str, ids: Iterable[object], action: RowAction = "deleted") -> None:
        """Rows go as well."""
        for one in ids:
            self.rows_by_table.setdefault(table, {}).setdefault(str(one), action)

    def source_ids(self) -> list[str]:
        """Return what goes as prompts and Pulses name their sources: table/id."""
        named = [f"{table}/{one}" for table in _SOURCE_TABLES for one in self.rows_by_table.get(table, ())]
        return [*named, *(f"handles/{one}" for one in self.handles)]

    def partial_source_ids(self) -> list[str]:
        """Return records of which only some values go, as prompts and Pulses name their sources."""
        named = [(f"entities/{one.id}", f"handles/{one.handle}") for one in self.changed_records]
        return list(dict.fromkeys(one for pair in named for one in pair))

    def pulse_deletion_parameters(self) -> dict[str, list[str] | list[UUID]]:
        """Return the parameters of `delete_pulse_texts`."""
        return {
            "told": self.source_ids(),
            "said_of": self.partial_source_ids(),
            "values": quotations.ilike_patterns(self.written_values),
            "own": self.ids_of("entities"),
            "asked_by": self.requesters,
        }


def make_plan(tx: Transaction, target: ErasureTarget, *, keep_records: bool = False) -> ErasurePlan:
    """Return what goes with the target.

    NotFound when it is not there; Conflict while a turn that would go is being answered, unless its whole user goes.
    """
    found = ErasurePlan(target)
    _PLANNERS[target.kind](tx, found)
    if target.kind != "fact":
        _plan_derived_rows(tx, found, keep_records=keep_records)
        rows, facts, episodes = found.searchable_rows_to_delete, found.ids_of("facts"), found.ids_of("episodes")
        _add_rows(found, store.read_table_rows(tx, "plan_dependent_rows", rows=rows, facts=facts, episodes=episodes))
    own = found.ids_of("entities")
    written = store.find_pulse_texts(tx, **found.pulse_deletion_parameters())
    for row in written:
        found.add_rows(row.table_name, [row.id], "redacted" if row.table_name == "pulse_ledgers" else "deleted")
    next_to = store.read_ids(tx, "find_adjacent_records", ids=own) if own else []
    found.affected_pulse_records = list(
        dict.fromkeys([*(row.entity_id for row in written), *next_to, *_changed_record_ids(found)])
    )
    about = [f"{table}/{one}" for table in ("pulses", "pulse_changes") for one in found.affected_pulse_records]
    briefed = prompt_store.find_sessions_briefed_from(tx, [*found.source_ids(), *about, *found.partial_source_ids()])
    found.briefed_foreign_sessions = [
        one for one in briefed if str(one) not in found.rows_by_table.get("session_prompts", {})
    ]
    found.add_rows("session_prompts", found.briefed_foreign_sessions, "redacted")
    sessions = [*found.sessions, *found.affected_sessions]
    found.object_keys = store.read_texts(tx, "list_object_keys", messages=found.message_ids, sessions=found.sessions)
    found.archives = store.find_archives(tx, found.sessions, found.message_ids)
    for by in store.read_table_rows(tx, "list_models_and_channels", sessions=sessions):
        (found.models if by.table_name == "model" else found.channels).append(by.id)
    return found


def _plan_user(tx: Transaction, plan: ErasurePlan) -> None:
    for row in store.read_table_rows(tx, "plan_user_rows", id=plan.target.id):
        plan.add_rows(row.table_name, [row.id])
    if "users" not in plan.rows_by_table:
        raise NotFound("user not found")
    plan.user_id = plan.target.id
    plan.sessions, plan.turns = plan.ids_of("sessions"), plan.ids_of("turns")
    plan.cascaded_rows = set(plan.ids_of("context_rows"))
    plan.addresses = store.read_texts(tx, "list_addresses", ids=plan.ids_of("users"))
    plan.add_rows("messages", store.read_ids(tx, "find_code_messages", users=plan.ids_of("users")), "redacted")


def _plan_message(tx: Transaction, plan: ErasurePlan) -> None:
    said = store.find_message(tx, plan.target.id)
    if said is None:
        raise NotFound("message not found")
    plan.add_rows("messages", [said.id], "redacted")
    plan.user_id, plan.affected_sessions = said.user_id, [said.session_id]
    plan.provider_ids = [said.provider_message_id] if said.provider_message_id else []
    # What tells of the message and of nothing else that its user wrote: what quotes that may be about
    # the other.
    needles = quotations.quote_search_terms(said.body)
    others = store.read_ids(tx, "list_other_messages", user_id=said.user_id, id=said.id) if needles else []
    for some in _in_batches(others):
        needles = (
            quotations.terms_not_in(needles, store.read_texts(tx, "read_message_bodies", ids=list(some)))
            if needles
            else []
        )
    plan.quote_search_terms, plan.has_more_terms = needles, quotations.has_more_terms(said.body)
    if plan.quote_search_terms:
        patterns = quotations.ilike_patterns(plan.quote_search_terms)
        plan.retitled_sessions = store.read_ids(tx, "find_titles_matching", user_id=said.user_id, patterns=patterns)
        plan.add_rows("sessions", [f"{one}/title" for one in plan.retitled_sessions], "redacted")
    own = [said.turn_id] if said.turn_id else []
    _add_turns(tx, plan, [*own, *_turns_quoting(tx, said, plan.quote_search_terms)])


def _turns_quoting(tx: Transaction, said: MessageRow, needles: Sequence[str]) -> list[UUID]:
    """Return the later turns in which something was made that repeats the quoted text."""
    patterns = quotations.ilike_patterns(needles)
    later = store.read_ids(tx, "list_turns_since", user_id=said.user_id, since=said.received_at) if needles else []
    found = (
        store.read_ids(tx, "find_turns_quoting", turns=list(some), patterns=patterns) for some in _in_batches(later)
    )
    return [one for some in found for one in some]


def _in_batches(ids: Sequence[UUID]) -> Iterable[tuple[UUID, ...]]:
    return batched(ids, _BATCH_SIZE, strict=False)


def _plan_file(tx: Transaction, plan: ErasurePlan) -> None:
    for row in store.read_table_rows(tx, "plan_file_rows", id=plan.target.id):
        plan.add_rows(row.table_name, [row.id], "redacted" if row.table_name == "files" else "deleted")
    if "files" not in plan.rows_by_table:
        raise NotFound("file not found")
    drew = store.read_ids(tx, "find_turns_using_file", id=plan.target.id, rows=plan.ids_of("context_rows"))
    _add_turns(tx, plan, drew)


def _plan_fact(tx: Transaction, plan: ErasurePlan) -> None:
    for row in store.read_table_rows(tx, "plan_fact_rows", id=plan.target.id):
        plan.add_rows(row.table_name, [row.id])
    if "facts" not in plan.rows_by_table:
        raise NotFound("fact not found")


_PLANNERS = {"user": _plan_user, "message": _plan_message, "file": _plan_file, "fact": _plan_fact}


def _add_turns(tx: Transaction, plan: ErasurePlan, turn_ids: Sequence[UUID]) -> None:
    """Add turns that lose their text, and what memory made of them."""
    known = set(plan.turns)
    turns = store.find_turns(tx, [one for one in turn_ids if one not in known])
    if plan.target.kind != "user" and any(one.is_open for one in turns):
        raise Conflict(_TURN_OPEN)
    ids = [one.id for one in turns]
    plan.turns += ids
    plan.redacted_turns += ids
    plan.affected_sessions += [
        one for one in dict.fromkeys(turn.session_id for turn in turns) if one not in plan.affected_sessions
    ]
    for one in turns:
        plan.redacted_turn_numbers.setdefault(one.session_id, set()).add(one.number)
    own = plan.ids_of("messages", "redacted")
    _add_rows(plan, store.read_table_rows(tx, "plan_turn_rows", turns=ids, messages=own))
    _add_rows(
        plan, store.read_table_rows(tx, "plan_memory_rows", turns=ids, messages=plan.ids_of("messages", "redacted"))
    )


def _add_rows(plan: ErasurePlan, rows: Iterable[TableRow]) -> None:
    for row in rows:
        plan.add_rows(row.table_name, [row.id], "redacted" if row.table_name in _REDACTED_TABLES else "deleted")


def _plan_derived_rows(tx: Transaction, plan: ErasurePlan, *, keep_records: bool) -> None:
    """Add what was made beside the conversation: records, what others drew from those, shared facts."""
    for row in store.read_table_rows(tx, "plan_shared_fact_rows", messages=plan.message_ids):
        plan.add_rows(row.table_name, [row.id])
    made = store.read_table_rows(tx, "plan_records_created", turns=plan.turns)
    changed = store.find_changed_records(tx, plan.turns)
    own = {row.id for row in made if row.table_name == "entities"}
    plan.changed_records = [one for one in changed if str(one.id) not in own]
    changed_ids = [] if keep_records else [*(UUID(one) for one in own), *(one.id for one in changed)]
    for row in store.read_table_rows(tx, "plan_agent_writes", turns=plan.turns, ids=changed_ids):
        plan.add_rows(row.table_name, [row.id])
    _plan_pack_changes(tx, plan, [*(UUID(one) for one in own), *(one.id for one in changed)], changed)
    if keep_records:
        plan.kept_rows = [
            *(row for row in made if row.table_name != "handles"),
            *(one for row in plan.changed_records for one in _changed_parts(row)),
        ]
        plan.changed_records = []
        return
    for row in made:
        if row.table_name == "handles":
            plan.handles.append(row.id)
        else:
            plan.add_rows(
                row.table_name, [row.id], "redacted" if row.table_name in {"entities", "documents"} else "deleted"
            )
    plan.distinctive_terms = tool_writes.distinctive_values(
        text for one in changed for text in tool_writes.argument_texts(one.arguments)
    )
    plan.distinctive_terms += [key for one in plan.handles if _NAME_KEY.search(key := one.partition("/")[2])]
    plan.written_values = [
        word
        for one in plan.changed_records
        for word in tool_writes.searchable_values(_values_still_written(one).values())
    ]
    plan.add_rows("context_rows", [one.row_id for one in plan.changed_records if one.row_id])
    if plan.distinctive_terms:
        handles = quotations.ilike_patterns([*plan.handles, *(one.handle for one in plan.changed_records)])
        ids, known = [*plan.ids_of("entities"), *_changed_record_ids(plan)], set(plan.turns)
        drew = store.read_ids(
            tx, "find_turns_using_records", ids=ids, rows=plan.searchable_rows_to_delete, handles=handles
        )
        patterns = quotations.ilike_patterns(plan.distinctive_terms)
        said: list[UUID] = []
        for some in _in_batches([one for one in drew if one not in known]):
            echoing = store.read_ids(tx, "find_turns_quoting", turns=list(some), patterns=patterns)
            replied = set(store.read_ids(tx, "find_replies_matching", turns=echoing, patterns=patterns))
            said += replied
            plan.redacted_foreign_turns += [one for one in echoing if one not in replied]
        _add_turns(tx, plan, said)
        if plan.redacted_foreign_turns:
            sessions = dict.fromkeys(one.session_id for one in store.find_turns(tx, plan.redacted_foreign_turns))
            plan.foreign_sessions = list(sessions)
            rows = store.read_table_rows(tx, "plan_turn_rows", turns=plan.redacted_foreign_turns, messages=[])
            _add_rows(plan, (row for row in rows if row.table_name in _TOOL_INPUT_TABLES))
            _add_rows(
                plan, store.read_table_rows(tx, "plan_memory_matching", sessions=list(sessions), patterns=patterns)
            )


def _plan_pack_changes(
    tx: Transaction, plan: ErasurePlan, record_ids: Sequence[UUID], changed: Sequence[ChangedRecordRow]
) -> None:
    """Add what applies of packs replaced in these records, or what repeats the words of a call."""
    texts = [text for one in changed for text in tool_writes.argument_texts(one.arguments)]
    patterns = quotations.ilike_patterns(tool_writes.distinctive_values(texts))
    found = store.read_table_rows(tx, "plan_pack_changes", turns=plan.turns, ids=record_ids, patterns=patterns)
    plan.add_rows("pack_changes", [row.id for row in found])


def _changed_parts(row: ChangedRecordRow) -> list[TableRow]:
    """Return what a call changed in a record: the values that it still has, and the row of the change."""
    told = [TableRow("context_rows", str(row.row_id))] if row.row_id else []
    return [*(TableRow("entities", f"{row.id}/{name}") for name in _values_still_written(row)), *told]


def _values_still_written(row: ChangedRecordRow) -> JsonObject:
    return tool_writes.values_still_written(row.arguments, row.properties)


def _changed_record_ids(plan: ErasurePlan) -> list[UUID]:
    return [one.id for one in plan.changed_records]
