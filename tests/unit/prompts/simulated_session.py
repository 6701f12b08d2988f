"""Random sessions, played against the assembly as a turn's worker plays them: what is loaded, asked, called, kept."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from parlour.infra.errors import PromptOverflow
from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly import budget, call_stubs
from parlour.prompts.assembly.assembler import AssembledPrompt, PreparedTurn, prepare_turn
from parlour.prompts.assembly.budget import BudgetProfile
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT, Message, PastTurn
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.prompts.assembly.tool_rounds import ToolRound
from tests.conftest import NOW
from tests.unit.prompts import generated_texts
from tests.unit.prompts.simulated_summariser import SimulatedSummariser

SONNET, HAIKU = "anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5"

PROFILES: dict[str, BudgetProfile] = {
    "entity": budget.ENTITY_PROFILE,
    "messaging": budget.MESSAGING_PROFILE,
    "small": budget.resolve_profile({"profile": "messaging", "tokens": 4_200}),
    "tight": budget.resolve_profile({"profile": "entity", "tokens": 5_500}),
    "tiny": budget.resolve_profile({"profile": "messaging", "tokens": 1_900}),
}

MOVE_KINDS = (
    "say",
    "say",
    "say",
    "hindi",
    "tamil",
    "emoji",
    "paste",
    "ask",
    "long",
    "burst",
    "silent",
    "forge",
    "unanswered",
    "search",
    "search",
    "huge",
    "rounds",
    "many_rounds",
    "huge_call",
    "error",
    "write",
    "edit",
    "edits",
    "many_edits",
    "config",
    "tools",
    "more_clearance",
    "less_clearance",
    "reclassify",
    "close",
    "forget",
    "focus",
    "model",
    "cold",
    "steady",
    "text_file",
    "image",
    "large_file",
    "flood",
    "grown",
    "big_tools",
    "big_tiers",
    "big_record",
    "big_heartbeat",
    "big_reminder",
    "shrunk",
)
"""What may be special about a turn. The last row makes a layer that does not give way as large as nobody makes it."""


@dataclass(frozen=True)
class Turn:
    """One turn to come: what is special about it, and the seed of everything else."""

    move: str
    seed: int


@dataclass(frozen=True)
class SessionScript:
    """A whole session to come."""

    turns: tuple[Turn, ...]
    profile: str = "entity"
    floating: bool = False
    tools: int = 2
    config_words: int = 260
    summaries: str = "never"


@dataclass(frozen=True)
class SimulatedTurn:
    """One prompt of a session that was played, or the refusal of one.

    before   the session's last prompt, and `first` the turn's own first one; None where there is none.
    closed   turns whose replies rest on what was closed since, by number.
    """

    number: int
    step: int
    profile: BudgetProfile
    materials: PromptMaterials
    moment: AssemblyContext
    standing: PromptCacheState
    begun: PreparedTurn | None = None
    assembled: AssembledPrompt | None = None
    before: AssembledPrompt | None = None
    first: AssembledPrompt | None = None
    rounds: tuple[ToolRound, ...] = ()
    overflow: PromptOverflow | None = None
    closed: frozenset[int] = frozenset()


@dataclass
class SimulationState:
    """What a session's turns change, and what its worker would load."""

    talk: SessionScript
    at: datetime = NOW
    clearance: int = 1
    model: str = SONNET
    about: str = "task/T-0"
    version: int = 1
    tools: int = 1
    edits: list[tuple[datetime, Item]] = field(default_factory=list)
    near: list[Item] = field(default_factory=list)
    past: list[PastTurn] = field(default_factory=list)
    ids: int = 0
    closed: frozenset[int] = frozenset()
    summed: SimulatedSummariser = field(default_factory=lambda: SimulatedSummariser("never"))

    def source(self, table: str) -> Source:
        self.ids += 1
        return Source(table, str(self.ids))


