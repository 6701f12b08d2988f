"""What is remembered of people after a month, and whether it is so: a scripted month through the product's own turns,
extractor, summariser and consolidation.

    python -m bench.memory [--script F] [--json FILE]

Without a script bench/month.json is played: 400 messages in 30 conversations over two channels, 60 facts of which 20
change and 10 are taken back, and a long conversation with numbers, sums, names and promises. It is played twice, each
time by a new tenant:

offline   no model is there at all: the obvious facts, and what code keeps of a long talk.
scripted  hand-written answers, a third of them wrong (bench/scripted_memory_model.py). They test what becomes of a
          model's answers, not how well a model reads: the check compares words, so it refuses an answer that is wrong
          about them. It does not refuse one that misreads them (of somebody else, supposed).

extraction            precision: of the facts stored at any time (true ones that the script does not count aside), those
                      that were so when they were said. recall: of the values planted, changed ones too, those found.
wrong_retirements     facts that were ended while they held, and that no other fact goes on with.
duplicates_per_fact   live facts beyond the first, by the facts that there are.
stale_served          times that a turn was told a fact that its user had changed or taken back in an earlier turn.
identifiers_survived  of what must survive word for word, and went through a compaction (`tried`), the share that a
                      later prompt has as it is, or has once a question names its subject; `identifiers` says each, and
                      how many compactions the one with the fewest went through.

A row of memory is of a planted value when it is of its person, has all words of one of its spellings in its value (of a
preference also in its key), and does not stand under a key of the vocabulary that means something else. Shares are
between 0 and 1, and null where there was nothing to share. Vectors are MiniLM's (int8, 384 dimensions). Every miss is
told below the table.
"""

import argparse
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from uuid import UUID

from bench import month_player, report
from bench import month_script as scripts
from bench.conversation_scripts import Malformed
from bench.month_player import Fact, Played
from bench.month_script import Month, Planted, planted, read, words
from bench.scripted_memory_model import Clerk
from local import temporary_database
from local.embeddings import MiniLmEmbedder
from parlour.infra.postgres import Database
from parlour.memory.facts import fact_keys
from parlour.search.index.embedders import Embedder

MONTH = Path(__file__).with_name("month.json")

_NOT = frozenset(["no", "not", "never", "dislikes", "hate", "can't", "cannot", "don't", "dont", "isn't", "doesn't"])


def main() -> None:
    parser = report.parser(f"{__doc__}\n{scripts.__doc__}")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--script", type=Path, default=MONTH, metavar="F", help="a month in the format above")
    chosen = parser.parse_args()
    try:
        month = read(chosen.script)
    except Malformed as problem:
        parser.error(str(problem))
    logging.disable(logging.INFO)
    with (
        temporary_database.temporary_cluster() as cluster,
        closing(temporary_database.create_migrated_database(cluster)) as database,
    ):
        figures = measured(database, month, MiniLmEmbedder(threads=2))
    logging.disable(logging.NOTSET)
    report.write(chosen.json, figures)


def measured(database: Database, month: Month, embedder: Embedder) -> dict[str, object]:
    """Show all figures, and return them as they are written."""
    values = planted(month)
    figures: dict[str, object] = {
        "month": {
            "messages": 2 * len(month.turns),
            "facts": len({(value.who, value.name) for value in values}),
            "changed": sum(value.ended == "changed" for value in values),
            "retracted": sum(value.ended == "retracted" for value in values),
        }
    }
    rows: dict[str, dict[str, report.Cell]] = {}
    for way, clerk in (("offline", None), ("scripted", Clerk(month))):
        found = score(month, month_player.opened(database, month, embedder, clerk).play())
        if clerk is not None:
            found["wrong_answers"] = share(sum(bool(entry.why) for entry in clerk.given), len(clerk.given))
        figures[way] = found
        for name, cell in _flat(found):
            rows.setdefault(name, {"": name, "offline": "", "scripted": ""})[way] = cell
    report.show(f"{month.name}: what is remembered", list(rows.values()))
    for way in ("offline", "scripted"):
        misses = figures[way]["misses"]  # type: ignore[index]
        if misses:
            report.show(f"Misses, {way}", [{"what": miss} for miss in misses])
    return figures


