"""What every prompt of every session keeps to: one function a promise, each with an assertion that names what broke."""

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from parlour.context import history, lead, ledger, marks, reminder
from parlour.context.assemble import Assembled, Begun, begin
from parlour.context.ledger import Entry
from parlour.context.prompt_record import PromptInputs, PromptStepRecord, dump, read, rebuild
from parlour.context.render import Prompt, in_order
from parlour.context.segment import IMAGE_TOKENS, Item, Layer, Lot, foreign
from parlour.context.tokens import MESSAGE_OVERHEAD, Meter
from parlour.infra.jsonable import Json, JsonObject, canonical
from tests.unit.context import wording
from tests.unit.context.lead_promises import LEAD_PROMISES
from tests.unit.context.talk import Played, replied

_BRIEFED = 400
"""Tokens that Pulse and record are whole up to."""

_MOST, _WAITING, _KEPT = 20, 30, 10
"""Messages that a history grows to, and while its summary is awaited; and those that a cut leaves."""

_PAYS_FROM = 0.25 / 1.15
"""How likely a further step must be at least for a mark after the tail: writing costs a quarter more."""

_TAIL = {
    "<parlour:recalled>": Layer.RECALL, "<parlour:memory>": Layer.MEMORY, "<parlour:changes>": Layer.DELTAS,
    "<parlour:state>": Layer.STATE, "<parlour:tail>": Layer.HEARTBEAT, "<parlour:reminder>": Layer.REMINDER,
}  # fmt: skip
"""How the parts of a tail begin."""


def never_over_budget(played: Played, assembled: Assembled) -> None:
    """Counted anew, block by block."""
    meter = Meter(played.standing.factors)
    counted = 0
    for segment in assembled.ledger.segments:
        for block in segment.blocks:
            is_image = block.is_json and json.loads(block.pieces[0]).get("type") == "image"
            tokens = IMAGE_TOKENS if is_image else sum(map(meter.count, block.pieces))
            counted += tokens + (MESSAGE_OVERHEAD if block.role else 0)
    assert counted == sum(assembled.tokens_by_layer.values()), "the ledger counts otherwise"
    assert counted <= played.profile.total, f"{counted} tokens in a budget of {played.profile.total}"


def required_is_whole(played: Played, assembled: Assembled) -> None:
    """What may not be dropped stands in the prompt, every word of it."""
    prompt, materials = assembled.prompt, played.materials
    assert {str(one["name"]) for one in prompt.tools} == {_name(one) for one in materials.tools}, "layer tools"
    opening = texts(prompt.messages)
    for item in materials.tiers:
        assert item.text in texts(prompt.system), "layer tiers"
    for message in materials.words:
        assert foreign(message.text) in opening, "layer message"
    assert foreign(materials.heartbeat) in opening, "layer heartbeat"
    for line in reminder.opening(materials.turn, materials.reminders):
        assert line in opening, "layer reminder"
    for item in lead.items(assembled.standing.lead):
        assert foreign(item.text) in opening, "layer summary"
    if assembled.ledger.cause is not None:
        _record_is_whole(played, assembled)


def _record_is_whole(played: Played, assembled: Assembled) -> None:
    meter = Meter(played.standing.factors)
    for item in played.materials.briefing:
        if item.lot in {Lot.PULSE, Lot.RECORD} and meter.count(item.text) <= _BRIEFED:
            assert foreign(item.text) in texts(assembled.prompt.system), "layer briefing"


def only_named_causes_change_the_beginning(played: Played, assembled: Assembled) -> None:
    """What the last prompt began with, up to its tail, this one begins with, too; or a cause says why not."""
    if played.before is None:
        return
    named = assembled.ledger.cause or assembled.ledger.miss
    changed = _changed(_stable(played.before), flat(assembled.prompt))
    layer = None if changed is None else _layers(played.before)[changed].name.lower()
    assert changed is None or named, f"layer {layer} changed, and no cause says why"


def no_miss_is_unnamed(_: Played, assembled: Assembled) -> None:
    """A cache that was lost was lost for a reason that we know, and in a layer that may change for it."""
    miss = assembled.ledger.miss
    assert miss is None or miss.cause != "unnamed", f"layer {miss.layer.name.lower()} changed for no named cause"
    assert miss is None or miss.tokens > 0, "a miss costs something"


def a_turn_begins_the_same_in_all_steps(played: Played, assembled: Assembled) -> None:
    """Up to its calls, every prompt of a turn is the first one."""
    if played.first is None:
        return
    changed = _changed(flat(played.first.prompt), flat(assembled.prompt))
    layer = None if changed is None else _layers(played.first)[changed].name.lower()
    assert changed is None, f"layer {layer} changed within a turn"


