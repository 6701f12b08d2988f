"""Everything a turn needs, read once when it begins: who, as whom, with what, and what was said."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.context import budget, heartbeat, tiers
from parlour.context.assemble import is_due
from parlour.context.calls import Round
from parlour.context.materials import Materials, Moment
from parlour.context.past import Message
from parlour.context.prompt_record import PromptInputs
from parlour.context.segment import Item, Lot, Source
from parlour.context.tokens import Meter
from parlour.infra.errors import Misconfigured, NotFound
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records.linked import Focus, LinkCache, focus
from parlour.models import route
from parlour.principal import Principal
from parlour.tenancy import bindings, people
from parlour.tenancy.bindings import Persona
from parlour.tools import calls
from parlour.tools.calls import OpenCall
from parlour.tools.definition import Tool
from parlour.tools.registry import tools_of
from parlour.turns import attached, briefed, memory, polite, store
from parlour.turns.journal import Call, Journal, Step
from parlour.turns.prompts import resuming
from parlour.turns.prompts.prompting import Before, Prompting, earlier, named, resumed
from parlour.turns.records import Inbound, Lease, OpenTurn


@dataclass(frozen=True, slots=True)
class Loaded:
    """One turn's material; `journal` is where it stood when it was begun or resumed.

    open_calls    effects that were reserved or begun and have no outcome, by step and call.
    undispatched  heavy calls that the dispatcher may never have heard of.
    entity_id     the record that the conversation is about, if its user may see it.
    asked         what the user wrote last, two messages at most, oldest first.
    """

    principal: Principal
    persona: Persona
    tools: tuple[Tool, ...]
    prompting: Prompting
    journal: Journal
    open_calls: Mapping[tuple[int, str], OpenCall]
    undispatched: Sequence[UUID]
    entity_id: UUID | None = None
    asked: Sequence[str] = ()

    def rounds(self, journal: Journal) -> tuple[Round, ...]:
        """The turn's tool calls so far, as the model asked for them and was answered."""
        return tuple(
            Round(_worth_sending(step.blocks), journal.answered(step))
            for step in journal.steps
            if step.blocks and step.requests
        )


type Later = Callable[[Callable[[Transaction], list[Item]]], list[Item]]


def load(
    tx: Transaction, lease: Lease, turn: OpenTurn, inputs: Sequence[Inbound], links: LinkCache,
    providers: Collection[str], now: datetime, later: Later,
) -> Loaded:  # fmt: skip
    """Read the turn's material; `providers` are those that can be asked, and `later` reads in a transaction of its own
    what only some turns need. NotFound when the binding or the user is gone, Misconfigured when a tier is wrong."""
    persona = bindings.load(tx, lease.binding_id, lease.user_id)
    if persona is None:
        raise NotFound("the session's binding is gone")
    principal = people.acting(persona)
    tools = _tools(persona)
    about = _about(tx, principal, lease, persona, links, now)
    read = _Reading(tx, principal, lease, turn, inputs, persona, tools, about, _model(persona, providers), later)
    journal = Journal((), (), persona.agent.max_tool_iterations) if turn.is_new else read.journal()
    prompting = (None if turn.is_new else read.resumed()) or read.prompting()
    left_open = {} if turn.is_new else {(one.step, one.call_id): one for one in calls.unfinished(tx, turn.id)}
    undispatched = [] if turn.is_new else calls.undispatched(tx, turn.id)
    return Loaded(
        principal, persona, tuple(tools), prompting, journal, left_open, undispatched,
        entity_id=about.id if about else None, asked=_asked(prompting.materials),
    )  # fmt: skip


