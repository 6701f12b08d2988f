"""A past prompt made again: byte for byte from its record, or from the same candidates under another budget."""

from collections import Counter
from dataclasses import replace
from uuid import UUID

from parlour.infra.errors import InvalidRequest, PromptOverflow
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly.assembler import prepare_turn
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.rendering import Prompt
from parlour.prompts.assembly.segment import Item
from parlour.prompts.assembly.stored_text import TextsErased, text_hash
from parlour.prompts.ledger import explanation, prompt_record, recorded_prompts
from parlour.prompts.ledger.prompt_record import PromptInputs, PromptStepRecord, restore_part
from parlour.prompts.ledger.recorded_prompts import RecordedPrompt, RecordedTurn


def rebuild_turn_prompt(
    principal: Principal, tx: Transaction, turn_id: UUID, step: int | None = None, budget: int | None = None
) -> JsonObject:
    """Rebuild a prompt of the turn, the last without a step.

    Without a budget it is the recorded one: {"turn_id", "step", "recorded_hash", "hash", "is_identical", "text",
    "erased": [{"layer", "text_hash"}], "withheld": [{"layer", "text_hash"}], "deleted_sources": [{"table", "id"}],
    "reassembly": None}.
    `text` is the canonical JSON of [tools, system, messages], and `hash` its SHA-256. Where texts were erased, or are
    withheld from this reader because their source was deleted or restricted since, there is no text and no hash, and it
    is not identical.

    With a budget it is assembled again from the turn's candidates; `reassembly` has its `budget`, `tokens`,
    `tokens_before`, `layers`, `refresh_causes`, and what is `dropped`, `shortened` or `added` compared with the
    recorded one. InvalidRequest when what is required does not fit,
    TextsErased when candidates are gone or withheld.
    """
    found = recorded_prompts.read_recorded_turn(principal, tx, turn_id)
    asked = found.prompt_of_step(step)
    named: JsonObject = {
        "turn_id": str(turn_id),
        "step": asked.step,
        "recorded_hash": asked.prompt_hash,
        "deleted_sources": explanation.deleted_sources_json(found),
    }
    return {**named, **(_rebuild_from_record(found, asked) if budget is None else _reassemble(found, asked, budget))}


def _rebuild_from_record(recorded: RecordedTurn, asked: RecordedPrompt) -> JsonObject:
    pieces = {piece for one in asked.segments for block in one.blocks for piece in block.pieces}
    withheld = [_missing_text_json(asked, one) for one in sorted(pieces & recorded.withheld_hashes)]
    missing = [_missing_text_json(asked, one) for one in sorted(pieces - recorded.stored_texts.keys())]
    told: JsonObject = {"erased": [*missing], "withheld": [*withheld]}
    if withheld or missing:
        return {"hash": None, "is_identical": False, "text": None, "reassembly": None, **told}
    prompt = prompt_record.rebuild_prompt(asked.segments, asked.step_record.breakpoints, recorded.stored_texts)
    return {
        "hash": prompt.hash,
        "is_identical": prompt.hash == asked.prompt_hash,
        "text": _canonical_text(prompt),
        "reassembly": None,
        **told,
    }


def _missing_text_json(asked: RecordedPrompt, gone: str) -> Json:
    layer = next(one.layer for one in asked.segments if any(gone in block.pieces for block in one.blocks))
    return {"layer": layer.name.lower(), "text_hash": gone}


def _reassemble(recorded: RecordedTurn, asked: RecordedPrompt, budget: int) -> JsonObject:
    if recorded.withheld_hashes:
        raise TextsErased(recorded.withheld_hashes)
    # The prompt as it would have been under another total: every step before it is made again, too.
    inputs = restore_part(PromptInputs, asked.ledger_rows[0].prompt_inputs or b"", recorded.stored_texts)
    profile = replace(inputs.profile, total_tokens=budget)
    try:
        begun = prepare_turn(inputs.materials, inputs.cache_state, profile, inputs.prepared_turn.context)
        for row in asked.ledger_rows:
            step_record = restore_part(PromptStepRecord, row.step_record, recorded.stored_texts)
            assembled = begun.assemble_step(row.step, step_record.rounds, step_record.closing)
            begun = begun.after_sending(assembled.cache_state)
    except PromptOverflow as problem:
        raise InvalidRequest(f"budget: {budget} tokens cannot hold this prompt: {problem}") from problem
    again = assembled
    entries = [_hash_entry_texts(one) for one in again.ledger.entries]
    items: list[Item] = [one.item for one in again.ledger.entries]
    texts_by_hash = {text_hash(text): text for item in items for text in (item.text, item.title)}
    words = {**recorded.visible_texts, **texts_by_hash}
    dropped, added = _entries_missing_in(asked.entries, entries), _entries_missing_in(entries, asked.entries)
    whole = {_entry_key(one) for one in asked.entries if not one.reason and not one.is_shortened}
    return {
        "hash": again.prompt.hash,
        "is_identical": again.prompt.hash == asked.prompt_hash,
        "text": _canonical_text(again.prompt),
        "erased": [],
        "withheld": [],
        "reassembly": {
            "budget": budget,
            "tokens": sum(one.tokens for one in again.ledger.segments),
            "tokens_before": asked.tokens,
            "layers": explanation.layers_json(
                again.ledger.segments, replace(asked.inputs.profile, total_tokens=budget)
            ),
            "refresh_causes": [again.ledger.refresh_cause] if again.ledger.refresh_cause else [],
            "dropped": [explanation.candidate_json(one, words) for one in dropped],
            "shortened": [
                explanation.candidate_json(one, words)
                for one in entries
                if one.is_shortened and not one.reason and _entry_key(one) in whole
            ],
            "added": [explanation.candidate_json(one, words) for one in added],
        },
    }


def _entries_missing_in(
    entries: tuple[LedgerEntry, ...] | list[LedgerEntry], others: tuple[LedgerEntry, ...] | list[LedgerEntry]
) -> list[LedgerEntry]:
    """Return the entries that were in and are not in among the others, as the others have them where they do."""
    inside = Counter(_entry_key(one) for one in others if not one.reason)
    told = {_entry_key(one): one for one in others if one.reason}
    gone: list[LedgerEntry] = []
    for one in entries:
        if one.reason:
            continue
        if inside[_entry_key(one)]:
            inside[_entry_key(one)] -= 1
        else:
            gone.append(told.get(_entry_key(one), one))
    return gone


def _entry_key(entry: LedgerEntry) -> tuple[str, str, str, int]:
    """Return what an entry is about: a row, at any version; of a turn's tool calls, which part."""
    source = entry.item.source
    return str(entry.item.kind), source.table, source.id, source.version if source.table == "turns" else 0


def _hash_entry_texts(entry: LedgerEntry) -> LedgerEntry:
    """Return an entry as records have it: its texts by their hashes."""
    item = entry.item
    return replace(entry, item=replace(item, text=text_hash(item.text), title=text_hash(item.title)))


def _canonical_text(prompt: Prompt) -> str:
    return canonical_json([list(prompt.tools), list(prompt.system), list(prompt.messages)])
