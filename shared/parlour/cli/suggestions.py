"""What somebody may have meant by a name that does not exist, and ids that are given in part."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from uuid import UUID

from parlour.infra.errors import InvalidRequest, NotFound

MIN_ID_CHARS = 8
"""Characters of an id that are enough, from its beginning or its end."""

_MAX_NAMES = 12


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """Return "unknown KIND NAME" with the name that was probably meant, or else the names there are."""
    if close := get_close_matches(name, known, n=1):
        return f"unknown {kind} {name}; did you mean {close[0]}?"
    if not known:
        return f"unknown {kind} {name}; there is none yet"
    more = f" and {len(known) - _MAX_NAMES} more" if len(known) > _MAX_NAMES else ""
    return f"unknown {kind} {name}; available: {', '.join(known[:_MAX_NAMES])}{more}"


def parse_full_id(text: str) -> str | None:
    """Return a full id in its usual form; None for a part of one."""
    try:
        return str(UUID(text.strip()))
    except ValueError:
        return None


def find_id(kind: str, text: str, list_known: Callable[[], Iterable[str]]) -> str:
    """Return the known id that a part names, from its beginning or its end.

    Raises InvalidRequest for a part that is too short or that several ids have, NotFound for one that none has.
    """
    part = text.strip().lower()
    if len(part) < MIN_ID_CHARS or not set(part) <= set("0123456789abcdef-"):
        raise InvalidRequest(
            f"{text!r} is no {kind} id; give the id, or at least {MIN_ID_CHARS} characters of its beginning or end"
        )
    matches = sorted({one for one in list_known() if one.startswith(part) or one.endswith(part)})
    if not matches:
        raise NotFound(f"no {kind} of the latest ones has an id with {part}; give the full id")
    if len(matches) > 1:
        raise InvalidRequest(f"{len(matches)} ids match; give more characters")
    return matches[0]
