"""The part of the working day in which somebody talks about a record."""

from parlour.knowledge.records import linked
from parlour.knowledge.records.linked import LinkCache
from parlour.knowledge.records.linked_text import briefings
from tests.desk import Desk


def talk_about_a_record(desk: Desk) -> None:
    """What the project is linked to is read for a briefing, once and again, and told in full."""
    cache, now = LinkCache(), desk.clock()
    with desk.database.transaction(desk.admin) as tx:
        page = linked.page(desk.admin, tx, "project/NRS")
    ((project,),) = desk.rows("SELECT id FROM entities WHERE key = 'NRS'")
    for _ in range(2):
        with desk.database.transaction(desk.admin) as tx:
            found = linked.focus(desk.admin, tx, project, cache=cache, now=now)  # type: ignore[arg-type]
        assert found
        assert briefings(found.linked, hint=True)
        assert found.linked.kinds == page.linked.kinds
