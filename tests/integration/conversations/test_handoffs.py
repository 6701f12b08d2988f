"""A conversation that goes from desk to desk: who answers, who may not, and what does not go along."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from parlour.conversations import handoffs
from parlour.conversations.handoffs import Handoff
from parlour.conversations.rows import HandoffRow
from parlour.infra.errors import Conflict, Forbidden, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.models.model import ModelRequest
from parlour.principal import CONFIDENTIAL, INTERNAL, Principal
from tests.conversation_harness import PHONE, ConversationHarness, search_call, text_answer, tool_call

DONE = [text_answer("Tobias will answer you."), text_answer("Here I am.")]
"""What the old desk says, and what the new one answers."""

BRIEF = "Asks what a late finish costs per day. Nothing looked up yet."


def hand_off(to: str, brief: str = BRIEF, call: str = "call_1") -> list[JsonObject]:
    return tool_call("hand_off", call, to=to, reason="It is a contract question.", brief=brief)


def ask(desk: ConversationHarness, number: int, *answers: Sequence[JsonObject]) -> list[ModelRequest]:
    """Write once by WhatsApp, let the model answer so, and return what it was asked."""
    before = len(desk.model.requests)
    desk.send_whatsapp(f"Question {number}", f"m{number}")
    desk.model.script = [*answers]
    desk.run_turn()
    return desk.model.requests[before:]


def turn_bindings(desk: ConversationHarness) -> list[object]:
    found = desk.query("SELECT b.slug FROM turns t JOIN bindings b ON b.id = t.binding_id ORDER BY t.number")
    return [slug for (slug,) in found]


def last_result(desk: ConversationHarness) -> JsonObject:
    ((result,),) = desk.query("SELECT result FROM tool_calls ORDER BY started_at DESC LIMIT 1")
    assert isinstance(result, dict)
    return result


def request_handoff(
    desk: ConversationHarness, who: Principal, session_id: UUID, to: str, brief: str = ""
) -> HandoffRow:
    now = desk.clock()
    wanted = Handoff(uuid7(now), to, "", brief, f"key-{now.isoformat()}", now)
    with desk.database.transaction(who) as tx:
        return handoffs.hand_over_session(who, tx, session_id, wanted)


def session_of(desk: ConversationHarness) -> UUID:
    ((session_id,),) = desk.query("SELECT id FROM sessions")
    assert isinstance(session_id, UUID)
    return session_id


def test_the_other_desk_answers_at_once_in_the_same_thread(conversation: ConversationHarness) -> None:
    first = ask(
        conversation,
        1,
        hand_off("contract-desk"),
        text_answer("Tobias will answer you."),
        text_answer("We owe 4,000 a day."),
    )
    second = first[2:]
    third = ask(conversation, 2, text_answer("As I said."))
    assert turn_bindings(conversation) == ["site-desk", "contract-desk", "contract-desk"]
    assert "- contract-desk: Contract desk." in canonical_json([*first[0].system])
    assert "You are Tobias" in canonical_json([*second[0].system])
    assert BRIEF in canonical_json([*second[0].messages])
    assert "Question 1" in canonical_json([*second[0].messages])
    assert "Tobias will answer you." in canonical_json([*second[0].messages])
    assert handoffs._OPENING_INSTRUCTION in canonical_json([*second[0].messages])
    assert handoffs._OPENING_INSTRUCTION not in canonical_json([*third[0].messages])
    notes = "Handed over by Site desk"
    assert notes in canonical_json([*second[0].messages])
    assert notes not in canonical_json([*third[0].messages])
    assert conversation.query("SELECT count(*) FROM sessions") == [(1,)]


def test_replies_leave_through_the_number_that_the_user_wrote_to(conversation: ConversationHarness) -> None:
    ask(conversation, 1, hand_off("contract-desk"), text_answer("Tobias will answer you."), text_answer("4,000 a day."))
    sent = conversation.query("SELECT DISTINCT slug, recipient FROM outbox o JOIN bindings b ON b.id = binding_id")
    assert sent == [("site-desk", PHONE)]


def test_every_handoff_has_an_audit_row_and_a_way_back(conversation: ConversationHarness) -> None:
    ask(conversation, 1, hand_off("contract-desk"), text_answer("Over to Tobias."), text_answer("Good day."))
    ask(conversation, 2, hand_off("site-desk"), text_answer("Back to Asha."), text_answer("Here I am."))
    assert turn_bindings(conversation) == ["site-desk", "contract-desk", "contract-desk", "site-desk"]
    assert conversation.query("SELECT count(*) FROM audit_log WHERE action = 'session.handed_over'") == [(2,)]


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ("UPDATE teams SET allowed_handoffs = '{}'", "unknown_tool", "there is no tool hand_off"),
        ("UPDATE bindings SET is_active = false WHERE slug = 'contract-desk'", "unknown_tool", "there is no tool"),
        ("UPDATE bindings SET door = 'private' WHERE slug = 'contract-desk'", "handoff_not_allowed", "does not answer"),
    ],
)
def test_a_handoff_that_is_not_allowed_is_a_structured_result(
    conversation: ConversationHarness, change: str, code: str, said: str
) -> None:
    conversation.query(f"{change} RETURNING id")
    ask(conversation, 1, hand_off("contract-desk"), text_answer("I cannot."))
    result = last_result(conversation)
    assert (result["ok"], result["code"]) == (False, code)
    assert said in str(result["message"])
    ask(conversation, 2, text_answer("Still Asha."))
    assert turn_bindings(conversation) == ["site-desk", "site-desk"]


def test_a_long_brief_is_sent_back_to_the_model(conversation: ConversationHarness) -> None:
    ask(conversation, 1, hand_off("contract-desk", "crane " * 280), text_answer("Too long."))
    assert last_result(conversation)["code"] == "invalid_arguments"
    assert conversation.query("SELECT count(*) FROM handoffs") == [(0,)]


def test_two_handoffs_of_one_turn_are_one(conversation: ConversationHarness) -> None:
    ask(conversation, 1, hand_off("contract-desk"), hand_off("contract-desk", call="call_2"), *DONE)
    assert last_result(conversation)["code"] == "handoff_repeated"
    assert conversation.query("SELECT count(*) FROM handoffs") == [(1,)]


def test_a_desk_that_was_handed_a_question_may_not_hand_it_on(conversation: ConversationHarness) -> None:
    ask(conversation, 1, hand_off("contract-desk"), *DONE[:1], hand_off("site-desk"), text_answer("We owe 4,000."))
    assert last_result(conversation)["code"] == "handoff_repeated"
    assert turn_bindings(conversation) == ["site-desk", "contract-desk"]
    assert conversation.query("SELECT body FROM messages WHERE state = 'reply' ORDER BY position") == [
        ("Tobias will answer you.",),
        ("We owe 4,000.",),
    ]


def test_a_circle_ends_after_four_handoffs(conversation: ConversationHarness) -> None:
    desks = ["contract-desk", "site-desk"] * 3
    for number, to in enumerate(desks[:5], start=1):
        ask(conversation, number, hand_off(to), text_answer("Over."), *([text_answer("Here.")] if number < 5 else []))
    assert conversation.query("SELECT count(*) FROM handoffs") == [(4,)]
    assert last_result(conversation)["code"] == "handoff_repeated"


def test_what_a_desk_with_more_clearance_showed_does_not_come_back(conversation: ConversationHarness) -> None:
    secret = "31,150"
    ask(conversation, 1, hand_off("contract-desk"), *DONE)
    shown = ask(
        conversation,
        2,
        search_call("our position on change order CO-007, how far we go, galvanised rails"),
        hand_off("site-desk", f"We would accept {secret}.", call="call_2"),
        text_answer(f"We would accept {secret} [1]. Back to Asha."),
        text_answer("What else?"),
    )
    assert secret in canonical_json([*shown[1].messages])
    assert conversation.query("SELECT classification FROM handoffs ORDER BY at DESC LIMIT 1") == [(CONFIDENTIAL,)]
    assert turn_bindings(conversation)[-1] == "site-desk"
    assert secret not in canonical_json([*shown[-1].messages])


def test_readers_need_the_clearance_of_every_desk_that_answered(conversation: ConversationHarness) -> None:
    reader = Principal(conversation.tenant_id, "member", uuid7(conversation.clock()), frozenset({"viewer"}), INTERNAL)
    ask(conversation, 1, hand_off("contract-desk"), *DONE)
    ask(conversation, 2, hand_off("site-desk"), *DONE)
    with pytest.raises(NotFound):
        request_handoff(conversation, reader, session_of(conversation), "site-desk")


def test_a_turn_that_was_open_goes_on_as_the_desk_that_began_it(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("What do we owe per day?", "m1")
    conversation.model.script = [hand_off("contract-desk"), RuntimeError("killed")]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.model.script = [text_answer("Tobias will answer you."), text_answer("Good day.")]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM handoffs") == [(1,)]
    assert turn_bindings(conversation) == ["site-desk", "contract-desk"]


def test_an_editor_hands_over_and_its_user_goes_back(conversation: ConversationHarness) -> None:
    visitor = conversation.create_visitor()
    session_id = conversation.find_session(visitor)
    done = request_handoff(conversation, conversation.admin, session_id, "contract-desk", "A claim.")
    assert (done.from_name, done.to_name) == ("Site desk", "Contract desk")
    with pytest.raises(Conflict, match="already"):
        request_handoff(conversation, conversation.admin, session_id, "contract-desk")
    with pytest.raises(Forbidden):
        request_handoff(conversation, visitor, session_id, "contract-desk")
    assert request_handoff(conversation, visitor, session_id, "site-desk").to_slug == "site-desk"
    assert conversation.query("SELECT answering_binding_id FROM sessions") == [(None,)]


def test_a_stranger_hands_nobodys_conversation_over(conversation: ConversationHarness) -> None:
    session_id = conversation.find_session(conversation.create_visitor())
    with pytest.raises(NotFound):
        request_handoff(conversation, conversation.create_visitor(), session_id, "site-desk")
