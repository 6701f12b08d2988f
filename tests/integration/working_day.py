"""A working day of one tenant, through the rooms' public functions: everything a named query is for happens once."""

import contextlib
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from local.issuer import Issuer
from parlour.channels import outbox
from parlour.channels.envelope import Media
from parlour.channels.media import MediaKeeper
from parlour.channels.send import ChannelProvider, Outgoing, Sent, send
from parlour.infra.errors import (
    DatabaseUnavailable,
    DeliveryUnknown,
    LeaseHeld,
    Misconfigured,
    ProviderRejected,
    SpendRefused,
)
from parlour.infra.ids import uuid7
from parlour.models import costs, spend
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.export import export
from parlour.packs.validate import validate
from parlour.principal import system
from parlour.tenancy import audit, bindings, keys, members, people, routes, tenants
from parlour.tenancy.oidc import Issuers
from parlour.tenancy.sign_in import Credentials, SignIn
from parlour.tenancy.visitor import Visitor
from parlour.turns import events, read, redrive
from tests.desk import Desk, WordEmbedder, says, searches
from tests.integration.asked_of_records import asked_of_records
from tests.integration.documents_written import documents_written
from tests.integration.embedded import rows_are_embedded
from tests.integration.files_taken import files_taken
from tests.integration.forgotten import forgotten, grown_old
from tests.integration.found_and_shown import found_and_shown
from tests.integration.left_lying import work_left_lying
from tests.integration.linked_day import talk_about_a_record
from tests.integration.long_calls import long_calls
from tests.integration.looked_through import looked_through
from tests.integration.numbers_joined import numbers_joined
from tests.integration.prompted import prompts_looked_at
from tests.integration.prompts_kept import prompts_kept
from tests.integration.pulses_due import pulses_due
from tests.integration.pulses_read import pulses_read
from tests.integration.pulses_written import pulses_written
from tests.integration.records_kept import of_a_kind_left_for_tomorrow, records_kept
from tests.integration.remembered import remembered
from tests.integration.sent_along import sent_along
from tests.integration.sessions_kept import sessions_kept
from tests.integration.summarised import summarised

ISSUER = Issuer("https://id.example.org", rsa.generate_private_key(public_exponent=65537, key_size=2048))
SECRET = "s" * 40


class Phone:
    """Takes every message."""

    def deliver(self, outgoing: Outgoing, /) -> str:
        return f"taken:{outgoing.callback}"


class Lost:
    """Takes a message, perhaps."""

    def deliver(self, outgoing: Outgoing, /) -> str:
        raise DeliveryUnknown(f"no answer for {len(outgoing.text)} characters")


class Shelf:
    """Keeps every file."""

    bucket = "media"

    def put(self, key: str, data: bytes, content_type: str, /) -> None:
        assert key.startswith("tenant/")
        assert (len(data), content_type) == (8, "image/png")

    def delete(self, keys: Sequence[str], /) -> None:
        raise AssertionError(keys)


class Safe:
    """Knows every secret."""

    def get(self, reference: str, /) -> str:
        return f"value of {reference}"


class Refusing:
    """Takes none."""

    def deliver(self, outgoing: Outgoing, /) -> str:
        raise ProviderRejected(f"not a number: {len(outgoing.recipient)} digits")


class Locked:
    """Refuses the tenant's key."""

    def deliver(self, outgoing: Outgoing, /) -> str:
        raise Misconfigured(f"the key was refused for {len(outgoing.recipient)} digits")


