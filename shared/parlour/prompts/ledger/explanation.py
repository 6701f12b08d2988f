"""A turn's prompts explained: where the tokens went, what was in and what was not and why, what the cache had of it.

Texts are named by their hash and read apart (`read_texts`): a chart of a prompt needs few of them.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly.briefing_cache import CachedBriefing
from parlour.prompts.assembly.budget import BudgetProfile
from parlour.prompts.assembly.cache_hits import CacheMiss
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.segment import Layer, Segment
from parlour.prompts.ledger import recorded_prompts, source_status
from parlour.prompts.ledger.recorded_prompts import RecordedPrompt, RecordedTurn
from parlour.prompts.ledger.store import ReportedUsage

_MAX_TITLE_CHARS = 90
"""Letters of its words that a candidate without a title is called by."""

MAX_TEXTS = 100


def explain_turn(principal: Principal, tx: Transaction, turn_id: UUID, step: int | None = None) -> JsonObject:
    """Explain the prompts of a turn, or of one of its steps, for a viewer of the tenant.

    {"turn": {"id", "session_id", "number", "previous_turn_id", "next_turn_id", "steps"}, "profile": {"name", "total",
    "config"}, "deleted_sources": [{"table", "id"}], "steps": [{"step", "restarted", "at", "model", "prompt_hash",
    "tokens", "layers", "segments", "candidates", "breakpoints", "refresh_causes", "briefing", "cached", "cache_miss",
    "usage"}]}

    `deleted_sources` were deleted since. `restarted`: the turn was restarted with this step, which shares nothing with
    the steps before. `briefing` says when it was rendered and from what. Tokens are the budget's; `usage` is what the
    model reported. NotFound as `read_recorded_turn`.
    """
    found = recorded_prompts.read_recorded_turn(principal, tx, turn_id)
    chosen = found.prompts if step is None else [found.prompt_of_step(step)]
    profile = found.prompts[-1].inputs.profile
    return {
        "turn": turn_json(found),
        "deleted_sources": deleted_sources_json(found),
        "profile": {"name": profile.name, "total": profile.total_tokens, "config": profile.config_cap},
        "steps": [_step_json(found, one) for one in chosen],
    }


def read_texts(principal: Principal, tx: Transaction, turn_id: UUID, hashes: Sequence[str]) -> dict[str, str | None]:
    """Return texts of the turn's prompts and candidates by hash; None for an erased one.

    A text that the reader may not see any more is `WITHHELD_PLACEHOLDER`. Texts of other prompts are left out.
    InvalidRequest for more than `MAX_TEXTS`.
    """
    if len(hashes) > MAX_TEXTS:
        raise InvalidRequest(f"hash: {len(hashes)} are too many at once; the limit is {MAX_TEXTS}")
    found = recorded_prompts.read_recorded_turn(principal, tx, turn_id)
    known = found.visible_hashes()
    return {one: found.visible_texts.get(one) for one in hashes if one in known}


def turn_json(recorded: RecordedTurn) -> JsonObject:
    """Which turn it is, and its neighbours in the session."""
    place = recorded.position
    return {
        "id": str(recorded.turn_id),
        "session_id": str(place.session_id),
        "number": place.number,
        "previous_turn_id": str(place.previous_turn_id) if place.previous_turn_id else None,
        "next_turn_id": str(place.next_turn_id) if place.next_turn_id else None,
        "steps": [one.step for one in recorded.prompts],
    }


def deleted_sources_json(recorded: RecordedTurn) -> list[Json]:
    """Return the sources of a turn's prompts that were deleted since."""
    return [{"table": one.table, "id": one.id} for one in recorded.deleted_sources]


def _step_json(recorded: RecordedTurn, asked: RecordedPrompt) -> JsonObject:
    return {
        "step": asked.step,
        "restarted": asked.is_restart,
        "at": asked.at.isoformat(),
        "model": asked.model,
        "prompt_hash": asked.prompt_hash,
        "tokens": asked.tokens,
        "layers": layers_json(asked.segments, asked.inputs.profile),
        "segments": [_segment_json(one, asked, recorded) for one in asked.segments if one.blocks],
        "candidates": [candidate_json(one, recorded.visible_texts) for one in asked.entries],
        "breakpoints": breakpoints_json(asked.segments, asked.step_record.breakpoints),
        "refresh_causes": list(asked.refresh_causes),
        "briefing": _briefing_json(
            asked.inputs.prepared_turn.cache_state.cached_briefing, asked.inputs.prepared_turn.context.at
        ),
        "cached": {
            "blocks": asked.cached_blocks,
            "tokens": _tokens_of_first_blocks(asked.segments, asked.cached_blocks),
        },
        "cache_miss": _cache_miss_json(asked.step_record.cache_miss, recorded.usage_by_step.get(asked.step)),
        "usage": _usage_json(recorded.usage_by_step.get(asked.step)),
    }


