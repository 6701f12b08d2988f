"""A prompt's tokens are accounted for by layer."""

from parlour.context.assemble import Assembled, begin
from parlour.context.budget import ENTITY
from parlour.context.segment import Lot
from parlour.context.standing import Standing
from tests.unit.context.making import MOMENT, SENTENCE, item, materials, past, searched


def assembled() -> Assembled:
    tail = [
        item(Lot.RECALL, "An older message.", 0.9),
        item(Lot.RECALL, "sealed", 0.8, level=3),
        item(Lot.FACTS, SENTENCE * 90),
    ]
    given = materials(3, briefing=[item(Lot.RECORD, "Task T-1")], about="task/T-1", past=[past(1), past(2)], tail=tail)
    return begin(given, Standing(), ENTITY, MOMENT).step(2, [searched("a crack")])


def test_layers_are_counted_in_their_order() -> None:
    layers = list(assembled().tokens_by_layer)
    assert layers == ["tools", "tiers", "briefing", "history", "recall", "heartbeat", "reminder", "message", "calls"]
