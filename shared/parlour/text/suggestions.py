"""Names that somebody spelt almost right. Pure."""

import difflib
from collections.abc import Iterable


def nearest(value: str, options: Iterable[str], likeness: float = 0.6) -> list[str]:
    """The option that is spelt most like `value`, if any is at least that much like it (0 to 1)."""
    return difflib.get_close_matches(value, list(options), n=1, cutoff=likeness)


def meant(value: str, options: Iterable[str], likeness: float = 0.6) -> str:
    """`; did you mean 'x'?` when something among `options` is spelt much like `value`, else nothing."""
    return "".join(f"; did you mean '{near}'?" for near in nearest(value, options, likeness))


def listed(options: Iterable[str], most: int = 12) -> str:
    """The options in order, `most` of them, for a message."""
    names = sorted(options)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "none"
