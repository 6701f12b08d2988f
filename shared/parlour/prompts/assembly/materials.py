"""What a turn's prompts are assembled from: every candidate, and the time and reader. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly.compaction import Summary
from parlour.prompts.assembly.past_turn import Message, PastTurn
from parlour.prompts.assembly.segment import Item
from parlour.prompts.assembly.stored_text import StoredText


@dataclass(frozen=True, slots=True)
class PromptMaterials:
    """Everything that may go into the prompts of one turn.

    turn_number            the turn's number in the session.
    tools                  tool definitions as JSON; the same in every turn of a binding.
    tiers                  layer 1: persona, instructions and product rules.
    turn_metadata          layer 9 as text.
    user_messages          what the user wrote in this turn.
    floating_instructions  instructions that this agent has before the user's message, else "".
    record_handle          the handle of the conversation's record, "" for none.
    briefing_candidates    candidates for layer 2, in case it is rendered again.
    past_turns             turns since the session's history was cut last, oldest first.
    summary                the newest summary; the prompt uses it from the next cut on.
    is_summary_pending     a newer summary is being written.
    tail_candidates        candidates for layers 5 to 8; changes are those since the cached briefing was rendered.
    reminders              the reminders of the pack.
    acting_tools           tools whose calls do something: their old results say what was done.
    attachments            the user's attachments, as text or as an image block (canonical JSON with the image's key,
                           not its bytes). An attachment without text has only a name.
    """

    turn_number: int
    tools: tuple[StoredText, ...]
    tiers: Sequence[Item]
    turn_metadata: StoredText
    user_messages: Sequence[Message]
    floating_instructions: StoredText = ""
    record_handle: StoredText = ""
    briefing_candidates: Sequence[Item] = ()
    past_turns: Sequence[PastTurn] = ()
    summary: Summary | None = None
    is_summary_pending: bool = False
    tail_candidates: Sequence[Item] = ()
    reminders: Sequence[StoredText] = ()
    attachments: Sequence[Item] = ()
    acting_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssemblyContext:
    """When and for whom a turn begins.

    model                  provider/model that will be asked.
    persona_versions       versions of the persona's parts.
    has_restricted_source  a source of the cached briefing was deleted, or is above the reader's clearance now.
    has_erased_source      a source of the cached briefing was erased.
    """

    at: datetime
    clearance: int
    model: str
    persona_versions: JsonObject
    has_restricted_source: bool = False
    has_erased_source: bool = False
