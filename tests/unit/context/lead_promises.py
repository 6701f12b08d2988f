"""What every prompt of every session keeps to in what leads its history: one function a promise."""

from parlour.context import history, lead, opening
from parlour.context.assemble import Assembled
from parlour.context.past import WITHDRAWN
from parlour.context.segment import Layer
from parlour.context.tokens import Meter
from tests.unit.context.talk import Played

_MOST, _WAITING = 20, 30
"""Messages that a history grows to, and while its summary is awaited."""

_REQUIRED = (Layer.TOOLS, Layer.TIERS, Layer.BRIEFING, Layer.HEARTBEAT, Layer.REMINDER, Layer.MESSAGE)


def a_lead_stays_until_the_next_cut(played: Played, assembled: Assembled) -> None:
    """Whatever summaries come meanwhile; only room that is lacking makes it shorter, and the ledger says of what."""
    before, now = played.standing.lead, assembled.standing.lead
    if now.since != before.since:
        return
    told, short = lead.items(before), [one.item for one in assembled.ledger.entries if one.reason == "over_budget"]
    gone = [one for one in told if one not in lead.items(now)]
    assert all(one in told for one in lead.items(now)), "layer summary grew without a cut"
    assert now == before if not gone else all(one in short for one in gone), "layer summary changed without a cut"


def a_cut_waits_for_its_summary(played: Played, assembled: Assembled) -> None:
    """One that is made for the number of messages alone, while a summary is awaited, takes what a summary tells of."""
    before, now, materials = played.standing.lead, assembled.standing.lead, played.materials
    all_of_it = [one for one in materials.past if one.number >= before.since]
    count = sum(one.messages for one in all_of_it)
    if now.since == before.since or not materials.awaited or not _MOST < count <= _WAITING:
        return
    size = history.size(Meter(played.standing.factors), all_of_it)
    cut = [one.number for one in all_of_it if one.number < now.since]
    covers = materials.summary.covers if materials.summary else -1
    has_room = size <= _promised(played, assembled)
    assert max(cut) <= covers or not has_room, "layer history was cut before its summary was there"


def _promised(played: Played, assembled: Assembled) -> int:
    """What history may take whatever others want: its floor, or where not all floors can be kept, as much of it as of
    theirs. What must be in is counted as it stands now, or as it stood before the cut where that is more."""
    meter, profile, standing = Meter(played.standing.factors), played.profile, played.standing
    needs = {layer: assembled.tokens_by_layer.get(layer.name.lower(), 0) for layer in _REQUIRED}
    needs[Layer.BRIEFING] = max(needs[Layer.BRIEFING], standing.pinned.segment.tokens if standing.pinned else 0)
    needs[Layer.REMINDER] += opening.repeated(meter, played.materials)
    left = profile.total - sum(needs.values()) - lead.size(meter, standing.lead)
    floors = sum(max(0, profile.share(layer).floor - needs.get(layer, 0)) for layer in Layer)
    floor = profile.share(Layer.HISTORY).floor
    return min(floor, int(floor * left / floors))


def what_is_summarised_is_not_recapped(_: Played, assembled: Assembled) -> None:
    """And what is recapped or summarised is before what is told word for word."""
    led = assembled.standing.lead
    covers = led.summary.covers if led.summary and led.summary.text != WITHDRAWN else -1
    assert not [one for one in led.turns if one <= covers], "layer summary tells a turn twice"
    assert not [one for one in led.turns if one >= led.since], "layer summary tells what history tells"
    kept = led.summary.kept if led.summary else ()
    assert not [one for one in kept if one.turn >= led.since], "layer summary keeps what history tells"


def every_cut_turn_is_stood_for(played: Played, assembled: Assembled) -> None:
    """Each has a line of the recap or is summarised, as long as the recap has room for all."""
    led, before = assembled.standing.lead, played.standing.lead
    lost = [one for one in assembled.ledger.entries if one.reason == "over_budget" and one.item.lot == "summary"]
    if led.since == before.since or led.forgone or any(one.item.source.table == "summaries" for one in lost):
        return
    covers = led.summary.covers if led.summary else -1
    cut = [one for one in played.materials.past if before.since <= one.number < led.since]
    said = {one.number for one in cut if any(m.text.strip() for m in (*one.asked, *one.replied)) or one.attached}
    assert {one for one in said if one > covers} <= set(led.turns), "layer summary lacks a turn that was cut"


def a_lead_is_short(played: Played, assembled: Assembled) -> None:
    """Summary, lines and recap keep within their shares, a pasted text aside."""
    led, meter = assembled.standing.lead, Meter(played.standing.factors)
    kept = "\n".join(one.text for one in led.summary.kept) if led.summary else ""
    text = led.summary.text if led.summary else ""
    most = min(lead.LEAD_TOKENS, played.profile.share(Layer.SUMMARY).cap)
    beside = sum(map(meter.count, led.recap)) + sum(map(meter.count, kept.split("\n") if kept else []))
    assert meter.count(text) <= most - lead.BESIDE_TOKENS or played.profile.total < 5 * most, "layer summary is long"
    assert beside <= lead.BESIDE_TOKENS, "layer summary: too much beside the summary"


LEAD_PROMISES = (
    a_lead_stays_until_the_next_cut, a_cut_waits_for_its_summary, what_is_summarised_is_not_recapped,
    every_cut_turn_is_stood_for, a_lead_is_short,
)  # fmt: skip
