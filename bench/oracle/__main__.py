"""Whether prompts are what they were: recorded conversations are assembled again and compared, layer by layer.

    python -m bench.oracle [--only PATTERN ...] [--json FILE] [--dump DIR] [--record] [--again]

Every conversation of `bench/oracle/conversations` is played through the real path (a message comes in, its turn runs
with its tools, the work of memory and the Pulses is done in between) on a PostgreSQL of its own, with a model that
answers by script. What a provider would have been sent is compared with `recorded.json`, which was recorded with the
code that it names. Exit code 1 when something differs that `accepted.json` does not name.

--only     conversations by name, as "long.*".
--json     write counts, coverage and differences here, too.
--dump     write every prompt as text below this folder, so that two checkouts can be compared with `diff -r`.
--record   write what is played to `recorded.json` instead of comparing it.
--again    play everything twice, and fail where it is not the same.

To accept a difference, add to `accepted.json`: {"conversations": ["site.*"], "parts": ["marks"], "reason": "one
sentence", "digest": as it is printed}. It then stands for exactly those differences.
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
from typing import Any

from bench import report
from bench.oracle import product, recording
from bench.oracle.conversations import ALL
from bench.oracle.pack import OVERLAY
from bench.oracle.play import Played, play
from bench.oracle.recording import Difference, Verdict

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
    differences = recording.compare(recorded, now, product.LAYERS)
    verdict = recording.judge(differences, recording.read_accepted())
    coverage = sum((one.coverage for one in played.values()), Counter[tuple[str, str]]())
    _show(now, recorded["code"], coverage, verdict)
    report.write(chosen.json, _figures(now, coverage, differences, verdict))
    sys.exit(1 if verdict.open else 0)


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
    parser.add_argument("--record", action="store_true", help="write the recording")
    parser.add_argument("--again", action="store_true", help="play twice and compare the two")
    return parser.parse_args()


def _dump(folder: Path, played: Mapping[str, Played]) -> None:
    for name, one in played.items():
        where = folder / name
        where.mkdir(parents=True, exist_ok=True)
        for turn in one.turns:
            for number, prompt in enumerate(turn.prompts, start=1):
                (where / f"{turn.place}.{number}.txt").write_text(prompt.words, "utf-8")
        for number, words in enumerate(one.job_words, start=1):
            (where / f"job-{number}.txt").write_text(words + "\n", "utf-8")


def _show(now: Mapping[str, Any], code: str, coverage: Counter[tuple[str, str]], verdict: Verdict) -> None:
    for what in dict.fromkeys(kind for kind, _ in sorted(coverage)):
        counts = {name: count for (kind, name), count in sorted(coverage.items()) if kind == what}
        if what == "layers":
            counts = {
                product.LAYERS[int(name)]: count for name, count in sorted(counts.items(), key=lambda x: int(x[0]))
            }
        never = [name for name in product.KNOWN.get(what, ()) if name not in counts]
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        print(f"{what}: {told}" + (f"; never: {', '.join(never)}" if never else ""))
    turns = [turn for one in now["conversations"].values() for turn in one["turns"]]
    prompts = sum(len(turn["prompts"]) for turn in turns)
    print(f"\n{len(turns)} turns, {prompts} prompts, {len(now['conversations'])} conversations; recorded with {code}.")
    for entry, covered in verdict.accepted:
        print(f"accepted, {len(covered)} differences of {', '.join(entry.parts)}: {entry.reason}")
    for entry, digest in verdict.changed:
        print(f"accepted before, and other now ({digest}): {', '.join(entry.parts)}: {entry.reason}")
    if verdict.open:
        _show_differences(verdict.open)


def _show_differences(differences: Sequence[Difference]) -> None:
    for parts, name, places in recording.grouped(differences):
        more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        print(f"{parts}: {name}: {' '.join(places[:_MOST_PLACES])}{more}")
    print(f"\n{len(differences)} differences, digest {recording.digest(differences)}")


def _figures(
    now: Mapping[str, Any], coverage: Counter[tuple[str, str]], differences: Sequence[Difference], verdict: Verdict
) -> dict[str, Any]:
    return {
        "code": now["code"],
        "coverage": {f"{kind}: {name}": count for (kind, name), count in sorted(coverage.items())},
        "differences": [f"{one.conversation} {one.place} {one.part}" for one in differences],
        "open": len(verdict.open),
    }


if __name__ == "__main__":
    main()
