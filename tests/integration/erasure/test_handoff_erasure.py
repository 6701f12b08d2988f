"""The brief of a handoff goes with the message that it was written from."""

from uuid import UUID

from tests.conversation_harness import text_answer, tool_call
from tests.integration.erasure.erasure_fixture import ErasureFixture


def test_the_brief_of_an_erased_message_is_erased(erasure_fixture: ErasureFixture) -> None:
    desk = erasure_fixture.desk
    desk.send_whatsapp("What does Zephyrine earn?", "m1")
    brief = "Asks what Zephyrine earns."
    call = tool_call("hand_off", to="contract-desk", reason="Zephyrine's wages", brief=brief)
    desk.model.script = [call, text_answer("My colleague will answer you."), text_answer("Good day.")]
    desk.run_turn()
    assert desk.query("SELECT count(*) > 0 FROM ledger_texts WHERE text LIKE '%Zephyrine%'") == [(True,)]
    ((message,),) = desk.query("SELECT id FROM messages WHERE provider_message_id = 'gupshup:m1'")
    erasure_fixture.forget("message", UUID(str(message)))
    assert desk.query("SELECT reason, brief FROM handoffs") == [("", "")]
    assert desk.query("SELECT text FROM ledger_texts WHERE text LIKE '%Zephyrine%'") == []
