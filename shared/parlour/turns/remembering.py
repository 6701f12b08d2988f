"""What a turn has of what is remembered: told when it begins, and written down when it is over."""

from collections.abc import Callable, Sequence
from datetime import datetime

from parlour.context.past import PastTurn
from parlour.infra.jsonable import canonical
from parlour.infra.postgres import Transaction
from parlour.memory.policy import policy
from parlour.memory.recalling import recall, used
from parlour.memory.recalling.recall import Remembered
from parlour.memory.recalling.used import Told
from parlour.memory.state import states
from parlour.memory.state.done import Done, done
from parlour.tenancy.bindings import Persona
from parlour.turns import polite
from parlour.turns.prompts.prompting import Prompting
from parlour.turns.records import Inbound, Lease
from parlour.turns.running import Running

_LAST_ASKED = 2
"""Of the user's messages, how many say what a turn is about: "and the second one?" names nothing."""


def at_once(
    tx: Transaction, lease: Lease, persona: Persona, past: Sequence[PastTurn], inputs: Sequence[Inbound], now: datetime
) -> Remembered:
    """What a turn that begins is told at once: what is known of its user, and the agent's notes."""
    before = [message.text for turn in past for message in turn.asked]
    asked = [*before, *(polite.as_read(one) for one in inputs)][-_LAST_ASKED:]
    return recall.remembered(tx, lease.id, asked, policy(persona.agent.memory_policy), now)


def noting(running: Running, reply: str, now: datetime) -> Callable[[Transaction], None]:
    """How to write down, with a turn's end, which of what its prompts were told the `reply` used ("" where no model
    gave it), and what its tools did to records."""
    prompting = running.prompting
    if prompting is None:
        return lambda _: None
    found, calls = _used(prompting, reply), _done(running, prompting)

    def note(tx: Transaction) -> None:
        recall.note_recalled(tx, running.turn.id, found, now)
        states.note_done(tx, running.lease.id, calls, now)

    return note


def _used(prompting: Prompting, reply: str) -> list[Told]:
    if not reply or not prompting.recorded or prompting.begun is None:
        return []
    asked = [block["input"] for one in prompting.rounds for block in one.blocks if block.get("type") == "tool_use"]
    said = "\n".join([reply, *map(canonical, asked)])
    return used.judged(
        used.told(prompting.begun.entries), said, "\n".join(one.text for one in prompting.materials.words)
    )


def _done(running: Running, prompting: Prompting) -> list[Done]:
    """What the turn's calls did, in order. A heavy one that goes on is told by the turn that hears of its end."""
    tools = {tool.name: tool for tool in running.tools}
    found: list[Done] = []
    for one in prompting.rounds:
        named = {str(block["id"]): str(block["name"]) for block in one.blocks if block.get("type") == "tool_use"}
        asked = [(tools.get(named.get(call, "")), result) for call, result in one.results]
        found += [did for tool, result in asked if tool and (did := done(tool, result))]
    return found
