"""What people send along with their messages in tests: over WhatsApp as its provider gives it, on the web as a browser
uploads it."""

from dataclasses import dataclass, field, replace
from uuid import UUID

import httpx2

from parlour.channels.envelope import Media
from parlour.channels.media import MediaFetcher
from parlour.conversations import attachment_uploads, inbound_messages
from parlour.conversations.attachment_uploads import AttachmentReference
from parlour.conversations.rows import NewUpload
from parlour.conversations.turn_runner import run_session
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.models.images import ImageResolver
from parlour.principal import Principal, system_principal
from tests.conversation_harness import ConversationHarness
from tests.fake_bucket import FakeBucket

PNG_BYTES = b"\x89PNG\r\n\x1a\n" + bytes(range(48))


class FakeMediaBucket(FakeBucket):
    """Takes what the receiver keeps, too."""

    bucket = "media"

    def put(self, key: str, data: bytes, _content_type: str, /) -> None:
        self._answer()
        self.objects[key] = data


class FakeSecretStore:
    """Knows every secret."""

    def get(self, reference: str, /) -> str:
        return f"value of {reference}"


@dataclass
class InboundMedia:
    """A desk's post, with the bucket that it is kept in."""

    conversation: ConversationHarness
    bucket: FakeMediaBucket = field(default_factory=FakeMediaBucket)

    def send_whatsapp_file(
        self, data: bytes, provider_id: str, text: str = "", name: str = "", kind: str = "image"
    ) -> UUID:
        """A message with a file, whose file was seen to."""
        desk = self.conversation
        media = Media(kind, "https://filemanager.gupshup.io/1", name=name)
        desk.send_whatsapp(text, provider_id, kind="media", media=media)
        ((message_id,),) = desk.query(f"SELECT id FROM messages WHERE provider_message_id = 'gupshup:{provider_id}'")
        self.fetch_and_store(UUID(str(message_id)), data)
        return UUID(str(message_id))

    def fetch_and_store(self, message_id: UUID, data: bytes) -> bool:
        desk, stream = self.conversation, httpx2.ByteStream(data)
        client = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, stream=stream)))
        keeper = MediaFetcher(client, self.bucket, FakeSecretStore(), "https://graph.facebook.com")
        return keeper.fetch_and_store(
            system_principal(desk.tenant_id), desk.database, message_id, lambda: 60.0, desk.clock()
        )

    def upload_file(self, visitor: Principal, session_id: UUID, data: bytes, name: str) -> AttachmentReference:
        """As a browser uploads what it is about to send along."""
        desk, now = self.conversation, self.conversation.clock()
        with desk.database.transaction(visitor) as tx:
            started = attachment_uploads.start_upload(
                visitor, tx, self.bucket, session_id, NewUpload(uuid7(now), name, len(data)), now
            )
        self.bucket.post(started.upload_form, data)
        return AttachmentReference(upload_id=started.id)

    def send_web(
        self, visitor: Principal, session_id: UUID, text: str, *named: AttachmentReference, client_id: str | None = None
    ) -> UUID:
        """Write on the web, with these along."""
        desk, now = self.conversation, self.conversation.clock()
        name = inbound_messages.web_message_id(session_id, client_id or "")
        gathered = attachment_uploads.resolve_attachments(
            visitor, desk.database, self.bucket, session_id, named, name, now
        )
        message = inbound_messages.WebMessage(session_id, text, client_id, gathered)
        return inbound_messages.receive_web_message(visitor, desk.database, desk.turns, desk.wakeups, message, now)

    def run_turn(self) -> list[JsonObject]:
        """Run the newest wake; the messages that the model was asked with last."""
        desk = self.conversation
        services = replace(desk.make_dependencies(), images=ImageResolver(lambda: self.bucket))
        run_session(services, desk.list_wakes()[-1], lambda: 60.0)
        return list(desk.model.requests[-1].messages)


def content_blocks(message: JsonObject) -> list[JsonObject]:
    content = message["content"]
    assert isinstance(content, list)
    return [one for one in content if isinstance(one, dict)]


def joined_texts(messages: list[JsonObject]) -> str:
    return "\n".join(str(one.get("text", "")) for message in messages for one in content_blocks(message))
