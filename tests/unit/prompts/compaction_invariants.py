"""What every prompt of every session keeps to in what leads its history: one function a promise."""

from parlour.prompts.assembly import compaction, history, required_segments
from parlour.prompts.assembly.assembler import AssembledPrompt
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT
from parlour.prompts.assembly.segment import Layer
from parlour.text.token_counter import TokenCounter
from tests.unit.prompts.simulated_session import SimulatedTurn

_MOST, _WAITING = 20, 30
"""Messages that a history grows to, and while its summary is awaited."""

_REQUIRED = (Layer.TOOLS, Layer.TIERS, Layer.BRIEFING, Layer.HEARTBEAT, Layer.REMINDER, Layer.MESSAGE)


def check_compacted_history_is_stable(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """Whatever summaries come meanwhile; only room that is lacking makes it shorter, and the ledger says of what."""
    before, now = played.standing.compacted_history, assembled.cache_state.compacted_history
    if now.since_turn != before.since_turn:
        return
    told, short = (
        compaction.compacted_items(before),
        [one.item for one in assembled.ledger.entries if one.reason == "over_budget"],
    )
    gone = [one for one in told if one not in compaction.compacted_items(now)]
    assert all(one in told for one in compaction.compacted_items(now)), "layer summary grew without a cut"
    assert now == before if not gone else all(one in short for one in gone), "layer summary changed without a cut"


def check_cut_awaits_summary(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """One that is made for the number of messages alone, while a summary is awaited, takes what a summary tells of."""
    before, now, materials = (
        played.standing.compacted_history,
        assembled.cache_state.compacted_history,
        played.materials,
    )
    all_of_it = [one for one in materials.past_turns if one.number >= before.since_turn]
    count = sum(one.message_count for one in all_of_it)
    if now.since_turn == before.since_turn or not materials.is_summary_pending or not _MOST < count <= _WAITING:
        return
    size = history.history_tokens(TokenCounter(played.standing.token_factors), all_of_it)
    cut = [one.number for one in all_of_it if one.number < now.since_turn]
    covers = materials.summary.covered_until_turn if materials.summary else -1
    has_room = size <= _promised(played, assembled)
    assert max(cut) <= covers or not has_room, "layer history was cut before its summary was there"


def _promised(played: SimulatedTurn, assembled: AssembledPrompt) -> int:
    """What history may take whatever others want: its floor, or where not all floors can be kept, as much of it as of
    theirs. What must be in is counted as it stands now, or as it stood before the cut where that is more."""
    meter, profile, standing = TokenCounter(played.standing.token_factors), played.profile, played.standing
    needs = {layer: assembled.tokens_by_layer.get(layer.name.lower(), 0) for layer in _REQUIRED}
    needs[Layer.BRIEFING] = max(
        needs[Layer.BRIEFING], standing.cached_briefing.segment.tokens if standing.cached_briefing else 0
    )
    needs[Layer.REMINDER] += required_segments.repeated_reminder_tokens(meter, played.materials)
    left = profile.total_tokens - sum(needs.values()) - compaction.compacted_tokens(meter, standing.compacted_history)
    floors = sum(max(0, profile.limits_of(layer).floor - needs.get(layer, 0)) for layer in Layer)
    floor = profile.limits_of(Layer.HISTORY).floor
    return min(floor, int(floor * left / floors))


def check_summary_and_recap_disjoint(_: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """And what is recapped or summarised is before what is told word for word."""
    led = assembled.cache_state.compacted_history
    covers = led.summary.covered_until_turn if led.summary and led.summary.text != WITHHELD_TEXT else -1
    assert not [one for one in led.recap_turns if one <= covers], "layer summary tells a turn twice"
    assert not [one for one in led.recap_turns if one >= led.since_turn], "layer summary tells what history tells"
    kept = led.summary.key_details if led.summary else ()
    assert not [one for one in kept if one.turn_number >= led.since_turn], "layer summary keeps what history tells"


def check_cut_turns_covered(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """Each has a line of the recap or is summarised, as long as the recap has room for all."""
    led, before = assembled.cache_state.compacted_history, played.standing.compacted_history
    lost = [one for one in assembled.ledger.entries if one.reason == "over_budget" and one.item.kind == "summary"]
    if (
        led.since_turn == before.since_turn
        or led.omitted_count
        or any(one.item.source.table == "summaries" for one in lost)
    ):
        return
    covers = led.summary.covered_until_turn if led.summary else -1
    cut = [one for one in played.materials.past_turns if before.since_turn <= one.number < led.since_turn]
    said = {
        one.number for one in cut if any(m.text.strip() for m in (*one.user_messages, *one.replies)) or one.attachments
    }
    assert {one for one in said if one > covers} <= set(led.recap_turns), "layer summary lacks a turn that was cut"


def check_compacted_size(played: SimulatedTurn, assembled: AssembledPrompt) -> None:
    """Summary, lines and recap keep within their shares, a pasted text aside."""
    led, meter = assembled.cache_state.compacted_history, TokenCounter(played.standing.token_factors)
    kept = "\n".join(one.text for one in led.summary.key_details) if led.summary else ""
    text = led.summary.text if led.summary else ""
    most = min(compaction.MAX_COMPACTED_TOKENS, played.profile.limits_of(Layer.SUMMARY).cap)
    beside = sum(map(meter.count, led.recap)) + sum(map(meter.count, kept.split("\n") if kept else []))
    assert meter.count(text) <= most - compaction.MAX_BESIDE_SUMMARY_TOKENS or played.profile.total_tokens < 5 * most, (
        "layer summary is long"
    )
    assert beside <= compaction.MAX_BESIDE_SUMMARY_TOKENS, "layer summary: too much beside the summary"


COMPACTION_INVARIANTS = (
    check_compacted_history_is_stable,
    check_cut_awaits_summary,
    check_summary_and_recap_disjoint,
    check_cut_turns_covered,
    check_compacted_size,
)
