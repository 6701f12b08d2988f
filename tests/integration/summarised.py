"""The part of the working day in which a long conversation is summarised: first in vain, then twice, so that it has two
anchors; what must survive is kept, told, and lost."""

from parlour.infra.errors import SpendRefused
from parlour.memory.summary.tries import next_try
from tests.desk import Desk, says
from tests.integration.memory.long_talk import LongTalk, written

_BURST = 26
"""Messages of one turn: two of them have an anchor."""


def summarised(desk: Desk) -> None:
    """A visitor writes in bursts."""
    talk = LongTalk(desk)
    for _ in range(3):
        _burst(talk)
    talk.summarise(SpendRefused("no room"))
    desk.clock.now += next_try(0)
    talk.summarise("No JSON.")
    desk.clock.now += next_try(1)
    talk.summarise(written("The policy is PX-48213."))
    for _ in range(2):
        _burst(talk)
    talk.summarise(written("Nobody names a policy."))
    assert [row[0] for row in talk.versions()] == [1, 2]
    assert talk.lines()


def _burst(talk: LongTalk) -> None:
    for number in range(_BURST - 1):
        talk.desk.write_web(talk.visitor, talk.session, f"Tower {number} is tall.")
    talk.ask("My policy is PX-48213.", says("I will look at it on Friday."))