def play(desk: Desk) -> None:
    """The whole day."""
    administration(desk)
    configuration(desk)
    records_kept(desk)
    documents_written(desk)
    files_taken(desk)
    found_and_shown(desk)
    conversation_on_whatsapp(desk)
    conversation_on_the_web(desk)
    sent_along(desk)
    a_turn_that_is_resumed(desk)
    asked_of_records(desk)
    prompts_looked_at(desk)
    long_calls(desk)
    turns_that_fail(desk)
    work_left_lying(desk)
    looked_through(desk)
    rows_are_embedded(desk)
    pulses_due(desk)
    pulses_written(desk)
    pulses_read(desk)
    talk_about_a_record(desk)
    remembered(desk)
    summarised(desk)
    prompts_kept(desk)
    sessions_kept(desk)
    numbers_joined(desk)
    forgotten(desk)
    grown_old(desk)
    money(desk)
    of_a_kind_left_for_tomorrow(desk)


def administration(desk: Desk) -> None:
    """Members and keys come, change and go; the tenant is renamed and paused; all of it can be read back."""
    admin = desk.admin
    with desk.database.transaction(admin) as tx:
        member = members.add(
            admin, tx, issuer=ISSUER.url, subject="ines", display_name="Ines", roles=["viewer"], clearance=1,
            now=desk.clock(), new_id=uuid7,
        )  # fmt: skip
        members.change(admin, tx, member.id, roles=["viewer"], clearance=2, active=True, now=desk.clock(), new_id=uuid7)
        assert members.all_of(admin, tx)
        key = keys.create(admin, tx, name="ci", roles=["admin"], clearance=1, now=desk.clock(), new_id=uuid7)
        spare = keys.create(admin, tx, name="spare", roles=[], clearance=0, now=desk.clock(), new_id=uuid7)
        tenants.update(admin, tx, display_name="Northbank", settings={"polite": True}, now=desk.clock(), new_id=uuid7)
        tenants.set_status(admin, tx, "paused", desk.clock(), uuid7)
        tenants.set_status(admin, tx, "active", desk.clock(), uuid7)
        assert tenants.get(tx)
        assert audit.recent(admin, tx, 50)
    everybody_signs_in(desk, key.text)
    with desk.database.transaction(admin) as tx:
        assert keys.all_of(admin, tx)
        keys.revoke(admin, tx, spare.key.id, desk.clock(), uuid7)


def everybody_signs_in(desk: Desk, key: str) -> None:
    """A member, a key and a visitor."""
    documents = {
        f"{ISSUER.url}/.well-known/openid-configuration": ISSUER.discovery(),
        f"{ISSUER.url}/jwks.json": ISSUER.keys(),
    }
    sign_in = SignIn(Issuers([ISSUER.url], "parlour", documents.__getitem__), lambda: SECRET, lambda: SECRET)
    now = desk.clock()
    for bearer in (ISSUER.token("ines", now), key):
        assert sign_in.authenticate(Credentials(f"Bearer {bearer}", "northbank"), desk.database, now)
    visitor = desk.visit()
    mine = desk.session_of(visitor)
    with desk.database.transaction(visitor) as tx:
        session = people.session_of(visitor, tx, mine)
        people.open_session(visitor, tx, binding_id=session.binding_id, now=now, new_id=uuid7)
    assert visitor.id is not None
    token = sign_in.issue(Visitor(desk.tenant_id, visitor.id, session.binding_id, session.id), now)
    assert sign_in.authenticate(Credentials(f"Bearer {token.text}", ""), desk.database, now)


def configuration(desk: Desk) -> None:
    """The pack is changed in every place and applied again, and read back."""
    files = folder.read(Path("packs/construction"))
    assert export(desk.admin, desk.database)
    changed = {path: _changed(path, text) for path, text in files.items()}
    apply(desk.admin, desk.database, WordEmbedder(), validate(changed), desk.clock(), uuid7)
    with desk.database.transaction(desk.admin) as tx:
        (binding, *_) = bindings.list_active(tx)
        assert bindings.by_slug(tx, binding.slug)
        assert bindings.on_the_web(tx, "site-adviser")
        assert routes.mine(tx)
        routes.release_missing(tx, [route.key for route in routes.mine(tx) if "contracts" not in route.key])


