"""Plays a script of `bench.conversation_scripts` through the product's own context engine, or a naive layout of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from bench.cache_simulation import Sent, sent
from bench.conversation_scripts import Call, Malformed, Script, Turn
from parlour.infra.errors import PromptOverflow
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.prompts.assembly import budget, call_stubs, turn_metadata
from parlour.prompts.assembly.assembler import PreparedTurn, prepare_turn
from parlour.prompts.assembly.breakpoints import min_cached_tokens
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.compaction import CompactedHistory
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.past_turn import Message, PastTurn
from parlour.prompts.assembly.rendering import Prompt, render_prompt
from parlour.prompts.assembly.segment import Block, Item, Layer, Segment, Source, SourceKind
from parlour.prompts.assembly.tool_rounds import ToolRound
from parlour.prompts.assembly.turn_metadata import Writer
from parlour.text.token_counter import TokenCounter

type Layout = Literal[
    "engine", "volatile_first", "tail_kept", "everything_marked", "nothing_marked", "briefing_anew", "sliding_window"
]
"""engine             the product.
volatile_first     time, changes and what is recalled stand before the history.
tail_kept          they stand after the user's words, and stay there when the turn is over.
everything_marked  the product's bytes, with every mark always set.
nothing_marked     the product's bytes without any.
briefing_anew      the briefing is rendered anew in every turn.
sliding_window     history is always the newest ten messages."""

_VISITOR = Writer("visitor", "not signed in", "Priya")
_BEGUN = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_WRITES = ("create_entity", "update_entity", "change_record", "link_entities")
_WINDOW = 5
"""Turns of ten messages."""


@dataclass(frozen=True, slots=True)
class _Edit:
    at: datetime
    text: str


def play(script: Script, layout: Layout = "engine", gap: float | None = None) -> list[Sent]:
    """All prompts of a script, in order. `gap`: seconds between all turns, whatever the script says. Malformed names
    the turn that does not fit the script's budget."""
    player = _Player(script, layout)
    for number, turn in enumerate(script.turns, start=1):
        try:
            player.turn(number, turn, turn.after if gap is None else gap)
        except PromptOverflow as error:
            raise Malformed(f"{script.name}, turn {number}: {error}") from error
    return player.prompts


