"""A prompt is recorded by the hashes of its pieces and built again byte for byte, or says what is gone."""

import pytest

from parlour.context import ledger
from parlour.context.assemble import Assembled, begin
from parlour.context.budget import ENTITY
from parlour.context.ledger import Forgotten, text_hash
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


def test_what_is_recorded_holds_no_words() -> None:
    kept = [ledger.recorded(segment) for segment in assembled().ledger.segments]
    pieces = [piece for one in kept for block in one.blocks for piece in block.pieces]
    assert pieces
    assert all(len(piece) == 64 for piece in pieces)


def test_a_prompt_is_built_again_byte_for_byte() -> None:
    made = assembled()
    kept = [ledger.recorded(segment) for segment in made.ledger.segments]
    assert ledger.rebuild(kept, made.ledger.marked, made.ledger.blobs()) == made.prompt


def test_what_was_forgotten_is_named() -> None:
    made = assembled()
    blobs = made.ledger.blobs()
    gone = text_hash("An older message.")
    del blobs[gone]
    with pytest.raises(Forgotten, match=gone[:12]) as refused:
        ledger.rebuild([ledger.recorded(one) for one in made.ledger.segments], made.ledger.marked, blobs)
    assert refused.value.hashes == (gone,)


def test_texts_that_are_out_are_kept_but_for_what_nobody_may_see() -> None:
    kept = assembled().ledger.blobs().values()
    assert SENTENCE * 90 in kept
    assert "sealed" not in kept


def test_layers_are_counted_in_their_order() -> None:
    layers = list(assembled().tokens_by_layer)
    assert layers == ["tools", "tiers", "briefing", "history", "recall", "heartbeat", "reminder", "message", "calls"]
