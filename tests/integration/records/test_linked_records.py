"""What a record is linked to, as a reader may see it, read again only when something was written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.documents.pack_import import DocumentDraft
from parlour.infra.errors import NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.principal import Principal
from parlour.records import linked_records
from parlour.records.linked_records import FocusRecord, LinkedRecordsCache
from parlour.records.linked_records_text import LinkedRecords
from parlour.records.relations import CATALOGUE
from tests.integration.knowledge_tenant import KnowledgeTenant, execute

_TYPE = """
INSERT INTO entity_types (tenant_id, id, key, display_name, rag, created_at, updated_at)
VALUES (current_tenant(), %(id)s, %(key)s, %(name)s, %(rag)s, %(now)s, %(now)s)
ON CONFLICT (tenant_id, key) DO UPDATE SET rag = EXCLUDED.rag
"""
_RECORD = """
INSERT INTO entities (tenant_id, id, type_id, key, name, properties, classification, created_at, updated_at)
SELECT current_tenant(), %(id)s, t.id, %(key)s, %(name)s, %(properties)s, %(level)s, %(at)s, %(at)s
  FROM entity_types t WHERE t.key = %(type)s
"""
_EDGE = """
INSERT INTO edges (tenant_id, id, source_id, target_id, relation, created_at)
VALUES (current_tenant(), %(id)s, %(source)s, %(target)s, %(relation)s, %(at)s)
"""
_DOCUMENT = """
INSERT INTO documents (tenant_id, id, own_entity_id, team_id, key, title, description, kind, content, content_hash,
                       is_context, created_at, updated_at)
SELECT current_tenant(), %(id)s, e.id, %(team)s, e.key, e.name, %(description)s, %(kind)s, 'x', 'x', %(is_context)s,
       %(at)s, %(at)s
  FROM entities e WHERE e.id = %(record)s
