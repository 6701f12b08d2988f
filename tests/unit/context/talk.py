"""Random sessions, played against the assembly as a turn's worker plays them: what is loaded, asked, called, kept."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from parlour.context import budget, stubs
from parlour.context.assemble import Assembled, Begun, begin
from parlour.context.budget import Profile
from parlour.context.calls import Round
from parlour.context.materials import Materials, Moment
from parlour.context.past import WITHDRAWN, Message, PastTurn
from parlour.context.segment import Item, Lot, Source
from parlour.context.standing import Standing
from parlour.infra.errors import PromptOverflow
from parlour.infra.jsonable import JsonObject
from tests.conftest import NOW
from tests.unit.context import wording
from tests.unit.context.summing import Summariser

SONNET, HAIKU = "anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5"

PROFILES: dict[str, Profile] = {
    "entity": budget.ENTITY,
    "messaging": budget.MESSAGING,
    "small": budget.profile({"profile": "messaging", "tokens": 4_200}),
    "tight": budget.profile({"profile": "entity", "tokens": 5_500}),
    "tiny": budget.profile({"profile": "messaging", "tokens": 1_900}),
}

MOVES = (
    "say", "say", "say", "hindi", "tamil", "emoji", "paste", "ask", "long", "burst", "silent", "forge", "unanswered",
    "search", "search", "huge", "rounds", "many_rounds", "huge_call", "error", "write",
    "edit", "edits", "many_edits", "config", "tools", "more_clearance", "less_clearance", "reclassify", "close",
    "forget", "focus", "model", "cold", "steady", "text_file", "image", "large_file", "flood", "grown",
    "big_tools", "big_tiers", "big_record", "big_heartbeat", "big_reminder", "shrunk",
)  # fmt: skip
"""What may be special about a turn. The last row makes a layer that does not give way as large as nobody makes it."""


@dataclass(frozen=True)
class Turn:
    """One turn to come: what is special about it, and the seed of everything else."""

    move: str
    seed: int


@dataclass(frozen=True)
class Talk:
    """A whole session to come."""

    turns: tuple[Turn, ...]
    profile: str = "entity"
    floating: bool = False
    tools: int = 2
    config_words: int = 260
    summaries: str = "never"


@dataclass(frozen=True)
class Played:
    """One prompt of a session that was played, or the refusal of one.

    before   the session's last prompt, and `first` the turn's own first one; None where there is none.
    closed   turns whose replies rest on what was closed since, by number.
    """

    number: int
    step: int
    profile: Profile
    materials: Materials
    moment: Moment
    standing: Standing
    begun: Begun | None = None
    assembled: Assembled | None = None
    before: Assembled | None = None
    first: Assembled | None = None
    rounds: tuple[Round, ...] = ()
    overflow: PromptOverflow | None = None
    closed: frozenset[int] = frozenset()


@dataclass
class World:
    """What a session's turns change, and what its worker would load."""

    talk: Talk
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
    summed: Summariser = field(default_factory=lambda: Summariser("never"))

    def source(self, table: str) -> Source:
        self.ids += 1
        return Source(table, str(self.ids))


def play(talk: Talk) -> Iterator[Played]:
    """Every prompt of the session, in order."""
    world, standing, before = World(talk, summed=Summariser(talk.summaries)), Standing(), None
    for number, turn in enumerate(talk.turns, start=1):
        draw = random.Random(turn.seed)
        moment = _happens(world, turn.move, draw)
        if turn.move == "close":
            standing = _closed(world, standing, number)
        profile = _profile(talk, turn.move)
        materials = _materials(world, number, turn.move, draw, standing)
        played = Played(number, 0, profile, materials, moment, standing, before=before, closed=world.closed)
        for one in _turn(played, world, turn.move, draw):
            played = one
            yield one
        standing, before = _over(world, played), played.assembled or played.before


def replied(number: int) -> str:
    """What the reply of a turn begins with, and no other text."""
    return f"reply{number}of{number}"


def _closed(world: World, standing: Standing, number: int) -> Standing:
    """What every turn but the newest replied rests on what was closed: as a turn's worker then loads it."""
    world.closed |= frozenset(range(1, number - 1))
    world.past = [
        replace(
            one, replied=tuple(replace(said, text=WITHDRAWN) for said in one.replied), withdrawn=(one.id,)
        ) if one.number in world.closed else one
        for one in world.past
    ]  # fmt: skip
    return replace(standing, lead=world.summed.close(world.closed, standing.lead))


