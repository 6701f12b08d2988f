"""The prompts of one turn as they are made, and what is kept of each: its record, and what the next stands on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.context import factors, history, stubs
from parlour.context import lead as leading
from parlour.context.assemble import Assembled, Begun, begin
from parlour.context.budget import Profile
from parlour.context.calls import Round
from parlour.context.lead import StandIn, Summary
from parlour.context.materials import Materials, Moment
from parlour.context.past import PastTurn
from parlour.context.prompt_record import MIN_IDENTIFYING_CHARS, PromptInputs, PromptStepRecord, dump, read, restore
from parlour.context.segment import Item, Lot
from parlour.context.standing import Standing
from parlour.context.stored_text import Erased
from parlour.context.tokens import Meter
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models.route import OFFLINE
from parlour.turns.past import MOST_TURNS, past_turns, summary_of
from parlour.turns.prompts import store
from parlour.turns.prompts.retention import month_of, over_at
from parlour.turns.prompts.store import Asking, Earlier, Kept, LedgerRow, PromptWrites

_EVERYBODYS = 3
"""The highest clearance: a turn reads its own records, whoever may see them."""


@dataclass(slots=True)
class Prompting:
    """What a turn's prompts are made of, and what they have in common once that was decided.

    standing  the session's as the turn began.
    begun     None where it was not decided yet; it is with the first prompt.
    writes    tools that change something: history keeps what they changed.
    rounds    the turn's calls so far, and `steps` its prompts.
    recorded  the first was sent, and what they have in common is kept with its record.
    episodes  how many of the user's earlier conversations may be told, if any of them is to the point.
    wanted    a summary of the session is wanted already.
    further   reads what else a briefing may tell of that is rendered anew; None where that is known already.
    """

    materials: Materials
    profile: Profile
    moment: Moment
    standing: Standing
    begun: Begun | None = None
    writes: frozenset[str] = frozenset()
    rounds: tuple[Round, ...] = ()
    steps: int = 0
    recorded: bool = False
    episodes: int = 0
    wanted: bool = False
    further: Callable[[], Sequence[Item]] | None = None

    @property
    def wrote(self) -> bool:
        """Whether a call of this turn may have changed something."""
        asked = [block for one in self.rounds for block in one.blocks if block.get("type") == "tool_use"]
        done = {call for one in self.rounds for call, result in one.results if result.get("ok") is not False}
        return any(block["name"] in self.writes and block["id"] in done for block in asked)

    def next(self, step: int, rounds: Sequence[Round], model: str) -> Assembled:
        """The prompt of `step` for `model` (provider/model). PromptOverflow when it cannot be made to fit."""
        self.moment = replace(self.moment, model=model)
        begun = replace(self.begun or self._begin(), moment=self.moment)
        self.begun = begun
        self.heard(rounds)
        return begun.step(step, self.rounds)

    def _begin(self) -> Begun:
        """Decide what the prompts have in common. Once more, with what stands further around, where that has the
        briefing rendered anew."""
        begun = begin(self.materials, self.standing, self.profile, self.moment)
        if not (begun.causes and self.further):
            return begun
        self.materials = replace(self.materials, briefing=[*self.materials.briefing, *self.further()])
        self.further = None
        return begin(self.materials, self.standing, self.profile, self.moment)

    def recall(self, found: Sequence[Item]) -> None:
        """Add what was recalled to the tail, after what changed."""
        self.materials = replace(self.materials, tail=(*self.materials.tail, *found))

    def heard(self, rounds: Sequence[Round]) -> None:
        """The turn's calls so far. What was told of before is told again with its keys in the order they had then: a
        result that was read back from the database has them in another."""
        told = {call: result for one in self.rounds for call, result in one.results}
        self.rounds = tuple(
            replace(one, results=tuple((call, _as_told(told.get(call), result)) for call, result in one.results))
            for one in rounds
        )

    def sent(self, step: int, assembled: Assembled) -> None:
        """The prompt is on its way, and its record is kept: the next one is held against it."""
        self.recorded, self.steps = True, max(step, self.steps)
        if self.begun is not None:
            self.begun = self.begun.after(assembled.standing)

    def inputs(self) -> PromptInputs:
        """What the turn's prompts are made of; only once the first was made."""
        if self.begun is None:
            raise LookupError("no prompt of this turn was made yet")
        return PromptInputs(self.materials, self.standing, self.profile, self.begun)

    def plan_prompt_writes(self, asking: Asking, step: int, assembled: Assembled) -> PromptWrites:
        """Return what to store of a step's prompt before its model is asked."""
        basis, texts = (None, {}) if self.recorded else dump(self.inputs())
        made, more = dump(PromptStepRecord.of(self.rounds, assembled))
        month = month_of(self.moment.at)
        row = LedgerRow(step, month, self.moment.at, self.moment.model, assembled.prompt.hash, basis, made)
        anew = assembled.ledger.cause is not None
        standing = assembled.standing if anew else replace(assembled.standing, pinned=None)
        known = self._known(assembled)
        texts = {key: text for key, text in (texts | more).items() if text not in known}
        refused = self._refused() if basis is not None and self.materials.attachments else None
        return PromptWrites(asking, row, texts, Kept.of(standing), anew, over_at(month), refused)

    def _known(self, assembled: Assembled) -> set[str]:
        """Texts that were kept with the session's last prompt and are there since, be it without words: those of
        blocks that stood in it. Each month keeps its own."""
        before = self.standing
        if before.asked is None or month_of(before.asked) != month_of(self.moment.at):
            return set()
        hashes_before = {one.hash for one in before.prints}
        blocks = [one for each in assembled.ledger.segments if each.placement != "last" for one in each.blocks]
        prints = zip(blocks, assembled.standing.prints, strict=True)
        pieces = {piece for block, one in prints if one.hash in hashes_before for piece in block.pieces}
        return {one for one in pieces if len(one) >= MIN_IDENTIFYING_CHARS}

    def _refused(self) -> tuple[UUID, ...]:
        """What came with the turn's messages and had no room in its prompts: later ones do without it, too."""
        entries = self.begun.entries if self.begun else ()
        out = [one.item for one in entries if one.item.lot is Lot.ATTACHMENTS and one.reason == "too_large"]
        return tuple(UUID(item.source.id) for item in out)

    def usage(self, step: int, assembled: Assembled) -> JsonObject:
        """What the web is told of a prompt: its tokens by layer, and which share of it is likely to be cached."""
        total = sum(assembled.tokens_by_layer.values())
        return {
            "step": step, "tokens": total, "budget": self.profile.total,
            "tokens_by_layer": dict(assembled.tokens_by_layer), "cached_share": round(assembled.cached / total, 3),
        }  # fmt: skip

    def learned_factor(self, assembled: Assembled, provider: str, reported: int) -> tuple[str, float] | None:
        """Return the prompt's script and how many tokens the model counts for one of ours; None when not known.

        `reported`: input tokens by the model's report. The offline model counts nothing that anybody pays for.
        """
        if provider == OFFLINE:
            return None
        return factors.learned(assembled.ledger.segments, reported, self.standing.factors)

    def called(self) -> tuple[JsonObject, ...]:
        """How the turn's calls enter history: each as it was asked, with one line for what came of it."""
        return stubs.called(self.rounds, self.writes)

    def cache_state(self) -> JsonObject | None:
        """Return what the session's next prompt continues from once the turn is over; None where nothing was sent.

        A cut and a briefing that no model was told are no beginning of what comes next.
        """
        standing = self.begun.standing if self.begun and self.recorded else self.standing
        if all(one.stays for one in standing.prints):
            return None
        return Kept.of(standing.after_turn(max(self.steps, len(self.rounds)))).standing


