"""Sessions of every ordinary kind of turn, held against every promise; `test_mutations` runs it on faulty copies."""

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
    short = ("say",) * 14
    sessions = (
        (MOVES, "entity", "prompt"), (MOVES[::-1], "tight", "never"), (short, "entity", "lost"),
        ((*short, "close", *short), "messaging", "prompt"),
    )  # fmt: skip
    for moves, profile, way in sessions:
        turns = tuple(Turn(move, place) for place, move in enumerate(moves))
        for played in play(Talk(turns, profile, summaries=way)):
            for promise in PROMISES:
                if played.assembled:
                    promise(played, played.assembled)


if __name__ == "__main__":
    main()