def layers_json(segments: Sequence[Segment], profile: BudgetProfile) -> list[Json]:
    """All thirteen layers: tokens, their share of the prompt's, and floor and cap where the profile gives them any."""
    tokens = {layer: sum(one.tokens for one in segments if one.layer is layer) for layer in Layer}
    total = sum(tokens.values()) or 1
    found: list[Json] = []
    for layer in Layer:
        limits = profile.limits_by_layer.get(layer)
        found.append(
            {
                "layer": layer.name.lower(),
                "number": int(layer),
                "tokens": tokens[layer],
                "share": round(tokens[layer] / total, 4),
                "floor": limits.floor if limits else None,
                "cap": limits.cap if limits else None,
            }
        )
    return found


def _segment_json(segment: Segment, asked: RecordedPrompt, recorded: RecordedTurn) -> JsonObject:
    place = next(number for number, one in enumerate(asked.segments) if one is segment)
    before = sum(len(one.blocks) for one in asked.segments[:place])
    return {
        "layer": segment.layer.name.lower(),
        "stability": segment.stability,
        "placement": segment.placement,
        "tokens": segment.tokens,
        "blocks": [
            {
                "number": number,
                "role": block.role,
                "tokens": block.tokens,
                "text_hashes": list(block.pieces),
                "is_json": block.is_json,
                "is_breakpoint": number in asked.step_record.breakpoints,
                "is_cached": number <= asked.cached_blocks,
                "is_erased": any(one not in recorded.visible_texts for one in block.pieces),
                "is_withheld": any(one in recorded.withheld_hashes for one in block.pieces),
            }
            for number, block in enumerate(segment.blocks, start=before + 1)
        ],
    }


def candidate_json(entry: LedgerEntry, words: Mapping[str, str]) -> JsonObject:
    """One candidate: what it is, where it comes from, what it takes or would have taken, and why it is out."""
    item = entry.item
    # The candidate's title, else the beginning of its text.
    told = words.get(item.title, "") or ("" if item.is_json else _readable_text(words.get(item.text, "")))
    line = " ".join(told[: _MAX_TITLE_CHARS * 4].split())
    return {
        "kind": str(item.kind),
        "layer": item.kind.layer.name.lower(),
        "source": {"table": item.source.table, "id": item.source.id, "version": item.source.version},
        "title": line if len(line) <= _MAX_TITLE_CHARS else line[: _MAX_TITLE_CHARS - 1] + "…",
        "tokens": entry.tokens,
        "score": round(item.score, 4),
        "is_included": not entry.reason,
        "reason": entry.reason,
        "is_shortened": entry.is_shortened,
        "text_hash": item.text,
        "is_erased": item.text not in words,
        "is_withheld": words.get(item.text) == source_status.WITHHELD_PLACEHOLDER,
    }


def _readable_text(text: str) -> str:
    """Return the words of a call, a result or a tool's definition, else the text as it is."""
    if not text.startswith("{"):
        return text
    try:
        return _first_text(json.loads(text)) or text
    except ValueError:
        return text


def _first_text(value: Json) -> str:
    """Return the first words for a reader in an object of the model's protocol."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(_first_text, value)))
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    if value.get("type") == "tool_use":
        return f"{value.get('name')} {canonical_json(value.get('input', {}))}"
    return _first_text(value.get("content")) or str(value.get("name") or "")


def breakpoints_json(segments: Sequence[Segment], marked: Sequence[int]) -> list[Json]:
    """After which blocks the prompt was marked for the cache, and how many tokens stand before each mark."""
    return [{"blocks": place, "tokens": _tokens_of_first_blocks(segments, place)} for place in marked]


def _tokens_of_first_blocks(segments: Sequence[Segment], blocks: int) -> int:
    """Return the tokens of the first so many blocks."""
    return sum([block.tokens for one in segments for block in one.blocks][:blocks])


def _cache_miss_json(miss: CacheMiss | None, reported: ReportedUsage | None) -> JsonObject | None:
    if miss is None:
        return None
    cost = reported.cache_miss.get("cost_usd") if reported and reported.cache_miss else None
    return {"layer": miss.layer.name.lower(), "cause": miss.cause, "tokens": miss.tokens, "cost_usd": cost}


def _briefing_json(cached_briefing: CachedBriefing | None, at: datetime) -> JsonObject | None:
    if cached_briefing is None:
        return None
    sources: list[Json] = [
        {"table": one.table, "id": one.id, "version": one.version} for one in cached_briefing.sources
    ]
    return {
        "rendered_at": cached_briefing.rendered_at.isoformat(),
        "rendered_in_this_turn": cached_briefing.rendered_at == at,
        "has_record": bool(cached_briefing.record_handle),
        "sources": sources,
    }


def _usage_json(reported: ReportedUsage | None) -> JsonObject | None:
    if reported is None:
        return None
    return {
        "prompt_tokens": reported.input_tokens + reported.cache_read_tokens + reported.cache_write_tokens,
        "input_tokens": reported.input_tokens,
        "cache_read_tokens": reported.cache_read_tokens,
        "cache_write_tokens": reported.cache_write_tokens,
        "output_tokens": reported.output_tokens,
        "cost_usd": reported.cost_usd,
    }
