"""From candidates to a prompt: measure what must be in, give the rest its share, refuse what cannot fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from parlour.context import budget, calls, history, render
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
    """

    tools: tuple[JsonObject, ...]
    tiers: str
    said: Sequence[history.Said]
    heartbeat: str
    texts: Sequence[str]
    rounds: Sequence[calls.Round]


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt and where its tokens went."""

    prompt: render.Prompt
    tokens_by_layer: dict[str, int]


def assemble(candidates: Candidates, profile: Profile) -> Assembled:
    """Fit the candidates into the profile's budget and render them.

    Tools, tiers, the heartbeat and the user's words are required: PromptOverflow when they alone exceed the
    budget. Then come this turn's tool results, up to their cap, and history with what is left, up to its cap.
    """
    required = _required(candidates)
    room = budget.left(profile.total, {segment.layer: segment.tokens for segment in required})
    called = calls.segment(candidates.rounds, min(room, profile.calls))
    room = budget.left(room, {Layer.CALLS: called.tokens})
    earlier = history.segment(candidates.said, min(room, profile.history))
    segments = sorted([*required, earlier, called], key=lambda segment: segment.layer)
    return Assembled(render.render(segments), {segment.layer.name.lower(): segment.tokens for segment in segments})


def _required(candidates: Candidates) -> list[Segment]:
    tiers = (text_block(candidates.tiers),)
    tail = (text_block(render.tail(foreign(candidates.heartbeat))),)
    words = tuple(text_block(foreign(text)) for text in candidates.texts)
    return [
        Segment(Layer.TOOLS, "config", "tools", candidates.tools, measure(candidates.tools)),
        Segment(Layer.TIERS, "config", "system", tiers, measure(tiers)),
        Segment(Layer.HEARTBEAT, "turn", "tail", tail, measure(tail)),
        Segment(Layer.MESSAGE, "turn", "opening", words, measure(words)),
    ]