"""
KINDS = {"project": [], "task": ["state"], "document": [], "risk": ["severity"]}


_PARENTS = Query(
    "test.parents", "-", "SELECT parent_id FROM record_parents WHERE child_id = %(id)s OR parent_id = %(id)s"
)
_MARK = Query("test.mark", "Who wrote last.", "SELECT transaction_id::text FROM record_writes")


@dataclass(frozen=True)
class ParentId:
    """The id of a parent."""

    parent_id: UUID


@dataclass
class Yard:
    """A task T-1 and what is put next to it, written as plainly as can be."""

    library: KnowledgeTenant
    focus: UUID
    made: int = 0

    @property
    def database(self) -> Database:
        return self.library.database

    def run(self, statement: str, **values: object) -> None:
        with self.database.transaction(self.library.principal) as tx:
            execute(tx, statement, **values)

    def record(self, handle: str, /, level: int = 0, **properties: object) -> UUID:
        record_id, (kind, key) = uuid7(self.library.now), handle.split("/")
        self.made += 1
        at = self.library.now + timedelta(seconds=self.made)
        named = str(properties.pop("name", f"The {kind} {key}"))
        self.run(_RECORD, id=record_id, type=kind, key=key, name=named, properties=properties, level=level, at=at)
        return record_id

    def edge(self, source: UUID, target: UUID, relation: str = "depends_on") -> None:
        now = self.library.now
        self.run(_EDGE, id=uuid7(now), source=source, target=target, relation=relation, at=now)

    def next_to(self, handle: str, relation: str = "depends_on", *, level: int = 0, **properties: object) -> UUID:
        record_id = self.record(handle, level, **properties)
        self.edge(self.focus, record_id, relation)
        return record_id

    def document(self, record_id: UUID, **more: object) -> None:
        plain = {"team": None, "description": "", "kind": "document", "is_context": False, "at": self.library.now}
        self.run(_DOCUMENT, id=uuid7(self.library.now), record=record_id, **{**plain, **more})

    def reader(self, clearance: int = 3) -> Principal:
        return replace(self.library.principal, kind="user", clearance=clearance)

    def look(self, principal: Principal | None = None, **how: object) -> LinkedRecords:
        found = self.focused(principal, **how)
        assert found is not None
        return found.linked_records

    def focused(self, principal: Principal | None = None, **how: object) -> FocusRecord | None:
        who = principal or self.reader()
        with self.database.transaction(who) as tx:
            return linked_records.read_focus_record(who, tx, self.focus, **{"now": self.library.now, **how})  # type: ignore[arg-type]

    def mark(self) -> str:
        with self.database.transaction(self.library.principal) as tx:
            return str(tx.value(_MARK))

    def page(self, ref: str = "task/T-1", **how: object) -> linked_records.LinkedPage:
        with self.database.transaction(self.reader()) as tx:
            return linked_records.read_linked_page(self.reader(), tx, ref, **how)  # type: ignore[arg-type]


@pytest.fixture
def yard(library: KnowledgeTenant) -> Yard:
    with library.database.transaction(library.principal) as tx:
        for key, states in KINDS.items():
            rag = {"status_properties": states}
            execute(tx, _TYPE, id=uuid7(library.now), key=key, name=key.capitalize(), rag=rag, now=library.now)
    made = Yard(library, uuid7(library.now))
    made.focus = made.record("task/T-1", state="open", name="Pour the slab")
    return made


def handles(found: LinkedRecords) -> list[str]:
    return [record.handle for record in found.records]


def counted(found: LinkedRecords) -> dict[str, int]:
    return {kind.key: kind.total for kind in found.types}


@pytest.mark.parametrize("relation", [*CATALOGUE, "invented"])
def test_record_parents_names_the_parent_end_of_each_relation(yard: Yard, relation: str) -> None:
    linked = yard.next_to("task/T-2", relation)
    end = CATALOGUE[relation].parent_end if relation in CATALOGUE else "target"

    with yard.database.transaction(yard.library.principal) as tx:
        parents = [row.parent_id for row in tx.all(_PARENTS, ParentId, id=yard.focus)]
    assert parents == {"source": [yard.focus], "target": [linked], "neither": []}[end]


def test_the_record_reads_as_its_snapshot_does(yard: Yard) -> None:
    found = yard.focused()
    assert found is not None
    assert found.text == "Pour the slab (Task)\nstate: open"
    assert found.linked_records == LinkedRecords("task/T-1", "Pour the slab", (), ())


def test_the_active_come_first_then_the_newest_and_three_of_a_kind_are_told(yard: Yard) -> None:
    for key, state in (("A", "done"), ("B", "in progress"), ("C", "done"), ("D", "done"), ("E", "In-Review")):
        yard.next_to(f"task/{key}", state=state)
    found = yard.look()
    assert handles(found) == ["task/E", "task/B", "task/D"]
    assert counted(found) == {"task": 5}


def test_kinds_come_in_a_fixed_order_and_what_they_say_is_theirs(yard: Yard) -> None:
    yard.next_to("risk/R-1", severity="high", status="watched", kind="schedule", deadline="2026-03-20")
    yard.next_to("project/P-1", status="open")
    found = yard.look()
    assert handles(found) == ["project/P-1", "risk/R-1"]
    risk = found.records[1]
    assert (risk.state, risk.subtype, risk.due, risk.type_name) == ("high", "schedule", "2026-03-20", "Risk")
    assert found.records[0].state == "open"


def test_a_cycle_is_shown_both_ways_and_counted_once(yard: Yard) -> None:
    other = yard.next_to("task/T-2")
    yard.edge(other, yard.focus)
    yard.edge(other, yard.focus, "relates_to")
    found = yard.look()
    assert [(one.name, one.direction) for one in found.records[0].relations] == [
        ("depends_on", "outgoing"),
        ("depends_on", "incoming"),
        ("relates_to", "incoming"),
    ]
    assert counted(found) == {"task": 1}


def test_one_edge_far_and_no_further(yard: Yard) -> None:
    near = yard.next_to("task/T-2")
    yard.edge(near, yard.record("task/T-3"))
    assert handles(yard.look()) == ["task/T-2"]


def test_who_may_not_see_a_record_does_not_see_it_nor_its_number(yard: Yard) -> None:
    for level in range(4):
        yard.next_to(f"task/L{level}", level=level)
    for clearance in range(4):
        found = yard.look(yard.reader(clearance))
        assert sorted(handles(found)) == [f"task/L{level}" for level in range(clearance + 1)][-3:]
        assert counted(found) == {"task": clearance + 1}


def test_a_record_above_the_readers_clearance_is_no_focus(yard: Yard) -> None:
    yard.run("UPDATE entities SET classification = 2 WHERE id = %(id)s", id=yard.focus)
    assert yard.focused(yard.reader(1)) is None
    assert yard.focused(yard.reader(2)) is not None


def test_what_was_deleted_is_gone_and_its_edges_are_not_shown(yard: Yard) -> None:
    gone = yard.next_to("task/T-2")
    yard.run("UPDATE entities SET deleted_at = now() WHERE id = %(id)s", id=gone)
    assert yard.look() == LinkedRecords("task/T-1", "Pour the slab", (), ())
    yard.run("UPDATE entities SET deleted_at = now() WHERE id = %(id)s", id=yard.focus)
    assert yard.focused() is None


@pytest.mark.parametrize(
    "scratch",
    [{"state": "scratch"}, {"kind": "scratch"}, {"type_key": "document.workspace.notes"}],
    ids=["state", "kind", "type key"],
)
def test_scratch_documents_are_left_out(yard: Yard, scratch: dict[str, Any]) -> None:
    yard.next_to("document/notes", level=0, **scratch)
    assert yard.look().types == ()


def test_a_scratch_document_by_its_own_kind_is_left_out(yard: Yard) -> None:
    yard.document(yard.next_to("document/notes"), kind="scratch")
    assert yard.look().types == ()


def test_a_task_may_be_called_scratch(yard: Yard) -> None:
    yard.next_to("task/T-2", kind="scratch")
    assert handles(yard.look()) == ["task/T-2"]


def test_the_context_document_is_known_and_documents_have_descriptions(yard: Yard) -> None:
    yard.document(yard.next_to("document/brief"), is_context=True, description="What the owner wants.")
    yard.document(yard.next_to("document/notes"))
    found = {record.handle: record for record in yard.look().records}
    assert found["document/brief"].is_context
    assert found["document/brief"].description == "What the owner wants."
    assert not found["document/notes"].is_context


def test_another_teams_document_is_seen_by_members_only(yard: Yard) -> None:
    team = yard.library.session_id  # the fixture's one team has the session's id
    yard.document(yard.next_to("document/sop"), team=team)
    assert yard.look(team_id=team).total == 1
    assert yard.look(team_id=uuid7(yard.library.now)).total == 0
    assert yard.look().total == 0
    assert yard.look(yard.library.principal).total == 1


def test_a_document_about_the_record_counts_as_linked(yard: Yard) -> None:
    yard.library.import_documents(DocumentDraft("report", "Site report", "The slab was poured."))
    yard.run("UPDATE documents SET entity_id = %(id)s WHERE key = 'report'", id=yard.focus)
    (report,) = yard.look().records
    assert (report.handle, report.name, report.relations[0].name) == ("document/report", "Site report", "about")


def test_the_full_form_has_pages_kinds_and_descriptions(yard: Yard) -> None:
    for number in range(10):
        yard.next_to(f"task/N{number}", description=f"Number {number}")
    yard.next_to("risk/R-1")
    first, second = yard.page(limit=8), yard.page(limit=8, page_number=2)
    assert (first.page_count, second.page_count) == (2, 2)
    assert handles(first.linked) + handles(second.linked) == [f"task/N{n}" for n in range(9, -1, -1)] + ["risk/R-1"]
    assert first.linked.records[0].description == "Number 9"
    only = yard.page(type_key="risk")
    assert (handles(only.linked), only.page_count, counted(only.linked)) == (["risk/R-1"], 1, {"task": 10, "risk": 1})
    assert yard.page(page_number=99).linked.records == ()


@pytest.mark.parametrize("ref", ["task/T-9", "T-1", "nothing at all", str(UUID(int=7)), "task/T-1\0"])
def test_a_record_that_is_not_there_is_not_found(yard: Yard, ref: str) -> None:
    with pytest.raises(NotFound):
        yard.page(ref)


def test_a_neighbour_sees_nothing(yard: Yard, other_library: KnowledgeTenant) -> None:
    yard.next_to("task/T-2")
    with other_library.database.transaction(other_library.principal) as tx:
        assert linked_records.read_focus_record(other_library.principal, tx, yard.focus, now=yard.library.now) is None


class Counting:
    """How often anything but the mark was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = 0
        real = Transaction.one

        def one(tx: Transaction, query: Query, record: type[object], /, **parameters: object) -> object:
            row = real(tx, query, record, **parameters)
            self.reads += getattr(row, "id", None) is not None
            return row

        monkeypatch.setattr(Transaction, "one", one)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(monkeypatch)