def named(provider: str, model: str) -> str:
    """A model as prompts are accounted for by it."""
    return f"{provider}/{model}"


@dataclass(frozen=True, slots=True)
class Before:
    """What a turn's prompts come after, as their reader may be told of it.

    past        the turns since the last cut that are over.
    summary     the newest, told from the next cut on; wanted: one that is newer still is wanted already, and awaited:
                it is under way.
    is_changed  it is told otherwise than in the last prompt, since sources of it were closed or opened.
    """

    standing: Standing
    past: Sequence[PastTurn]
    summary: Summary | None
    wanted: bool
    awaited: bool
    is_changed: bool


def earlier(tx: Transaction, session_id: UUID, before: int, model: str, clearance: int, at: datetime) -> Before:
    """What the prompts of turn `before` stand on, for a reader of that clearance.

    A session that begins takes what was learned so far of how `model` counts, and keeps to it. The offline model writes
    no summaries that a cut would wait for.
    """
    found = store.earlier(tx, session_id, model=model, before=before, most=MOST_TURNS, clearance=clearance, at=at)
    standing, past = _standing(found), past_turns(found.past or [], clearance)
    closed = frozenset(found.closed or ())
    summary = leading.open_lines(summary_of(found.summary), closed) if found.summary else None
    lead = leading.without(standing.lead, closed, summary=bool(found.is_summary_closed))
    if leading.is_withdrawn(lead):
        lead = leading.renewed(Meter(standing.factors), lead, StandIn(summary))
    is_changed = lead != standing.lead or history.is_told_otherwise(past, standing.withheld)
    awaited = bool(found.awaited) and not model.startswith(f"{OFFLINE}/")
    return Before(replace(standing, lead=lead), past, summary, found.awaited is not None, awaited, is_changed)


def _standing(found: Earlier) -> Standing:
    if found.standing is None:
        return Standing(factors=found.factors or {})
    return Kept(found.standing, found.briefing).whole()


def _as_told(before: JsonObject | None, result: JsonObject) -> JsonObject:
    return before if before == result and before is not None else result


def resumed(tx: Transaction, session_id: UUID, turn_id: UUID) -> tuple[PromptInputs, tuple[Round, ...], int] | None:
    """What the prompts of a turn that goes on are made of, the calls that its last one told of, and that one's step;
    None when none was asked yet, or when words of them were forgotten or their retention is over."""
    begun = store.begun(store.ledgers(tx, turn_id, _EVERYBODYS))
    if not begun or (rows := begun[-1])[0].basis is None:
        return None
    hashes = read(PromptInputs, rows[0].basis)[1] | read(PromptStepRecord, rows[-1].made)[1]
    texts = store.blobs(tx, rows[0].month, sorted(hashes))
    try:
        inputs, step = restore(PromptInputs, rows[0].basis, texts), restore(PromptStepRecord, rows[-1].made, texts)
    except Erased:
        return None
    asked = _standing(store.earlier(tx, session_id, model="", before=0, most=0, clearance=_EVERYBODYS, at=rows[-1].at))
    return replace(inputs, begun=inputs.begun.after(asked)), step.rounds, rows[-1].step
