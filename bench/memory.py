"""What is remembered of people after a month, and whether it is so: a scripted month through the product's own turns,
extractor, summariser and consolidation.

    python -m bench.memory [--script F] [--plays N] [--live] [--quiet] [--json FILE]

Without a script bench/month.json is played: 400 messages in 30 conversations over two channels, 60 facts of which 20
change and 10 are taken back, and a long conversation with numbers, sums, names and promises. bench/months/tuning.json
and bench/months/report.json are months of twelve people in eight languages, by writers who had not read this code. The
rules were looked at on the first alone; figures that are reported are of the second. A month is played by new tenants
in two ways:

offline   no model is there at all: the obvious facts, and what code keeps of a long talk.
scripted  the script's annotations, a third of them wrong, and a second look of which a tenth is wrong
          (bench/scripted_memory_model.py). They test what becomes of a model's answers, not how well a model reads. It
          is played several times, and each time other answers are wrong: shares are means, `lowest` has the lowest,
          and what must not happen (wrong_retirements, additive_lost) is added up.

With --live a real model does the work of memory in the second way: the one that the pack names, with ANTHROPIC_API_KEY.

extraction            precision: of the facts stored at any time (true ones that the script does not count aside), those
                      that were so when they were said; one whose value becomes true later was not. recall: of the
                      values planted, changed ones too, those found.
retractions           of what people ended, implied or said, and memory knew then: the share that is known to be over a
                      day later.
wrong_retirements     facts that were ended while they held, and that no other fact goes on with.
additive_lost         of these, values that stand beside others. additive_refused: such values which the model gave
                      rightly, and the second look did not refuse, but which a check of code did.
stale_served          times that a turn was told a fact that its user had changed or taken back in an earlier turn.
stale_turns           turns that were told such a fact as if it held: without a note that it may be over, and without
                      the message that says otherwise.
duplicates_per_fact   live facts beyond the first, by the facts that there are.
extraction_cost       tokens read and written, and US cents, of the work of facts in 100 turns.
by_language, by_trap  the same by the person's language, and by what makes a message hard ("" is nothing). A row belongs
                      to the message that it was taken from.
identifiers_survived  of what must survive word for word, and went through a compaction (`tried`), the share that a
                      later prompt has as it is, or has once a question names its subject; `identifiers` says each, and
                      how many compactions the one with the fewest went through.

A row of memory is of a planted value when it is of its person, has all words of one of its spellings in its value (of
a preference also in its key), and stands under its key, or both stand under keys that the vocabulary does not have.
Shares
are between 0 and 1, and null where there was nothing to share. Vectors are MiniLM's (int8, 384 dimensions). Every
miss is told below the table, unless --quiet.
"""

import argparse
import logging
import os
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from bench import month_player, report
from bench import month_script as scripts
from bench.conversation_scripts import Malformed
from bench.month_player import Fact, Played
from bench.month_script import Month, Planted, Turn, planted, read, words
from bench.scripted_memory_model import Clerk
from local import temporary_database
from local.embeddings import MiniLmEmbedder
from parlour.infra.postgres import Database
from parlour.memory.facts import fact_keys
from parlour.memory.recall.recall_rendering import ASK_ONCE, IN_DOUBT
from parlour.models.anthropic import AnthropicModel
from parlour.models.model import Model
from parlour.search.index.embedders import Embedder

MONTH = Path(__file__).with_name("month.json")

_ANTHROPIC_URL = "https://api.anthropic.com"

_NOT = frozenset(["no", "not", "never", "dislikes", "hate", "can't", "cannot", "don't", "dont", "isn't", "doesn't"])
_RETRACTION_GRACE = timedelta(days=1)
_PER_TURNS = 100

#: Figures of what must not happen in any play.
_ADDED_UP = frozenset({"wrong_retirements", "additive_lost"})


