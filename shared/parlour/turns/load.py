"""Everything a turn needs, read once when it begins: who, as whom, with what, and what was said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.context import budget, heartbeat, tiers, tokens
from parlour.context.assemble import Candidates
from parlour.context.briefing import Briefing
from parlour.context.calls import Round
from parlour.context.history import KEPT_MESSAGES, Said
from parlour.infra.errors import NotFound
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.documents import catalogue, tree
from parlour.knowledge.records import entities
from parlour.knowledge.records.linked import Focus, LinkCache, focus
from parlour.knowledge.records.linked_text import briefings
from parlour.knowledge.records.record import PROJECT
from parlour.knowledge.tools.get_linked_entities import GET_LINKED_ENTITIES
from parlour.principal import Principal
from parlour.tenancy import bindings, people
from parlour.tenancy.bindings import Persona
from parlour.tools import calls
from parlour.tools.calls import OpenCall
from parlour.tools.definition import Tool
from parlour.tools.registry import load_tools
from parlour.turns import polite, store
from parlour.turns.journal import Call, Journal, Step
from parlour.turns.records import Earlier, Inbound, Lease, OpenTurn

_TREE_TOKENS = (800, 300)
"""What a project's tree of documents may take of its briefing, and what where there is less room."""


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
    candidates: Candidates
    profile: budget.Profile
    journal: Journal
    open_calls: Mapping[tuple[int, str], OpenCall]
    undispatched: Sequence[UUID]
    entity_id: UUID | None = None
    asked: Sequence[str] = ()

    def asking(self, journal: Journal) -> Candidates:
        """The candidates for the next prompt: what was loaded, and the tool rounds since."""
        rounds = [
            Round(_worth_sending(step.blocks), journal.answered(step))
            for step in journal.steps
            if step.blocks and step.requests
        ]
        return replace(self.candidates, rounds=rounds)


def load(
    tx: Transaction, lease: Lease, turn: OpenTurn, inputs: Sequence[Inbound], links: LinkCache, now: datetime
) -> Loaded:
    """Read the turn's material. NotFound when the binding or the user is gone, Misconfigured when a tier is wrong."""
    persona = bindings.load(tx, lease.binding_id)
    if persona is None:
        raise NotFound("the session's binding is gone")
    principal = people.principal_of(tx, lease.user_id, lease.binding_id)
    user = people.user(tx, lease.user_id)
    tools = load_tools(tx, persona.agent.tools)
    about = _about(tx, principal, lease, persona, links, now)
    earlier = store.said_before(tx, lease.id, turn.number, KEPT_MESSAGES)
    candidates = Candidates(
        tools=tuple(tool.to_model() for tool in tools),
        tiers=tiers.render(persona.human, persona.team, persona.agent),
        said=[_said(one) for one in reversed(earlier)],
        heartbeat=heartbeat.text(
            turn.frozen_at, inputs[-1].channel, user.locale if user else None, user.display_name if user else None
        ),
        texts=[text for message in inputs if (text := polite.as_read(message))],
        rounds=(),
        briefing=_briefing(tx, principal, about, persona, tools) if about else None,
    )
    journal = _journal(tx, turn, persona.agent.max_tool_iterations)
    profile = budget.profile(persona.agent.budget)
    left_open = {} if turn.is_new else {(one.step, one.call_id): one for one in calls.unfinished(tx, turn.id)}
    undispatched = [] if turn.is_new else calls.undispatched(tx, turn.id)
    return Loaded(
        principal, persona, tuple(tools), candidates, profile, journal, left_open, undispatched,
        entity_id=about.id if about else None, asked=_asked(candidates),
    )  # fmt: skip


def _asked(candidates: Candidates) -> list[str]:
    written = [one.text for one in candidates.said if one.role == "user"]
    return [*written, *candidates.texts][-2:]


def _about(
    tx: Transaction, principal: Principal, lease: Lease, persona: Persona, links: LinkCache, now: datetime
) -> Focus | None:
    """The record that the session is about, as its user may see it now; without one nothing is read."""
    if lease.entity_id is None:
        return None
    return focus(principal, tx, lease.entity_id, team_id=persona.team.id, cache=links, now=now)


def _briefing(
    tx: Transaction, principal: Principal, about: Focus, persona: Persona, listed: Sequence[Tool]
) -> Briefing:
    more = any(tool.name == GET_LINKED_ENTITIES.name for tool in listed)
    texts = briefings(about.linked, hint=more)
    return Briefing(about.linked.handle, about.text, texts, _documents(tx, principal, about, persona))


def _documents(tx: Transaction, principal: Principal, about: Focus, persona: Persona) -> list[str]:
    """The tree of documents of a project, and again shorter; nothing of any other kind of record."""
    if not about.linked.handle.startswith(f"{PROJECT}/"):
        return []
    home = entities.read_many(principal, tx, [about.id])  # it may have been deleted a statement ago
    lines = catalogue.tree_of(principal, tx, home[0], persona.team.id).lines() if home else []
    outlines = [tree.outline(lines, most, tokens.count) for most in _TREE_TOKENS]
    return [text for text in dict.fromkeys(outlines) if text]


def _said(one: Earlier) -> Said:
    if one.direction == "outbound":
        return Said("assistant", one.body)
    return Said("user", polite.as_read(one) if one.kind == polite.TOOL_RESULT else polite.own_words(one.body))


def _worth_sending(blocks: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """Models do answer with empty text beside a tool call, and refuse to read it back."""
    return tuple(block for block in blocks if block.get("type") != "text" or str(block.get("text", "")).strip())


def _journal(tx: Transaction, turn: OpenTurn, max_tool_iterations: int) -> Journal:
    if turn.is_new:
        return Journal((), (), max_tool_iterations)
    steps = tuple(Step(row.number, _tuple(row.blocks), row.stop_reason) for row in store.steps(tx, turn.id))
    finished = tuple(Call(row.step, row.call_id, row.result) for row in store.finished_calls(tx, turn.id))
    return Journal(steps, finished, max_tool_iterations)


def _tuple[T](blocks: list[T] | None) -> tuple[T, ...] | None:
    return None if blocks is None else tuple(blocks)
