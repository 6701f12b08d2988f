"""What is recalled may come late: what is decided is the same."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from parlour.context.assemble import begin
from parlour.context.segment import Item, Lot
from tests.unit.context.talk import MOVES, PROFILES, Talk, Turn, play


@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_is_decided_whether_it_was_there_before_or_is_awaited(profile: str) -> None:
    draw = random.Random(profile)
    turns = tuple(Turn(draw.choice(MOVES[:26]), draw.randrange(10**6)) for _ in range(30))
    compared = 0
    for played in play(Talk(turns, profile)):
        if played.begun is None or played.step > 1:
            continue
        others, recalled = _apart(played.materials.tail, played.moment.clearance)
        asked: list[int] = []

        def found(recalled: Sequence[Item] = recalled, asked: list[int] = asked) -> Sequence[Item]:
            asked.append(1)
            return recalled

        fixed = played.standing, played.profile, played.moment
        known = begin(replace(played.materials, tail=[*others, *recalled]), *fixed)
        late = begin(replace(played.materials, tail=others), *fixed, found)
        assert late == known
        assert asked
        compared += bool(recalled)
    assert compared > 3


def _apart(tail: Sequence[Item], clearance: int) -> tuple[list[Item], list[Item]]:
    """What is known when a turn begins, and what is recalled that its reader may see."""
    lots = {Lot.RECALL, Lot.OTHER_SESSIONS}
    recalled = [one for one in tail if one.lot in lots and one.level <= clearance]
    return [one for one in tail if one.lot not in lots], recalled
