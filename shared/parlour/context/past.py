"""A turn that is over, as later prompts tell of it. Pure."""

from dataclasses import dataclass

from parlour.context.segment import Item, Source
from parlour.context.stored_text import StoredJson, StoredText

WITHDRAWN = "(withdrawn: its source was closed)"
"""What stands for words whose source was deleted, or closed to their reader, since they were written."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an earlier turn; `source` names its row."""

    text: StoredText
    source: Source


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn that is over, as it enters history: what the user wrote and sent, what was called with one line for each
    result, and the reply. Empty where there was none.

    id        of its row.
    called    whole messages of the API (role and content), as `stubs.called` made them.
    attached  what was sent with it, as it was then; without text what was refused.
    withdrawn what of it is not told any more, since a source of it was closed: its id, or "id/number" for one source.
    """

    number: int
    id: str
    asked: tuple[Message, ...]
    called: tuple[StoredJson, ...] = ()
    replied: tuple[Message, ...] = ()
    attached: tuple[Item, ...] = ()
    withdrawn: tuple[str, ...] = ()

    @property
    def messages(self) -> int:
        """How many messages people would count."""
        return len(self.asked) + len(self.replied)
