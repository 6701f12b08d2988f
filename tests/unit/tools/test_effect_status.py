"""A call in doubt is made again only where that does nothing twice; else it is asked about, or left to a person."""

import itertools
from typing import Literal

import pytest

from parlour.tools.effect_status import DoubtCause, EffectStatus, NextAction, next_action

FRESH = EffectStatus(is_repeatable=False, writes=True, can_look_up=False, calls_left=2)

type Looked = Literal["absent", "unreachable"] | None


@pytest.mark.parametrize(
    ("repeatable", "can_look", "calls_left", "doubt", "looked", "expected"),
    [
        (False, False, 2, None, None, "call"),
        (False, False, 1, "crashed", None, "unknown"),
        (False, False, 1, "disconnected", None, "unknown"),
        (False, False, 1, "timed_out", None, "unknown"),
        (True, False, 1, "crashed", None, "call"),
        (True, False, 1, "timed_out", None, "call"),
        (True, False, 0, "disconnected", None, "unknown"),
        (True, True, 0, "disconnected", None, "look_up"),
        (False, True, 1, "crashed", None, "look_up"),
        (False, True, 1, "crashed", "absent", "call"),
        (False, True, 1, "disconnected", "absent", "call"),
        (False, True, 0, "disconnected", "absent", "fail"),
        (False, True, 1, "timed_out", "absent", "unknown"),
        (False, True, 1, "crashed", "unreachable", "unknown"),
        (True, True, 0, "disconnected", "unreachable", "unknown"),
    ],
)
def test_what_comes_next_for_a_write(
    repeatable: bool, can_look: bool, calls_left: int, doubt: DoubtCause | None, looked: Looked, expected: NextAction
) -> None:
    sofar = EffectStatus(repeatable, True, can_look, calls_left, doubt_cause=doubt, lookup_result=looked)
    assert next_action(sofar) == expected


def every_state() -> list[EffectStatus]:
    doubts: tuple[DoubtCause | None, ...] = (None, "crashed", "disconnected", "timed_out")
    looks: tuple[Looked, ...] = (None, "absent", "unreachable")
    flags = itertools.product((False, True), (False, True), (False, True), range(3), (False, True), doubts, looks)
    return [EffectStatus(*flag) for flag in flags]


def test_what_may_have_been_done_is_never_simply_done_again() -> None:
    for state in every_state():
        if next_action(state) == "call" and state.doubt_cause is not None:
            assert state.is_repeatable or (state.lookup_result == "absent" and state.doubt_cause != "timed_out"), state


def test_what_was_given_up_is_not_called_again() -> None:
    assert all(next_action(state) != "call" for state in every_state() if state.is_stopped)


def test_what_changes_nothing_is_never_in_doubt() -> None:
    assert all(next_action(state) != "unknown" for state in every_state() if not state.writes)


def test_a_write_that_was_called_is_said_to_have_failed_only_on_a_promise() -> None:
    for state in every_state():
        if state.writes and state.doubt_cause and next_action(state) == "fail":
            assert state.lookup_result == "absent", state
