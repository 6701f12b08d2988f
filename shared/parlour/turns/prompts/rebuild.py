"""A past prompt made again: byte for byte from its record, or from the same candidates under another budget."""

from collections import Counter
from dataclasses import replace
from uuid import UUID

from parlour.context import prompt_record
from parlour.context.assemble import Assembled, begin
from parlour.context.ledger import Entry
from parlour.context.prompt_record import PromptInputs, PromptStepRecord, restore
from parlour.context.render import Prompt
from parlour.context.segment import Item
from parlour.context.stored_text import Erased, text_hash
from parlour.infra.errors import InvalidRequest, PromptOverflow
from parlour.infra.jsonable import Json, JsonObject, canonical
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.turns.prompts import explain, recorded
from parlour.turns.prompts.recorded import Asked, Recorded


def rebuild(
    principal: Principal, tx: Transaction, turn_id: UUID, step: int | None = None, budget: int | None = None
) -> JsonObject:
    """A prompt of the turn, the last for no step, made again.

    Without a budget it is the recorded one: {"turn_id", "step", "recorded_hash", "hash", "matches", "text",
    "forgotten": [{"layer", "words"}], "withheld": [{"layer", "words"}], "gone": [{"table", "id"}]}. `text` is the
    canonical JSON of [tools, system, messages], whose SHA-256 the
    hash is. Where words of it were forgotten, or are withheld from this reader since their source was deleted or
    closed, there is no text and no hash, and nothing matches. `gone` are the sources that were deleted since.

    With one it is assembled again from the turn's candidates: `tokens`, `layers`, `causes`, and what is `dropped`,
    `shortened` or `added` against the recorded one. InvalidRequest when what must be in does not fit, Erased when
    candidates are gone or withheld.
    """
    found = recorded.read(principal, tx, turn_id)
    asked = found.step(step)
    named: JsonObject = {
        "turn_id": str(turn_id), "step": asked.step, "recorded_hash": asked.hash, "gone": explain.gone(found),
    }  # fmt: skip
    return {**named, **(_recorded(found, asked) if budget is None else _under(found, asked, budget))}


def _recorded(found: Recorded, asked: Asked) -> JsonObject:
    pieces = {piece for one in asked.segments for block in one.blocks for piece in block.pieces}
    withheld = [_gone(asked, one) for one in sorted(pieces & found.withheld)]
    missing = [_gone(asked, one) for one in sorted(pieces - found.kept.keys())]
    told: JsonObject = {"forgotten": [*missing], "withheld": [*withheld]}
    if withheld or missing:
        return {"hash": None, "matches": False, "text": None, **told}
    prompt = prompt_record.rebuild(asked.segments, asked.record.marked, found.kept)
    return {"hash": prompt.hash, "matches": prompt.hash == asked.hash, "text": _text(prompt), **told}


def _gone(asked: Asked, gone: str) -> Json:
    layer = next(one.layer for one in asked.segments if any(gone in block.pieces for block in one.blocks))
    return {"layer": layer.name.lower(), "words": gone}


def _under(found: Recorded, asked: Asked, budget: int) -> JsonObject:
    if found.withheld:
        raise Erased(found.withheld)
    again = _assembled(found, asked, budget)
    entries = [_hashed(one) for one in again.ledger.entries]
    words = {**found.words, **_words(again)}
    dropped, added = _against(asked.entries, entries), _against(entries, asked.entries)
    whole = {_key(one) for one in asked.entries if not one.reason and not one.shortened}
    return {
        "hash": again.prompt.hash, "matches": again.prompt.hash == asked.hash, "text": _text(again.prompt),
        "forgotten": [], "withheld": [], "budget": budget,
        "tokens": sum(one.tokens for one in again.ledger.segments), "tokens_before": asked.tokens,
        "layers": explain.layers(again.ledger.segments, replace(asked.inputs.profile, total=budget)),
        "causes": [again.ledger.cause] if again.ledger.cause else [],
        "dropped": [explain.candidate(one, words) for one in dropped],
        "shortened": [
            explain.candidate(one, words) for one in entries if one.shortened and not one.reason and _key(one) in whole
        ],
        "added": [explain.candidate(one, words) for one in added],
    }  # fmt: skip


def _assembled(found: Recorded, asked: Asked, budget: int) -> Assembled:
    """The prompt as it would have been under another total: every step before it is made again, too."""
    inputs = restore(PromptInputs, asked.rows[0].basis or b"", found.kept)
    profile = replace(inputs.profile, total=budget)
    try:
        begun = begin(inputs.materials, inputs.standing, profile, inputs.begun.moment)
        for row in asked.rows:
            assembled = begun.step(row.step, restore(PromptStepRecord, row.made, found.kept).rounds)
            begun = begun.after(assembled.standing)
    except PromptOverflow as problem:
        raise InvalidRequest(f"budget: {budget} tokens cannot hold this prompt: {problem}") from problem
    return assembled


def _against(entries: tuple[Entry, ...] | list[Entry], others: tuple[Entry, ...] | list[Entry]) -> list[Entry]:
    """The entries that were in and are not in among the others: as the others tell of them where they do."""
    inside = Counter(_key(one) for one in others if not one.reason)
    told = {_key(one): one for one in others if one.reason}
    gone: list[Entry] = []
    for one in entries:
        if one.reason:
            continue
        if inside[_key(one)]:
            inside[_key(one)] -= 1
        else:
            gone.append(told.get(_key(one), one))
    return gone


def _key(entry: Entry) -> tuple[str, str, str, int]:
    """What an entry tells of: a row, at whatever version; of what a turn called, which part."""
    source = entry.item.source
    return str(entry.item.lot), source.table, source.id, source.version if source.table == "turns" else 0


def _hashed(entry: Entry) -> Entry:
    """An entry as records have it: its words by their hash."""
    item = entry.item
    return replace(entry, item=replace(item, text=text_hash(item.text), title=text_hash(item.title)))


def _words(again: Assembled) -> dict[str, str]:
    items: list[Item] = [one.item for one in again.ledger.entries]
    return {text_hash(text): text for item in items for text in (item.text, item.title)}


def _text(prompt: Prompt) -> str:
    return canonical([list(prompt.tools), list(prompt.system), list(prompt.messages)])
