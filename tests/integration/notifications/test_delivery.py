"""Notifications on the real database, read back from a real SMTP server and a real HTTP server."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email import message_from_bytes
from email.message import Message
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import boto3
import pytest
from aiosmtpd.controller import Controller
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ses.models import ses_backends

from parlour.infra.errors import Conflict, NotFound
from parlour.infra.json_values import JsonObject
from parlour.infra.queries import Query
from parlour.jobs.sweep import SweepDependencies, handle_wakeup
from parlour.jobs.work_due import DueWork
from parlour.notifications import bounces, delivery_job, notifications
from parlour.notifications.delivery_job import MAX_ATTEMPTS, Sender
from parlour.notifications.email import NoEmail, SesSender, SmtpSender
from parlour.notifications.event import InboxEvent, Medium
from parlour.notifications.receiver import Receivers
from parlour.notifications.signature import verify_body
from parlour.notifications.store import NotificationRow
from parlour.notifications.webhook import WebhookSender
from parlour.principal import Principal
from parlour.testing.doubles import FakeDelayedQueue, FakeQueue
from parlour.tools.addresses import PrivateHosts
from parlour.tools.http_endpoint import HttpEndpoint
from tests.integration.channels.conftest import OutboxHarness, open_outbox_harness, outbox_harness

__all__ = ["open_outbox_harness", "outbox_harness"]

KEY = "k" * 32
EVENT = UUID(int=77)


class Mailbox:
    """What an SMTP server took; it refuses whom `refused` names with the answer there."""

    def __init__(self) -> None:
        self.mails: list[Message] = []
        self.refused: dict[str, str] = {}

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:  # noqa: N802
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.append(message_from_bytes(envelope.content, policy=default))
        return "250 OK"


@pytest.fixture
def mailbox() -> Iterator[tuple[Mailbox, SmtpSender]]:
    box = Mailbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    yield box, SmtpSender(f"smtp://127.0.0.1:{port}", "parlour@example.com", "https://p.test")
    controller.stop()


@dataclass
class Desk:
    """One tenant with settings, and notifications that are sent by `run`."""

    harness: OutboxHarness
    woken: list[DueWork] = field(default_factory=list)

    def configure(self, settings: JsonObject) -> None:
        statement = "UPDATE bindings SET notifications = %(settings)s"
        with self.harness.database.transaction(self.harness.principal) as tx:
            tx.run(Query("test.settings", "", statement), settings=settings)
            hosts = "UPDATE tenants SET settings = %(settings)s"
            tx.run(Query("test.hosts", "", hosts), settings={"tool_hosts": ["hooks.example", "10.0.0.1"]})
            secret = "UPDATE secrets SET name = 'hook', reference = 'hook'"
            tx.run(Query("test.secret", "", secret))

    def notify(self, reason: str = "The user asked.") -> list[DueWork]:
        event = InboxEvent(EVENT, "opened", self.harness.session_id, reason)
        with self.harness.database.transaction(self.harness.principal) as tx:
            notifications.notify(tx, event, self.harness.now)
            return notifications.list_pending(tx, self.harness.session_id)

    def run(self, work: DueWork, sender: Sender, medium: Medium = "email", minutes: int = 0) -> None:
        """Wake the notification: the sweep has it sent if it is due."""
        database, now, outbox = self.harness.database, self.harness.now + timedelta(minutes=minutes), FakeQueue()
        looking = SweepDependencies(
            database, {"notification": notifications.finder(outbox)}, FakeDelayedQueue(), lambda: now
        )
        handle_wakeup(looking, work.to_json())
        for message in outbox.sent.values():
            delivery_job.deliver(message.body, database, {medium: sender}, self.woken.append, now, lambda: 60.0)

    def states(self) -> list[tuple[object, ...]]:
        return self.harness.query("SELECT state, problem FROM notifications ORDER BY id")


@pytest.fixture
def desk(outbox_harness: OutboxHarness) -> Desk:
    return Desk(outbox_harness)


def test_a_mail_is_sent_once_however_often_it_is_woken(desk: Desk, mailbox: tuple[Mailbox, SmtpSender]) -> None:
    box, smtp = mailbox
    desk.configure({"email": ["desk@example.com"]})
    [work] = desk.notify()
    assert desk.notify() == [work]

    for _ in range(3):
        desk.run(work, smtp)

    [mail] = box.mails
    assert (mail["To"], mail["From"]) == ("desk@example.com", "parlour@example.com")
    assert mail["Subject"] == "A conversation with B waits for a person"
    assert f"/console/#/inbox/{desk.harness.session_id}" in mail.get_payload()
    assert desk.states() == [("sent", "")]
    assert desk.harness.query("SELECT 1 FROM work_due WHERE kind = 'notification'") == []


def test_a_refused_address_is_visible_and_sent_again_by_a_person(
    desk: Desk, mailbox: tuple[Mailbox, SmtpSender]
) -> None:
    box, smtp = mailbox
    box.refused = {"gone@example.com": "550 no such mailbox"}
    desk.configure({"email": ["gone@example.com"]})
    [work] = desk.notify()
    desk.run(work, smtp)

    assert desk.states() == [("failed", "The mail server refused the address or the mail: 550 no such mailbox")]
    admin = Principal(desk.harness.principal.tenant_id, "member", UUID(int=1), frozenset({"admin"}), 3)
    database, now = desk.harness.database, desk.harness.now
    desk.harness.query("UPDATE bindings SET clearance = 1 RETURNING id")
    with database.transaction(admin) as tx:
        assert notifications.list_problems(replace(admin, clearance=0), tx, 10) == []
        [problem] = notifications.list_problems(admin, tx, 10)
        with pytest.raises(NotFound):
            notifications.resolve_problem(replace(admin, clearance=0), tx, problem.id, "dismiss", now)
        again = notifications.resolve_problem(admin, tx, problem.id, "send_again", now)
        with pytest.raises(Conflict):
            notifications.resolve_problem(admin, tx, problem.id, "dismiss", now)
    assert again is not None
    box.refused = {}
    desk.run(again, smtp)

    assert (len(box.mails), desk.states()) == (1, [("sent", "")])


def test_a_busy_mail_server_is_asked_again_and_given_up_at_last(
    desk: Desk, mailbox: tuple[Mailbox, SmtpSender]
) -> None:
    box, smtp = mailbox
    box.refused = {"desk@example.com": "451 try later"}
    desk.configure({"email": ["desk@example.com"]})
    [work] = desk.notify()
    desk.run(work, smtp)
    assert desk.states() == [("pending", "The mail server asks to wait: 451 try later")]
    assert [round((one.due_at - desk.harness.now).total_seconds()) for one in desk.woken] == [60]

    for attempt in range(1, MAX_ATTEMPTS):
        desk.run(work, smtp, minutes=600 * attempt)

    assert desk.states()[0][0] == "failed"
    assert box.mails == []


def test_a_mail_whose_worker_died_is_unknown_and_not_sent_again(
    desk: Desk, mailbox: tuple[Mailbox, SmtpSender]
) -> None:
    box, smtp = mailbox
    desk.configure({"email": ["desk@example.com"]})
    [work] = desk.notify()

    class Killed(BaseException):
        pass

    class Dying:
        def send(self, notification: NotificationRow, /) -> None:
            smtp.send(notification)
            raise Killed

    with pytest.raises(Killed):
        desk.run(work, Dying())
    desk.run(work, smtp, minutes=10)

    assert len(box.mails) == 1
    assert desk.states()[0][0] == "unknown"


def test_a_deployment_without_a_sender_says_what_to_set(desk: Desk) -> None:
    desk.configure({"email": ["desk@example.com"]})
    [work] = desk.notify()
    desk.run(work, NoEmail())

    [(state, problem)] = desk.states()
    assert (state, "MailFrom" in str(problem)) == ("failed", True)


def test_ses_sends_from_the_identity(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    desk.configure({"email": ["desk@example.com"]})
    [work] = desk.notify()
    with mock_aws():
        client = boto3.client("sesv2")
        client.create_configuration_set(ConfigurationSetName="mail")
        sender = SesSender(client, "parlour@example.com", "https://p.test", "mail")
        desk.run(work, sender)
        assert desk.states()[0][0] == "failed"  # the identity is not verified yet
        client.create_email_identity(EmailIdentity="parlour@example.com")
        admin = Principal(work.tenant_id, "member", UUID(int=1), frozenset({"admin"}), 3)
        with desk.harness.database.transaction(admin) as tx:
            notifications.resolve_problem(admin, tx, work.id, "send_again", desk.harness.now)
        desk.run(work, sender)
        [mail] = ses_backends[DEFAULT_ACCOUNT_ID]["eu-central-1"].sent_messages

    assert set(mail.destinations) == {"desk@example.com"}
    assert desk.states() == [("sent", "")]
    tags = {"tenant_id": [str(work.tenant_id)], "notification_id": [str(work.id)]}
    event = json.dumps({"eventType": "Complaint", "mail": {"tags": tags}})
    for _ in range(2):
        bounces.record_bounces({"Records": [{"Sns": {"Message": event}}]}, desk.harness.database, desk.harness.now)
    assert desk.states() == [("failed", "The recipient marked the mail as spam.")]


@dataclass
class Receiver:
    """A webhook's receiver with the statuses that it answers, one after the other."""

    statuses: list[int]
    asked: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0


