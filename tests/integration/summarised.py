"""The part of the working day in which a long conversation is summarised: first in vain, then twice, so that it has two
anchors; what must survive is kept, told, and lost."""

from parlour.infra.errors import SpendRefused
from parlour.memory.job import NO_BUDGET_WAIT
from parlour.memory.summary.writer import FIRST_WAIT
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
    desk.clock.now += NO_BUDGET_WAIT
    talk.summarise("No JSON.")
    desk.clock.now += FIRST_WAIT
    talk.summarise(written("The policy is PX-48213."))
    for _ in range(2):
        _burst(talk)
    talk.summarise(written("Nobody names a policy."))
    assert [row[0] for row in talk.versions()] == [1, 2]
    assert talk.lines()
    _burst(talk)
    talk.summarise(written("Nobody names one."))
    assert talk.lines()


def _burst(talk: LongTalk) -> None:
    for number in range(_BURST - 1):
        talk.desk.write_web(talk.visitor, talk.session, f"Tower {number} is tall.")
    talk.ask("My policy is PX-48213.", says("I will look at it on Friday."))