def _changed(path: str, text: str) -> str:
    if path.endswith("main-works-contract.md"):
        return text.replace("delay damages", "damages for delay").rsplit("\n## ", 1)[0]
    if path.startswith(("humans/", "teams/", "agents/", "bindings/")):
        return text.replace("display_name: ", "display_name: The ")
    if path == "entities/project.yaml":
        return text.replace("name: ", "name: The ")
    return text


def conversation_on_whatsapp(desk: Desk) -> None:
    """A question, its cited answer, sent, delivered; the same webhook again; a reply that cannot be sent."""
    desk.write("How wide is the crack at C4?", "day-1")
    desk.model.script = [searches("crack width C4"), says("0.35 mm [1].")]
    desk.run()
    desk.write("How wide is the crack at C4?", "day-1")
    principal = system(desk.tenant_id)
    (session,) = {wake.session_id for wake in desk.wakes()}
    with desk.database.transaction(principal) as tx:
        (unsent,) = outbox.unsent(tx, session_id=session)
    sent = sending(desk, Phone(), unsent.id)
    assert sent.state == "sent"
    ((provider_id,),) = desk.rows("SELECT provider_message_id FROM outbox_parts")
    desk.write("", str(provider_id), kind="status", status="delivered")
    desk.write("And the crane?", "day-2")
    desk.model.script = [says("On Monday.")]
    desk.run()
    with desk.database.transaction(principal) as tx:
        (waiting,) = outbox.unsent(tx, session_id=session)
    assert sending(desk, Locked(), waiting.id).state == "pending"
    assert sending(desk, Refusing(), waiting.id).state == "failed"
    with desk.database.transaction(desk.admin) as tx:
        (one,) = outbox.failed(desk.admin, tx, desk.clock(), 10)
        assert outbox.redrive(desk.admin, tx, one.id, desk.clock()).id == waiting.id
    assert sending(desk, Phone(), waiting.id).state == "sent"
    desk.write("And the hoist?", "hoist")
    desk.model.script = [says("Nobody knows.")]
    desk.run()
    with desk.database.transaction(principal) as tx:
        (left,) = outbox.unsent(tx, session_id=session)
    assert sending(desk, Refusing(), left.id).state == "failed"
    a_photo_is_kept(desk)
    replies_that_need_a_person(desk, session)


def sending(desk: Desk, provider: ChannelProvider, outbox_id: UUID) -> Sent:
    """Send a reply through this provider, whatever the binding's is called."""
    now = desk.clock()
    return send(system(desk.tenant_id), desk.database, {"gupshup": provider}, outbox_id, uuid7(now), now)


def replies_that_need_a_person(desk: Desk, session_id: UUID) -> None:
    """One is settled by the provider's callback, one by a person in each way; news overtake a third."""
    principal = system(desk.tenant_id)
    for number, how in enumerate(("arrived", "send_again", "dismiss", "callback", "left")):
        desk.write("And the crane?", f"stuck-{number}")
        desk.model.script = [says(f"On Monday, {how}.")]
        desk.run()
        with desk.database.transaction(principal) as tx:
            (*_, unsent) = outbox.unsent(tx, session_id=session_id)
        assert sending(desk, Lost(), unsent.id).state == "unknown"
        if how == "left":
            continue
        if how == "callback":
            told = {"callback": f"{unsent.id}:1"}
            desk.write("", "wamid.1", kind="status", status="delivered", metadata=told)
            assert desk.rows(f"SELECT state FROM outbox WHERE id = '{unsent.id}'") == [("delivered",)]
            continue
        with desk.database.transaction(desk.admin) as tx:
            assert outbox.needing_a_person(desk.admin, tx, 10)
            again = outbox.resolve(desk.admin, tx, unsent.id, how, desk.clock())  # type: ignore[arg-type]
        if again:
            desk.write("", f"taken:{unsent.id}:1", kind="status", status="delivered")
            assert sending(desk, Phone(), again.id).state == "sent"


