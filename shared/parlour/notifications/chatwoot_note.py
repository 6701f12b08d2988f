"""What people read in Chatwoot about a conversation, as a private note. Pure.

Notes hold texts of users and models. What Markdown and Chatwoot's mentions would read in them is escaped: no link of
them hides its target, and they mention nobody.
"""

from dataclasses import dataclass
from uuid import UUID

from parlour.notifications.event import InboxEventKind
from parlour.text.literal_text import escape_markdown

_MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class ChatwootEvent:
    """An event as people read it in Chatwoot.

    level          the clearance that the conversation needs; allowed_level: the one that the binding gives Chatwoot.
    by             who wrote, of `said`: "user", "agent" or "person".
    text           what they wrote; of other events an instruction or "". cited_numbers: as its reader counts them.
    assignee_email  the address of the member who has the conversation.
    last_question  what the user wrote last; summary: the newest summary that Chatwoot may have.
    conversation   Chatwoot's number of the conversation; None before it has one. own_user: as in `ChatwootSession`.
    is_superseded  whether the conversation was opened, handed back or closed since.
    """

    level: int
    allowed_level: int
    actor_name: str
    by: str
    text: str
    cited_numbers: list[int]
    reason_text: str
    assignee_name: str | None
    assignee_email: str | None
    last_question: str | None
    summary: str | None
    user_id: UUID
    user_name: str | None
    conversation: int | None
    own_user: int | None
    is_superseded: bool


def write_note(kind: InboxEventKind, event: ChatwootEvent, reason: str, link: str) -> str:
    """Return the private note of an event; "" where it needs none."""
    who = _one_line(event.actor_name) or "Parlour"
    match kind:
        case "opened":
            note = "\n\n".join(filter(None, _opening(event, reason, link)))
        case "said":
            note = f"There is a new message that Chatwoot may not have. [Read it in the console]({link})."
        case "taken":
            note = f"{_one_line(event.assignee_name or '') or who} has the conversation now."
        case "handed_back":
            told = f": {_quote(event.text)}" if event.text and is_shown(event) else "."
            note = f"{who} handed it back to the agent{told}"
        case "closed":
            note = f"{who} closed the conversation."
        case "breached" | "escalated":
            note = reason
        case "refused":
            note = f"**Parlour refused this.** {_one_line(reason)}"
    return note


def is_shown(event: ChatwootEvent) -> bool:
    """Whether Chatwoot may have the texts of the conversation."""
    return event.level <= event.allowed_level


def _opening(event: ChatwootEvent, reason: str, link: str) -> list[str]:
    why = f"**Why:** {reason}" if reason else ""
    opened = f"[Open it in the console]({link})"
    if not is_shown(event):
        return [why, "Chatwoot may not have the texts of this conversation.", opened]
    about = f"**About:** {_quote(event.reason_text)}" if event.reason_text else ""
    summary = f"**Summary:** {_quote(event.summary)}" if event.summary else ""
    return [why, about, summary, opened]


def _quote(text: str) -> str:
    return _one_line(text[:_MAX_CHARS])


def _one_line(text: str) -> str:
    return escape_markdown(" ".join(text.split()))
