"""What input costs with the prompt cache, against no caching and against the least that the same bytes can cost.

    python -m bench.prompt_cost [--scripts FILE_OR_FOLDER] [--json FILE]

Plays scripts (bench/scripts, or others of the format that bench/conversation_scripts.py describes) through the
product's context engine and computes what their prompts cost, in bytes (bench/cache_simulation.py). Nothing is sent
to anybody.

turns       for the first 3, 10, 20 and 40 turns of all scripts that have as many, taken together:
            ratio         what the engine's marks cost, by what the same prompts cost without a cache.
            floor         the same of what somebody would pay who knew the conversation to its end.
            over_floor    ratio by floor.
            cached_share  of the bytes, how many were read from the cache.
cold_gaps   all scripts whole, with an hour between any two turns.
naive       all scripts up to 20 turns, laid out in other ways (bench/script_player.py), by what the engine's prompts
            cost without a cache: `ratio`, and `cold_ratio` with an hour between turns. Other bytes are given the
            floor's price, better than which they cannot do; the same bytes otherwise marked what those marks cost.
scripts     each script alone, whole.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, get_args

from bench import cache_simulation, report
from bench.cache_simulation import Cost, Sent
from bench.conversation_scripts import Malformed, Script, read
from bench.script_player import Layout, play

SCRIPTS = Path(__file__).parent / "scripts"
TURNS = (3, 10, 20, 40)
_HOUR = 3_600.0
_SAME_BYTES = ("everything_marked", "nothing_marked")


type Row = dict[str, float]


class Figures(TypedDict):
    """What is written."""

    turns: dict[str, Row]
    cold_gaps: Row
    naive: dict[str, Row]
    scripts: dict[str, Row]


@dataclass(frozen=True, slots=True)
class Played:
    """A script's prompts."""

    script: Script
    prompts: Sequence[Sent]

    def first(self, turns: int) -> Sequence[Sent]:
        """Those of its first turns."""
        return [one for one in self.prompts if one.turn <= turns]


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--scripts", type=Path, default=SCRIPTS, metavar="FILE", help="other scripts than bench/scripts"
    )
    chosen = parser.parse_args()
    try:
        figures = measured(read(chosen.scripts))
    except Malformed as error:
        sys.exit(f"bench.prompt_cost: {error}")
    _show(figures)
    report.write(chosen.json, figures)


def measured(scripts: Sequence[Script]) -> Figures:
    """All figures, as they are written."""
    warm = [Played(script, play(script)) for script in scripts]
    cold = [Played(script, play(script, gap=_HOUR)) for script in scripts]
    longest = max(len(script.turns) for script in scripts)
    turns = [count for count in TURNS if count <= longest] or [longest]
    return {
        "turns": {str(count): _compared([one.first(count) for one in _reaching(warm, count)]) for count in turns},
        "cold_gaps": _compared([one.prompts for one in cold]),
        "naive": {name: _naive(scripts, name, warm, cold) for name in get_args(Layout.__value__) if name != "engine"},
        "scripts": {one.script.name: _compared([one.prompts]) for one in warm},
    }


def _reaching(played: Sequence[Played], turns: int) -> list[Played]:
    return [one for one in played if len(one.script.turns) >= turns]


def _compared(talks: Sequence[Sequence[Sent]]) -> Row:
    real = [cost for prompts in talks for cost in cache_simulation.charged(prompts)]
    least = [cost for prompts in talks for cost in cache_simulation.floor(prompts)]
    size = sum(cost.size for cost in real)
    ratio, floor = _total(real) / size, _total(least) / size
    return {
        "ratio": round(ratio, 4),
        "floor": round(floor, 4),
        "over_floor": round(ratio / floor, 4),
        "cached_share": round(sum(cost.read for cost in real) / size, 4),
    }


def _naive(scripts: Sequence[Script], layout: Layout, warm: Sequence[Played], cold: Sequence[Played]) -> Row:
    reckon = cache_simulation.charged if layout in _SAME_BYTES else cache_simulation.floor
    ratios = []
    for gap, engine in ((None, warm), (_HOUR, cold)):
        talks = [Played(script, play(script, layout, gap)).first(20) for script in scripts]
        plain = sum(len(one.bytes) for talk in engine for one in talk.first(20))
        ratios.append(sum(_total(reckon(prompts)) for prompts in talks) / plain)
    return {"ratio": round(ratios[0], 4), "cold_ratio": round(ratios[1], 4)}


def _total(costs: Sequence[Cost]) -> float:
    return sum(cost.total for cost in costs)


def _show(figures: Figures) -> None:
    rows: list[dict[str, report.Cell]] = [{"turns": name, **row} for name, row in figures["turns"].items()]
    rows.append({"turns": "an hour apart", **figures["cold_gaps"]})
    report.show("Input cost by that without a cache, in bytes", rows)
    report.show("Laid out otherwise (20 turns)", [{"layout": name, **row} for name, row in figures["naive"].items()])
    report.show("Each script, whole", [{"script": name, **row} for name, row in figures["scripts"].items()])


if __name__ == "__main__":
    main()
