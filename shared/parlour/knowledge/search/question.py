"""What is really looked for when somebody asks. Pure."""

from collections.abc import Sequence

_LONGEST_BEFORE = 500
"""Characters of the turn before: small embedding models read about a thousand, and the question itself comes first."""


def expand(query: str, previous: Sequence[str] = ()) -> str:
    """The question with the turn before it, since "and the second one?" names nothing: the text to search for beside
    the question alone, and to show.

    previous: what the same person wrote before, oldest first.
    """
    before = previous[-1].strip()[-_LONGEST_BEFORE:] if previous else ""
    return f"{query.strip()}\n{before}" if before else query.strip()
