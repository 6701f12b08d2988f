"""What every prompt of every session keeps to: one function a promise, each with an assertion that names what broke."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.prompts.assembly import breakpoints, compaction, history, ledger_entries, reminder
from parlour.prompts.assembly.assembler import AssembledPrompt, PreparedTurn, prepare_turn
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.rendering import Prompt, sort_segments
from parlour.prompts.assembly.segment import IMAGE_TOKENS, Item, Layer, SourceKind, escape_untrusted
from parlour.prompts.ledger.prompt_record import (
    PromptInputs,
    PromptStepRecord,
    deserialize_part,
    rebuild_prompt,
    serialize_part,
)
from parlour.text.token_counter import MESSAGE_OVERHEAD_TOKENS, TokenCounter
from tests.unit.prompts import generated_texts
from tests.unit.prompts.compaction_invariants import COMPACTION_INVARIANTS
from tests.unit.prompts.simulated_session import SimulatedTurn, replied

_BRIEFED = 400
"""Tokens that Pulse and record are whole up to."""

_MOST, _WAITING, _KEPT = 20, 30, 10
"""Messages that a history grows to, and while its summary is awaited; and those that a cut leaves."""


_TAIL = {
    "<parlour:recalled>": Layer.RECALL,
    "<parlour:memory>": Layer.MEMORY,
    "<parlour:changes>": Layer.DELTAS,
    "<parlour:state>": Layer.STATE,
    "<parlour:tail>": Layer.HEARTBEAT,
    "<parlour:reminder>": Layer.REMINDER,
}
"""How the parts of a tail begin."""


def check_budget(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """Counted anew, block by block."""
    meter = TokenCounter(played.standing.token_factors)
    counted = 0
    for segment in assembled.ledger.segments:
        for block in segment.blocks:
            is_image = block.is_json and json.loads(block.pieces[0]).get("type") == "image"
            tokens = IMAGE_TOKENS if is_image else sum(map(meter.count, block.pieces))
            counted += tokens + (MESSAGE_OVERHEAD_TOKENS if block.role else 0)
    assert counted == sum(assembled.tokens_by_layer.values()), "the ledger counts otherwise"
    assert counted <= played.profile.total_tokens, f"{counted} tokens in a budget of {played.profile.total_tokens}"


def check_required_layers(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """What may not be dropped stands in the prompt, every word of it."""
    prompt, materials = assembled.prompt, played.materials
    assert {str(one["name"]) for one in prompt.tools} == {_name(one) for one in materials.tools}, "layer tools"
    opening = block_texts(prompt.messages)
    for item in materials.tiers:
        assert item.text in block_texts(prompt.system), "layer tiers"
    for message in materials.user_messages:
        assert escape_untrusted(message.text) in opening, "layer message"
    assert escape_untrusted(materials.turn_metadata) in opening, "layer heartbeat"
    for line in reminder.opening_reminders(materials.turn_number, materials.reminders):
        assert line in opening, "layer reminder"
    for item in compaction.compacted_items(assembled.cache_state.compacted_history):
        assert escape_untrusted(item.text) in opening, "layer summary"
    if assembled.ledger.refresh_cause is not None:
        _record_is_whole(played, assembled)


def _record_is_whole(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    meter = TokenCounter(played.standing.token_factors)
    for item in played.materials.briefing_candidates:
        if item.kind in {SourceKind.PULSE, SourceKind.RECORD} and meter.count(item.text) <= _BRIEFED:
            assert escape_untrusted(item.text) in block_texts(assembled.prompt.system), "layer briefing"


def check_prefix_changes_have_cause(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """What the last prompt began with, up to its tail, this one begins with, too; or a cause says why not."""
    if played.before is None:
        return
    named = assembled.ledger.refresh_cause or assembled.ledger.cache_miss
    changed = _changed(_stable(played.before), flatten_prompt(assembled.prompt))
    layer = None if changed is None else _layers(played.before)[changed].name.lower()
    assert changed is None or named, f"layer {layer} changed, and no cause says why"


def check_cache_misses_have_cause(_: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """A cache that was lost was lost for a reason that we know, and in a layer that may change for it."""
    miss = assembled.ledger.cache_miss
    assert miss is None or miss.cause != "unnamed", f"layer {miss.layer.name.lower()} changed for no named cause"
    assert miss is None or miss.tokens > 0, "a miss costs something"


def check_steps_share_prefix(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """Up to its calls, every prompt of a turn is the first one."""
    if played.first is None:
        return
    changed = _changed(flatten_prompt(played.first.prompt), flatten_prompt(assembled.prompt))
    layer = None if changed is None else _layers(played.first)[changed].name.lower()
    assert changed is None, f"layer {layer} changed within a turn"


def check_determinism(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """Assembled again from the same candidates, the first prompt of a turn is the same, byte for byte. Every other
    turn is checked: it doubles the work."""
    if played.step > 1 or played.number % 2 == 0:
        return
    again = prepare_turn(played.materials, played.standing, played.profile, played.moment).assemble_step(1, ())
    changed = _changed(flatten_prompt(assembled.prompt), flatten_prompt(again.prompt))
    layer = None if changed is None else _layers(assembled)[changed].name.lower()
    assert changed is None, f"layer {layer} is another when it is assembled again"
    assert assembled.prompt.hash == again.prompt.hash, "the marks are others when it is assembled again"
    assert assembled.ledger.entries == again.ledger.entries, "the ledger tells otherwise when it is assembled again"


def check_tail_not_in_history(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """It holds for its turn alone, in the message that opened it; only the reminder may stand last once more."""
    blocks = [json.loads(block).get("text", "") for where, block in flatten_prompt(assembled.prompt) if where == "user"]
    for tag, layer in _TAIL.items():
        most = 2 if layer is Layer.REMINDER and played.rounds else 1
        assert sum(text.startswith(tag) for text in blocks) <= most, f"layer {layer.name.lower()} is kept in history"
    assert all(
        "<parlour:tail>" not in block for where, block in flatten_prompt(assembled.prompt) if where == "system"
    ), "layer heartbeat is in the system prompt"


def check_reminder_is_last(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """Where models heed it most, also after tools have answered."""
    _where, block = flatten_prompt(assembled.prompt)[-1]
    assert "<parlour:reminder>" in block or not played.rounds, "layer reminder is not last"


def check_rebuild(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """From what is recorded of it, byte for byte."""
    assert played.begun is not None
    inputs, texts = serialize_part(PromptInputs(played.materials, played.standing, played.profile, played.begun))
    step, more = serialize_part(PromptStepRecord.from_assembled(played.rounds, assembled))
    hashed, added = deserialize_part(PromptInputs, inputs)[0], deserialize_part(PromptStepRecord, step)[0]
    again = rebuild_prompt([*hashed.prepared_turn.segments, *added.segments], added.breakpoints, texts | more)
    assert again.hash == assembled.prompt.hash, "another prompt was built"


def check_entries_are_exclusive(_: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """A candidate has one fate."""
    inside = {_key(one) for one in assembled.ledger.entries if one.reason is None}
    outside = {_key(one) for one in assembled.ledger.entries if one.reason is not None}
    assert not inside & outside, f"both in and out: {sorted(inside & outside)[:3]}"


def check_candidates_recorded_once(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """The ledger holds what was given, neither more nor less."""
    assert played.begun is not None
    found = Counter(_key(one) for one in assembled.ledger.entries)
    given = Counter(_given(played, played.begun, assembled))
    assert found == given, f"missing {sorted(given - found)[:3]}, too many {sorted(found - given)[:3]}"


def check_omissions_have_reason(_: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """And what is in stands in the prompt."""
    said = f"{block_texts(assembled.prompt.system)}{block_texts(assembled.prompt.messages)}"
    for one in assembled.ledger.entries:
        assert one.reason is None or one.reason in ledger_entries.OMISSION_REASONS, f"no reason: {one.reason}"
        if (
            one.reason is None
            and not one.item.is_json
            and one.item.kind not in {SourceKind.TOOLS, SourceKind.CALLS, SourceKind.HISTORY}
        ):
            assert one.item.text.strip() in said, f"layer {one.item.kind.layer.name.lower()} lacks what is in"


def check_breakpoints(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """At most four, none on a beginning that is too short to be cached, none after what nobody reads again."""
    marked, sent = assembled.ledger.breakpoints, assembled.prompt
    assert canonical_json([list(sent.tools), list(sent.system), list(sent.messages)]).count('"cache_control":') == len(
        marked
    )
    assert len(marked) <= breakpoints.MAX_BREAKPOINTS, f"{len(marked)} marks"
    sizes = [block.tokens for one in sort_segments(assembled.ledger.segments) for block in one.blocks]
    repeated = sum(len(one.blocks) for one in assembled.ledger.segments if one.placement == "last")
    ends = _layers(assembled)
    goes_on = played.step > 1 or breakpoints.is_step_expected(played.standing.steps_per_turn, played.step)
    for place in marked:
        assert 0 < place <= len(sizes) - repeated, "a mark on nothing"
        assert goes_on or ends[place - 1] not in _TAIL.values(), f"layer {ends[place - 1].name.lower()} is marked"
        assert sum(sizes[:place]) >= breakpoints.min_cached_tokens(played.moment.model), (
            "a mark below the model's minimum"
        )


def check_roles_alternate(_: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """The user speaks first, and nobody twice in a row; no message and no block is empty."""
    roles = [str(one["role"]) for one in assembled.prompt.messages]
    assert roles[0] == "user", "the first message is not the user's"
    assert roles[-1] == "user", "the last message is not the user's"
    assert all(one != other for one, other in itertools.pairwise(roles)), "two messages of one role in a row"
    for _where, block in flatten_prompt(assembled.prompt):
        assert json.loads(block).get("text") != "", "an empty block"


def check_clearance(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """No block of the prompt has such words."""
    blocks = zip(_layers(assembled), flatten_prompt(assembled.prompt), strict=True)
    secret = [generated_texts.classified_text(level) for level in range(played.moment.clearance + 1, 4)]
    for layer, (_where, block) in blocks:
        assert not any(one in block for one in secret), f"layer {layer.name.lower()} tells what nobody may see"


def check_restricted_text_withheld(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """Neither word for word nor in the recap. What is recalled was searched, as its reader may see it."""
    kept = [one for one in assembled.ledger.segments if one.layer in {Layer.SUMMARY, Layer.HISTORY}]
    for segment in kept:
        told = "\n".join(piece for block in segment.blocks for piece in block.pieces)
        for number in played.closed:
            assert f"{replied(number)} " not in told, f"layer {segment.layer.name.lower()} tells what was closed"


def check_history_after_cut(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """A cut leaves at most ten messages, or the newest turn alone; the newest wherever it fits what is promised."""
    assert played.begun is not None
    led = played.begun.cache_state.compacted_history
    if led.since_turn == played.standing.compacted_history.since_turn:
        return
    kept = [one for one in played.materials.past_turns if one.number >= led.since_turn]
    said = sum(turn.message_count for turn in kept)
    assert said <= _KEPT or len(kept) == 1, f"layer history: {said} messages after a cut"
    newest = history.history_tokens(TokenCounter(played.standing.token_factors), played.materials.past_turns[-1:])
    assert kept or newest > _promised(played, assembled), "layer history: the newest turn was cut"


def check_history_limit(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """It is cut when it is long or when it has no room beside what led it until then, not before."""
    assert played.begun is not None
    cut_off = [
        one for one in played.materials.past_turns if one.number < played.begun.cache_state.compacted_history.since_turn
    ]
    all_of_it = [
        one for one in played.materials.past_turns if one.number >= played.standing.compacted_history.since_turn
    ]
    if not cut_off:
        most = _WAITING if played.materials.is_summary_pending else _MOST
        assert sum(one.message_count for one in all_of_it) <= most or len(all_of_it) == 1
        return
    size = history.history_tokens(TokenCounter(played.standing.token_factors), all_of_it)
    is_long = sum(turn.message_count for turn in all_of_it) > _MOST
    led = compaction.compacted_tokens(TokenCounter(played.standing.token_factors), played.standing.compacted_history)
    assert is_long or size > _promised(played, assembled, led), "layer history: cut although there was room"


INVARIANTS = (
    check_clearance,
    check_restricted_text_withheld,
    check_budget,
    check_required_layers,
    check_prefix_changes_have_cause,
    check_cache_misses_have_cause,
    check_steps_share_prefix,
    check_determinism,
    check_tail_not_in_history,
    check_reminder_is_last,
    check_rebuild,
    check_entries_are_exclusive,
    check_candidates_recorded_once,
    check_omissions_have_reason,
    check_breakpoints,
    check_roles_alternate,
    check_history_after_cut,
    check_history_limit,
    *COMPACTION_INVARIANTS,
)


def block_texts(blocks: Sequence[JsonObject]) -> str:
    """All text of content blocks or messages, one after another."""
    found: list[str] = []
    for one in blocks:
        content = one.get("content")
        inner = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else [one]
        found += [str(part.get("text", "")) for part in inner]
    return "\n".join(found)


def flatten_prompt(prompt: Prompt) -> list[tuple[str, str]]:
    """The prompt's blocks in the order of their bytes, with where they stand; without marks."""
    said = [(str(one["role"]), part) for one in prompt.messages for part in _parts(one["content"])]
    placed = [*(("tools", one) for one in prompt.tools), *(("system", one) for one in prompt.system), *said]
    return [(where, canonical_json({key: one[key] for key in one if key != "cache_control"})) for where, one in placed]


