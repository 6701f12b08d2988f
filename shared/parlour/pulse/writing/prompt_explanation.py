"""Why a Pulse says what it says: its prompt taken apart, and made again byte for byte from what was kept of it."""

from parlour.infra.errors import NotFound
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.segment import Layer
from parlour.prompts.ledger.prompt_record import PromptInputs, deserialize_part
from parlour.pulse.reading.pulse_view import find_pulse_view
from parlour.pulse.writing import store
from parlour.pulse.writing.store import PulseLedgerRow
from parlour.records import crud
from parlour.records.record import RecordRef
from parlour.tenancy.roles import require_role


def explain_prompt(principal: Principal, tx: Transaction, ref: RecordRef, version: int | None = None) -> JsonObject:
    """Explain the prompt behind the Pulse of this reader, or the newest one that led to no text.

    {"record", "level", "version", "at", "model", "outcome", "prompt_hash", "is_identical", "tokens", "budget",
    "layers": [{"layer", "tokens"}], "candidates": [{"title", "source", "kind", "level", "tokens", "score", "reason",
    "is_shortened", "text"}], "is_erased", "prompt"}

    reason        why a candidate is out; None: it is in.
    is_identical  whether the rebuilt prompt is the one that was sent; `prompt` is its canonical JSON.
    is_erased     texts of it were erased: it is not identical, and candidates are shown as far as they are left.

    Needs the role viewer. NotFound when there is no such record, Pulse or prompt for the reader.
    """
    require_role(principal, "viewer")
    entity = crud.get_record(principal, tx, ref)
    found = find_pulse_view(principal, tx, entity.id)
    level = found.pulse.level if found and found.pulse else entity.classification
    row = store.find_ledger(tx, entity.id, level, version)
    if row is None:
        raise NotFound(f"no stored prompt for the Pulse of {entity.handle}: none was made, or it expired")
    texts = store.read_ledger_texts(tx, row.month, sorted(deserialize_part(PromptInputs, row.prompt_inputs)[1]))
    named: JsonObject = {
        "level": row.level,
        "version": row.version,
        "at": row.created_at.isoformat(),
        "model": row.model,
        "outcome": row.outcome,
        "prompt_hash": row.prompt_hash,
    }
    inputs, missing = deserialize_part(PromptInputs, row.prompt_inputs, texts)
    candidates: list[Json] = [
        _candidate_json(one) for one in inputs.prepared_turn.entries if (one.item.kind.layer is Layer.BRIEFING)
    ]
    layers: dict[Layer, int] = {}
    for segment in inputs.prepared_turn.segments:
        layers[segment.layer] = layers.get(segment.layer, 0) + segment.tokens
    listed: list[Json] = [{"layer": one.name.lower(), "tokens": layers[one]} for one in sorted(layers) if layers[one]]
    explanation_json = {
        **named,
        "tokens": sum(layers.values()),
        "budget": inputs.profile.total_tokens,
        "layers": listed,
        "candidates": candidates,
        "is_erased": bool(missing),
        **_rebuild_prompt(row, inputs, has_erased_text=bool(missing)),
    }
    return {"record": entity.handle, **explanation_json}


def _rebuild_prompt(row: PulseLedgerRow, inputs: PromptInputs, *, has_erased_text: bool) -> JsonObject:
    if has_erased_text:
        return {"is_identical": False, "prompt": None}
    prompt = inputs.prepared_turn.assemble_step(1, ()).prompt
    sent = canonical_json([list(prompt.tools), list(prompt.system), list(prompt.messages)])
    return {"is_identical": prompt.hash == row.prompt_hash, "prompt": sent}


def _candidate_json(entry: LedgerEntry) -> Json:
    """As it was, or what is left of it: of what was forgotten a text is its hash."""
    item = entry.item
    return {
        "title": item.title,
        "source": f"{item.source.table}/{item.source.id}",
        "kind": str(item.kind),
        "level": item.classification,
        "tokens": entry.tokens,
        "score": round(item.score, 4),
        "reason": entry.reason,
        "is_shortened": entry.is_shortened,
        "text": item.text,
    }
