"""What writing a set of records did. Pure."""

from dataclasses import dataclass

PACK_ORIGIN = "pack"
"""The call that every change of a pack's apply comes from."""


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """How many were new, differed from what was stored, and were left alone."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0

    @classmethod
    def from_totals(cls, drafted: int, stored: int, written: int) -> "WriteCounts":
        """Of `drafted` records `stored` were there before, and `written` were written."""
        created = drafted - stored
        return cls(created, written - created, drafted - written)

    def __add__(self, other: "WriteCounts") -> "WriteCounts":
        return WriteCounts(
            self.created + other.created,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
        )
