"""A turn that is over, as later prompts tell of it. Pure."""

from dataclasses import dataclass

from parlour.prompts.assembly.segment import Item, Source
from parlour.prompts.assembly.stored_text import StoredJson, StoredText

WITHHELD_TEXT = "(withdrawn: its source was closed)"
"""What stands for words whose source was deleted, or closed to their reader, since they were written."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an earlier turn; `source` names its row."""

    text: StoredText
    source: Source


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A finished turn as it enters history; empty fields where there was none.

    id             of its row.
    tool_messages  whole messages of the API (role and content), with one line for each result.
    attachments    what was sent with it, as it was then; without text what was refused.
    withheld_ids   what of it is withheld because a source was restricted: its id, or "id/number" for one source.
    """

    number: int
    id: str
    user_messages: tuple[Message, ...]
    tool_messages: tuple[StoredJson, ...] = ()
    replies: tuple[Message, ...] = ()
    attachments: tuple[Item, ...] = ()
    withheld_ids: tuple[str, ...] = ()

    @property
    def message_count(self) -> int:
        """How many messages people would count."""
        return len(self.user_messages) + len(self.replies)