def a_photo_is_kept(desk: Desk) -> None:
    """Fetched from the provider once the message is stored, and noted with it."""
    photo = httpx2.ByteStream(b"\x89PNG\r\n\x1a\n")
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, stream=photo)))
    media = MediaKeeper(client, Shelf(), Safe(), "https://graph.facebook.com")
    desk.write("", "photo", kind="media", media=Media("image", "https://filemanager.gupshup.io/photo"))
    ((message_id,),) = desk.rows("SELECT id FROM messages WHERE provider_message_id = 'gupshup:photo'")
    assert media.keep(system(desk.tenant_id), desk.database, UUID(str(message_id)), lambda: 60.0, desk.clock())
    desk.model.script = [says("A crack, as far as I can see.")]
    desk.run()


def conversation_on_the_web(desk: Desk) -> None:
    """A visitor asks, follows the events and reads the transcript; an operator looks at the turn."""
    visitor = desk.visit()
    session = desk.session_of(visitor)
    desk.write_web(visitor, session, "How wide is the crack?")
    desk.model.script = [says("0.35 mm.")]
    desk.run()
    with desk.database.transaction(visitor) as tx:
        assert events.after(visitor, tx, session, 0)
        assert read.transcript(visitor, tx, session, 10)
    with desk.database.transaction(desk.admin) as tx:
        (turn,) = read.latest(desk.admin, tx, 10, session)
        assert read.turn(desk.admin, tx, turn.row.id)


def a_turn_that_is_resumed(desk: Desk) -> None:
    """A worker is refused while another holds the lease; one loses its database, one breaks, the next goes on."""
    desk.write("And the wind?", "day-3")
    desk.rows(f"UPDATE sessions SET lease_until = '{desk.clock().isoformat()}'::timestamptz + '1 minute' RETURNING 1")
    with pytest.raises(LeaseHeld):
        desk.run()
    desk.clock.now += timedelta(minutes=2)
    desk.model.script = [searches("wind limit"), DatabaseUnavailable(), RuntimeError(), says("38 km/h [1].")]
    with pytest.raises(DatabaseUnavailable):
        desk.run()
    with pytest.raises(RuntimeError):
        desk.run()
    desk.run()


def turns_that_fail(desk: Desk) -> None:
    """Three turns break every time they are tried; one is let be, one is redriven, one waits for somebody."""
    visitor = desk.visit()
    session = desk.session_of(visitor)
    for text in ("And the formwork?", "And the rebar?", "And the scaffold?"):
        desk.write_web(visitor, session, text)
        desk.model.script = [RuntimeError(), RuntimeError(), RuntimeError()]
        for _ in range(3):
            with contextlib.suppress(RuntimeError):
                desk.run()
    with desk.database.transaction(desk.admin) as tx:
        first, second, _ = redrive.parked(desk.admin, tx, 10)
        redrive.dismiss(desk.admin, tx, first.id, desk.clock())
        waking = redrive.redrive(desk.admin, tx, second.id, desk.clock())
    desk.turns.send([waking.message])


def money(desk: Desk) -> None:
    """The cap is lowered until a call is refused, model calls are stopped and resumed, and the costs are read."""
    admin, now = desk.admin, desk.clock()
    cap, soon = Decimal("0.01"), now + timedelta(minutes=1)
    with desk.database.transaction(admin) as tx:
        spend.set_cap(admin, tx, cap, now)
        assert spend.own_cap(tx) == cap
        spend.stop(admin, tx, now)
        spend.resume(admin, tx, now)
    with pytest.raises(SpendRefused):
        spend.take(
            desk.database, admin, reservation_id=uuid7(now), amount=cap * 2, purpose="turn", default_cap=cap,
            expires_at=soon, now=now,
        )  # fmt: skip
    with desk.database.transaction(admin) as tx:
        assert spend.today(admin, tx, cap, now).warned == 100
        assert costs.costs(admin, tx, 2, now).usage
