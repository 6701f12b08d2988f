"""The part of the working day in which people send things along with their messages."""

import pytest

from parlour.conversations.attachment_uploads import ABANDONED_AFTER, AttachmentReference
from parlour.infra.errors import AccessRefused
from tests.conversation_harness import ConversationHarness, text_answer
from tests.inbound_media import PNG_BYTES, InboundMedia
from tests.integration.files.upload_harness import UploadHarness


def send_attachments(conversation: ConversationHarness) -> None:
    """Two pictures over WhatsApp, one of which comes late; on the web another, a text that has no room, a file that is
    there already, and an upload that is never sent."""
    post, files = (
        InboundMedia(conversation),
        UploadHarness(conversation.database, conversation.admin, conversation.clock),
    )
    post.bucket.is_access_refused = True
    with pytest.raises(AccessRefused):
        post.send_whatsapp_file(PNG_BYTES, "day-late", "", "late.png")
    post.bucket.is_access_refused = False
    post.send_whatsapp_file(PNG_BYTES, "day-picture", "Is this wide?", "crack.png")
    conversation.model.script = [text_answer("Wider than the others.")]
    post.run_turn()
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    log = files.upload("crane-log.md", b"# Crane\n\nStop at 38 km/h.")
    files.run_ingestion()
    post.upload_file(visitor, session, PNG_BYTES, "other.png")
    conversation.clock.now += ABANDONED_AFTER
    uploads = [
        post.upload_file(visitor, session, PNG_BYTES, "crane.png"),
        post.upload_file(visitor, session, b"x y " * 20_000, "all.txt"),
    ]
    post.send_web(visitor, session, "", *uploads, AttachmentReference(file_id=log.id))
    conversation.model.script = [text_answer("It stood still.")]
    post.run_turn()
    assert conversation.query("SELECT name FROM attachments WHERE is_omitted") == [("all.txt",)]
