"""How much two sets of words (or other parts of texts) have in common. Pure.

`similarity` where two texts may say the same; `containment` where one may say what the other says, and more.
"""

from collections.abc import Set as AbstractSet


def jaccard_similarity[T](first: AbstractSet[T], second: AbstractSet[T]) -> float:
    """Return the Jaccard index, 0 to 1: shared parts among all parts. Empty sets have nothing in common."""
    return len(first & second) / (len(first | second) or 1)


def containment[T](part: AbstractSet[T], whole: AbstractSet[T]) -> float:
    """Return the share of `part` that stands in `whole`, 0 to 1; 0 for an empty `part`."""
    return len(part & whole) / (len(part) or 1)