class _Player:
    def __init__(self, script: Script, layout: Layout) -> None:
        self.script, self.layout = script, layout
        self.profile = budget.resolve_profile(script.budget)
        self.standing = PromptCacheState()
        self.past: list[PastTurn] = []
        self.edits: list[_Edit] = []
        self.at = _BEGUN
        self.tails: dict[str, tuple[Block, ...]] = {}
        self.prompts: list[Sent] = []

    def turn(self, number: int, turn: Turn, after: float) -> None:
        """One turn: everything that happened since the last, its steps, and what history keeps of it."""
        if number > 1:
            self.at += timedelta(seconds=after)
        self.edits += [_Edit(self.at - timedelta(seconds=1), text) for text in turn.edits]
        begun = self._begun(number, turn)
        rounds: list[ToolRound] = []
        for step in range(1, len(turn.rounds) + 2):
            made = begun.assemble_step(step, rounds)
            self._send(number, made.ledger.segments, made.prompt)
            begun = begun.after_sending(made.cache_state)
            if step <= len(turn.rounds):
                rounds.append(_round(number, step, turn.rounds[step - 1]))
                self.at += timedelta(seconds=turn.seconds)
        self.standing = begun.cache_state.after_turn(len(turn.rounds) + 1)
        self._remember(number, turn, rounds)

    def _begun(self, number: int, turn: Turn) -> PreparedTurn:
        standing = self.standing
        if self.layout == "briefing_anew":
            standing = replace(standing, cached_briefing=None)
        if self.layout == "sliding_window":
            standing = replace(standing, compacted_history=CompactedHistory())
        moment = AssemblyContext(self.at, 1, f"anthropic/{self.script.model}", {"agent": 1})
        begun = prepare_turn(self._materials(number, turn, standing), standing, self.profile, moment)
        if self.layout == "everything_marked":
            begun = replace(begun, cache_state=replace(begun.cache_state, turn_pauses=(), steps_per_turn=(99,)))
        return begun

    def _materials(self, number: int, turn: Turn, standing: PromptCacheState) -> PromptMaterials:
        since = standing.cached_briefing.rendered_at if standing.cached_briefing else self.at
        changed = [edit for edit in self.edits if edit.at > since]
        tail = [
            *_items(SourceKind.RECALL, turn.recalled, f"{number}", score=0.9),
            *_items(SourceKind.FACTS, turn.facts, "fact", score=0.5),
            *_items(SourceKind.DELTAS, [edit.text for edit in changed], f"{len(self.edits) - len(changed)}"),
        ]
        return PromptMaterials(
            number,
            tuple(map(canonical_json, self.script.tools)),
            [Item(SourceKind.HUMAN, self.script.tiers, Source("humans", "tiers", 1))],
            turn_metadata.render_turn_metadata(TokenCounter(), self.at, "web", "en-IN", _VISITOR),
            [Message(turn.user, Source("messages", f"u{number}"))],
            record_handle=self.script.about,
            briefing_candidates=self._briefing(),
            past_turns=self.past[-_WINDOW:] if self.layout == "sliding_window" else self.past,
            tail_candidates=tail,
            reminders=self.script.reminders,
        )

    def _briefing(self) -> list[Item]:
        """The candidates, the record as it is now: each edit replaces one of its lines."""
        items = []
        for lot, texts in self.script.briefing.items():
            for place, text in enumerate(texts):
                now = _edited(text, self.edits) if lot is SourceKind.RECORD else text
                items.append(Item(lot, now, Source(str(lot), str(place), len(self.edits)), score=0.9 - place / 100))
        return items

    def _send(self, turn: int, segments: Sequence[Segment], prompt: Prompt) -> None:
        if self.layout == "nothing_marked":
            prompt = render_prompt(segments)
        if self.layout == "volatile_first":
            prompt = render_prompt([_before(one) for one in segments])
        if self.layout == "tail_kept":
            prompt = render_prompt([self._with_tails(one) for one in segments])
            self._keep_tail(segments)
        seconds = (self.at - _BEGUN).total_seconds()
        self.prompts.append(sent(prompt, turn, seconds, min_cached_tokens(self.script.model)))

    def _with_tails(self, segment: Segment) -> Segment:
        if segment.layer is not Layer.HISTORY:
            return segment
        blocks = [more for one in segment.blocks for more in (one, *self.tails.get("".join(one.pieces), ()))]
        return replace(segment, blocks=tuple(blocks))

    def _keep_tail(self, segments: Sequence[Segment]) -> None:
        words = next(one for one in segments if one.layer is Layer.MESSAGE)
        tail = tuple(block for one in segments if one.placement == "tail" for block in one.blocks)
        self.tails.setdefault("".join(words.blocks[-1].pieces), tail)

    def _remember(self, number: int, turn: Turn, rounds: Sequence[ToolRound]) -> None:
        past = PastTurn(
            number,
            f"t{number}",
            (Message(turn.user, Source("messages", f"u{number}")),),
            call_stubs.history_messages(rounds, _WRITES),
            (Message(turn.reply, Source("messages", f"r{number}")),),
        )
        self.past = [one for one in [*self.past, past] if one.number >= self.standing.compacted_history.since_turn]


def _items(lot: SourceKind, texts: Sequence[str], name: str, score: float = 0.0) -> list[Item]:
    return [Item(lot, text, Source(str(lot), f"{name}.{place}"), score=score) for place, text in enumerate(texts)]


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    """The record's lines, each of a dozen words, with the newest value of those that were changed."""
    plain = text.split()
    lines = [" ".join(plain[begin : begin + 12]) for begin in range(0, len(plain), 12)] or [""]
    for number, edit in enumerate(edits):
        lines[(number * 7 + 3) % len(lines)] = edit.text
    return "\n".join(lines)


def _before(segment: Segment) -> Segment:
    return replace(segment, placement="system") if segment.placement == "tail" else segment


def _round(turn: int, step: int, calls: Sequence[Call]) -> ToolRound:
    named: Mapping[str, Call] = {f"call_{turn}_{step}_{place}": call for place, call in enumerate(calls)}
    asked: list[JsonObject] = [
        {"type": "tool_use", "id": name, "name": call.tool, "input": call.given} for name, call in named.items()
    ]
    return ToolRound(tuple(asked), tuple((name, json.loads(json.dumps(call.result))) for name, call in named.items()))