def _parts(content: Json) -> list[JsonObject]:
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _stable(before: AssembledPrompt) -> list[tuple[str, str]]:
    """The blocks of the last prompt that the next begins with: those before its tail. The instructions that float
    before the user's words go with the tail."""
    found = flatten_prompt(before.prompt)
    floats = any(one.item.kind is SourceKind.FLOATING_INSTRUCTIONS for one in before.ledger.entries)
    ends = ("<parlour:instructions>",) if floats else tuple(_TAIL)
    tail = [where == "user" and str(json.loads(block).get("text", "")).startswith(ends) for where, block in found]
    return found[: tail.index(True) if True in tail else len(found)]


def _changed(before: list[tuple[str, str]], now: list[tuple[str, str]]) -> int | None:
    """The place of the first block that is not what it was; None when all are."""
    pairs = itertools.zip_longest(before, now[: len(before)])
    return next((place for place, (old, new) in enumerate(pairs) if old != new), None)


def _layers(assembled: AssembledPrompt) -> list[Layer]:
    return [one.layer for one in sort_segments(assembled.ledger.segments) for _ in one.blocks]


def _key(entry: LedgerEntry) -> tuple[str, str, str, int]:
    return _item_key(entry.item)


def _name(tool: str) -> str:
    return str(json.loads(tool)["name"])


