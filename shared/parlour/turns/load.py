"""Everything a turn needs, read once when it begins: who, as whom, with what, and what was said."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from parlour.context import budget, heartbeat, tiers
from parlour.context.assemble import Candidates
from parlour.context.calls import Round
from parlour.context.history import KEPT_MESSAGES, Said
from parlour.infra.errors import NotFound
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import bindings, people
from parlour.tenancy.bindings import Persona
from parlour.tools.definition import Tool
from parlour.tools.registry import load_tools
from parlour.turns import polite, store
from parlour.turns.journal import Call, Journal, Step
from parlour.turns.records import Inbound, Lease, OpenTurn


@dataclass(frozen=True, slots=True)
class Loaded:
    """One turn's material; `journal` is where it stood when it was begun or resumed."""

    principal: Principal
    persona: Persona
    tools: tuple[Tool, ...]
    candidates: Candidates
    profile: budget.Profile
    journal: Journal

    def asking(self, journal: Journal) -> Candidates:
        """The candidates for the next prompt: what was loaded, and the tool rounds since."""
        rounds = [
            Round(_worth_sending(step.blocks), tuple(journal.results(step.number).items()))
            for step in journal.steps
            if step.blocks and step.requests
        ]
        return replace(self.candidates, rounds=rounds)


def load(tx: Transaction, lease: Lease, turn: OpenTurn, inputs: Sequence[Inbound]) -> Loaded:
    """Read the turn's material. NotFound when the binding or the user is gone, Misconfigured when a tier is wrong."""
    persona = bindings.load(tx, lease.binding_id)
    if persona is None:
        raise NotFound("the session's binding is gone")
    principal = people.principal_of(tx, lease.user_id, lease.binding_id)
    user = people.user(tx, lease.user_id)
    tools = load_tools(tx, persona.agent.tools)
    earlier = store.said_before(tx, lease.id, turn.number, KEPT_MESSAGES)
    candidates = Candidates(
        tools=tuple(tool.to_model() for tool in tools),
        tiers=tiers.render(persona.human, persona.team, persona.agent),
        said=[Said("user" if one.direction == "inbound" else "assistant", one.body) for one in reversed(earlier)],
        heartbeat=heartbeat.text(
            turn.frozen_at, inputs[-1].channel, user.locale if user else None, user.display_name if user else None
        ),
        texts=[text for message in inputs if (text := polite.as_read(message))],
        rounds=(),
    )
    journal = _journal(tx, turn, persona.agent.max_tool_iterations)
    profile = budget.profile(persona.agent.budget)
    return Loaded(principal, persona, tuple(tools), candidates, profile, journal)


def _worth_sending(blocks: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """Models do answer with empty text beside a tool call, and refuse to read it back."""
    return tuple(block for block in blocks if block.get("type") != "text" or str(block.get("text", "")).strip())


def _journal(tx: Transaction, turn: OpenTurn, max_tool_iterations: int) -> Journal:
    if turn.attempts == 1:
        return Journal((), (), max_tool_iterations)
    steps = tuple(Step(row.number, _tuple(row.blocks), row.stop_reason) for row in store.steps(tx, turn.id))
    calls = tuple(Call(row.step, row.call_id, row.result) for row in store.finished_calls(tx, turn.id))
    return Journal(steps, calls, max_tool_iterations)


def _tuple[T](blocks: list[T] | None) -> tuple[T, ...] | None:
    return None if blocks is None else tuple(blocks)