def simulate(talk: SessionScript) -> Iterator[SimulatedTurn]:
    """Every prompt of the session, in order."""
    world, standing, before = (
        SimulationState(talk, summed=SimulatedSummariser(talk.summaries)),
        PromptCacheState(),
        None,
    )
    for number, turn in enumerate(talk.turns, start=1):
        draw = random.Random(turn.seed)
        moment = _happens(world, turn.move, draw)
        if turn.move == "close":
            standing = _closed(world, standing, number)
        profile = _profile(talk, turn.move)
        materials = _materials(world, number, turn.move, draw, standing)
        played = SimulatedTurn(number, 0, profile, materials, moment, standing, before=before, closed=world.closed)
        for one in _turn(played, world, turn.move, draw):
            played = one
            yield one
        standing, before = _over(world, played), played.assembled or played.before


def replied(number: int) -> str:
    """What the reply of a turn begins with, and no other text."""
    return f"reply{number}of{number}"


def _closed(world: SimulationState, standing: PromptCacheState, number: int) -> PromptCacheState:
    """What every turn but the newest replied rests on what was closed: as a turn's worker then loads it."""
    world.closed |= frozenset(range(1, number - 1))
    world.past = [
        replace(one, replies=tuple(replace(said, text=WITHHELD_TEXT) for said in one.replies), withheld_ids=(one.id,))
        if one.number in world.closed
        else one
        for one in world.past
    ]
    return replace(standing, compacted_history=world.summed.close(world.closed, standing.compacted_history))


def _turn(played: SimulatedTurn, world: SimulationState, move: str, draw: random.Random) -> Iterator[SimulatedTurn]:
    try:
        begun = prepare_turn(played.materials, played.standing, played.profile, played.moment)
    except PromptOverflow as refused:
        yield replace(played, overflow=refused)
        return
    before, first = played.before, None
    rounds: tuple[ToolRound, ...] = ()
    planned = _rounds(world, move, draw) if played.materials.tools else ()
    for step in range(1, len(planned) + 2):
        rounds = planned[: step - 1]
        try:
            assembled = begun.assemble_step(step, rounds)
        except PromptOverflow as refused:
            yield replace(played, step=step, begun=begun, before=before, first=first, overflow=refused, rounds=rounds)
            return
        yield replace(played, step=step, begun=begun, assembled=assembled, before=before, first=first, rounds=rounds)
        begun, before, first = begun.after_sending(assembled.cache_state), assembled, first or assembled


def _over(world: SimulationState, played: SimulatedTurn) -> PromptCacheState:
    """The turn enters history; a turn that was refused has no reply."""
    materials = played.materials
    if played.begun is None:
        standing, steps = played.standing, 0
    else:
        # what was sent last is what the next turn finds: a refused step was not
        sent = played.assembled.cache_state if played.assembled else played.begun.cache_state
        standing, steps = sent.after_turn(played.step), played.step
    answered = played.assembled is not None and world.model and "unanswered" not in materials.turn_metadata
    said = f"{replied(played.number)} {generated_texts.prose(random.Random(played.number), 40)}"
    reply = Message(said, world.source("messages"))
    world.past.append(
        PastTurn(
            played.number,
            f"turn-{played.number}",
            tuple(one for one in materials.user_messages if one.text.strip()),
            call_stubs.history_messages(played.rounds, ["write_record"]) if steps else (),
            (reply,) if answered else (),
            _attached(played),
        )
    )
    world.past = [one for one in world.past if one.number >= standing.compacted_history.since_turn]
    world.summed.after_turn(world.past, played.number, random.Random(played.number))
    return standing


def _attached(played: SimulatedTurn) -> tuple[Item, ...]:
    entries = played.begun.entries if played.begun else ()
    refused = {one.item.source for one in entries if one.item.kind is SourceKind.ATTACHMENTS and one.reason}
    return tuple(
        replace(one, text="", is_json=False) if one.source in refused or not entries else one
        for one in played.materials.attachments
    )


def _profile(talk: SessionScript, move: str) -> BudgetProfile:
    chosen = PROFILES[talk.profile]
    return replace(PROFILES["tiny"], total_tokens=840) if move == "shrunk" else chosen


_EDITS = {"steady": 1, "edit": 1, "edits": 9, "many_edits": 40}


def _pause(move: str, draw: random.Random) -> int:
    """Seconds since the turn before; now and then the prompt cache has gone cold."""
    if move == "steady":
        return 290
    is_cold = move == "cold" or draw.random() < 0.08
    return draw.randrange(400, 4_000) if is_cold else draw.randrange(20, 280)


