"""Whether prompts are what they were: recorded conversations are assembled again and compared, layer by layer.

    python -m bench.oracle [--only PATTERN ...] [--json FILE] [--dump DIR] [--again] [--record] [--accept REASON]

Every conversation of `bench/oracle/conversations` is played through the real path (a message comes in, its turn runs
with its tools, the work of memory and the Pulses is done in between) on a database of its own, with models that answer
by script. What a provider would have been sent is compared with `recorded.json`, which names the code that it was
recorded with; the ledger's record of it must give the same bytes. Exit code 1 when something differs that
`accepted.json` does not have.

--only     conversations by name, as "long.*".
--json     write counts, coverage and differences here, too.
--dump     write every prompt as text below this folder, so that two checkouts can be compared with `diff -r`.
--again    play everything twice, and compare the two.
--record   write what was played to `recorded.json` instead of comparing it.
--accept   add the differences that are open to `accepted.json`, for this reason in one sentence; --parts: of them only
           those parts (layers, "marks", "tokens", ...). They are accepted as they are: others will show again.

To play other code's prompts: PYTHONPATH=/path/to/its/shared python -m bench.oracle ...
"""

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from fnmatch import fnmatchcase
from io import StringIO
from pathlib import Path

from bench import report
from bench.oracle import product, recording
from bench.oracle.conversations import ALL
from bench.oracle.pack import OVERLAY
from bench.oracle.player import Played, play
from bench.oracle.recording import Difference

_MOST_PLACES = 12


def main() -> None:
    chosen = _arguments()
    logging.disable(logging.CRITICAL)
    names = [name for name in ALL if any(fnmatchcase(name, pattern) for pattern in chosen.only)]
    played = play_all(names)
    if chosen.dump:
        _dump(chosen.dump, played)
    code = product.code_version()
    now = recording.to_json(played, code)
    if chosen.again:
        recorded = recording.to_json(play_all(names), code)
    elif chosen.record:
        recording.write(now)
        recorded = now
    else:
        recorded = recording.read()
    differences, accepted = recording.compare(recorded, now, product.LAYERS), recording.read_accepted()
    if chosen.accept:
        accepted = recording.accept(differences, accepted, played, chosen.accept, chosen.parts)
        recording.write_accepted(accepted)
    left = recording.open_differences(differences, accepted)
    coverage = sum((found.coverage for found in played.values()), Counter[tuple[str, str]]())
    _show_coverage(coverage)
    turns = [turn for found in now["conversations"].values() for turn in found["turns"]]
    prompts = sum(len(turn["prompts"]) for turn in turns)
    print(f"\n{len(turns)} turns, {prompts} prompts, {len(played)} conversations; recorded with {recorded['code']}.")
    print(f"{len(differences)} differences, {len(differences) - len(left)} of them accepted.")
    _show_differences(left)
    counts = {f"{kind}: {name}": count for (kind, name), count in sorted(coverage.items())}
    found = [f"{difference.conversation} {difference.place} {difference.part}" for difference in left]
    report.write(chosen.json, {"code": code, "turns": len(turns), "coverage": counts, "differences": found})
    sys.exit(1 if left else 0)


def play_all(names: Sequence[str]) -> dict[str, Played]:
    """Play these conversations, each on a database of its own."""
    with redirect_stdout(StringIO()), product.cluster() as running:  # metrics are printed
        product.prepare(running, OVERLAY)
        found = {}
        for number, name in enumerate(names):
            with product.world(running, f"oracle_{number}") as world:
                found[name] = play(world, ALL[name])
    return found


def _arguments() -> argparse.Namespace:
    parser = report.parser(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="conversations by name")
    parser.add_argument("--dump", type=Path, metavar="DIR", help="write every prompt below this folder")
    parser.add_argument("--accept", metavar="REASON", help="accept what differs, for this reason")
    parser.add_argument("--parts", nargs="+", default=[], metavar="PART", help="accept these parts alone")
    parser.add_argument("--record", action="store_true", help="write the recording")
    parser.add_argument("--again", action="store_true", help="play twice and compare the two")
    return parser.parse_args()


def _dump(folder: Path, played: Mapping[str, Played]) -> None:
    for name, conversation in played.items():
        where = folder / name
        where.mkdir(parents=True, exist_ok=True)
        for turn in conversation.turns:
            for number, prompt in enumerate(turn.prompts, start=1):
                (where / f"{turn.place}.{number}.txt").write_text(prompt.words, "utf-8")
        for number, words in enumerate(conversation.job_words, start=1):
            (where / f"job-{number}.txt").write_text(words + "\n", "utf-8")


def _show_coverage(coverage: Counter[tuple[str, str]]) -> None:
    for what in dict.fromkeys(kind for kind, _ in sorted(coverage)):
        counts = {name: count for (kind, name), count in sorted(coverage.items()) if kind == what}
        never = [name for name in product.KNOWN.get(what, ()) if name not in counts]
        occurred = ", ".join(f"{name} {count}" for name, count in counts.items())
        print(f"{what}: {occurred}" + (f"; never: {', '.join(never)}" if never else ""))


def _show_differences(differences: Sequence[Difference]) -> None:
    for parts, name, places in recording.grouped(differences):
        more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        print(f"{parts}: {name}: {' '.join(places[:_MOST_PLACES])}{more}")


if __name__ == "__main__":
    main()
