"""What of a turn brings its conversation to the inbox, decided in the transaction of its reply."""

import re
from collections.abc import Iterable
from datetime import datetime

from parlour.conversations import inbox_messages, store
from parlour.conversations.rows import InboxTrigger
from parlour.conversations.turn_context import TurnContext
from parlour.inbox import threads
from parlour.inbox.thread import ThreadReason
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import system_principal
from parlour.prompts.assembly.user_message import TOOL_RESULT_KIND
from parlour.tenancy import rate_limits
from parlour.tenancy.limits import opening_limits


def names_a_person(texts: Iterable[str], inbox: JsonObject) -> bool:
    """Whether one of the texts has one of the words of the binding's `inbox` for a person, in any language."""
    words = inbox.get("words")
    phrases = (
        [str(word) for one in words.values() if isinstance(one, list) for word in one]
        if isinstance(words, dict)
        else []
    )
    if not phrases:
        return False
    pattern = "|".join(re.escape(phrase.casefold()) for phrase in phrases)
    return any(re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text.casefold()) for text in texts)


def settle_inbox(tx: Transaction, running: TurnContext, asked: ThreadReason | None, now: datetime) -> str:
    """Open the conversation where the turn asks for a person; return what the user reads of it, "" for nothing.

    asked  the reason that the turn ended with; otherwise its tool calls are looked at. A turn that failed has told the
    user already. Bindings without an `inbox` setting come to the inbox only where their model or a person asks, or
    members are asked for an approval.
    """
    session_id = running.lease.id
    reason, about = (asked, "") if asked else _find_reason(tx, running)
    if reason is None:
        return ""
    principal = system_principal(running.feed.principal.tenant_id)
    if reason not in {"asked", "approval"} and not threads.has_service(tx, session_id):
        return ""
    is_flood = (
        running.access is not None
        and running.access.identification == "anonymous"
        and rate_limits.take(tx, opening_limits(running.lease.binding_id), now) > 0
    )
    opening = threads.open_thread(principal, tx, session_id, reason, about, now, is_flood=is_flood)
    if reason == "failed_turn" or not (opening.is_new or reason == "approval"):
        return ""
    return inbox_messages.opening_text(tx, session_id, opening, now)


def _find_reason(tx: Transaction, running: TurnContext) -> tuple[ThreadReason | None, str]:
    """Return why the turn's tool calls need a person, and about what; a turn that called nothing is not looked at."""
    prompting = running.prompt_builder
    has_late_result = any(one.kind == TOOL_RESULT_KIND for one in running.input_messages)
    if running.turn.is_new and not has_late_result and not (prompting and prompting.tool_rounds):
        return None, ""
    found = store.find_inbox_trigger(tx, running.lease.id, running.turn.id) or InboxTrigger()
    if found.asked_reason is not None:
        return "asked", found.asked_reason
    if found.unknown_tool:
        return "unknown_effect", found.unknown_tool
    if found.approval_tool:
        return "approval", found.approval_tool
    return ("tool_failed", found.failed_tool) if found.failed_tool else (None, "")
