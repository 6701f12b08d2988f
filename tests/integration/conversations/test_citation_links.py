"""The ways from a reply's citations to the console's pages."""

from dataclasses import replace
from urllib.parse import quote
from uuid import UUID

import pytest

from parlour.conversations.turn_views import list_turns, read_transcript
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal
from tests.conversation_harness import ConversationHarness, search_call, text_answer


@pytest.fixture
def cited(conversation: ConversationHarness) -> ConversationHarness:
    """A conversation whose reply cites a document."""
    conversation.send_whatsapp("How wide may a crack be?", "m1")
    conversation.model.script = [search_call("crack width"), text_answer("As wide as it says [1].")]
    conversation.run_turn()
    return conversation


def viewer(conversation: ConversationHarness) -> Principal:
    return Principal(conversation.tenant_id, "member", None, frozenset({"viewer"}), clearance=3)


def read_citation(conversation: ConversationHarness, reader: Principal) -> JsonObject:
    ((session,),) = conversation.query("SELECT id FROM sessions")
    with conversation.database.transaction(reader) as tx:
        (citation,) = read_transcript(reader, tx, UUID(str(session)), 10)[-1].citations
    return citation


def test_a_viewer_gets_the_page_of_each_source_in_messages_and_turns(cited: ConversationHarness) -> None:
    reader = viewer(cited)
    citation = read_citation(cited, reader)
    ((key,),) = cited.query("SELECT d.key FROM citations c JOIN documents d ON d.id = c.document_id")
    link = str(citation["link"])
    assert link.startswith(f"#/records/document/{quote(str(key), safe='')}")
    assert set(citation) == {"number", "title", "locator", "link"}
    with cited.database.transaction(reader) as tx:
        (turn,) = list_turns(reader, tx, 10).rows
    assert turn.reply
    assert turn.reply["citations"] == [citation]


def test_the_title_of_a_source_holds_no_foreign_address(conversation: ConversationHarness) -> None:
    title = "Gloves https://leak.evil.example/SECRET and leak.evil.example/SECRET"
    conversation.query(f"UPDATE documents SET title = '{title}' RETURNING id")
    conversation.query(f"UPDATE context_rows SET title = '{title}' WHERE document_id IS NOT NULL RETURNING id")
    conversation.send_whatsapp("How wide may a crack be?", "m1")
    conversation.model.script = [search_call("crack width"), text_answer("As wide as it says [1].")]
    conversation.run_turn()
    assert read_citation(conversation, viewer(conversation))["title"] == "Gloves evil[.]example and evil[.]example"


def test_a_visitor_gets_no_page(cited: ConversationHarness) -> None:
    ((user,),) = cited.query("SELECT user_id FROM sessions")
    visitor = Principal(cited.tenant_id, "user", UUID(str(user)), clearance=1)
    assert read_citation(cited, visitor)["link"] is None


def test_a_source_whose_row_was_written_again_is_still_found(cited: ConversationHarness) -> None:
    cited.query("DELETE FROM context_rows WHERE document_id IS NOT NULL RETURNING id")
    link = str(read_citation(cited, viewer(cited))["link"])
    assert link.startswith("#/records/document/")
    assert "?" not in link


def test_a_source_that_was_deleted_or_restricted_since_has_no_page(cited: ConversationHarness) -> None:
    below = replace(viewer(cited), clearance=2)
    cited.query("DELETE FROM context_rows WHERE document_id IS NOT NULL RETURNING id")
    cited.query("UPDATE documents SET classification = 3 RETURNING id")
    assert read_citation(cited, below)["link"] is None
    assert read_citation(cited, viewer(cited))["link"]
    cited.query("UPDATE documents SET deleted_at = now() RETURNING id")
    assert read_citation(cited, viewer(cited))["link"] is None
