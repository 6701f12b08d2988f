"""Blue ticks and the typing indicator, at a real server that plays Meta: shown beside the turn, never in its way."""

import socket
import threading
from contextlib import closing
from dataclasses import dataclass

import pytest

from parlour.channels import provider_http
from parlour.channels.read_receipts import ReadReceiptSenders
from parlour.channels.whatsapp_cloud_api import WhatsAppCloudProvider
from parlour.inbox import threads
from tests.conversation_harness import ConversationHarness, text_answer
from tests.functions.fake_provider import FakeProvider, fake_provider

__all__ = ["fake_provider"]

_SHOWN_WITHIN_SECONDS = 20
TO_META = {"provider": "whatsapp_cloud", "to": "whatsapp:104729350000142"}


class FixedToken:
    """A secret store with one value."""

    def get(self, reference: str, /) -> str:
        return f"token of {reference}"


def senders(url: str) -> ReadReceiptSenders:
    return {"whatsapp_cloud": WhatsAppCloudProvider(provider_http.new_client(), url, FixedToken())}


@dataclass
class PatientModel:
    """Looks, before the answer is complete, at what the phone shows."""

    provider: FakeProvider
    seen: list[tuple[str, bool]]

    def look(self) -> None:
        waited = threading.Event()
        for _ in range(_SHOWN_WITHIN_SECONDS * 100):
            if self.provider.phone.receipts():
                break
            waited.wait(0.01)
        self.seen += [(one.message_id, one.is_typing) for one in self.provider.phone.receipts()]


def test_the_newest_message_is_marked_and_typing_shown_before_the_answer_is_there(
    conversation: ConversationHarness, fake_provider: FakeProvider
) -> None:
    conversation.read_receipts = senders(fake_provider.url)
    model = PatientModel(fake_provider, [])
    conversation.model.before_completion = model.look
    conversation.model.script = [text_answer("In 2027.")]
    conversation.send_whatsapp("When do we finish?", "wamid.1", **TO_META)
    conversation.send_whatsapp("Roughly?", "wamid.2", **TO_META)
    conversation.run_turn()
    assert model.seen == [("wamid.2", True)]
    assert conversation.query("SELECT state FROM turns") == [("answered",)]
    conversation.run_turn()  # a wake that finds nothing shows nothing
    assert len(fake_provider.phone.receipts()) == 1


def test_nothing_is_shown_for_gupshup_or_the_web(
    conversation: ConversationHarness, fake_provider: FakeProvider
) -> None:
    conversation.read_receipts = senders(fake_provider.url)
    conversation.model.script = [text_answer("Hello!"), text_answer("Hello!")]
    conversation.send_whatsapp("Hello")
    conversation.run_turn()
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Hello")
    conversation.run_turn()
    assert fake_provider.phone.receipts() == []
    assert conversation.query("SELECT state FROM turns") == [("answered",), ("answered",)]


def test_a_message_that_waits_for_a_person_stays_unread(
    conversation: ConversationHarness, fake_provider: FakeProvider
) -> None:
    conversation.read_receipts = senders(fake_provider.url)
    conversation.send_whatsapp("Hello", "wamid.1", **TO_META)
    session_id = conversation.list_wakes()[-1].session_id
    with conversation.database.transaction(conversation.admin) as tx:
        threads.open_thread(conversation.admin, tx, session_id, "asked", "", conversation.clock())
    conversation.run_turn()
    assert (fake_provider.phone.receipts(), conversation.query("SELECT count(*) FROM turns")) == ([], [(0,)])


@pytest.mark.parametrize("problem", ["refused", "silent", "no_channel"])
def test_a_receipt_that_cannot_be_sent_changes_nothing(
    conversation: ConversationHarness, caplog: pytest.LogCaptureFixture, problem: str
) -> None:
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        if problem == "silent":
            silent.listen()  # takes connections and never answers
        conversation.read_receipts = senders(f"http://127.0.0.1:{silent.getsockname()[1]}")
        if problem == "no_channel":
            conversation.query("UPDATE bindings SET channels = '{}' RETURNING id")
        conversation.model.script = [text_answer("In 2027.")]
        conversation.send_whatsapp("When do we finish?", "wamid.1", **TO_META)
        conversation.run_turn()
    assert conversation.query("SELECT state, attempt_count FROM turns") == [("answered", 1)]
    assert len(conversation.outbox.sent) == 1
    assert "typing_not_shown" in caplog.text