def the_same_gives_the_same(played: Played, assembled: Assembled) -> None:
    """Assembled again from the same candidates, the first prompt of a turn is the same, byte for byte. Every other
    turn is checked: it doubles the work."""
    if played.step > 1 or played.number % 2 == 0:
        return
    again = begin(played.materials, played.standing, played.profile, played.moment).step(1, ())
    changed = _changed(flat(assembled.prompt), flat(again.prompt))
    layer = None if changed is None else _layers(assembled)[changed].name.lower()
    assert changed is None, f"layer {layer} is another when it is assembled again"
    assert assembled.prompt.hash == again.prompt.hash, "the marks are others when it is assembled again"
    assert assembled.ledger.entries == again.ledger.entries, "the ledger tells otherwise when it is assembled again"


def the_tail_is_no_part_of_history(played: Played, assembled: Assembled) -> None:
    """It holds for its turn alone, in the message that opened it; only the reminder may stand last once more."""
    blocks = [json.loads(block).get("text", "") for where, block in flat(assembled.prompt) if where == "user"]
    for tag, layer in _TAIL.items():
        most = 2 if layer is Layer.REMINDER and played.rounds else 1
        assert sum(text.startswith(tag) for text in blocks) <= most, f"layer {layer.name.lower()} is kept in history"
    assert all("<parlour:tail>" not in block for where, block in flat(assembled.prompt) if where == "system"), (
        "layer heartbeat is in the system prompt"
    )


def the_reminder_is_last(played: Played, assembled: Assembled) -> None:
    """Where models heed it most, also after tools have answered."""
    _where, block = flat(assembled.prompt)[-1]
    assert "<parlour:reminder>" in block or not played.rounds, "layer reminder is not last"


def it_can_be_built_again(played: Played, assembled: Assembled) -> None:
    """From what is recorded of it, byte for byte."""
    assert played.begun is not None
    inputs, texts = dump(PromptInputs(played.materials, played.standing, played.profile, played.begun))
    step, more = dump(PromptStepRecord.of(played.rounds, assembled))
    hashed, added = read(PromptInputs, inputs)[0], read(PromptStepRecord, step)[0]
    again = rebuild([*hashed.begun.segments, *added.segments], added.marked, texts | more)
    assert again.hash == assembled.prompt.hash, "another prompt was built"


def nothing_is_both_in_and_out(_: Played, assembled: Assembled) -> None:
    """A candidate has one fate."""
    inside = {_key(one) for one in assembled.ledger.entries if one.reason is None}
    outside = {_key(one) for one in assembled.ledger.entries if one.reason is not None}
    assert not inside & outside, f"both in and out: {sorted(inside & outside)[:3]}"


def every_candidate_is_accounted_for_once(played: Played, assembled: Assembled) -> None:
    """The ledger holds what was given, neither more nor less."""
    assert played.begun is not None
    found = Counter(_key(one) for one in assembled.ledger.entries)
    given = Counter(_given(played, played.begun, assembled))
    assert found == given, f"missing {sorted(given - found)[:3]}, too many {sorted(found - given)[:3]}"


def every_drop_has_a_reason(_: Played, assembled: Assembled) -> None:
    """And what is in stands in the prompt."""
    said = f"{texts(assembled.prompt.system)}{texts(assembled.prompt.messages)}"
    for one in assembled.ledger.entries:
        assert one.reason is None or one.reason in ledger.REASONS, f"no reason: {one.reason}"
        if one.reason is None and not one.item.is_json and one.item.lot not in {Lot.TOOLS, Lot.CALLS, Lot.HISTORY}:
            assert one.item.text.strip() in said, f"layer {one.item.lot.layer.name.lower()} lacks what is in"


def marks_are_few_and_pay(played: Played, assembled: Assembled) -> None:
    """At most four, none on a beginning that is too short to be cached, none after what nobody reads again."""
    marked, sent = assembled.ledger.marked, assembled.prompt
    assert canonical([list(sent.tools), list(sent.system), list(sent.messages)]).count('"cache_control":') == len(
        marked
    )
    assert len(marked) <= marks.MOST, f"{len(marked)} marks"
    sizes = [block.tokens for one in in_order(assembled.ledger.segments) for block in one.blocks]
    repeated = sum(len(one.blocks) for one in assembled.ledger.segments if one.placement == "last")
    ends = _layers(assembled)
    pace = played.standing.beginning(played.moment.at).pace
    goes_on = played.step > 1 or pace.step_follows(played.step) > _PAYS_FROM
    for place in marked:
        assert 0 < place <= len(sizes) - repeated, "a mark on nothing"
        assert goes_on or ends[place - 1] not in _TAIL.values(), f"layer {ends[place - 1].name.lower()} is marked"
        assert sum(sizes[:place]) >= marks.minimum(played.moment.model), "a mark below the model's minimum"


