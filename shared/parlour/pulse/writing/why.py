"""Why a Pulse says what it says: its prompt taken apart, and made again byte for byte from what was kept of it."""

from collections.abc import Mapping

from parlour.context.ledger import Entry
from parlour.context.prompt_record import PromptInputs, read
from parlour.context.segment import Layer
from parlour.infra.errors import NotFound
from parlour.infra.jsonable import Json, JsonObject, canonical
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import entities
from parlour.knowledge.records.record import Ref
from parlour.principal import Principal
from parlour.pulse.reading.read import seen
from parlour.pulse.writing import store
from parlour.pulse.writing.store import LedgerRow
from parlour.tenancy.roles import require


def why(principal: Principal, tx: Transaction, ref: Ref, version: int | None = None) -> JsonObject:
    """The prompt that the Pulse of this reader came of, or the newest one that came to nothing.

    {"record", "level", "version", "at", "model", "outcome", "prompt_hash", "matches", "tokens", "budget",
     "layers": [{"layer", "tokens"}], "candidates": [{"title", "source", "lot", "level", "tokens", "score", "reason",
     "shortened", "text"}], "forgotten", "prompt"}

    reason     why a candidate is out; None: it is in.
    matches    whether the prompt that was made again is the one that was sent; `prompt` is its canonical JSON.
    forgotten  words of it are gone: nothing matches, and candidates are told as far as they are left.

    Needs the role viewer. NotFound when there is no such record, Pulse or prompt for the reader.
    """
    require(principal, "viewer")
    entity = entities.read(principal, tx, ref)
    found = seen(principal, tx, entity.id)
    level = found.pulse.level if found and found.pulse else entity.classification
    row = store.ledger(tx, entity.id, level, version)
    if row is None:
        raise NotFound(f"there is no record of a prompt for the Pulse of {entity.handle}: none was made, or it is over")
    texts = store.words(tx, row.month, sorted(read(PromptInputs, row.basis)[1]))
    return {"record": entity.handle, **_told(row, texts)}


def _told(row: LedgerRow, texts: Mapping[str, str]) -> JsonObject:
    named: JsonObject = {
        "level": row.level, "version": row.version, "at": row.at.isoformat(), "model": row.model,
        "outcome": row.outcome, "prompt_hash": row.prompt_hash,
    }  # fmt: skip
    inputs, missing = read(PromptInputs, row.basis, texts)
    candidates: list[Json] = [_candidate(one) for one in inputs.begun.entries if _is_material(one)]
    layers: dict[Layer, int] = {}
    for segment in inputs.begun.segments:
        layers[segment.layer] = layers.get(segment.layer, 0) + segment.tokens
    listed: list[Json] = [{"layer": one.name.lower(), "tokens": layers[one]} for one in sorted(layers) if layers[one]]
    return {
        **named, "tokens": sum(layers.values()), "budget": inputs.profile.total, "layers": listed,
        "candidates": candidates, "forgotten": bool(missing), **_again(row, inputs, is_erased=bool(missing)),
    }  # fmt: skip


def _again(row: LedgerRow, inputs: PromptInputs, *, is_erased: bool) -> JsonObject:
    if is_erased:
        return {"matches": False, "prompt": None}
    prompt = inputs.begun.step(1, ()).prompt
    sent = canonical([list(prompt.tools), list(prompt.system), list(prompt.messages)])
    return {"matches": prompt.hash == row.prompt_hash, "prompt": sent}


def _is_material(entry: Entry) -> bool:
    return entry.item.lot.layer is Layer.BRIEFING


def _candidate(entry: Entry) -> Json:
    """As it was, or what is left of it: of what was forgotten a text is its hash."""
    item = entry.item
    return {
        "title": item.title,
        "source": f"{item.source.table}/{item.source.id}",
        "lot": str(item.lot),
        "level": item.level,
        "tokens": entry.tokens,
        "score": round(item.score, 4),
        "reason": entry.reason,
        "shortened": entry.shortened,
        "text": item.text,
    }