def _item_key(item: Item) -> tuple[str, str, str, int]:
    return str(item.kind), item.source.table, item.source.id, item.source.version


def _given(played: SimulatedTurn, begun: PreparedTurn, assembled: AssembledPrompt) -> list[tuple[str, str, str, int]]:
    """The keys of everything that went in."""
    materials, led = played.materials, begun.cache_state.compacted_history
    pinned = begun.cache_state.cached_briefing
    is_anew = pinned is not None and pinned.rendered_at == played.moment.at
    briefing = materials.briefing_candidates if is_anew else [one.item for one in pinned.entries] if pinned else []
    items = [*materials.tiers, *materials.tail_candidates, *materials.attachments, *briefing]
    past = [one for one in materials.past_turns if one.number >= played.standing.compacted_history.since_turn]
    said = [one for turn in past for one in (*turn.user_messages, *turn.replies)]
    pasted = {
        one for one in (played.standing.compacted_history.pasted_text, led.pasted_text, _lost(played, assembled)) if one
    }
    return [
        *(_item_key(one) for one in items),
        *(("history", one.source.table, one.source.id, one.source.version) for one in said),
        *(
            ("history", one.source.table, one.source.id, one.source.version)
            for turn in past
            for one in turn.attachments
        ),
        *(("history", "turns", turn.id, place) for turn in past for place in range(len(turn.tool_messages))),
        *(("user_messages", one.source.table, one.source.id, 0) for one in materials.user_messages if one.text.strip()),
        *(("tools", "tools", _name(one), 0) for one in materials.tools),
        *([("floating_instructions", "agents", "", 0)] if materials.floating_instructions else []),
        ("heartbeat", "turns", str(materials.turn_number), 0),
        *(
            ("reminder", "agents", "", 0)
            for _ in reminder.opening_reminders(materials.turn_number, materials.reminders)
        ),
        *(_item_key(one) for one in compaction.compacted_items(replace(led, pasted_text=None))),
        *(_item_key(one) for one in _left_out(played, assembled)),
        *(_item_key(one) for one in pasted),
        *(("calls", "tool_calls", call, 0) for one in played.rounds for call, _ in one.results),
    ]


