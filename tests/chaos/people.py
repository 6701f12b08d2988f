"""What people do in a conversation after its first message: the user, an operator, and time that goes by."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from local.state import ROOT
from tests.chaos.conversations import Conversation, Conversations, unwrap_answer
from tests.chaos.operator_requests import operator_request
from tests.chaos.queue_poller import WORKER_SLOTS

_SESSION = "SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.phone = %s"
_CLAIM = "SELECT claim FROM inbox_threads WHERE session_id = %s"
_QUESTION = "SELECT id FROM approvals WHERE session_id = %s AND state = 'asked'"

_EXPIRE_QUESTION = "UPDATE approvals SET expires_at = now() - interval '1 second' WHERE id = %s RETURNING id"
_LET_WAIT = "UPDATE inbox_threads SET escalation_due_at = now() - interval '1 second' WHERE session_id = %s RETURNING 1"
_LOWER_RIGHTS = "UPDATE users SET clearance = 0 WHERE phone = %s RETURNING id"
_MAKE_DUE = """
INSERT INTO work_due (tenant_id, kind, id, due_at) VALUES (%s, %s, %s, now() - interval '1 second')
ON CONFLICT (tenant_id, kind, id) DO UPDATE SET due_at = EXCLUDED.due_at
RETURNING due_at
"""
"""Time travel: as if the minutes had passed until it is due."""

type Action = Callable[[Conversations, Conversation], None]


def act(conversations: Conversations, acting: Sequence[Conversation], phase: int) -> None:
    """Have everybody do what their scenario has for this round, several at a time."""
    with ThreadPoolExecutor(WORKER_SLOTS) as threads:
        list(threads.map(partial(_act, conversations, phase), acting))


def _act(conversations: Conversations, phase: int, conversation: Conversation) -> None:
    conversation.begin_phase(phase)
    for name in conversation.scenario.follow_ups[phase - 1]:
        ACTIONS[name](conversations, conversation)


def _write(name: str, text: str = "") -> Action:
    def write(conversations: Conversations, conversation: Conversation) -> None:
        conversations.send_message(conversation, name, text)

    return write


def _press_yes(conversations: Conversations, conversation: Conversation) -> None:
    question = _question_id(conversations, conversation)
    conversations.send_message(conversation, "button", "Yes", f"approval:{question}:yes")


def _answer(decision: str) -> Action:
    def answer(conversations: Conversations, conversation: Conversation) -> None:
        path = f"/v1/approvals/{_question_id(conversations, conversation)}/answer"
        _call_api(conversations, conversation, path, {"decision": decision})

    return answer


def _move(verb: str, body: Mapping[str, Any] | None = None) -> Action:
    def move(conversations: Conversations, conversation: Conversation) -> None:
        _call_api(conversations, conversation, f"{_inbox_path(conversations, conversation)}/{verb}", body or {})

    return move


def _say(conversations: Conversations, conversation: Conversation) -> None:
    claim = conversations.world.value(_CLAIM, _session_id(conversations, conversation))
    body = {"text": f"A person here. ({conversation.tag})", "claim": claim, "client_id": "first"}
    _call_api(conversations, conversation, f"{_inbox_path(conversations, conversation)}/messages", body)


def _lower_rights(conversations: Conversations, conversation: Conversation) -> None:
    conversations.world.rows(_LOWER_RIGHTS, conversation.phone_number)


def _let_question_expire(conversations: Conversations, conversation: Conversation) -> None:
    question = _question_id(conversations, conversation)
    conversations.world.rows(_EXPIRE_QUESTION, question)
    _wake_sweep(conversations, conversation, "approval", question)


def _let_wait_too_long(conversations: Conversations, conversation: Conversation) -> None:
    session_id = _session_id(conversations, conversation)
    conversations.world.rows(_LET_WAIT, session_id)
    _wake_sweep(conversations, conversation, "inbox", session_id)


ACTIONS: Mapping[str, Action] = {
    "write on": _write("second"),
    "write again": _write("third"),
    "type yes": _write("yes", "Yes"),
    "press yes": _press_yes,
    "approve": _answer("approve"),
    "refuse": _answer("refuse"),
    "lower the user's rights": _lower_rights,
    "let the question expire": _let_question_expire,
    "let them wait too long": _let_wait_too_long,
    "open": _move("open", {"text": "They called."}),
    "take": _move("take"),
    "say": _say,
    "note": _move("notes", {"text": "Called the yard.", "client_id": "first"}),
    "hand back": _move("hand-back", {"instruction": "Offer them Tuesday."}),
    "close": _move("close"),
}
"""By the names that scenarios know them by."""


def _call_api(conversations: Conversations, conversation: Conversation, path: str, body: Mapping[str, Any]) -> None:
    """One request, until it is answered. A repeat may find it done: that is a conflict, which says so."""
    earlier = conversation.redeliveries
    request = operator_request("POST", path, body, conversations.desk)
    answer = unwrap_answer(conversations.invoke(conversation, "http_api", request, 20))
    status = answer.get("statusCode") if isinstance(answer, Mapping) else None
    if status != 200 and not (status == 409 and conversation.redeliveries > earlier):
        conversation.problems.append(f"{path} was answered with {answer}")


def _wake_sweep(conversations: Conversations, conversation: Conversation, kind: str, work_id: object) -> None:
    """Have the sweep look at one piece of work, as its wake-up does."""
    tenant_id = conversations.desk.tenant_id
    due_at = conversations.world.value(_MAKE_DUE, tenant_id, kind, work_id)
    work = {"tenant_id": str(tenant_id), "kind": kind, "id": str(work_id), "due_at": due_at.isoformat()}
    event: dict[str, Any] = json.loads((ROOT / "events" / "sweep_wakeup.json").read_text())
    event["Records"][0]["body"] = json.dumps(work)
    conversations.invoke(conversation, "sweep", event, 20)


def _session_id(conversations: Conversations, conversation: Conversation) -> object:
    return conversations.world.value(_SESSION, conversation.phone_number)


def _question_id(conversations: Conversations, conversation: Conversation) -> object:
    return conversations.world.value(_QUESTION, _session_id(conversations, conversation))


def _inbox_path(conversations: Conversations, conversation: Conversation) -> str:
    return f"/v1/inbox/{_session_id(conversations, conversation)}"
