"""A turn's prompts explained: where the tokens went, what was in and what was not and why, what the cache had of it.

Words are named by their hash and read apart (`words`): a picture of a prompt needs few of them.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from parlour.context.budget import Profile
from parlour.context.cache import Miss
from parlour.context.ledger import Entry
from parlour.context.pins import Pinned
from parlour.context.segment import Layer, Segment
from parlour.infra.errors import InvalidRequest
from parlour.infra.jsonable import Json, JsonObject, canonical
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.turns.prompts import fates, recorded
from parlour.turns.prompts.recorded import Asked, Recorded
from parlour.turns.prompts.store import Reported

_TITLE = 90
"""Letters of its words that a candidate without a title is called by."""

MOST_WORDS = 100


def explain(principal: Principal, tx: Transaction, turn_id: UUID, step: int | None = None) -> JsonObject:
    """The prompts of a turn, or of one of its steps, for a viewer of the tenant.

    {"turn": {"id", "session_id", "number", "previous", "next", "steps"}, "profile": {"name", "total", "config"},
     "gone": [{"table", "id"}],
     "steps": [{"step", "anew", "at", "model", "hash", "tokens", "layers", "segments", "candidates", "marks", "causes",
                "briefing", "cached", "miss", "reported"}]}

    `gone` are sources that were deleted since. `anew`: the turn was begun anew with this step, which has nothing in
    common with those before. `briefing` says when it was rendered and what it was made of. Tokens are the budget's;
    `reported` is what the model said. NotFound as `recorded.read`.
    """
    found = recorded.read(principal, tx, turn_id)
    chosen = found.asked if step is None else [found.step(step)]
    profile = found.asked[-1].inputs.profile
    return {
        "turn": turn(found),
        "gone": gone(found),
        "profile": {"name": profile.name, "total": profile.total, "config": profile.config},
        "steps": [_step(found, one) for one in chosen],
    }


def words(principal: Principal, tx: Transaction, turn_id: UUID, hashes: Sequence[str]) -> dict[str, str | None]:
    """Texts of the turn's prompts and candidates, by hash; None for one that was forgotten, `fates.CLOSED` for one
    that the reader may not see any more.

    Any other text is not there, whoever's words it may be. InvalidRequest for more than
    `MOST_WORDS`.
    """
    if len(hashes) > MOST_WORDS:
        raise InvalidRequest(f"hash: {len(hashes)} at once are too many; ask for {MOST_WORDS} at most")
    found = recorded.read(principal, tx, turn_id)
    known = found.shown()
    return {one: found.words.get(one) for one in hashes if one in known}


def turn(found: Recorded) -> JsonObject:
    """Which turn it is, and its neighbours in the session."""
    place = found.place
    return {
        "id": str(found.turn_id), "session_id": str(place.session_id), "number": place.number,
        "previous": str(place.previous) if place.previous else None, "next": str(place.next) if place.next else None,
        "steps": [one.step for one in found.asked],
    }  # fmt: skip


def gone(found: Recorded) -> list[Json]:
    """The sources of a turn's prompts that were deleted since."""
    return [{"table": one.table, "id": one.id} for one in found.gone]


def _step(found: Recorded, asked: Asked) -> JsonObject:
    return {
        "step": asked.step, "anew": asked.is_anew, "at": asked.at.isoformat(), "model": asked.model, "hash": asked.hash,
        "tokens": asked.tokens, "layers": layers(asked.segments, asked.inputs.profile),
        "segments": [_segment(one, asked, found) for one in asked.segments if one.blocks],
        "candidates": [candidate(one, found.words) for one in asked.entries],
        "marks": marks(asked.segments, asked.record.marked), "causes": list(asked.causes),
        "briefing": _briefing(asked.inputs.begun.standing.pinned, asked.inputs.begun.moment.at),
        "cached": {"blocks": asked.cached, "tokens": _first(asked.segments, asked.cached)},
        "miss": _miss(asked.record.miss, found.reported.get(asked.step)),
        "reported": _reported(found.reported.get(asked.step)),
    }  # fmt: skip


def layers(segments: Sequence[Segment], profile: Profile) -> list[Json]:
    """All thirteen layers: tokens, their share of the prompt's, and floor and cap where the profile gives them any."""
    tokens = {layer: sum(one.tokens for one in segments if one.layer is layer) for layer in Layer}
    total = sum(tokens.values()) or 1
    return [_layer(layer, tokens[layer], total, profile) for layer in Layer]


