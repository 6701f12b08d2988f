"""What people send along with their messages in tests: over WhatsApp as its provider gives it, on the web as a browser
uploads it."""

from dataclasses import dataclass, field, replace
from uuid import UUID

import httpx2

from parlour.channels.envelope import Media
from parlour.channels.media import MediaKeeper
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.models.pictures import Pictures
from parlour.principal import Principal, system
from parlour.turns import attaching, receive
from parlour.turns.attaching import Named
from parlour.turns.run import run
from tests.bucket import Bucket
from tests.desk import Desk

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(48))


class MediaBucket(Bucket):
    """Takes what the receiver keeps, too."""

    bucket = "media"

    def put(self, key: str, data: bytes, _content_type: str, /) -> None:
        self._answer()
        self.kept[key] = data


class Safe:
    """Knows every secret."""

    def get(self, reference: str, /) -> str:
        return f"value of {reference}"


@dataclass
class Post:
    """A desk's post, with the bucket that it is kept in."""

    desk: Desk
    bucket: MediaBucket = field(default_factory=MediaBucket)

    def whatsapp(self, data: bytes, provider_id: str, text: str = "", name: str = "", kind: str = "image") -> UUID:
        """A message with a file, whose file was seen to."""
        desk = self.desk
        media = Media(kind, "https://filemanager.gupshup.io/1", name=name)
        desk.write(text, provider_id, kind="media", media=media)
        ((message_id,),) = desk.rows(f"SELECT id FROM messages WHERE provider_message_id = 'gupshup:{provider_id}'")
        self.keep(UUID(str(message_id)), data)
        return UUID(str(message_id))

    def keep(self, message_id: UUID, data: bytes) -> bool:
        desk, stream = self.desk, httpx2.ByteStream(data)
        client = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, stream=stream)))
        keeper = MediaKeeper(client, self.bucket, Safe(), "https://graph.facebook.com")
        return keeper.keep(system(desk.tenant_id), desk.database, message_id, lambda: 60.0, desk.clock())

    def upload(self, visitor: Principal, session_id: UUID, data: bytes, name: str) -> Named:
        """As a browser uploads what it is about to send along."""
        desk, now = self.desk, self.desk.clock()
        with desk.database.transaction(visitor) as tx:
            started = attaching.start(visitor, tx, self.bucket, session_id, name, len(data), now, uuid7(now))
        self.bucket.post(started.form, data)
        return Named(upload=started.id)

    def say(
        self, visitor: Principal, session_id: UUID, text: str, *named: Named, client_id: str | None = None
    ) -> UUID:  # fmt: skip
        """Write on the web, with these along."""
        desk, now = self.desk, self.desk.clock()
        name = receive.web_name(session_id, client_id or "")
        gathered = attaching.gather(visitor, desk.database, self.bucket, session_id, named, name, now, uuid7)
        return receive.receive_web(
            visitor, desk.database, desk.turns, session_id, text, client_id, now, uuid7, gathered
        )  # fmt: skip

    def run(self) -> list[JsonObject]:
        """Run the newest wake; the messages that the model was asked with last."""
        desk = self.desk
        services = replace(desk.services(), pictures=Pictures(lambda: self.bucket))
        run(services, desk.wakes()[-1], lambda: 60.0)
        return list(desk.model.requests[-1].messages)


def blocks(message: JsonObject) -> list[JsonObject]:
    content = message["content"]
    assert isinstance(content, list)
    return [one for one in content if isinstance(one, dict)]


def texts(messages: list[JsonObject]) -> str:
    return "\n".join(str(one.get("text", "")) for message in messages for one in blocks(message))