def roles_alternate(_: Played, assembled: Assembled) -> None:
    """The user speaks first, and nobody twice in a row; no message and no block is empty."""
    roles = [str(one["role"]) for one in assembled.prompt.messages]
    assert roles[0] == "user", "the first message is not the user's"
    assert roles[-1] == "user", "the last message is not the user's"
    assert all(one != other for one, other in itertools.pairwise(roles)), "two messages of one role in a row"
    for _where, block in flat(assembled.prompt):
        assert json.loads(block).get("text") != "", "an empty block"


def nothing_is_above_the_clearance(played: Played, assembled: Assembled) -> None:
    """No block of the prompt has such words."""
    blocks = zip(_layers(assembled), flat(assembled.prompt), strict=True)
    secret = [wording.sealed(level) for level in range(played.moment.clearance + 1, 4)]
    for layer, (_where, block) in blocks:
        assert not any(one in block for one in secret), f"layer {layer.name.lower()} tells what nobody may see"


def what_was_closed_is_not_told(played: Played, assembled: Assembled) -> None:
    """Neither word for word nor in the recap. What is recalled was searched, as its reader may see it."""
    kept = [one for one in assembled.ledger.segments if one.layer in {Layer.SUMMARY, Layer.HISTORY}]
    for segment in kept:
        told = "\n".join(piece for block in segment.blocks for piece in block.pieces)
        for number in played.closed:
            assert f"{replied(number)} " not in told, f"layer {segment.layer.name.lower()} tells what was closed"


def history_is_cut_to_ten(played: Played, assembled: Assembled) -> None:
    """A cut leaves at most ten messages, or the newest turn alone; the newest wherever it fits what is promised."""
    assert played.begun is not None
    led = played.begun.standing.lead
    if led.since == played.standing.lead.since:
        return
    kept = [one for one in played.materials.past if one.number >= led.since]
    said = sum(turn.messages for turn in kept)
    assert said <= _KEPT or len(kept) == 1, f"layer history: {said} messages after a cut"
    newest = history.size(Meter(played.standing.factors), played.materials.past[-1:])
    assert kept or newest > _promised(played, assembled), "layer history: the newest turn was cut"


def history_grows_to_twenty(played: Played, assembled: Assembled) -> None:
    """It is cut when it is long or when it has no room beside what led it until then, not before."""
    assert played.begun is not None
    cut_off = [one for one in played.materials.past if one.number < played.begun.standing.lead.since]
    all_of_it = [one for one in played.materials.past if one.number >= played.standing.lead.since]
    if not cut_off:
        most = _WAITING if played.materials.awaited else _MOST
        assert sum(one.messages for one in all_of_it) <= most or len(all_of_it) == 1
        return
    size = history.size(Meter(played.standing.factors), all_of_it)
    is_long = sum(turn.messages for turn in all_of_it) > _MOST
    led = lead.size(Meter(played.standing.factors), played.standing.lead)
    assert is_long or size > _promised(played, assembled, led), "layer history: cut although there was room"


PROMISES = (
    nothing_is_above_the_clearance, what_was_closed_is_not_told, never_over_budget, required_is_whole,
    only_named_causes_change_the_beginning,
    no_miss_is_unnamed, a_turn_begins_the_same_in_all_steps, the_same_gives_the_same,
    the_tail_is_no_part_of_history, the_reminder_is_last, it_can_be_built_again, nothing_is_both_in_and_out,
    every_candidate_is_accounted_for_once,
    every_drop_has_a_reason, marks_are_few_and_pay, roles_alternate, history_is_cut_to_ten, history_grows_to_twenty,
    *LEAD_PROMISES,
)  # fmt: skip


def texts(blocks: Sequence[JsonObject]) -> str:
    """All text of content blocks or messages, one after another."""
    found: list[str] = []
    for one in blocks:
        content = one.get("content")
        inner = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else [one]
        found += [str(part.get("text", "")) for part in inner]
    return "\n".join(found)


def flat(prompt: Prompt) -> list[tuple[str, str]]:
    """The prompt's blocks in the order of their bytes, with where they stand; without marks."""
    said = [(str(one["role"]), part) for one in prompt.messages for part in _parts(one["content"])]
    placed = [*(("tools", one) for one in prompt.tools), *(("system", one) for one in prompt.system), *said]
    return [(where, canonical({key: one[key] for key in one if key != "cache_control"})) for where, one in placed]


def _parts(content: Json) -> list[JsonObject]:
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