@pytest.fixture
def receive() -> Iterator[Callable[[list[int]], Receiver]]:
    servers = []

    def start(statuses: list[int]) -> Receiver:
        receiver = Receiver(statuses)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.asked.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.statuses.pop(0))
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        receiver.port = server.server_port
        return receiver

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Secrets:
    """A store with the webhook's key."""

    def get(self, _reference: str, /) -> str:
        return KEY


def _webhook(desk: Desk, private: str) -> WebhookSender:
    endpoint = HttpEndpoint(Secrets(), PrivateHosts.parse(private))
    receivers = Receivers(endpoint, Secrets(), desk.harness.database, lambda: desk.harness.now)
    return WebhookSender(receivers, "https://p.test")


def test_a_webhook_is_signed_and_repeated_under_one_key(desk: Desk, receive: Callable[[list[int]], Receiver]) -> None:
    receiver = receive([503, 204])
    desk.configure({"webhook": {"url": "https://hooks.example/in", "secret": "hook"}})
    [work] = desk.notify()
    slug = f"t-{work.tenant_id}"
    sender = _webhook(desk, f"{slug}@hooks.example=http://127.0.0.1:{receiver.port}")
    desk.run(work, sender, "webhook")
    desk.run(work, sender, "webhook", minutes=2)

    assert desk.states() == [("sent", "")]
    [(first, _), (headers, body)] = receiver.asked
    assert first["idempotency-key"] == headers["idempotency-key"] == str(work.id)
    assert verify_body(body, headers["parlour-signature"], KEY, desk.harness.now) == str(work.id)
    assert json.loads(body)["session_id"] == str(desk.harness.session_id)


@pytest.mark.parametrize("url", ["https://10.0.0.1/in", "https://other.example/in", "http://hooks.example/in"])
def test_a_webhook_reaches_public_hosts_of_the_tenant_only(desk: Desk, url: str) -> None:
    desk.configure({"webhook": {"url": url, "secret": "hook"}})
    [work] = desk.notify()
    desk.run(work, _webhook(desk, ""), "webhook")

    [(state, problem)] = desk.states()
    assert (state, "tool_hosts" in str(problem)) == ("failed", True)


def test_a_webhook_that_refuses_is_not_asked_again(desk: Desk, receive: Callable[[list[int]], Receiver]) -> None:
    receiver = receive([410])
    desk.configure({"webhook": {"url": "https://hooks.example/in", "secret": "hook"}})
    [work] = desk.notify()
    desk.run(work, _webhook(desk, f"t-{work.tenant_id}@hooks.example=http://127.0.0.1:{receiver.port}"), "webhook")

    assert desk.states() == [("failed", "The webhook answered 410.")]
