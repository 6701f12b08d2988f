"""What a turn that goes on was told of before, as its reader may be told of it now."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from parlour.context.past import WITHDRAWN
from parlour.context.segment import Item, Source
from parlour.infra.jsonable import JsonObject, canonical
from parlour.infra.postgres import Transaction
from parlour.turns.journal import Call, Journal, Step
from parlour.turns.prompts import fates


def is_closed(tx: Transaction, session_id: UUID, items: Sequence[Item], clearance: int) -> bool:
    """Whether the source of one of these candidates is gone, or above that clearance, by now."""
    return any(fates.closed(tx, session_id, {one for item in items for one in (item.source, *item.also)}, clearance))


def as_told_now(
    tx: Transaction, session_id: UUID, journal: Journal, writes: Collection[str], clearance: int
) -> Journal:  # fmt: skip
    """The journal without results that tell of what is gone or above the clearance by now, and without what the model
    said beside further calls once it had read one of them. What changed something is told as long as its reader may see
    what it changed, or did away with; `writes` names the tools that do. The same journal where nothing was closed."""
    told = [(call, _sources(call.result)) for call in journal.calls]
    above, gone = fates.closed(tx, session_id, {one for _, sources in told for one in sources}, clearance)
    wrote = {(step.number, one.call_id) for step in journal.steps for one in step.requests if one.name in writes}
    withheld = {
        (call.step, call.call_id)
        for call, sources in told
        if not (above if (call.step, call.call_id) in wrote else above | gone).isdisjoint(sources)
    }
    if not withheld:
        return journal
    calls = tuple(_withdrawn(one) if (one.step, one.call_id) in withheld else one for one in journal.calls)
    first = min(step for step, _ in withheld)
    return replace(journal, calls=calls, steps=tuple(_silent(one, first) for one in journal.steps))


def _sources(result: JsonObject) -> list[Source]:
    """What a result tells of: what was found, by the session's numbers, and records and documents by their handles."""
    documents = result.get("documents")
    found = [one for one in documents if isinstance(one, dict)] if isinstance(documents, list) else []
    numbers = [Source("sources", str(one["document"])) for one in found if str(one.get("document", "")).isdecimal()]
    return [*numbers, *fates.handles(canonical(result))]


def _withdrawn(call: Call) -> Call:
    """What was done stays done: whoever reads this must not do it again."""
    return replace(call, result={"ok": call.result.get("ok") is not False, "message": WITHDRAWN})


def _silent(step: Step, first: int) -> Step:
    """The step without words, if it came after the first that is withheld and asks for more: they may be of that."""
    if step.number <= first or not step.requests:
        return step
    return replace(step, blocks=tuple(one for one in step.blocks or () if one.get("type") != "text"))
