"""What the user hears when the model is not asked, or had no answer. Pure."""

from collections.abc import Sequence

from parlour.prompts.assembly import attachments
from parlour.prompts.assembly.user_message import MAX_TEXT_CHARS, TOOL_RESULT_KIND, ReceivedText, has_readable_text

PAUSED_REPLY = "We are closed at the moment. Your message is kept; please write again a little later."
NO_ANSWER_REPLY = "I'm having trouble pulling that up. Could you ask again in a moment, or put it another way?"
UNAVAILABLE_REPLY = "Sorry, I'm having a slow moment. Please try again in a few seconds."
FAILED_REPLY = (
    "Something went wrong on our side and I could not answer. Somebody has been told; please try again later."
)

MESSAGE_TOO_LONG_REPLY = (
    f"That is longer than I can read in one go: please keep a message under {MAX_TEXT_CHARS:,} characters, "
    "or send it in parts."
)
INPUT_TOO_LARGE_REPLY = "That is more text than I can read in one go: please send it in parts, or in fewer words."
RESULTS_TOO_LARGE_REPLY = (
    "To answer that I had to look up more than I can read in one go. Please ask for less at a time: one question, "
    "or one record."
)
CHANGES_KEPT_SUFFIX = " The changes that I had already made stay in place."
MISCONFIGURED_REPLY = (
    "I cannot answer here at the moment: something on our side leaves no room for your message. Somebody has been "
    "told; please try again later."
)
RATE_LIMIT_NOTICE = "You are writing faster than I can answer. I have your messages and answer them in a moment."
DAILY_CAP_REPLY = "I have answered all I can for today. Please write again tomorrow."

_EMPTY_MESSAGE_REPLY = "Your message arrived without any text. What would you like to know?"
_UNSUPPORTED_MEDIA_REPLY = (
    "I cannot open attachments of this kind here, only pictures and plain text. "
    "Could you tell me in words what you need?"
)


def is_answerable(message: ReceivedText) -> bool:
    """Whether the model can do something with this message: with its words, or with what came with it."""
    return (
        message.kind == TOOL_RESULT_KIND
        or has_readable_text(message)
        or attachments.has_readable_attachment(message.attachments or [])
    )


def canned_reply(input_messages: Sequence[ReceivedText], *, is_open: bool) -> str | None:
    """Return the line that answers a turn without the model, or None when the model is to answer it.

    A tenant that is paused or archived, or an inactive binding, is closed. A burst with at least one readable message
    goes to the model; otherwise the last message decides.
    """
    if not is_open:
        return PAUSED_REPLY
    if any(is_answerable(message) for message in input_messages):
        return None
    last = input_messages[-1]
    if len(last.body) > MAX_TEXT_CHARS:
        return MESSAGE_TOO_LONG_REPLY
    return _UNSUPPORTED_MEDIA_REPLY if last.kind == "media" else _EMPTY_MESSAGE_REPLY


def overflow_reply(layer: str, *, has_written: bool) -> str:
    """Return what the user reads when a prompt cannot be made to fit, by the layer that is too large.

    Users can shorten their own words and what they had looked up; everything else is for the operator. `has_written`:
    something was changed before that.
    """
    if layer == "message":
        return INPUT_TOO_LARGE_REPLY
    if layer == "calls":
        return RESULTS_TOO_LARGE_REPLY + (CHANGES_KEPT_SUFFIX if has_written else "")
    return MISCONFIGURED_REPLY + (CHANGES_KEPT_SUFFIX if has_written else "")