def _left_out(played: SimulatedTurn, assembled: AssembledPrompt) -> list[Item]:
    """What of the newest summary a new lead had no room for, or one that stays has none for any more: each a line or a
    summary that there was."""
    out = [one.item for one in assembled.ledger.entries if one.item.kind is SourceKind.SUMMARY and one.reason]
    before, newest = played.standing.compacted_history.summary, played.materials.summary
    known = [one for one in (before, newest) if one]
    texts_known = {escape_untrusted(one.text) for summary in known for one in summary.key_details}
    for one in out:
        assert one.text in texts_known or one.source.table == "summaries", "a line that no summary has"
    return out


def _lost(played: SimulatedTurn, assembled: AssembledPrompt) -> Item | None:
    """A long text that was to stay when its turn was cut, and found no room."""
    told = {one.source for turn in played.materials.past_turns for one in turn.user_messages}
    kept = [
        one
        for one in assembled.ledger.entries
        if one.item.kind is SourceKind.PASTED_TEXT and one.reason == "over_budget"
    ]
    return next((one.item for one in kept if one.item.source in told), None)


def _promised(played: SimulatedTurn, assembled: AssembledPrompt, led: int | None = None) -> int:
    """What the history has in any case: its floor, where every floor could be kept. `led`: tokens of what leads it,
    where that was not yet what the prompt has."""
    profile, taken = played.profile, assembled.tokens_by_layer
    fixed = ("tools", "tiers", "briefing", "heartbeat", "reminder", "message")
    required = sum(taken.get(name, 0) for name in fixed) + 200  # the reminder, said again
    required += taken.get("summary", 0) if led is None else led
    return profile.limits_of(Layer.HISTORY).floor if required + profile.floor_total <= profile.total_tokens else 0