def _layer(layer: Layer, tokens: int, total: int, profile: Profile) -> Json:
    share = profile.shares.get(layer)
    return {
        "layer": layer.name.lower(), "number": int(layer), "tokens": tokens, "share": round(tokens / total, 4),
        "floor": share.floor if share else None, "cap": share.cap if share else None,
    }  # fmt: skip


def _segment(segment: Segment, asked: Asked, found: Recorded) -> JsonObject:
    before = _before(asked.segments, segment)
    return {
        "layer": segment.layer.name.lower(), "stability": segment.stability, "placement": segment.placement,
        "tokens": segment.tokens,
        "blocks": [
            {
                "number": number, "role": block.role, "tokens": block.tokens, "words": list(block.pieces),
                "is_json": block.is_json, "marked": number in asked.record.marked, "cached": number <= asked.cached,
                "forgotten": any(one not in found.words for one in block.pieces),
                "withheld": any(one in found.withheld for one in block.pieces),
            }
            for number, block in enumerate(segment.blocks, start=before + 1)
        ],
    }  # fmt: skip


def candidate(entry: Entry, words: Mapping[str, str]) -> JsonObject:
    """One candidate: what it is, where it comes from, what it takes or would have taken, and why it is out."""
    item = entry.item
    return {
        "lot": str(item.lot), "layer": item.lot.layer.name.lower(),
        "source": {"table": item.source.table, "id": item.source.id, "version": item.source.version},
        "title": _title(entry, words), "tokens": entry.tokens, "score": round(item.score, 4), "in": not entry.reason,
        "reason": entry.reason, "shortened": entry.shortened, "words": item.text,
        "forgotten": item.text not in words, "withheld": words.get(item.text) == fates.CLOSED,
    }  # fmt: skip


def _title(entry: Entry, words: Mapping[str, str]) -> str:
    """What people call it, else how its words begin."""
    item = entry.item
    told = words.get(item.title, "") or ("" if item.is_json else _plain(words.get(item.text, "")))
    line = " ".join(told[: _TITLE * 4].split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def _plain(text: str) -> str:
    """The words of a call, a result or a tool's definition, else the text as it is."""
    if not text.startswith("{"):
        return text
    try:
        return _called(json.loads(text)) or text
    except ValueError:
        return text


def _called(value: Json) -> str:
    """The first words that an object of the model's protocol holds for a reader."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(_called, value)))
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    if value.get("type") == "tool_use":
        return f"{value.get('name')} {canonical(value.get('input', {}))}"
    return _called(value.get("content")) or str(value.get("name") or "")


def marks(segments: Sequence[Segment], marked: Sequence[int]) -> list[Json]:
    """After which blocks the prompt was marked for the cache, and how many tokens stand before each mark."""
    return [{"blocks": place, "tokens": _first(segments, place)} for place in marked]


def _first(segments: Sequence[Segment], blocks: int) -> int:
    """The tokens of the first so many blocks."""
    return sum([block.tokens for one in segments for block in one.blocks][:blocks])


def _before(segments: Sequence[Segment], segment: Segment) -> int:
    """The blocks that stand before a segment."""
    place = next(number for number, one in enumerate(segments) if one is segment)
    return sum(len(one.blocks) for one in segments[:place])


def _miss(miss: Miss | None, reported: Reported | None) -> JsonObject | None:
    if miss is None:
        return None
    cost = reported.miss.get("cost_usd") if reported and reported.miss else None
    return {"layer": miss.layer.name.lower(), "cause": miss.cause, "tokens": miss.tokens, "cost_usd": cost}


def _briefing(pinned: Pinned | None, at: datetime) -> JsonObject | None:
    if pinned is None:
        return None
    sources: list[Json] = [{"table": one.table, "id": one.id, "version": one.version} for one in pinned.sources]
    return {
        "rendered_at": pinned.at.isoformat(),
        "anew": pinned.at == at,
        "about": bool(pinned.about),
        "sources": sources,
    }


def _reported(reported: Reported | None) -> JsonObject | None:
    if reported is None:
        return None
    return {
        "input_tokens": reported.input_tokens, "cache_read_tokens": reported.cache_read_tokens,
        "cache_write_tokens": reported.cache_write_tokens, "output_tokens": reported.output_tokens,
        "cost_usd": reported.cost_usd,
    }  # fmt: skip
