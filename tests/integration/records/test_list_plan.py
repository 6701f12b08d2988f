"""A list of many records looks for the projects of one page alone, whatever the database knows of the table."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from parlour.infra.json_values import Json
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Query
from parlour.records import crud, store
from parlour.records.record import RecordInput, RecordQuery
from tests.integration.knowledge_tenant import KnowledgeTenant, execute
from tests.integration.records.record_harness import open_record_harness

_FILL = """
INSERT INTO entities (tenant_id, id, type_id, key, name, properties, project_id, created_at, updated_at)
SELECT t.tenant_id, gen_random_uuid(), t.id, 'R-' || n, 'Risk ' || n, jsonb_build_object('owner', 'P' || n %% 3),
       %(home)s, %(now)s, %(now)s::timestamptz - n * interval '1 second'
  FROM entity_types t, generate_series(1, 300) n
 WHERE t.key = 'risk'
"""
_ASKED: dict[str, object] = {
    "project_id": None,
    "where": {},
    "text": "",
    "only_unverified": False,
    "after_at": None,
    "after_handle": "",
    "clearance": 3,
    "most": 5,
}


def loops(tx: Transaction, **asked: object) -> int:
    """How often anything was done at most, of what is done for the projects."""
    query = store.SQL["list_records"]
    explain = Query("test.explained", "-", f"EXPLAIN (ANALYZE, FORMAT JSON) {query.sql}")
    (told,) = tx.value(explain, **_ASKED, **asked)
    return max(int(str(node["Actual Loops"])) for node in nodes(told["Plan"]) if node.get("Alias") in ("p", "pt"))


def nodes(plan: dict[str, Json]) -> Iterator[dict[str, Json]]:
    yield plan
    below = plan.get("Plans")
    for one in below if isinstance(below, list) else ():
        assert isinstance(one, dict)
        yield from nodes(one)


def test_projects_are_looked_for_page_by_page(library: KnowledgeTenant) -> None:
    desk = open_record_harness(library)
    home = desk.create(RecordInput("project", "Tower", "tower"))
    desk.create(RecordInput("risk", "First"))
    with desk.transaction() as tx:
        execute(tx, _FILL, home=home.id, now=desk.now - timedelta(days=1))
        assert max(loops(tx, type="risk"), loops(tx, type=None)) <= 5


def test_pages_go_on_in_order_and_name_their_projects(library: KnowledgeTenant) -> None:
    desk = open_record_harness(library)
    home = desk.create(RecordInput("project", "Tower", "tower", classification=2))
    desk.create(RecordInput("risk", "First"))
    with desk.transaction() as tx:
        execute(tx, _FILL, home=home.id, now=desk.now - timedelta(days=1))
    page = desk.browse(type="risk", where={"owner": "P1"}, limit=60)
    rest = desk.browse(type="risk", where={"owner": "P1"}, limit=60, cursor=page.next_cursor)
    assert [one.key for one in (*page.records, *rest.records)] == [f"R-{n}" for n in range(1, 301, 3)]
    assert {one.project for one in page.records} == {"project/tower"}
    below = replace(desk.principal, clearance=1)
    with desk.transaction() as tx:
        assert {one.project for one in crud.list_records(below, tx, RecordQuery(type="risk")).records} == {None}