def test_what_was_read_is_kept_for_a_minute(yard: Yard, counting: Counting) -> None:
    yard.next_to("task/T-2")
    cache, now = LinkedRecordsCache(), yard.library.now
    first = yard.look(cache=cache)
    assert yard.look(cache=cache, now=now + timedelta(seconds=59)) == first
    assert counting.reads == 1
    assert yard.look(cache=cache, now=now + timedelta(seconds=61)) == first
    assert counting.reads == 2


def test_a_reader_with_the_current_mark_is_served_from_the_cache(yard: Yard, counting: Counting) -> None:
    other, cache = yard.next_to("task/T-2"), LinkedRecordsCache()
    first = yard.focused(cache=cache)
    reads = counting.reads
    assert yard.focused(cache=cache, last_write=yard.mark()) == first
    assert counting.reads == reads
    yard.run("UPDATE entities SET name = 'Renamed' WHERE id = %(id)s", id=other)
    assert yard.focused(cache=cache, last_write=yard.mark()) == yard.focused() != first


def writes(yard: Yard) -> Sequence[str]:
    other = yard.next_to("task/T-2")
    return [
        f"UPDATE entities SET name = 'Renamed' WHERE id = '{other}'",
        f"UPDATE entities SET classification = 3 WHERE id = '{other}'",
        f"UPDATE entities SET properties = '{{}}' WHERE id = '{yard.focus}'",
        f"DELETE FROM edges WHERE target_id = '{other}'",
        "UPDATE entity_types SET display_name = 'Job' WHERE key = 'task'",
    ]


