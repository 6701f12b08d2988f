"""Names that somebody spelt almost right. Pure."""

import difflib
from collections.abc import Iterable


def closest_option(value: str, options: Iterable[str], min_similarity: float = 0.6) -> list[str]:
    """Return the option spelt most like `value`, if its similarity (0 to 1) reaches the minimum."""
    return difflib.get_close_matches(value, list(options), n=1, cutoff=min_similarity)


def did_you_mean(value: str, options: Iterable[str], min_similarity: float = 0.6) -> str:
    """Return `; did you mean 'x'?` when an option is spelt like `value`, otherwise ""."""
    return "".join(f"; did you mean '{near}'?" for near in closest_option(value, options, min_similarity))


def list_options(options: Iterable[str], limit: int = 12) -> str:
    """Return the first `limit` options in order, as text for a message."""
    names = sorted(options)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(names[:limit]) + more) or "none"
