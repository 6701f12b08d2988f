"""From candidates to a prompt: measure what must be in, give the rest its share, refuse what cannot fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from parlour.context import briefing, budget, calls, history, render
from parlour.context.briefing import Briefing
from parlour.context.budget import Profile
from parlour.context.segment import Layer, Segment, foreign, measure, text_block
from parlour.infra.jsonable import JsonObject


@dataclass(frozen=True, slots=True)
class Candidates:
    """Everything that might go into a prompt of one turn.

    tools      tool definitions as the model sees them; the same every turn of a binding.
    tiers      layer 1 as text.
    said       earlier messages, oldest first.
    heartbeat  layer 9 as text.
    texts      what the user wrote now, one text per message.
    rounds     this turn's tool calls so far.
    briefing   layer 2: the record that the conversation is about; None when it is about none.
    """

    tools: tuple[JsonObject, ...]
    tiers: str
    said: Sequence[history.Said]
    heartbeat: str
    texts: Sequence[str]
    rounds: Sequence[calls.Round]
    briefing: Briefing | None = None


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt and where its tokens went."""

    prompt: render.Prompt
    tokens_by_layer: dict[str, int]


def assemble(candidates: Candidates, profile: Profile) -> Assembled:
    """Fit the candidates into the profile's budget and render them.

    Tools, tiers, the record that it is about, the heartbeat and the user's words are required: PromptOverflow when
    they alone exceed the budget. Then come what the record is linked to, up to the briefing's cap, this turn's tool
    results, up to theirs, and history with what is left, up to its own.
    """
    required = _required(candidates)
    room = budget.left(profile.total, {segment.layer: segment.tokens for segment in required})
    if candidates.briefing:
        required, room = _with_links(candidates.briefing, required, room, profile)
    called = calls.segment(candidates.rounds, min(room, profile.calls))
    room = budget.left(room, {Layer.CALLS: called.tokens})
    earlier = history.segment(candidates.said, min(room, profile.history))
    segments = sorted([*required, earlier, called], key=lambda segment: segment.layer)
    return Assembled(render.render(segments), {segment.layer.name.lower(): segment.tokens for segment in segments})


def _with_links(
    about: Briefing, required: list[Segment], room: int, profile: Profile
) -> tuple[list[Segment], int]:  # fmt: skip
    """The segments with the briefing as full as it may be, and the room that is left then."""
    alone = next(segment for segment in required if segment.layer is Layer.BRIEFING)
    whole = briefing.segment(about, alone.tokens + profile.for_links(room, alone.tokens))
    others = [segment for segment in required if segment is not alone]
    return [*others, whole], room - (whole.tokens - alone.tokens)


def _required(candidates: Candidates) -> list[Segment]:
    about = [briefing.segment(candidates.briefing, 0)] if candidates.briefing else []
    tiers = (text_block(candidates.tiers),)
    tail = (text_block(render.tail(foreign(candidates.heartbeat))),)
    words = tuple(text_block(foreign(text)) for text in candidates.texts)
    return [
        Segment(Layer.TOOLS, "config", "tools", candidates.tools, measure(candidates.tools)),
        Segment(Layer.TIERS, "config", "system", tiers, measure(tiers)),
        *about,
        Segment(Layer.HEARTBEAT, "turn", "tail", tail, measure(tail)),
        Segment(Layer.MESSAGE, "turn", "opening", words, measure(words)),
    ]