@pytest.mark.parametrize("number", range(5))
def test_any_write_is_seen_at_once_whoever_made_it(yard: Yard, number: int) -> None:
    """The write goes past this worker's cache, as another worker's would."""
    statement = writes(yard)[number]
    cache, reader = LinkedRecordsCache(), yard.reader(2)
    before = yard.focused(reader, cache=cache)
    yard.run(statement)
    after = yard.focused(reader, cache=cache)
    assert after == yard.focused(reader)
    assert after != before


def test_readers_of_different_clearance_and_team_do_not_share(yard: Yard) -> None:
    team = yard.library.session_id
    yard.next_to("task/secret", level=3)
    yard.document(yard.next_to("document/sop"), team=team)
    cache = LinkedRecordsCache()
    assert yard.look(yard.reader(3), cache=cache, team_id=team).total == 2
    assert yard.look(yard.reader(0), cache=cache, team_id=team).total == 1
    assert yard.look(yard.reader(0), cache=cache).total == 0
    assert yard.look(yard.library.principal, cache=cache).total == 2


def test_a_write_that_is_rolled_back_leaves_nothing_in_the_cache(yard: Yard) -> None:
    cache, who, now = LinkedRecordsCache(), yard.reader(), yard.library.now
    other = yard.next_to("task/T-2")
    before = yard.look(cache=cache)
    seen: list[str] = []

    def renamed_and_broken(tx: Transaction) -> None:
        execute(tx, "UPDATE entities SET name = 'Never' WHERE id = %(id)s", id=other)
        inside = linked_records.read_focus_record(who, tx, yard.focus, cache=cache, now=now)
        assert inside is not None
        seen.extend(record.name for record in inside.linked_records.records)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        yard.database.run(who, renamed_and_broken)
    assert seen == ["Never"]
    assert yard.look(cache=cache) == before


def test_that_there_is_no_such_record_is_kept_too_until_it_comes(yard: Yard) -> None:
    cache = LinkedRecordsCache()
    yard.run("UPDATE entities SET deleted_at = now() WHERE id = %(id)s", id=yard.focus)
    assert yard.focused(cache=cache) is None
    assert yard.focused(cache=cache) is None
    yard.run("UPDATE entities SET deleted_at = NULL WHERE id = %(id)s", id=yard.focus)
    assert yard.focused(cache=cache) is not None


def test_a_cache_stays_small(yard: Yard) -> None:
    cache = LinkedRecordsCache()
    with yard.database.transaction(yard.reader()) as tx:
        for number in range(300):
            linked_records.read_focus_record(yard.reader(), tx, UUID(int=number), cache=cache, now=yard.library.now)
    assert len(cache._entries) == 200
