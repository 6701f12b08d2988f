"""An anchor says what fifty messages dealt with, and nothing that would have to be taken back."""

from parlour.memory.summaries.anchors import ANCHOR_INTERVAL, MAX_ANCHOR_TOKENS, build_anchor, is_due
from parlour.text.token_counter import count_tokens
from tests.unit.memory.summaries.turn_builders import make_turn

TALK = [
    make_turn(n, f"The anchor bolts of tower {n} cost Rs {n},500.", "The drawing of the bolts says so.")
    for n in range(1, 26)
]


def content(turns: list, **more: object) -> str:  # type: ignore[type-arg]
    made = build_anchor(turns, 2, 51, "Crane", "Asha", 1)
    assert made
    return made.content


def test_it_is_due_every_fifty_messages() -> None:
    assert not is_due(149, 100)
    assert is_due(150, 100)
    assert ANCHOR_INTERVAL == 50


def test_it_says_when_which_messages_and_what_about() -> None:
    first = content(TALK).splitlines()[0]
    assert first.startswith("[2026-03-02] messages 51 to 100: about ")
    assert "bolts" in first
    assert "anchor" in first


def test_it_keeps_figures_and_is_short_enough_to_be_embedded_whole() -> None:
    made = build_anchor(TALK, 2, 51, "Crane", "Asha", 1)
    assert made
    assert "Rs 10,500" in made.content
    assert count_tokens(made.content) <= MAX_ANCHOR_TOKENS + 30
    assert (made.kind, made.ordinal, made.classification) == ("summary_anchor", 2, 1)
    assert (made.metadata["from_turn"], made.metadata["to_turn"]) == (1, 25)


def test_what_was_drawn_from_something_is_not_in_it() -> None:
    drawn = [
        make_turn(n, "And the bolts?", f"The contract says Rs {n},900 a bolt.", has_reply_sources=True)
        for n in range(1, 26)
    ]
    assert "contract" not in content(drawn)
    assert "And the bolts?" in content(drawn)


def test_nothing_to_tell_is_no_anchor() -> None:
    assert (
        build_anchor([make_turn(1, "", "From the contract.", has_reply_sources=True)], 1, 1, "Crane", "Asha", 0) is None
    )