def score(month: Month, played: Played) -> dict[str, object]:
    """Return all figures of one way of remembering, and under `misses` what went wrong, in words."""
    values, facts = planted(month), played.facts
    of = {fact.id: _value_of(fact, values) for fact in facts}
    wrong = [fact for fact in facts if of[fact.id] is None and not _may_be(fact, month)]
    right = [fact for fact in facts if of[fact.id] is not None]
    found = {id(value) for value in of.values()}
    retired = list(_wrongly_retired(facts, of))
    live = [(fact, value) for fact in facts if fact.valid_until is None and (value := of[fact.id])]
    remembered = len({(value.who, value.name) for _, value in live})
    stale = [(fact, [at for at in fact.served if _is_over(of[fact.id], month, at)]) for fact in facts]
    tried = [one for one in played.survived if one.compactions]
    lost = [one for one in tried if not (one.in_prompt or one.recalled)]
    return {
        "extraction": {
            "precision": share(len(right), len(right) + len(wrong)),
            "recall": share(sum(id(value) in found for value in values), len(values)),
        },
        "wrong_retirements": len(retired),
        "duplicates_per_fact": share(len(live) - remembered, remembered),
        "stale_served": sum(len(at) for _, at in stale),
        "identifiers_survived": share(len(tried) - len(lost), len(tried)),
        "identifiers": {
            "planted": len(played.survived),
            "tried": len(tried),
            "in_prompt": share(sum(one.in_prompt for one in tried), len(tried)),
            "recalled": share(sum(one.recalled for one in tried), len(tried)),
            "compactions": min((one.compactions for one in tried), default=0),
        },
        "values_planted": len(values),
        "facts_stored": len(facts),
        "decisions": played.decisions,
        "episodes": played.episodes,
        "summaries": played.summaries,
        "misses": [
            *(f"not found: {one.who}: {one.name} in {one.text[:80]!r}" for one in values if id(one) not in found),
            *(f"not so: {_named(fact)} was kept ({fact.origin})" for fact in wrong),
            *(f"wrongly retired: {_named(fact)} was {fact.ended}" for fact in retired),
            *(f"stale: {_named(fact)} was told {len(at)} times after it was over" for fact, at in stale if at),
            *(f"lost: {one.kept.value!r}, asked: {one.kept.ask}" for one in lost),
        ],
    }


def share(part: int, whole: int) -> float | None:
    """Return what part of the whole it is; None where there was nothing."""
    return round(part / whole, 3) if whole else None


def _value_of(fact: Fact, values: Sequence[Planted]) -> Planted | None:
    """The planted value that the row is of: one that held when it was said, best one of the same key."""
    fitting = [
        value
        for value in values
        if value.who == fact.who
        and _says(fact, value.name, value.spellings, value.text)
        and (value.until is None or fact.valid_from < value.until)
    ]
    return max(fitting, key=lambda value: (fact_keys.normalize_key(value.name) == fact.key, value.since), default=None)


def _says(fact: Fact, name: str, spellings: Sequence[str], text: str) -> bool:
    """Return whether the row says the value. A denied value also counts where the user denied it."""
    meant = fact_keys.normalize_key(name)
    if meant != fact.key and meant in fact_keys.VOCABULARY and fact.key in fact_keys.VOCABULARY:
        return False
    room, _, what = fact.key.partition(".")
    own = {*words(fact.value), *(words(what.replace("_", " ")) if room == "preference" else ())}
    is_denied = bool(_NOT & own)
    for wanted in map(set, map(words, spellings)):
        same = is_denied == bool(_NOT & wanted) or (is_denied and not _NOT.isdisjoint(words(text)))
        if wanted and wanted <= own and same:
            return True
    return False


def _may_be(fact: Fact, month: Month) -> bool:
    """Whether it is true as well, though nobody counts it."""
    return any(
        turn.who == fact.who and _says(fact, name, spellings, turn.user)
        for turn in month.turns
        for name, spellings in turn.may.items()
    )


def _wrongly_retired(facts: Sequence[Fact], of: Mapping[UUID, Planted | None]) -> Iterator[Fact]:
    """Return the facts that were ended while they held and that no other row continues."""
    for fact in facts:
        value, ended = of[fact.id], fact.valid_until
        if value is None or ended is None or (value.until is not None and value.until <= ended):
            continue
        if not any(
            of[other.id] is value
            and other.valid_from <= ended
            and (other.valid_until is None or other.valid_until > ended)
            for other in facts
            if other.id != fact.id
        ):
            yield fact


def _is_over(value: Planted | None, month: Month, at: datetime) -> bool:
    """Whether the turn that the product began then was told what its user had said otherwise in an earlier one."""
    if value is None or value.until is None:
        return False
    begun = max((turn.at for turn in month.turns if turn.who == value.who and turn.at <= at), default=at)
    return value.until < begun


def _named(fact: Fact) -> str:
    return f"{fact.who}: {fact.key} = {fact.value!r}"


def _flat(figures: Mapping[str, object], lead: str = "") -> Iterator[tuple[str, report.Cell]]:
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{lead}{name} ")
        elif value is None or isinstance(value, int | float):
            yield f"{lead}{name}", "-" if value is None else value


if __name__ == "__main__":
    main()
