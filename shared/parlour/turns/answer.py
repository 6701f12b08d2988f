"""The end of a turn: one reply, its citations and its place in the outbox, in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.channels import outbox
from parlour.channels.outbox import Unsent
from parlour.context import citations
from parlour.context.citations import Cited
from parlour.infra import log
from parlour.infra.errors import LeaseLost, QueueUnavailable
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.index import pending
from parlour.knowledge.search.sources import Source, known
from parlour.memory import waking
from parlour.memory.waking import Later
from parlour.principal import Principal
from parlour.tools import calls
from parlour.turns import remembering, store, summarising
from parlour.turns.noticing import noticing
from parlour.turns.records import Citation
from parlour.turns.running import Running


@dataclass(frozen=True, slots=True)
class Answer:
    """What a turn says and how it ended. `problem` is a code for operators, None when all went well, and `detail` what
    more they are told of it. `reader`: as whom the model was asked, whose sources it may cite; without one it cites
    nothing."""

    text: str
    state: Literal["answered", "failed"] = "answered"
    degraded: bool = False
    problem: str | None = None
    reader: Principal | None = None
    detail: str = ""

    @property
    def reason(self) -> str | None:
        """The problem as the turn keeps it."""
        return f"{self.problem}: {self.detail}" if self.problem and self.detail else self.problem


def answer(running: Running, said: Answer) -> None:
    """Commit the reply with everything that belongs to it, end the turn, let the session go, wake the sender.

    After the commit the turn is over: when the wake fails, the row in the outbox stays pending and the next
    delivery of the session's wake sends it again. A turn that is over already keeps the reply it has: LeaseLost.
    """
    now = running.services.clock()
    message_id = running.services.new_id(now)
    outbox_id = running.services.new_id(now)
    if said.problem:
        running.feed.add("error", {"code": said.problem, "message": said.text})
    running.feed.add("done", {"message_id": str(message_id), "turn_id": str(running.turn.id)})
    note = _noting(running, said, now)
    with running.stages.timed("save") as took:

        def save(tx: Transaction) -> tuple[Cited, list[Unsent], list[Later]]:
            sources = {source.number: source for source in _known(running, tx, said)}
            cited = citations.check(said.text, sources)
            is_first = _insert_reply(running, tx, message_id, cited)
            _insert_citations(tx, message_id, [sources[number] for number in cited.numbers])
            _give_up_effects(running, tx)
            later = note(tx)
            waiting = _put_outbox(running, tx, outbox_id, message_id)
            closed = _finish(running, tx, said, {**running.stages.milliseconds, "save": took()})
            if is_first and not closed:  # only the repeat of this very commit finds its own turn over
                raise LeaseLost
            return cited, waiting, later

        cited, waiting, later = running.feed.write(save)
    log.info(
        "turn_finished", tenant_id=running.feed.principal.tenant_id, turn_id=running.turn.id,
        state=said.state, degraded=said.degraded, problem=said.problem, removed_citations=cited.removed,
    )  # fmt: skip
    for row in waiting:
        outbox.wake(running.services.outbox, running.feed.principal.tenant_id, running.lease.id, row.id, row.attempts)
    _have_embedded(running)
    waking.send(running.services.memory, later)


def _noting(running: Running, said: Answer, now: datetime) -> Callable[[Transaction], list[Later]]:
    """How to write down what becomes of memory with a turn's end; who is told of it once that is committed comes of
    it."""
    reply = said.text if said.reader else ""
    remembered = remembering.noting(running, reply, now)
    noticed = noticing(running, now) if said.state == "answered" else None
    wanted = summarising.wanting(running, said.text, now)

    def note(tx: Transaction) -> list[Later]:
        told = noticed(tx) if noticed else []
        remembered(tx)  # whoever changes facts takes their user's lock first, and the facts after it
        return [*told, *wanted(tx)]

    return note


def _have_embedded(running: Running) -> None:
    """Have what was said embedded. The turn is over, and the sweep finds what nobody was told of."""
    tenant_id = running.feed.principal.tenant_id
    try:
        pending.nudge(running.services.embedding, tenant_id)
    except QueueUnavailable as problem:
        log.warning("nudge_lost", tenant_id=tenant_id, code=problem.code)


def _known(running: Running, tx: Transaction, said: Answer) -> list[Source]:
    return known(said.reader, tx, running.lease.id) if said.reader and "[" in said.text else []


def _give_up_effects(running: Running, tx: Transaction) -> None:
    """However the turn ends, nobody comes back for an effect of its own that has no outcome by now: a binding switched
    off since a worker died at it, say, or a step too many. A turn that neither asked for one nor was resumed has none.
    """
    if not running.open_calls and running.turn.is_new:
        return
    if calls.give_up(tx, running.turn.id, running.services.clock()):
        log.error("effect_unknown", turn_id=running.turn.id)
        log.count("UnknownEffect")


def _insert_reply(running: Running, tx: Transaction, message_id: UUID, cited: Cited) -> bool:
    metadata: JsonObject = {"removed_citations": cited.removed} if cited.removed else {}
    return store.insert_reply(
        tx, running.lease, running.turn.id, message_id=message_id, channel=running.inputs[-1].channel,
        body=cited.text, metadata=metadata, now=running.services.clock(),
    )  # fmt: skip


def _insert_citations(tx: Transaction, message_id: UUID, cited: list[Source]) -> None:
    store.insert_citations(tx, [Citation(message_id, one.number, one.row_id, one.title, one.locator) for one in cited])


def _put_outbox(running: Running, tx: Transaction, outbox_id: UUID, message_id: UUID) -> list[Unsent]:
    """Put the reply into the outbox; returns all of the session's that wait, oldest first, so that none overtakes."""
    last = running.inputs[-1]
    if last.channel == "web" or last.address is None:
        return []
    outbox.put(
        tx, outbox_id=outbox_id, session_id=running.lease.id, message_id=message_id,
        binding_id=running.lease.binding_id, channel=last.channel, recipient=last.address,
        now=running.services.clock(),
    )  # fmt: skip
    return outbox.unsent(tx, session_id=running.lease.id)


def _finish(running: Running, tx: Transaction, said: Answer, stage_ms: dict[str, Json]) -> bool:
    """Close the turn, with how its calls enter history and what the session's next prompt stands on."""
    prompting = running.prompting
    return store.finish_turn(
        tx, running.lease, running.turn.id, state=said.state, degraded=said.degraded, problem=said.reason,
        stage_ms=stage_ms, called=prompting.called() if prompting else (),
        standing=prompting.over() if prompting else None, now=running.services.clock(),
    )  # fmt: skip
