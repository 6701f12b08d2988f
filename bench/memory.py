"""What is remembered of people after a month, and whether it is so: a scripted month through the product's own turns,
extractor, summariser and consolidation.

    python -m bench.memory [--script F] [--json FILE]

Without a script bench/month.json is played: 400 messages in 30 sessions over two channels, 60 facts of which 20 change
and 10 are taken back, and a long conversation with numbers, sums, names and promises. The format is that of
bench/months.py; bench/other_month.json is another one. It is played twice, each time by a new tenant:

offline   no model is there at all: what the rules find in the user's own words, and what code keeps of a long talk.
scripted  answers that the script holds, of which it says that a part is wrong; bench/clerk.py gives them. They try what
          becomes of a model's answers, not how well a model reads.

extraction            precision: of the facts stored at any time (true ones that the script does not count aside), those
                      that were so when they were said. recall: of the values planted, changed ones too, those found.
wrong_retirements     facts that were ended while they held, and that no other fact goes on with.
duplicates_per_fact   live facts beyond the first, by the facts that there are.
stale_served          times that a turn was told a fact that its user had changed or taken back in an earlier turn.
stale_in_prompt       the same of what is told besides facts: as_current counts the prompts in which a summary, a line
                      that is kept word for word, a recap or a note still has the old value and nothing after it says
                      what ended it; in facts_say_otherwise of them a fact does. under_a_day: episodes and anchors that
                      have it with their date. Each prompt counts once for every value that was over (looked_for);
                      bench/stale.py says what is told as current.
identifiers_survived  of what must survive word for word, and went through a compaction (`tried`), the share that a
                      later prompt has as it is, or has once a question names its subject; `identifiers` says each, and
                      how many compactions the one with the fewest went through.

Shares are between 0 and 1, and null where there was nothing to share. Vectors are MiniLM's (int8, 384 dimensions).
Every miss is told below the table.
"""

import argparse
import logging
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from bench import months, playing_months, report
from bench.clerk import Clerk
from bench.memory_score import Scored, score, share
from bench.months import Month, read
from bench.planted import planted
from bench.talks import Malformed
from local import scratch
from local.embeddings import MiniLmEmbedder
from parlour.infra.postgres import Database
from parlour.knowledge.index.embed import Embedder

MONTH = Path(__file__).with_name("month.json")
_NOTHING = "-"
"""Stands in the table for a share of nothing."""


def main() -> None:
    parser = report.parser(f"{__doc__}\n{months.__doc__}")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--script", type=Path, default=MONTH, metavar="F", help="a month in the format above")
    chosen = parser.parse_args()
    try:
        month = read(chosen.script)
    except Malformed as problem:
        parser.error(str(problem))
    logging.disable(logging.INFO)
    with scratch.cluster() as cluster, closing(scratch.opened(cluster)) as database:
        figures = measured(database, month, MiniLmEmbedder(threads=2))
    logging.disable(logging.NOTSET)
    report.write(chosen.json, figures)


def measured(database: Database, month: Month, embedder: Embedder) -> dict[str, object]:
    """All figures, shown and as they are written."""
    values = planted(month)
    figures: dict[str, object] = {
        "month": {
            "messages": 2 * len(month.turns), "sessions": month.sessions,
            "facts": len({(one.who, one.name) for one in values}),
            "changed": sum(one.ended == "changed" for one in values),
            "retracted": sum(one.ended == "retracted" for one in values),
        }
    }  # fmt: skip
    ways: dict[str, Scored] = {}
    for name, clerk in (("offline", None), ("scripted", Clerk(month))):
        ways[name] = _way(database, month, embedder, clerk)
        figures[name] = {**ways[name].figures, "misses": [": ".join(one) for one in ways[name].misses]}
    report.show(f"{month.name}: what is remembered", _rows(ways))
    for name, one in ways.items():
        if one.misses:
            report.show(f"Misses, {name}", [{"": kind, "what": what} for kind, what in one.misses])
    return figures


def _way(database: Database, month: Month, embedder: Embedder, clerk: Clerk | None) -> Scored:
    played = playing_months.opened(database, month, embedder, clerk).play()
    scored = score(month, played.facts, played.survived, played.decided, played.prompts)
    scored.figures.update({"episodes": played.episodes, "summaries": played.summaries})
    if clerk is not None:
        wrong = sum(bool(one.why) for one in clerk.given)
        scored.figures["answers"] = {"facts": len(clerk.given), "wrong": share(wrong, len(clerk.given))}
    return scored


def _rows(ways: Mapping[str, Scored]) -> list[dict[str, report.Cell]]:
    flat = {name: dict(_flat(one.figures)) for name, one in ways.items()}
    names = list(dict.fromkeys(name for one in flat.values() for name in one))
    return [{"": name, **{way: found.get(name, "") for way, found in flat.items()}} for name in names]


def _flat(figures: Mapping[str, object], lead: str = "") -> list[tuple[str, report.Cell]]:
    found: list[tuple[str, report.Cell]] = []
    for name, value in figures.items():
        if isinstance(value, dict):
            found += _flat(value, f"{lead}{name} ")
        elif value is None or isinstance(value, int | float):
            found.append((f"{lead}{name}", _NOTHING if value is None else value))
    return found


if __name__ == "__main__":
    main()
