"""The part of the working day in which somebody talks about a record."""

from parlour.records import linked_records
from parlour.records.linked_records import LinkedRecordsCache
from parlour.records.linked_records_text import render_variants
from tests.conversation_harness import ConversationHarness


def read_linked_records(conversation: ConversationHarness) -> None:
    """What the project is linked to is read for a briefing, once and again, and told in full."""
    cache, now = LinkedRecordsCache(), conversation.clock()
    with conversation.database.transaction(conversation.admin) as tx:
        page = linked_records.read_linked_page(conversation.admin, tx, "project/NRS")
    ((project,),) = conversation.query("SELECT id FROM entities WHERE key = 'NRS'")
    for _ in range(2):
        with conversation.database.transaction(conversation.admin) as tx:
            found = linked_records.read_focus_record(conversation.admin, tx, project, cache=cache, now=now)  # type: ignore[arg-type]
        assert found
        assert render_variants(found.linked_records, has_tool=True)
        assert found.linked_records.types == page.linked.types
