"""When a summary that came to nothing is tried again, and when its turns are gone past without one. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from parlour.infra.errors import ProviderRejected
from parlour.jobs.work_due import GRACE
from parlour.memory.summary.answer import Written
from parlour.models.route import Choice

REFUSED = "refused"
"""The problem of a model that will not read this; it will not on another day either."""

GIVEN_UP = 5
"""Tries in a row that gave nothing. People are told of it then, and what was paid for, or rejected, so often is gone
past."""

_OURS = frozenset({"error", "died"})
"""Our own code breaks, or whoever ran it did not come back."""

_LONGEST_WAIT = timedelta(hours=6)
_NO_MONEY = timedelta(hours=1)
_MOST_DOUBLINGS = 7


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking: what holds of the answer, or the code of the problem."""

    written: Written | None
    by: Choice
    cost_usd: Decimal = Decimal()
    problem: str = ""


def is_worth_asking(failures: int, problem: str | None) -> bool:
    """Whether a model is asked once more, after so many tries of which the last ended so."""
    return failures < GIVEN_UP or problem not in _OURS


def is_let_be(failures: int, outcome: Outcome) -> bool:
    """Whether the turns are gone past without a word: nobody will read them, or they were tried often enough."""
    is_hopeless = outcome.problem in {ProviderRejected.code, *_OURS} or outcome.cost_usd > 0
    return outcome.problem == REFUSED or (is_hopeless and failures >= GIVEN_UP)


def next_try(failures: int) -> timedelta:
    """How long to wait after so many tries that gave nothing; after none, for there was no money: an hour."""
    if not failures:
        return _NO_MONEY
    return min(GRACE * (1 << min(failures, _MOST_DOUBLINGS)), _LONGEST_WAIT)
