"""A file that went along with a message was closed or deleted since: nothing that was drawn from it is told again."""

from typing import Any
from uuid import UUID

import pytest

from parlour.conversations.attachment_uploads import AttachmentReference
from parlour.infra.json_values import canonical_json
from parlour.principal import Principal
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT
from parlour.prompts.ledger.explanation import explain_turn, read_texts
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from parlour.prompts.ledger.source_status import WITHHELD_PLACEHOLDER
from tests.conversation_harness import ConversationHarness, text_answer
from tests.inbound_media import InboundMedia, joined_texts
from tests.integration.files.upload_harness import UploadHarness

LIMIT = "38 km/h"


class Sent:
    """A visitor's conversation, in which a file goes along with the first message."""

    def __init__(
        self, conversation: ConversationHarness, name: str = "log.md", words: bytes = b"# Crane\n\nStop at 38 km/h."
    ) -> None:
        self.desk, self.post, self.visitor = conversation, InboundMedia(conversation), conversation.create_visitor()
        self.session = conversation.find_session(self.visitor)
        self.files = UploadHarness(conversation.database, conversation.admin, conversation.clock)
        self.file = self.files.upload(name, words)
        self.files.run_ingestion()

    def ask(self, text: str, reply: str, *named: AttachmentReference) -> str:
        """The first prompt of a turn, in words."""
        self.post.send_web(self.visitor, self.session, text, *named)
        self.desk.model.script = [text_answer(reply)]
        return joined_texts(self.post.run_turn())

    def close(self, how: str = "closed") -> None:
        if how == "deleted":
            self.files.delete(self.file)
        else:
            self.desk.query(f"UPDATE files SET classification = 3 WHERE id = '{self.file.id}' RETURNING 1")

    def turn(self) -> UUID:
        """The newest one."""
        ((turn_id,),) = self.desk.query("SELECT id FROM turns ORDER BY number DESC LIMIT 1")
        return UUID(str(turn_id))


@pytest.fixture
def sent(conversation: ConversationHarness) -> Sent:
    return Sent(conversation)


@pytest.mark.parametrize("how", ["closed", "deleted"])
def test_a_reply_to_what_came_with_a_file_is_withdrawn_with_the_file(sent: Sent, how: str) -> None:
    sent.ask("What is the limit?", f"It is {LIMIT}.", AttachmentReference(file_id=sent.file.id))
    assert f"It is {LIMIT}." in sent.ask("And the wind?", "Calm.")
    sent.close(how)
    after = sent.ask("And the crane?", "Still.")
    assert LIMIT not in after
    assert WITHHELD_TEXT in after
    assert "What is the limit?" in after
    assert "Calm." in after, "no file came with that turn"


def test_the_recap_loses_the_reply_and_the_files_name(sent: Sent) -> None:
    sent.ask("What is the limit?", f"It is {LIMIT}.", AttachmentReference(file_id=sent.file.id))
    for number in range(16):
        sent.ask(f"Question {number}?", "Yes.")
    before = sent.ask("And now?", "Yes.")
    assert f"- you: It is {LIMIT}." in before
    assert "- user sent log.md" in before
    sent.close()
    after = sent.ask("And the crane?", "Yes.")
    assert LIMIT not in after
    assert "log.md" not in after
    assert f"- you: {WITHHELD_TEXT}" in after
    assert "- user sent a file" in after


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_turn_that_goes_on_does_not_tell_of_a_file_that_was_closed_meanwhile(sent: Sent, is_closed: bool) -> None:
    desk = sent.desk
    sent.post.send_web(sent.visitor, sent.session, "What is the limit?", AttachmentReference(file_id=sent.file.id))
    desk.model.script = [RuntimeError("the process died")]
    with pytest.raises(RuntimeError):
        sent.post.run_turn()
    before = canonical_json([*desk.model.requests[-1].messages])
    assert LIMIT in before
    if is_closed:
        sent.close()
    desk.model.script = [text_answer("Well.")]
    sent.post.run_turn()
    again = canonical_json([*desk.model.requests[-1].messages])
    assert (LIMIT in again) is not is_closed
    assert (again == before) is not is_closed


@pytest.mark.parametrize("size", [1, 700], ids=["told", "too large"])
def test_a_record_shows_neither_words_nor_name_of_a_file_that_was_closed(
    conversation: ConversationHarness, size: int
) -> None:
    sent = Sent(conversation, "secret-offer.md", b"# Offer\n\nStop at 38 km/h. <parlour:file> here.\n\n" * size)
    sent.ask("What is the limit?", "I see.", AttachmentReference(file_id=sent.file.id))
    turns = [sent.turn()]
    sent.ask("And now?", "Well.")
    turns.append(sent.turn())
    modest = Principal(conversation.tenant_id, "key", clearance=2, roles=frozenset({"viewer"}))
    for turn in turns:
        assert "secret-offer" in _read(conversation, turn, modest)
    sent.close()
    for turn in turns:
        shown = _read(conversation, turn, modest)
        assert "secret-offer" not in shown
        assert LIMIT not in shown
        assert WITHHELD_PLACEHOLDER in shown
        with conversation.database.transaction(conversation.admin) as tx:
            assert rebuild_turn_prompt(conversation.admin, tx, turn)["is_identical"] is True


def _read(conversation: ConversationHarness, turn: UUID, reader: Principal) -> str:
    """All words of a turn's prompts, and the titles of their candidates, as a reader may see them."""
    with conversation.database.transaction(reader) as tx:
        step: Any = explain_turn(reader, tx, turn)["steps"]
        blocks = [block for one in step[0]["segments"] for block in one["blocks"]]
        chosen = step[0]["candidates"]
        hashes = sorted(
            {*(word for block in blocks for word in block["text_hashes"]), *(one["text_hash"] for one in chosen)}
        )
        told = read_texts(reader, tx, turn, hashes[:100])
        assert len(hashes) <= 100
    return "\n".join([*(str(one["title"]) for one in chosen), *map(str, told.values())])