def main() -> None:
    parser = report.parser(f"{__doc__}\n{scripts.__doc__}")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--script", type=Path, default=MONTH, metavar="F", help="a month in the format above")
    parser.add_argument("--plays", type=int, default=3, metavar="N", help="how often the scripted way is played")
    parser.add_argument("--live", action="store_true", help="ask a real model, with ANTHROPIC_API_KEY")
    parser.add_argument("--quiet", action="store_true", help="show figures only, and no words of the script")
    chosen = parser.parse_args()
    try:
        month = read(chosen.script)
    except Malformed as problem:
        parser.error(str(problem))
    key = os.environ.get("ANTHROPIC_API_KEY", "")  # noqa: TID251 - a benchmark has no settings
    if chosen.live and not key:
        parser.error("--live: set ANTHROPIC_API_KEY")
    logging.disable(logging.INFO)
    with (
        temporary_database.temporary_cluster() as cluster,
        closing(temporary_database.create_migrated_database(cluster)) as database,
    ):
        live: dict[str, Model] = {"anthropic": AnthropicModel(key, _ANTHROPIC_URL)} if chosen.live else {}
        figures = measured(database, month, MiniLmEmbedder(threads=2), chosen.plays, live)
    logging.disable(logging.NOTSET)
    show(month, figures, with_misses=not chosen.quiet)
    report.write(chosen.json, figures)


def measured(
    database: Database, month: Month, embedder: Embedder, plays: int = 1, live: Mapping[str, Model] | None = None
) -> dict[str, object]:
    """Return all figures, as they are written."""
    values = planted(month)
    figures: dict[str, object] = {
        "month": {
            "messages": 2 * len(month.turns),
            "facts": len({(value.who, value.key) for value in values}),
            **{ended: sum(value.ended == ended for value in values) for ended in ("changed", "corrected", "expired")},
            "retracted": sum(value.ended == "retracted" for value in values),
        }
    }
    figures["offline"] = score(month, month_player.opened(database, month, embedder, {}).play())
    if live:
        figures["live"] = score(month, month_player.opened(database, month, embedder, live).play())
        return figures
    found = []
    for seed in range(1, plays + 1):
        clerk = Clerk(month, seed)
        scored = score(month, month_player.opened(database, month, embedder, {"anthropic": clerk}).play(), clerk)
        scored["wrong_answers"] = share(sum(bool(given.why) for given in clerk.given), len(clerk.given))
        scored["wrong_second_answers"] = share(sum(clerk.second), len(clerk.second))
        scored["second_looks"] = len(clerk.second)
        found.append(scored)
    figures["scripted"] = {**combined(found), "lowest": _lowest(found)}
    return figures


