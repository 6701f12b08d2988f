"""How long failed work waits for its next attempt. Pure."""

from datetime import timedelta

#: No attempt waits longer, unless its job says so.
MAX_WAIT = timedelta(hours=6)

#: Doublings after which the wait is past any limit; keeps the number small.
_MAX_DOUBLINGS = 16


def backoff(failures: int, first_wait: timedelta, max_wait: timedelta = MAX_WAIT) -> timedelta:
    """Return the wait after so many failures in a row: `first_wait`, doubled each time, up to `max_wait`."""
    return min(first_wait * (1 << min(max(failures - 1, 0), _MAX_DOUBLINGS)), max_wait)