@dataclass(slots=True)
class _Reading:
    """A turn whose material is being read; `is_withheld` once something of its own calls is not told any more."""

    tx: Transaction
    principal: Principal
    lease: Lease
    turn: OpenTurn
    inputs: Sequence[Inbound]
    persona: Persona
    tools: Sequence[Tool]
    about: Focus | None
    model: str
    later: Later
    is_withheld: bool = False

    def journal(self) -> Journal:
        """Where a turn that goes on stands. What its calls found and its reader may not be told of any more is not in
        it, and its prompts are begun anew then."""
        tx, turn = self.tx, self.turn
        steps = tuple(Step(row.number, _tuple(row.blocks), row.stop_reason) for row in store.steps(tx, turn.id))
        finished = tuple(Call(row.step, row.call_id, row.result) for row in store.finished_calls(tx, turn.id))
        journal = Journal(steps, finished, self.persona.agent.max_tool_iterations)
        told = resuming.as_told_now(tx, self.lease.id, journal, self._writes(), self.principal.clearance)
        self.is_withheld = told is not journal
        return told

    def resumed(self) -> Prompting | None:
        """The prompts of a turn that goes on, as they were begun: not a byte of them changes. None when no model was
        asked yet, and when they are to be begun anew: the turn was redriven, which may be days later, its reader may
        see less by now, or something in them was deleted or closed to that reader."""
        found = resumed(self.tx, self.lease.id, self.turn.id)
        if found is None:
            return None
        inputs, rounds, steps = found
        moment = inputs.begun.moment
        is_stale = moment.at != self.turn.frozen_at or moment.clearance > self.principal.clearance
        if is_stale or self._is_closed(inputs):
            return None
        return Prompting(
            inputs.materials, inputs.profile, moment, inputs.standing, inputs.begun, self._writes(), rounds, steps,
            recorded=True,
        )  # fmt: skip

    def prompting(self) -> Prompting:
        """The prompts of a turn that begins."""
        before = self._earlier()
        standing = before.standing
        changed, is_gone = briefed.since(self.principal, self.tx, standing.pinned)
        moment = Moment(
            self.turn.frozen_at, self.principal.clearance, self.model, self._versions(),
            reclassified=is_gone or before.is_changed,
        )  # fmt: skip
        known = memory.recall_memories(self.tx, self.lease, self.persona, before.past, self.inputs, self.turn.frozen_at)
        materials = self._materials(before, [*changed, *known.items])
        prompting = Prompting(
            materials, self._profile(), moment, standing, writes=self._writes(), episodes=known.episodes,
            wanted=before.wanted,
        )  # fmt: skip
        if is_due(materials, standing, moment):
            prompting.materials = replace(materials, briefing=[*materials.briefing, *self._further(self.tx)])
        else:
            prompting.further = lambda: self.later(self._further)
        return prompting

    def _earlier(self) -> Before:
        return earlier(
            self.tx, self.lease.id, self.turn.number, self.model, self.principal.clearance, self.turn.frozen_at
        )

    def _is_closed(self, inputs: PromptInputs) -> bool:
        """Whether something that the turn's prompts tell of was deleted or closed to their reader since."""
        told = [*inputs.materials.attachments, *inputs.materials.tail]
        return (
            self.is_withheld
            or self._earlier().is_changed
            or briefed.since(self.principal, self.tx, inputs.begun.standing.pinned)[1]
            or resuming.is_closed(self.tx, self.lease.id, told, self.principal.clearance)
        )

    def _materials(self, before: Before, tail: Sequence[Item]) -> Materials:
        persona, user = self.persona, self.persona.user
        return Materials(
            turn=self.turn.number,
            tools=tuple(tool.told for tool in self.tools),
            tiers=_tiers(persona, self.tools),
            floating=tiers.floating(persona.agent),
            reminders=persona.agent.reminders,
            heartbeat=heartbeat.text(
                Meter(before.standing.factors), self.turn.frozen_at, self.inputs[-1].channel,
                user.locale if user else None, user.display_name if user else None, self.turn.number,
            ),
            words=[
                Message(text, Source("messages", str(one.id))) for one in self.inputs if (text := polite.as_read(one))
            ],
            about=self.about.linked.handle if self.about else "",
            briefing=briefed.candidates(self.about, self.tools),
            past=before.past,
            summary=before.summary,
            awaited=before.awaited,
            tail=tail,
            attachments=self._attachments(),
        )  # fmt: skip

    def _further(self, tx: Transaction) -> list[Item]:
        """What stands further around, for a briefing that is rendered anew: it stays pinned for long."""
        return briefed.further(self.principal, tx, self.about, self.persona, self.tools, self.turn.frozen_at)

    def _attachments(self) -> tuple[Item, ...]:
        rows = [row for one in self.inputs for row in one.attached or []]
        return attached.sent(rows, self.principal.clearance)

    def _writes(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools if tool.writes)

    def _profile(self) -> budget.Profile:
        """The agent's; what its record's type says counts for more."""
        return budget.profile(self.persona.agent.budget, self.about.budget if self.about else None)

    def _versions(self) -> JsonObject:
        """What names the cause when a prompt changes: the persona's parts, and the tools that it may call."""
        return {**self.persona.versions, "tool_names": [tool.name for tool in self.tools]}


def _tools(persona: Persona) -> list[Tool]:
    hosts = persona.tenant.settings.get("tool_hosts")
    known = [str(one) for one in hosts] if isinstance(hosts, list) else []
    return tools_of(persona.tools, persona.agent.tools, known, persona.tenant.slug)


def _model(persona: Persona, providers: Collection[str]) -> str:
    """Which model will be asked first; "" when none can be: whoever asks is told why."""
    with suppress(Misconfigured):
        first = route.available(route.choose(persona.agent.model_routing, "default"), providers)[0]
        return named(first.provider, first.model)
    return ""


def _tiers(persona: Persona, tools: Sequence[Tool]) -> list[Item]:
    """Layer 1, a section for each tier."""
    uses = tiers.uses([tool.writes for tool in tools])
    parts = tiers.parts(persona.human, persona.team, persona.agent, uses)
    human, team, agent = persona.human, persona.team, persona.agent
    rows = (
        (Lot.HUMAN, Source("humans", str(human.id), human.version), human.display_name),
        (Lot.TEAM, Source("teams", str(team.id), team.version), team.display_name),
        (Lot.AGENT, Source("agents", str(agent.id), agent.version), agent.display_name),
    )
    return [Item(lot, text, source, title=name) for text, (lot, source, name) in zip(parts, rows, strict=True) if text]


def _asked(materials: Materials) -> list[str]:
    written = [message.text for turn in materials.past for message in turn.asked]
    return [*written, *(one.text for one in materials.words)][-2:]


def _about(
    tx: Transaction, principal: Principal, lease: Lease, persona: Persona, links: LinkCache, now: datetime
) -> Focus | None:
    """The record that the session is about, as its user may see it now; without one nothing is read."""
    if lease.entity_id is None:
        return None
    return focus(
        principal, tx, lease.entity_id, team_id=persona.team.id, cache=links, mark=persona.record_mark, now=now
    )


def _worth_sending(blocks: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """Models do answer with empty text beside a tool call, and refuse to read it back."""
    return tuple(block for block in blocks if block.get("type") != "text" or str(block.get("text", "")).strip())


def _tuple[T](blocks: list[T] | None) -> tuple[T, ...] | None:
    return None if blocks is None else tuple(blocks)
