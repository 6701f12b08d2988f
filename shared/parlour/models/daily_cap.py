"""What may be a tenant's daily cap. Pure."""

from decimal import Decimal

MAX_CAP_USD = Decimal(10_000_000)
"""US dollars a day: more is a slip of the finger."""

_MIN_EXPONENT = -4


def cap_problem(usd: Decimal) -> str:
    """Return what is wrong with `usd` as a daily cap, "" when nothing is. Zero allows only free calls."""
    if not usd.is_finite() or not 0 <= usd <= MAX_CAP_USD:
        return f"use a number of US dollars from 0 to {MAX_CAP_USD}"
    exponent = usd.normalize().as_tuple().exponent
    return "give four decimal places at most" if isinstance(exponent, int) and exponent < _MIN_EXPONENT else ""
