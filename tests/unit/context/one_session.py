"""One session of every ordinary kind of turn, held against every promise; `test_mutations` runs it on faulty copies."""

import sys

import parlour.context
from tests.unit.context.promises import PROMISES
from tests.unit.context.talk import Talk, Turn, play

MOVES = (
    *["say"] * 6, "edit", "search", "rounds", "hindi", "text_file", "edits", "write", *["say"] * 5, "flood", "paste",
    "close", "huge", "huge",
)  # fmt: skip


def main() -> None:
    """Raises what breaks first."""
    assert str(parlour.context.__file__).startswith(sys.argv[1]), "the copy was not found"
    for moves, profile in ((MOVES, "entity"), (MOVES[::-1], "tight")):
        for played in play(Talk(tuple(Turn(move, place) for place, move in enumerate(moves)), profile)):
            for promise in PROMISES:
                if played.assembled:
                    promise(played, played.assembled)


if __name__ == "__main__":
    main()
