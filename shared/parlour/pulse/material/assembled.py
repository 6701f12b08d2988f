"""A Pulse's prompt, through the engine that makes a conversation's: the same budget, choice and record. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from parlour.context import assemble
from parlour.context.assemble import Assembled, Begun
from parlour.context.budget import Profile, Share
from parlour.context.materials import Materials, Moment
from parlour.context.past import Message
from parlour.context.prompt_record import PromptInputs
from parlour.context.segment import Item, Layer, Lot, Source
from parlour.context.standing import Standing
from parlour.pulse.material.documents import Document

LONGEST_ANSWER = 1_000
MATERIAL = 4_000
TOTAL = 8_000
"""Tokens: of the answer, of the material, and of both with the instructions (design section 8)."""

PROFILE = Profile(
    "pulse", total=TOTAL - LONGEST_ANSWER, config=3_000, shares={Layer.BRIEFING: Share(0, MATERIAL)},
    drops=(Lot.NEAREST, Lot.DISTILLATIONS),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt for one level of one record.

    documents  those that are in it, with their words as they stand there.
    inputs     what it was made of, for its record.
    """

    assembled: Assembled
    documents: tuple[Document, ...]
    inputs: PromptInputs

    @property
    def told_of(self) -> tuple[str, ...]:
        """Everything that stands in it or was counted there, as table/id."""
        return tuple(dict.fromkeys(one for document in self.documents for one in document.told_of))


def prompt(
    about: str, instructions: str, words: str, found: Sequence[Document], level: int, model: str, now: datetime
) -> Prompted:  # fmt: skip
    """The prompt for `model` (provider/model) with as much of the documents as there is room for. PromptOverflow when
    the instructions leave no room for the record itself."""
    materials = Materials(
        turn=1, tools=(), tiers=[Item(Lot.AGENT, instructions, Source("entity_types", about))],
        heartbeat=f"Today is {now:%Y-%m-%d}.", words=[Message(words, Source("pulses", about))], about=about,
        briefing=[one.item() for one in found],
    )  # fmt: skip
    # A Pulse's prompt is sent once: as after long pauses and single steps, no cache breakpoint is set.
    standing = Standing(pauses=(86_400.0, 86_400.0), steps=(1,))
    begun = assemble.begin(materials, standing, PROFILE, Moment(now, level, model, {}))
    assembled = begun.step(1, ())
    return Prompted(assembled, _kept(begun, found), PromptInputs(materials, standing, PROFILE, begun))


def _kept(begun: Begun, found: Sequence[Document]) -> tuple[Document, ...]:
    """The documents that got in, in the order of their numbers."""
    texts = {one.item.source: one.item.text for one in begun.entries if one.reason is None}
    return tuple(
        replace(one, text=one.without_number(texts[one.source]), shorter=()) for one in found if one.source in texts
    )