def _stable(before: Assembled) -> list[tuple[str, str]]:
    """The blocks of the last prompt that the next begins with: those before its tail. The instructions that float
    before the user's words go with the tail."""
    found = flat(before.prompt)
    floats = any(one.item.lot is Lot.FLOATING for one in before.ledger.entries)
    ends = ("<parlour:instructions>",) if floats else tuple(_TAIL)
    tail = [where == "user" and str(json.loads(block).get("text", "")).startswith(ends) for where, block in found]
    return found[: tail.index(True) if True in tail else len(found)]


def _changed(before: list[tuple[str, str]], now: list[tuple[str, str]]) -> int | None:
    """The place of the first block that is not what it was; None when all are."""
    pairs = itertools.zip_longest(before, now[: len(before)])
    return next((place for place, (old, new) in enumerate(pairs) if old != new), None)


def _layers(assembled: Assembled) -> list[Layer]:
    return [one.layer for one in in_order(assembled.ledger.segments) for _ in one.blocks]


def _key(entry: Entry) -> tuple[str, str, str, int]:
    return _item_key(entry.item)


def _name(tool: str) -> str:
    return str(json.loads(tool)["name"])


def _item_key(item: Item) -> tuple[str, str, str, int]:
    return str(item.lot), item.source.table, item.source.id, item.source.version


def _given(played: Played, begun: Begun, assembled: Assembled) -> list[tuple[str, str, str, int]]:
    """The keys of everything that went in."""
    materials, led = played.materials, begun.standing.lead
    pinned = begun.standing.pinned
    is_anew = pinned is not None and pinned.at == played.moment.at
    briefing = materials.briefing if is_anew else [one.item for one in pinned.held] if pinned else []
    items = [*materials.tiers, *materials.tail, *materials.attachments, *briefing]
    past = [one for one in materials.past if one.number >= played.standing.lead.since]
    said = [one for turn in past for one in (*turn.asked, *turn.replied)]
    pasted = {one for one in (played.standing.lead.pasted, led.pasted, _lost(played, assembled)) if one}
    return [
        *(_item_key(one) for one in items),
        *(("history", one.source.table, one.source.id, one.source.version) for one in said),
        *(("history", one.source.table, one.source.id, one.source.version) for turn in past for one in turn.attached),
        *(("history", "turns", turn.id, place) for turn in past for place in range(len(turn.called))),
        *(("words", one.source.table, one.source.id, 0) for one in materials.words if one.text.strip()),
        *(("tools", "tools", _name(one), 0) for one in materials.tools),
        *([("floating", "agents", "", 0)] if materials.floating else []),
        ("heartbeat", "turns", str(materials.turn), 0),
        *(("reminder", "agents", "", 0) for _ in reminder.opening(materials.turn, materials.reminders)),
        *(_item_key(one) for one in lead.items(replace(led, pasted=None))),
        *(_item_key(one) for one in _left_out(played, assembled)),
        *(_item_key(one) for one in pasted),
        *(("calls", "tool_calls", call, 0) for one in played.rounds for call, _ in one.results),
    ]


def _left_out(played: Played, assembled: Assembled) -> list[Item]:
    """What of the newest summary a new lead had no room for, or one that stays has none for any more: each a line or a
    summary that there was."""
    out = [one.item for one in assembled.ledger.entries if one.item.lot is Lot.SUMMARY and one.reason]
    before, newest = played.standing.lead.summary, played.materials.summary
    known = [one for one in (before, newest) if one]
    texts_known = {foreign(one.text) for summary in known for one in summary.kept}
    for one in out:
        assert one.text in texts_known or one.source.table == "summaries", "a line that no summary has"
    return out


def _lost(played: Played, assembled: Assembled) -> Item | None:
    """A long text that was to stay when its turn was cut, and found no room."""
    told = {one.source for turn in played.materials.past for one in turn.asked}
    kept = [one for one in assembled.ledger.entries if one.item.lot is Lot.PASTED and one.reason == "over_budget"]
    return next((one.item for one in kept if one.item.source in told), None)


def _promised(played: Played, assembled: Assembled, led: int | None = None) -> int:
    """What the history has in any case: its floor, where every floor could be kept. `led`: tokens of what leads it,
    where that was not yet what the prompt has."""
    profile, taken = played.profile, assembled.tokens_by_layer
    fixed = ("tools", "tiers", "briefing", "heartbeat", "reminder", "message")
    required = sum(taken.get(name, 0) for name in fixed) + 200  # the reminder, said again
    required += taken.get("summary", 0) if led is None else led
    return profile.share(Layer.HISTORY).floor if required + profile.floors <= profile.total else 0
