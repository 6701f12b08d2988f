"""May this conversation be handed to that binding? Pure.

Code decides, whatever a model was talked into: nobody is handed to an agent that they could not have walked up to, and
no conversation goes round in a circle.
"""

from collections.abc import Sequence

from parlour.conversations.rows import HandoffCounts
from parlour.infra.errors import HandoffNotAllowed, HandoffRepeated
from parlour.tenancy.access import Access
from parlour.tenancy.bindings import Binding, HandoffTarget
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool

HAND_OFF = "hand_off"

MAX_BRIEF_TOKENS = 300
MAX_BRIEF_CHARS = 2_000

COUNTED_MESSAGES, MAX_HANDOFFS = 20, 4
"""A model hands a conversation over at most so often within so many messages of its user."""


def hand_off_tool(targets: Sequence[HandoffTarget]) -> Tool:
    """Return the tool as this agent has it: only the bindings that it may hand over to are in its schema."""
    return Tool(
        HAND_OFF,
        "Hand this conversation to another desk, which then answers the user's message at once. Tell the user only "
        "that, beside this call: those words are your reply.",
        {
            "type": "object",
            "properties": {
                "to": {"enum": [one.slug for one in targets]},
                "reason": {"type": "string", "maxLength": 300},
                "brief": {
                    "type": "string",
                    "maxLength": MAX_BRIEF_CHARS,
                    "description": "Request, findings and open points, in at most 200 words.",
                },
            },
            "required": ["to", "reason", "brief"],
            "additionalProperties": False,
        },
        f"{BUILTIN_SCHEME}{HAND_OFF}",
        idempotent=True,
    )


def check_repetition(counts: HandoffCounts) -> None:
    """Raise HandoffRepeated when a model hands over too often, or twice without a message of the user in between."""
    if counts.messages_since == 0:
        raise HandoffRepeated("it was handed over just now; answer, and wait for the user's next message")
    if counts.recent >= MAX_HANDOFFS:
        raise HandoffRepeated(
            f"this conversation was handed over {counts.recent} times in {COUNTED_MESSAGES} messages; answer as well "
            "as you can, or name the contact of your team",
        )


def check_allowed(slug: str, allowed: Sequence[str]) -> None:
    """Raise HandoffNotAllowed when the agent's team and binding do not name the target, or it is switched off."""
    if slug not in allowed:
        raise HandoffNotAllowed(f"you may hand over to: {', '.join(allowed) or 'nobody'}")


def check_reachable(access: Access, door: Binding, target: Binding) -> None:
    """Raise HandoffNotAllowed when the user may not talk to the target.

    A private door answers its owner only. Somebody whom no channel verified may go where every visitor may go, or to
    an agent that sees no more than the one whose page they are on.
    """
    if not access.is_admitted:
        raise HandoffNotAllowed(f"{target.display_name} does not answer this user")
    if access.identification == "anonymous" and not target.is_open_to_visitors and target.clearance > door.clearance:
        raise HandoffNotAllowed(f"{target.display_name} answers people whom a phone or a sign-in has verified")
