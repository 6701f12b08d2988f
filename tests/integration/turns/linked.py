"""A visitor of the web and somebody on the phone, about to be one: what the tests of it begin with."""

from uuid import UUID

from parlour.channels.send import Outgoing, Sent, send
from parlour.infra.ids import uuid7
from parlour.principal import Principal, system
from parlour.tenancy import bindings
from parlour.turns.linking.ask import Asked, ask
from parlour.turns.linking.join import Joined, join
from tests.desk import PHONE, Desk, says

SECRET = "s" * 48
CODE = "123456"


def on_the_phone(
    desk: Desk, text: str = "My name is Priya.", name: str = "phone-1", sender: str = PHONE
) -> UUID:  # fmt: skip
    """Somebody writes on WhatsApp and is answered; their session."""
    desk.write(text, name, sender=sender)
    desk.model.script = [says("Noted.")]
    desk.run()
    ((session,),) = desk.rows(f"SELECT session_id FROM messages WHERE provider_message_id = 'gupshup:{name}'")
    return UUID(str(session))


def on_the_web(desk: Desk) -> tuple[Principal, UUID]:
    """A visitor who said something and was answered."""
    visitor = desk.visit()
    session = desk.session_of(visitor)
    says_on_the_web(desk, visitor, session, "I am on site on Monday.")
    return visitor, session


def says_on_the_web(desk: Desk, visitor: Principal, session: UUID, text: str) -> None:
    """One turn there."""
    desk.write_web(visitor, session, text)
    desk.model.script = [says("Good.")]
    desk.run()


def with_template(desk: Desk) -> None:
    """The desk may write to people who did not write first."""
    desk.rows(
        "UPDATE bindings SET channels = jsonb_set(channels, '{whatsapp,template}', '{\"id\": \"t-1\"}')"
        " WHERE slug = 'site-desk' RETURNING id"
    )


def asked(desk: Desk, visitor: Principal, session: UUID, phone: str = PHONE, code: str = CODE) -> Asked:
    """The visitor says that the number is theirs."""
    with desk.database.transaction(visitor) as tx:
        binding = bindings.by_slug(tx, "site-desk")
    assert binding is not None
    return ask(
        visitor, desk.database, binding, session, phone, code=code, secret=SECRET, now=desk.clock(), new_id=uuid7
    )  # fmt: skip


def joined(desk: Desk, visitor: Principal, link_id: UUID, code: str = CODE) -> Joined:
    """The visitor gives the code back."""
    return join(visitor, desk.database, link_id, code, secret=SECRET, now=desk.clock(), new_id=uuid7)


def one(desk: Desk) -> tuple[Principal, UUID, Joined]:
    """A visitor, their session, and what became of it once they were joined with whoever has the desk's number."""
    visitor, session = on_the_web(desk)
    return visitor, session, joined(desk, visitor, asked(desk, visitor, session).link_id)


class Phone:
    """Takes every message, and keeps it."""

    def __init__(self) -> None:
        self.taken: list[Outgoing] = []

    def deliver(self, outgoing: Outgoing, /) -> str:
        self.taken.append(outgoing)
        return f"taken:{outgoing.callback}"


def sent(desk: Desk, phone: Phone, outbox_id: UUID) -> Sent:
    """Send a row of the outbox."""
    now = desk.clock()
    return send(system(desk.tenant_id), desk.database, {"gupshup": phone}, outbox_id, uuid7(now), now)