def combined(plays: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the figures of several plays as one: what must not happen is added up, misses follow each other, and of
    other figures there is the mean."""
    names = dict.fromkeys(name for play in plays for name in play)
    return {name: _combined_figure(name, [play[name] for play in plays if name in play]) for name in names}


def _combined_figure(name: str, figures: Sequence[object]) -> object:
    first = figures[0]
    if isinstance(first, dict):
        return combined([figure for figure in figures if isinstance(figure, dict)])
    if isinstance(first, list):
        return [one for figure in figures if isinstance(figure, list) for one in figure]
    numbers = [figure for figure in figures if isinstance(figure, int | float)]
    if name in _ADDED_UP:
        return sum(numbers)
    mean = statistics.fmean(numbers) if numbers else None
    return round(mean, 3) if mean is not None else None


def _lowest(plays: Sequence[Mapping[str, object]]) -> dict[str, float | None]:
    """Return the lowest share of any play."""
    extraction: Sequence[Mapping[str, float | None]] = [play["extraction"] for play in plays]  # type: ignore[misc]
    retractions: Sequence[Mapping[str, float | None]] = [{"retractions": play["retractions"]} for play in plays]  # type: ignore[dict-item]
    return {
        name: min((share for play in group if (share := play[name]) is not None), default=None)
        for group, names in ((extraction, ("precision", "recall")), (retractions, ("retractions",)))
        for name in names
    }


def show(month: Month, figures: Mapping[str, object], *, with_misses: bool) -> None:
    """Print the figures of all ways side by side, the tables of the last one, and every miss."""
    ways = [way for way in ("offline", "scripted", "live") if way in figures]
    rows: dict[str, dict[str, report.Cell]] = {}
    for way in ways:
        for name, cell in _flat(_way(figures, way)):
            rows.setdefault(name, {"": name, **dict.fromkeys(ways, "")})[way] = cell
    report.show(f"{month.name}: what is remembered", list(rows.values()))
    for table in ("by_language", "by_trap"):
        groups: Mapping[str, Mapping[str, report.Cell | None]] = _way(figures, ways[-1])[table]  # type: ignore[assignment]
        if groups:
            cells = [
                {"": name, **{key: "-" if value is None else value for key, value in group.items()}}
                for name, group in groups.items()
            ]
            report.show(f"{table.replace('_', ' ')}, {ways[-1]}", cells)
    for way in ways if with_misses else ():
        misses: Sequence[str] = _way(figures, way)["misses"]  # type: ignore[assignment]
        if misses:
            report.show(f"Misses, {way}", [{"what": miss} for miss in misses])


def _way(figures: Mapping[str, object], way: str) -> Mapping[str, object]:
    found: Mapping[str, object] = figures[way]  # type: ignore[assignment]
    return found


@dataclass(frozen=True)
class _Rows:
    """The rows of memory beside the values of the script.

    says   the values that each row says and that held when it was said.
    wrong  rows that say none, and nothing that may be true as well.
    """

    month: Month
    facts: Sequence[Fact]
    values: Sequence[Planted]
    says: Mapping[UUID, Sequence[Planted]]
    wrong: Sequence[Fact]

    @property
    def right(self) -> list[Fact]:
        return [fact for fact in self.facts if self.says[fact.id]]

    def is_found(self, value: Planted) -> bool:
        return any(value is said for said_values in self.says.values() for said in said_values)

    def is_live(self, value: Planted, at: datetime) -> bool:
        """Return whether a row says the value at that time."""
        return any(
            fact.valid_from <= at and (fact.valid_until is None or fact.valid_until > at)
            for fact in self.facts
            if any(value is said for said in self.says[fact.id])
        )


def compare(month: Month, facts: Sequence[Fact]) -> _Rows:
    """Return what each row says."""
    values = planted(month)
    says = {fact.id: _values_of(fact, values) for fact in facts}
    wrong = [fact for fact in facts if not says[fact.id] and not _may_be(fact, month)]
    return _Rows(month, facts, values, says, wrong)


def score(month: Month, played: Played, clerk: Clerk | None = None) -> dict[str, object]:
    """Return all figures of one way of remembering, and under `misses` what went wrong, in words."""
    rows = compare(month, played.facts)
    values, facts = rows.values, rows.facts
    retired = list(_wrongly_retired(rows))
    lost = [fact for fact, value in retired if value.is_one_of_several]
    refused = [value for value in values if value.is_one_of_several and _is_refused(rows, value, clerk)]
    ended = [
        value for value in values if value.ended == "retracted" and value.until and rows.is_live(value, value.until)
    ]
    unended = [value for value in ended if value.until and rows.is_live(value, value.until + _RETRACTION_GRACE)]
    live = {
        (value.who, value.key, value.spellings[0]) for fact in facts for value in rows.says[fact.id] if not fact.ended
    }
    live_count = sum(fact.valid_until is None and bool(rows.says[fact.id]) for fact in facts)
    stale = [(fact, [at for at in fact.served if _stale_values(rows, fact, at)]) for fact in facts]
    unaware = {at for fact, times in stale for at in times if not _is_aware(rows, fact, at, played.prompts)}
    tried = [one for one in played.survived if one.compactions]
    gone = [one for one in tried if not (one.in_prompt or one.recalled)]
    return {
        "extraction": {
            "precision": share(len(rows.right), len(rows.right) + len(rows.wrong)),
            "recall": share(sum(map(rows.is_found, values)), len(values)),
        },
        "retractions": share(len(ended) - len(unended), len(ended)),
        "retractions_known": len(ended),
        "wrong_retirements": len(retired),
        "additive_lost": len(lost),
        "additive_refused": len(refused),
        "stale_served": sum(len(times) for _, times in stale),
        "stale_turns": len(unaware),
        "duplicates_per_fact": share(live_count - len(live), len(live)),
        "extraction_cost": _cost(month, played, clerk),
        "identifiers_survived": share(len(tried) - len(gone), len(tried)),
        "identifiers": {
            "planted": len(played.survived),
            "tried": len(tried),
            "in_prompt": share(sum(one.in_prompt for one in tried), len(tried)),
            "recalled": share(sum(one.recalled for one in tried), len(tried)),
            "compactions": min((one.compactions for one in tried), default=0),
        },
        "by_language": _groups(rows, unended, ended, lambda turn: month.language_of(turn.who)) if month.persons else {},
        "by_trap": _groups(rows, unended, ended, lambda turn: turn.trap) if month.persons else {},
        "values_planted": len(values),
        "facts_stored": len(facts),
        "decisions": played.decisions,
        "episodes": played.episodes,
        "summaries": played.summaries,
        "misses": [
            *(f"not found: {_planted(one)}" for one in values if not rows.is_found(one)),
            *(f"not so: {_named(fact)} was kept ({fact.origin})" for fact in rows.wrong),
            *(f"not ended: {_planted(one)}" for one in unended),
            *(f"wrongly retired: {_named(fact)} was {fact.ended}" for fact, _ in retired),
            *(f"refused by code: {_planted(one)}" for one in refused),
            *(f"stale: {_named(fact)} was told {len(at)} times after it was over" for fact, at in stale if at),
            *(f"lost: {one.kept.value!r}, asked: {one.kept.ask}" for one in gone),
        ],
    }


def share(part: int, whole: int) -> float | None:
    """Return what part of the whole it is; None where there was nothing."""
    return round(part / whole, 3) if whole else None


def _values_of(fact: Fact, values: Sequence[Planted]) -> list[Planted]:
    """Return the planted values that the row says and that held when it was said, those of its own key if there are."""
    fitting = [
        value
        for value in values
        if value.who == fact.who
        and _says(fact, value.key, value.spellings, value.told_in.user)
        and value.since <= fact.valid_from
        and (value.until is None or fact.valid_from < value.until)
    ]
    return [value for value in fitting if value.key == fact.key] or fitting


def _says(fact: Fact, key: str, spellings: Sequence[str], text: str) -> bool:
    """Return whether the row says the value. A denied value also counts where the user denied it."""
    if key != fact.key and not {key, fact.key}.isdisjoint(fact_keys.VOCABULARY):
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
        turn.who == fact.who and _says(fact, fact_keys.normalize_key(one.key) or one.key, one.value, turn.user)
        for turn in month.turns
        for one in turn.may
    )


def _wrongly_retired(rows: _Rows) -> Iterator[tuple[Fact, Planted]]:
    """Yield the facts that were ended while they held and that no other row continues, with what they said."""
    for fact in rows.facts:
        ended = fact.valid_until
        for value in rows.says[fact.id] if ended is not None else ():
            held = value.until is None or (ended is not None and value.until > ended)
            if ended is not None and held and not rows.is_live(value, ended):
                yield fact, value


def _is_refused(rows: _Rows, value: Planted, clerk: Clerk | None) -> bool:
    """Return whether the model gave the value rightly, no second look refused it, and it is not there."""
    return clerk is not None and clerk.is_accepted(value) and not rows.is_found(value)


def _stale_values(rows: _Rows, fact: Fact, at: datetime) -> list[Planted]:
    """Return the values that a turn of that time was told, and that an earlier turn of its user had ended."""
    values = rows.says[fact.id]
    begun = max((turn.at for turn in rows.month.turns if turn.who == fact.who and turn.at <= at), default=at)
    over = [value for value in values if value.until is not None and value.until < begun]
    return over if len(over) == len(values) else []


def _is_aware(rows: _Rows, fact: Fact, at: datetime, prompts: Mapping[tuple[str, datetime], str]) -> bool:
    """Return whether the turn's prompt doubts the fact, or has the message that ended it."""
    begun = max((turn.at for turn in rows.month.turns if turn.who == fact.who and turn.at <= at), default=at)
    prompt = prompts.get((fact.who, begun), "")
    told = f"{fact.key}: {' '.join(fact.value.split())}"
    return any(f"{note} {told}" in prompt for note in (ASK_ONCE, IN_DOUBT)) or any(
        value.ended_in is not None and " ".join(value.ended_in.user.split()) in prompt
        for value in _stale_values(rows, fact, at)
    )


def _cost(month: Month, played: Played, clerk: Clerk | None) -> dict[str, float]:
    """Return tokens and cents of 100 turns."""
    factor = _PER_TURNS / len(month.turns)
    found = {
        "tokens_read": round(played.tokens_read * factor),
        "tokens_written": round(played.tokens_written * factor),
        "cents": round(100 * float(played.cost_usd) * factor, 3),
    }
    if clerk is not None:
        found["second_look_read"], found["second_look_written"] = (
            round(count * factor) for count in clerk.tokens["second"]
        )
    return found


def _groups(
    rows: _Rows, unended: Collection[Planted], ended: Collection[Planted], name_of: Callable[[Turn], str]
) -> dict[str, dict[str, float | None]]:
    """Return the figures of each group of messages."""
    right: dict[str, int] = defaultdict(int)
    wrong: dict[str, int] = defaultdict(int)
    names = sorted({name_of(turn) for turn in rows.month.turns})
    for fact in rows.facts:
        turn = _turn_of(rows.month, fact)
        if turn is not None:
            right[name_of(turn)] += bool(rows.says[fact.id])
            wrong[name_of(turn)] += fact in rows.wrong
    found: dict[str, dict[str, float | None]] = {}
    for name in names:
        values = [value for value in rows.values if name_of(value.told_in) == name]
        over = [value for value in ended if value.ended_in and name_of(value.ended_in) == name]
        found[name] = {
            "values": len(values),
            "precision": share(right[name], right[name] + wrong[name]),
            "recall": share(sum(map(rows.is_found, values)), len(values)),
            "wrong": wrong[name],
            "ends": len(over),
            "ends_known": share(sum(value not in unended for value in over), len(over)),
        }
    return found


def _turn_of(month: Month, fact: Fact) -> Turn | None:
    """Return the turn that a row was taken from: the last of its person that had begun."""
    begun = [turn for turn in month.turns if turn.who == fact.who and turn.at <= fact.valid_from]
    return begun[-1] if begun else None


def _named(fact: Fact) -> str:
    return f"{fact.who}: {fact.key} = {fact.value!r}"


def _planted(value: Planted) -> str:
    return f"{value.who}: {value.key} = {value.spellings[0]!r} in {value.told_in.user[:80]!r}"


def _flat(figures: Mapping[str, object], lead: str = "") -> Iterator[tuple[str, report.Cell]]:
    for name, value in figures.items():
        if name in ("by_language", "by_trap"):
            continue
        if isinstance(value, dict):
            yield from _flat(value, f"{lead}{name} ")
        elif value is None or isinstance(value, int | float):
            yield f"{lead}{name}", "-" if value is None else value


if __name__ == "__main__":
    main()
