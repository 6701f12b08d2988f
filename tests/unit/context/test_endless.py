"""A session that never ends costs a turn what it cost at its hundredth message."""

import random
from dataclasses import replace

import pytest

from parlour.context import lead
from parlour.context.assemble import Assembled, begin
from parlour.context.budget import MESSAGING
from parlour.context.past import PastTurn
from parlour.context.segment import Layer, Lot, Source
from parlour.context.standing import Standing
from parlour.infra.jsonable import canonical, to_json
from tests.unit.context import wording
from tests.unit.context.making import MOMENT, item, materials, message
from tests.unit.context.summing import Summariser

_MOST = 1.2
"""How much more a prompt may be at message 10,000 than at message 100."""

_FROM, _UNTIL = 40, 100
"""The turns around message 100 that are measured, and as many at the end: a few cuts each, since a summary may be short
or long."""


@pytest.mark.parametrize(("way", "turns"), [("prompt", 5_000), ("never", 1_000), ("wordless", 1_000)])
def test_ten_thousand_messages_cost_what_a_hundred_do(way: str, turns: int) -> None:
    """Whether a model writes summaries, none does, or nothing but what must survive is kept: for these two thousand."""
    summed, standing, past = Summariser(way), Standing(), list[PastTurn]()
    early: list[dict[str, int]] = []
    late: list[dict[str, int]] = []
    for number in range(1, turns + 1):
        is_measured = _FROM < number <= _UNTIL or number > turns - (_UNTIL - _FROM)
        asked = wording.prose(random.Random(number % 50), 14)
        given = materials(
            number, past=tuple(past), summary=summed.newest, awaited=summed.awaited,
            words=[message(f"u{number}", asked)],
            tail=[item(Lot.RECALL, f"recalled {n} {asked}") for n in range(3)] if is_measured else (),
        )  # fmt: skip
        begun = begin(given, standing, MESSAGING, MOMENT)
        if is_measured:
            assembled = begun.step(1, ())
            (early if number <= _UNTIL else late).append(_sizes(assembled, begun.standing))
            standing = assembled.standing.after_turn(1)
        else:
            standing = begun.standing
        reply = message(f"a{number}", wording.prose(random.Random(number % 37), 25))
        past.append(PastTurn(number, f"turn-{number}", tuple(given.words), (), (reply,)))
        past = [one for one in past if one.number >= standing.lead.since]
        summed.after_turn(past, number, random.Random(number % 11))
    for what in early[0]:
        assert max(one[what] for one in late) <= _MOST * max(one[what] for one in early), what


def _sizes(assembled: Assembled, standing: Standing) -> dict[str, int]:
    """What grows if anything does: the prompt, what leads its history, its history, and what is kept for the next."""
    tokens = assembled.tokens_by_layer
    return {
        "prompt": sum(tokens.values()), "lead": tokens.get(Layer.SUMMARY.name.lower(), 0), "history": tokens["history"],
        "standing": len(canonical(to_json(replace(standing, pinned=None)))),
        "entries": len(assembled.ledger.entries),
    }  # fmt: skip


def test_what_must_survive_is_bounded_however_much_there_is() -> None:
    kept = tuple(lead.Kept(f"- user: the code is A-{n}", n, Source("messages", str(n))) for n in range(5_000))
    past = [PastTurn(n, f"t{n}", (message(f"u{n}", "x"),), (), (message(f"a{n}", "y"),)) for n in range(5_001, 5_012)]
    given = materials(5_012, past=past, summary=lead.Summary(700, 5_000, "So far.", kept[:40]))
    led = begin(given, Standing(lead=lead.Lead(5_001)), MESSAGING, MOMENT).standing.lead
    assert led.summary
    assert 10 <= len(led.summary.kept) <= 40
