"""Texts of users that would become something else in Chatwoot."""

import json
from uuid import UUID

from parlour.notifications import store
from parlour.notifications.chatwoot_note import write_note
from parlour.tools.builtin.ask_a_person import ask_a_person
from tests.conversation_harness import ConversationHarness, text_answer, tool_call

_SETTINGS = {"chatwoot": {"url": "https://chat.example", "account": 3, "inbox": 7, "token": "token", "clearance": 3}}
_LINK = "https://p.test"


def _read_opening_note(desk: ConversationHarness, reason: str) -> str:
    """Return the private note of a conversation for which the model asks with this reason."""
    desk.query(f"UPDATE bindings SET notifications = '{json.dumps(_SETTINGS)}' RETURNING id")
    desk.add_tool("ask_a_person", ask_a_person, writes=False)
    visitor = desk.create_visitor()
    desk.send_web(visitor, desk.find_session(visitor), f"Ask a person, and say: {reason}")
    desk.model.script = [tool_call("ask_a_person", reason=reason), text_answer("Of course.")]
    desk.run_turn()
    [(notification_id,)] = desk.query(
        "SELECT id FROM notifications WHERE event = 'opened' ORDER BY created_at DESC LIMIT 1"
    )
    with desk.database.transaction(desk.admin) as tx:
        event = store.read_chatwoot_event(tx, UUID(str(notification_id)))
    assert event is not None
    return write_note("opened", event, "The user asked for a person.", _LINK)


def note_hides_where_a_link_leads(desk: ConversationHarness) -> bool:
    note = _read_opening_note(desk, "[Sign in again](https://evil.example) [@Ines](mention://user/1/Ines)")
    return "](https://evil.example" in note or "mention://" in note


def note_has_the_reason(desk: ConversationHarness) -> bool:
    return "They want to know when the crane comes." in _read_opening_note(
        desk, "They want to know when the crane comes."
    )