def _turn(played: Played, world: World, move: str, draw: random.Random) -> Iterator[Played]:
    try:
        begun = begin(played.materials, played.standing, played.profile, played.moment)
    except PromptOverflow as refused:
        yield replace(played, overflow=refused)
        return
    before, first = played.before, None
    rounds: tuple[Round, ...] = ()
    planned = _rounds(world, move, draw) if played.materials.tools else ()
    for step in range(1, len(planned) + 2):
        rounds = planned[: step - 1]
        try:
            assembled = begun.step(step, rounds)
        except PromptOverflow as refused:
            yield replace(
                played, step=step, begun=begun, before=before, first=first, overflow=refused, rounds=rounds
            )  # fmt: skip
            return
        yield replace(
            played, step=step, begun=begun, assembled=assembled, before=before, first=first, rounds=rounds
        )  # fmt: skip
        begun, before, first = begun.after(assembled.standing), assembled, first or assembled


def _over(world: World, played: Played) -> Standing:
    """The turn enters history; a turn that was refused has no reply."""
    materials = played.materials
    if played.begun is None:
        standing, steps = played.standing, 0
    else:
        # what was sent last is what the next turn finds: a refused step was not
        sent = played.assembled.standing if played.assembled else played.begun.standing
        standing, steps = sent.after_turn(played.step), played.step
    answered = played.assembled is not None and world.model and "unanswered" not in materials.heartbeat
    said = f"{replied(played.number)} {wording.prose(random.Random(played.number), 40)}"
    reply = Message(said, world.source("messages"))
    world.past.append(
        PastTurn(
            played.number, f"turn-{played.number}", tuple(one for one in materials.words if one.text.strip()),
            stubs.called(played.rounds, ["write_record"]) if steps else (), (reply,) if answered else (),
            _attached(played),
        )
    )  # fmt: skip
    world.past = [one for one in world.past if one.number >= standing.lead.since]
    world.summed.after_turn(world.past, played.number, random.Random(played.number))
    return standing


def _attached(played: Played) -> tuple[Item, ...]:
    entries = played.begun.entries if played.begun else ()
    refused = {one.item.source for one in entries if one.item.lot is Lot.ATTACHMENTS and one.reason}
    return tuple(
        replace(one, text="", is_json=False) if one.source in refused or not entries else one
        for one in played.materials.attachments
    )


def _profile(talk: Talk, move: str) -> Profile:
    chosen = PROFILES[talk.profile]
    return replace(PROFILES["tiny"], total=840) if move == "shrunk" else chosen


_EDITS = {"steady": 1, "edit": 1, "edits": 9, "many_edits": 40}


def _pause(move: str, draw: random.Random) -> int:
    """Seconds since the turn before; now and then the prompt cache has gone cold."""
    if move == "steady":
        return 290
    is_cold = move == "cold" or draw.random() < 0.08
    return draw.randrange(400, 4_000) if is_cold else draw.randrange(20, 280)


def _happens(world: World, move: str, draw: random.Random) -> Moment:
    """Time passes, and what the move says befalls the session before its turn."""
    world.at += timedelta(seconds=_pause(move, draw))
    if move in _EDITS:
        for _ in range(_EDITS[move]):
            said = (
                f"{wording.prose(draw, 8)} {len(world.edits)} {wording.sealed(level := draw.choice((0, 0, 0, 1, 2)))}"
            )
            item = Item(Lot.DELTAS, said, world.source("entity_events"), score=float(len(world.edits)), level=level)
            world.edits.append((world.at, item))
    world.version += move == "config"
    world.tools += move == "tools"
    world.clearance += (move == "more_clearance" and world.clearance < 3) - (
        move == "less_clearance" and world.clearance > 0
    )
    world.about = f"task/T-{draw.randrange(9)}" if move == "focus" else world.about
    world.model = (HAIKU if world.model == SONNET else SONNET) if move == "model" else world.model
    if move == "reclassify":
        world.near = [replace(one, level=3, text=f"{one.text} {wording.sealed(3)}") for one in world.near]
    if move == "forget":
        world.near = []
    if not world.near or draw.random() < 0.1:
        world.near = _near(world, draw)
    config = move if move in {"big_tools", "big_tiers"} else ""
    versions: JsonObject = {"agent": world.version, "tools": world.tools, "pack": config}
    return Moment(world.at, world.clearance, world.model, versions, move in {"reclassify", "close"}, move == "forget")


def _near(world: World, draw: random.Random) -> list[Item]:
    lots = (Lot.NEAREST, Lot.NEAREST, Lot.DISTILLATIONS, Lot.PROJECT_FILES, Lot.LINKED, Lot.SINCE_PULSE)
    rows = [
        _item(world, draw.choice(lots), draw, _said(draw, 8, 40, 160), level=draw.choice((0, 0, 1, 2, 3)))
        for _ in range(draw.randrange(8))
    ]
    again = [replace(one, source=world.source("context_rows"), score=one.score / 2) for one in rows[:1]]
    covered = [_item(world, Lot.NEAREST, draw, wording.from_pulse(draw, 30), level=0) for _ in range(2)]
    return [*rows, *again, *covered]


def _said(draw: random.Random, *words: int) -> str:
    return wording.prose(draw, draw.choice(words))