def _happens(world: SimulationState, move: str, draw: random.Random) -> AssemblyContext:
    """Time passes, and what the move says befalls the session before its turn."""
    world.at += timedelta(seconds=_pause(move, draw))
    if move in _EDITS:
        for _ in range(_EDITS[move]):
            said = f"{generated_texts.prose(draw, 8)} {len(world.edits)} {generated_texts.classified_text(level := draw.choice((0, 0, 0, 1, 2)))}"
            item = Item(
                SourceKind.DELTAS,
                said,
                world.source("entity_events"),
                score=float(len(world.edits)),
                classification=level,
            )
            world.edits.append((world.at, item))
    world.version += move == "config"
    world.tools += move == "tools"
    world.clearance += (move == "more_clearance" and world.clearance < 3) - (
        move == "less_clearance" and world.clearance > 0
    )
    world.about = f"task/T-{draw.randrange(9)}" if move == "focus" else world.about
    world.model = (HAIKU if world.model == SONNET else SONNET) if move == "model" else world.model
    if move == "reclassify":
        world.near = [
            replace(one, classification=3, text=f"{one.text} {generated_texts.classified_text(3)}")
            for one in world.near
        ]
    if move == "forget":
        world.near = []
    if not world.near or draw.random() < 0.1:
        world.near = _near(world, draw)
    config = move if move in {"big_tools", "big_tiers"} else ""
    versions: JsonObject = {"agent": world.version, "tools": world.tools, "pack": config}
    return AssemblyContext(
        world.at, world.clearance, world.model, versions, move in {"reclassify", "close"}, move == "forget"
    )


def _near(world: SimulationState, draw: random.Random) -> list[Item]:
    lots = (
        SourceKind.NEAREST,
        SourceKind.NEAREST,
        SourceKind.FILE_SUMMARIES,
        SourceKind.PROJECT_FILES,
        SourceKind.LINKED,
        SourceKind.SINCE_PULSE,
    )
    rows = [
        _item(world, draw.choice(lots), draw, _said(draw, 8, 40, 160), level=draw.choice((0, 0, 1, 2, 3)))
        for _ in range(draw.randrange(8))
    ]
    again = [replace(one, source=world.source("context_rows"), score=one.score / 2) for one in rows[:1]]
    covered = [
        _item(world, SourceKind.NEAREST, draw, generated_texts.pulse_excerpt(draw, 30), level=0) for _ in range(2)
    ]
    return [*rows, *again, *covered]


def _said(draw: random.Random, *words: int) -> str:
    return generated_texts.prose(draw, draw.choice(words))


def _item(world: SimulationState, lot: SourceKind, draw: random.Random, text: str, level: int) -> Item:
    said = f"{text} {generated_texts.classified_text(level)}"
    shorter = (
        (" ".join(said.split()[:6]) + f" {generated_texts.classified_text(level)}",) if lot is SourceKind.LINKED else ()
    )
    return Item(lot, said, world.source("context_rows"), shorter, score=draw.random(), classification=level)


def _materials(
    world: SimulationState, number: int, move: str, draw: random.Random, standing: PromptCacheState
) -> PromptMaterials:
    words = world.talk.config_words
    changed = [
        one for at, one in world.edits if standing.cached_briefing is None or at > standing.cached_briefing.rendered_at
    ]
    return PromptMaterials(
        turn_number=number,
        tools=generated_texts.tool_definitions(
            world.talk.tools, world.tools, 2_500 if move == "big_tools" else 30, turned=draw.random() < 0.5
        ),
        tiers=_tiers(world, 9_000 if move == "big_tiers" else words),
        turn_metadata=f"Time: {world.at}\nChannel: {move}" + " now" * (9_000 if move == "big_heartbeat" else 0),
        user_messages=[Message(text, world.source("messages")) for text in generated_texts.user_texts(draw, move)],
        floating_instructions="Work through the list before you answer." if world.talk.floating else "",
        record_handle=world.about,
        briefing_candidates=_briefing(world, move),
        past_turns=tuple(world.past),
        summary=world.summed.newest,
        is_summary_pending=world.summed.awaited,
        tail_candidates=[*_recalled(world, draw, move), *changed],
        reminders=["Never promise a date." + " Never." * (9_000 if move == "big_reminder" else 0)],
        attachments=_files(world, draw, move),
    )


