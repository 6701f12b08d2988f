"""How long failed work waits for its next attempt. Pure."""

from datetime import timedelta

#: No attempt waits longer, unless its job says so.
LONGEST_WAIT = timedelta(hours=6)

#: Doublings after which the wait is past any limit; keeps the number small.
_MAX_DOUBLINGS = 16


def backoff(failures: int, first: timedelta, longest: timedelta = LONGEST_WAIT) -> timedelta:
    """Return the wait after so many failures in a row: `first`, twice that, four times that, up to `longest`."""
    return min(first * (1 << min(max(failures - 1, 0), _MAX_DOUBLINGS)), longest)
