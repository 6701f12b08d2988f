"""Whether what a turn leaves behind wants a summary: written down with the turn's end, done after it."""

from collections.abc import Callable
from datetime import datetime

from parlour.context.past import Message, PastTurn
from parlour.context.segment import Layer, Source
from parlour.context.tokens import Meter
from parlour.infra.postgres import Transaction
from parlour.memory.order import Order
from parlour.memory.summary import wanted
from parlour.memory.summary.stretch import is_wanted
from parlour.memory.waking import Later
from parlour.turns.prompts.prompting import Prompting
from parlour.turns.running import Running


def wanting(running: Running, reply: str, now: datetime) -> Callable[[Transaction], list[Later]]:
    """How to write down, with a turn's end, that the session wants a summary; who is told once that is committed comes
    of it. Nobody where it wants none, or where one is under way or waits for its next try."""
    prompting = running.prompting
    if prompting is None or prompting.wanted or not _is_wanted(prompting, running, reply):
        return lambda _: []
    later = Later(Order(running.feed.principal.tenant_id, "summary", running.lease.id), 0.0)
    return lambda tx: [later] if wanted.want(tx, running.lease.id, now) else []


def _is_wanted(prompting: Prompting, running: Running, reply: str) -> bool:
    standing = prompting.begun.standing if prompting.begun and prompting.recorded else prompting.standing
    materials = prompting.materials
    over = PastTurn(
        materials.turn, str(running.turn.id), tuple(materials.words), prompting.called(),
        (Message(reply, Source("messages", "")),) if reply else (),
    )  # fmt: skip
    cap = prompting.profile.share(Layer.HISTORY).cap
    return is_wanted(Meter(standing.factors), standing.lead, [*materials.past, over], materials.summary, cap)
