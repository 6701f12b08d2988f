"""What a turn's prompts are made of: every candidate, and the moment that they are assembled for. Pure."""

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
    """Everything that might go into the prompts of one turn.

    turn         its number in the session.
    tools        tool definitions as the model sees them, each as JSON; the same every turn of a binding.
    tiers        layer 1: who speaks, the job, the machinery.
    floating     the machinery's instructions where the agent wants them before the user's words, else "".
    about        how the record is called that the conversation is about, "" for none.
    briefing     candidates for layer 2, in case it is rendered anew.
    past         turns since the session's history was cut last, oldest first.
    summary      the newest of what was said before; it is told from the next cut on.
    awaited      a newer one is under way.
    tail         candidates for layers 5 to 8; changes are those since the pinned briefing was rendered.
    heartbeat    layer 9 as text.
    reminders    what the pack wants the model reminded of.
    words        what the user wrote now.
    attachments  what the user sent with it, as text or as a block of an image (canonical JSON, which names the image's
                 bytes and does not hold them); without text one of which there is only a name.
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


@dataclass(frozen=True, slots=True)
class AssemblyContext:
    """When and for whom a turn begins.

    model         provider/model that is about to be asked.
    versions      of the persona's parts.
    reclassified  a source of the pinned briefing was deleted or lifted above the reader's clearance.
    forgotten     a source of the pinned briefing was forgotten.
    """

    at: datetime
    clearance: int
    model: str
    persona_versions: JsonObject
    has_restricted_source: bool = False
    has_erased_source: bool = False
