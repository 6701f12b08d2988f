"""What a turn that goes on was told of before, as its reader may be told of it now."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from parlour.conversations.journal import FinishedCall, Journal, ModelStep
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Transaction
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT
from parlour.prompts.assembly.segment import Item, Source
from parlour.prompts.ledger import source_status

_OWN_WORDS = frozenset({"text", "thinking", "redacted_thinking"})


def has_restricted_source(tx: Transaction, session_id: UUID, items: Sequence[Item], clearance: int) -> bool:
    """Whether the source of one of these candidates is gone, or above that clearance, by now."""
    return any(
        source_status.find_restricted_and_deleted(
            tx, session_id, {one for item in items for one in (item.source, *item.further_sources)}, clearance
        )
    )


def withhold_restricted_results(
    tx: Transaction, session_id: UUID, journal: Journal, writing_tools: Collection[str], clearance: int
) -> Journal:
    """Return the journal without results whose sources are gone or above the clearance by now.

    Also left out is what the model said and thought beside further calls once it had read such a result. What changed
    something stays as long as its reader may see what it changed, or deleted; `writing_tools` names the tools that do.
    The same journal where nothing was restricted.
    """
    told = [(call, _result_sources(call.result)) for call in journal.finished_calls]
    above, gone = source_status.find_restricted_and_deleted(
        tx, session_id, {one for _, sources in told for one in sources}, clearance
    )
    wrote = {
        (step.number, one.call_id) for step in journal.steps for one in step.tool_requests if one.name in writing_tools
    }
    withheld = {
        (call.step, call.call_id)
        for call, sources in told
        if not (above if (call.step, call.call_id) in wrote else above | gone).isdisjoint(sources)
    }
    if not withheld:
        return journal
    calls = tuple(
        _withhold_result(one) if (one.step, one.call_id) in withheld else one for one in journal.finished_calls
    )
    first = min(step for step, _ in withheld)
    return replace(journal, finished_calls=calls, steps=tuple(_without_text(one, first) for one in journal.steps))


def _result_sources(result: JsonObject) -> list[Source]:
    """Return the sources of a result: rows by the session's numbers, records and documents by their handles."""
    documents = result.get("documents")
    found = [one for one in documents if isinstance(one, dict)] if isinstance(documents, list) else []
    numbers = [Source("citation_numbers", str(one["n"])) for one in found if isinstance(one.get("n"), int)]
    return [*numbers, *source_status.handle_sources(canonical_json(result))]


def _withhold_result(call: FinishedCall) -> FinishedCall:
    """Return the call without its result, but with its outcome: the model must not do it again."""
    return replace(call, result={"ok": call.result.get("ok") is not False, "message": WITHHELD_TEXT})


def _without_text(step: ModelStep, first: int) -> ModelStep:
    """Return the step without text and thinking, if it came after the first withheld one and asks for more.

    They may quote that one.
    """
    if step.number <= first or not step.tool_requests:
        return step
    return replace(step, blocks=tuple(one for one in step.blocks or () if one.get("type") not in _OWN_WORDS))