def _tiers(world: SimulationState, words: int) -> list[Item]:
    texts = [
        f"# Identity\nYou are Asha, version {world.version}.",
        "# Role\nSite adviser. " + "Say where it stands. " * (words // 5),
    ]
    return [
        Item(lot, text, Source(str(lot), "1", world.version))
        for lot, text in zip((SourceKind.HUMAN, SourceKind.TEAM), texts, strict=True)
    ]


def _briefing(world: SimulationState, move: str) -> list[Item]:
    big = 40_000 if move == "big_record" else 0
    grown = " The slab is being poured." * (60 if move == "grown" else 0)
    changed = f"Record {world.about}: {len(world.edits)} changes.{grown}"
    records = [f"{changed} {generated_texts.prose(random.Random(n), 400)}" for n in range(30)] if big else [changed]
    sources = [Source("entities", f"{world.about}-{n}", len(world.edits)) for n in range(len(records))]
    return [
        Item(SourceKind.PULSE, generated_texts.PULSE, Source("pulses", world.about)),
        *(Item(SourceKind.RECORD, text, source) for text, source in zip(records, sources, strict=True)),
        *world.near,
    ]


def _recalled(world: SimulationState, draw: random.Random, move: str) -> list[Item]:
    """What a search in older messages and memory brings: much of it weak, twice, told already, or not to be seen."""
    lots = (
        SourceKind.RECALL,
        SourceKind.RECALL,
        SourceKind.OTHER_SESSIONS,
        SourceKind.FACTS,
        SourceKind.EPISODES,
        SourceKind.STATE,
    )
    count = 40 if move == "flood" else draw.randrange(6)
    found = [
        _item(world, draw.choice(lots), draw, _said(draw, 6, 40, 200, 900), level=draw.choice((0, 0, 0, 1, 3)))
        for _ in range(count)
    ]
    weak = [replace(one, source=world.source("context_rows"), kind=SourceKind.RECALL, score=0.01) for one in found[:1]]
    twice = [
        replace(one, source=world.source("context_rows"), kind=SourceKind.EPISODES, score=one.score / 2)
        for one in found[1:2]
    ]
    said = [
        Item(SourceKind.RECALL, one.text, one.source, score=0.9) for turn in world.past[-1:] for one in turn.replies
    ]
    covered = (
        [_item(world, SourceKind.RECALL, draw, generated_texts.pulse_excerpt(draw, 150), level=0) for _ in range(3)]
        if count > 3
        else []
    )
    return [*found, *weak, *twice, *said, *covered]


def _files(world: SimulationState, draw: random.Random, move: str) -> list[Item]:
    words = {"text_file": 60, "large_file": 6_000}.get(move)
    if move == "image":
        film = Item(
            SourceKind.ATTACHMENTS, "", world.source("files"), ("[Also 'film.mp4', unread.]",), title="film.mp4"
        )
        return [
            Item(SourceKind.ATTACHMENTS, generated_texts.IMAGE, world.source("files"), title="photo.jpg", is_json=True),
            film,
        ]
    if words is None:
        return []
    return [Item(SourceKind.ATTACHMENTS, generated_texts.prose(draw, words), world.source("files"), title="notes.txt")]


def _rounds(world: SimulationState, move: str, draw: random.Random) -> tuple[ToolRound, ...]:
    counts = {"search": 1, "huge": 1, "huge_call": 1, "rounds": 3, "many_rounds": 7, "error": 2, "write": 1}
    return tuple(
        generated_texts.make_tool_round(draw, move, world.source("tool_calls").id) for _ in range(counts.get(move, 0))
    )


def long_session(turns: int, seed: int, moves: Sequence[str] = MOVE_KINDS) -> SessionScript:
    """A session of so many turns, the same for the same seed."""
    draw = random.Random(seed)
    return SessionScript(tuple(Turn(draw.choice(moves), draw.randrange(1_000)) for _ in range(turns)))