def _item(world: World, lot: Lot, draw: random.Random, text: str, level: int) -> Item:
    said = f"{text} {wording.sealed(level)}"
    shorter = (" ".join(said.split()[:6]) + f" {wording.sealed(level)}",) if lot is Lot.LINKED else ()
    return Item(lot, said, world.source("context_rows"), shorter, score=draw.random(), level=level)


def _materials(world: World, number: int, move: str, draw: random.Random, standing: Standing) -> Materials:
    words = world.talk.config_words
    changed = [one for at, one in world.edits if standing.pinned is None or at > standing.pinned.at]
    return Materials(
        turn=number,
        tools=wording.tools(
            world.talk.tools, world.tools, 2_500 if move == "big_tools" else 30, turned=draw.random() < 0.5
        ),
        tiers=_tiers(world, 9_000 if move == "big_tiers" else words),
        heartbeat=f"Time: {world.at}\nChannel: {move}" + " now" * (9_000 if move == "big_heartbeat" else 0),
        words=[Message(text, world.source("messages")) for text in wording.asked(draw, move)],
        floating="Work through the list before you answer." if world.talk.floating else "",
        about=world.about,
        briefing=_briefing(world, move),
        past=tuple(world.past),
        summary=world.summed.newest,
        awaited=world.summed.awaited,
        tail=[*_recalled(world, draw, move), *changed],
        reminders=["Never promise a date." + " Never." * (9_000 if move == "big_reminder" else 0)],
        attachments=_files(world, draw, move),
    )


def _tiers(world: World, words: int) -> list[Item]:
    texts = [
        f"# Identity\nYou are Asha, version {world.version}.",
        "# Role\nSite adviser. " + "Say where it stands. " * (words // 5),
    ]
    return [
        Item(lot, text, Source(str(lot), "1", world.version))
        for lot, text in zip((Lot.HUMAN, Lot.TEAM), texts, strict=True)
    ]


def _briefing(world: World, move: str) -> list[Item]:
    big = 40_000 if move == "big_record" else 0
    grown = " The slab is being poured." * (60 if move == "grown" else 0)
    changed = f"Record {world.about}: {len(world.edits)} changes.{grown}"
    records = [f"{changed} {wording.prose(random.Random(n), 400)}" for n in range(30)] if big else [changed]
    sources = [Source("entities", f"{world.about}-{n}", len(world.edits)) for n in range(len(records))]
    return [
        Item(Lot.PULSE, wording.PULSE, Source("pulses", world.about)),
        *(Item(Lot.RECORD, text, source) for text, source in zip(records, sources, strict=True)),
        *world.near,
    ]


def _recalled(world: World, draw: random.Random, move: str) -> list[Item]:
    """What a search in older messages and memory brings: much of it weak, twice, told already, or not to be seen."""
    lots = (Lot.RECALL, Lot.RECALL, Lot.OTHER_SESSIONS, Lot.FACTS, Lot.EPISODES, Lot.STATE)
    count = 40 if move == "flood" else draw.randrange(6)
    found = [
        _item(world, draw.choice(lots), draw, _said(draw, 6, 40, 200, 900), level=draw.choice((0, 0, 0, 1, 3)))
        for _ in range(count)
    ]
    weak = [replace(one, source=world.source("context_rows"), lot=Lot.RECALL, score=0.01) for one in found[:1]]
    twice = [
        replace(one, source=world.source("context_rows"), lot=Lot.EPISODES, score=one.score / 2) for one in found[1:2]
    ]
    said = [Item(Lot.RECALL, one.text, one.source, score=0.9) for turn in world.past[-1:] for one in turn.replied]
    covered = (
        [_item(world, Lot.RECALL, draw, wording.from_pulse(draw, 150), level=0) for _ in range(3)] if count > 3 else []
    )
    return [*found, *weak, *twice, *said, *covered]


def _files(world: World, draw: random.Random, move: str) -> list[Item]:
    words = {"text_file": 60, "large_file": 6_000}.get(move)
    if move == "image":
        film = Item(Lot.ATTACHMENTS, "", world.source("files"), ("[Also 'film.mp4', unread.]",), title="film.mp4")
        return [Item(Lot.ATTACHMENTS, wording.IMAGE, world.source("files"), title="photo.jpg", is_json=True), film]
    if words is None:
        return []
    return [Item(Lot.ATTACHMENTS, wording.prose(draw, words), world.source("files"), title="notes.txt")]


def _rounds(world: World, move: str, draw: random.Random) -> tuple[Round, ...]:
    counts = {"search": 1, "huge": 1, "huge_call": 1, "rounds": 3, "many_rounds": 7, "error": 2, "write": 1}
    return tuple(wording.round_of(draw, move, world.source("tool_calls").id) for _ in range(counts.get(move, 0)))


def long_talk(turns: int, seed: int, moves: Sequence[str] = MOVES) -> Talk:
    """A session of so many turns, the same for the same seed."""
    draw = random.Random(seed)
    return Talk(tuple(Turn(draw.choice(moves), draw.randrange(1_000)) for _ in range(turns)))
