"""What is really looked for when somebody asks. Pure."""

from collections.abc import Sequence

_LONGEST_BEFORE = 300
"""Characters of the turn before: small embedding models read about a thousand, and the question comes last."""


def expand(query: str, previous: Sequence[str] = ()) -> str:
    """The question as it is searched for: the turn before it comes first, since "and the second one?" names nothing.

    previous: what the same person wrote before, oldest first. This is the text to embed, and the one to show.
    """
    before = previous[-1].strip()[-_LONGEST_BEFORE:] if previous else ""
    return f"{before}\n{query.strip()}" if before else query.strip()
