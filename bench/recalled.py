"""How much of what recall would find in a very long conversation it finds through the few rows that it compares.

    python -m bench.recalled --corpus C.jsonl --queries Q.jsonl [--messages N] [--json FILE]

The corpus is as for `bench.retrieval`; its first N messages (10,000 unless told) are one conversation, whatever their
scopes. Asked are the queries, and some of the messages after those: people go on from what they said before. What
comes of each is held against what comes of the same statement when every row is compared by its whole vector and its
words. Vectors are MiniLM's (int8, 384 dimensions).

found_in_pool  percent of those best six that are among the rows compared, for several sizes of that pool.
found          percent of them that recall returns; words are weighed by the rows compared, so that this is less.
p50_ms         of the statement.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.progress import Progress

from bench import report
from bench.lines import BadLine, Text, read_corpus, read_questions
from bench.shelves import Shelf, fill
from local import scratch
from local.embeddings import MiniLmEmbedder
from parlour.infra.postgres import Database
from parlour.knowledge.index.embed import Embedder, Vector, embed_question
from parlour.knowledge.search import store
from parlour.knowledge.search.recall import MOST

MESSAGES = 10_000
FURTHER = 150
"""Messages that are asked beside the queries, and how many words they have at least."""

POOLS = (40, 80, 100, 160)
_LEAST_WORDS = 8
_EVERY_ROW = 1_000_000


@dataclass
class Measured:
    """One size of the pool: parts of the best six, question by question, and seconds."""

    in_pool: list[float] = field(default_factory=list)
    found: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """In percent and milliseconds."""
        return {
            "found_in_pool": round(100 * sum(self.in_pool) / len(self.in_pool), 1),
            "found": round(100 * sum(self.found) / len(self.found), 1),
            "p50_ms": round(report.percentile(self.seconds, 50) * 1000, 2),
        }


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    chosen = parser.parse_args()
    try:
        corpus = read_corpus(chosen.corpus)
        asked = [one.text for one in read_questions(chosen.queries, corpus)]
    except BadLine as problem:
        parser.error(str(problem))
    logging.disable(logging.INFO)
    said = [one for one in corpus if one.is_message]
    talk = [replace(one, scope="talk", id=str(place)) for place, one in enumerate(said[: chosen.messages])]
    asked += _further(said[chosen.messages :])
    measured = _measured(talk, asked)
    rows: list[dict[str, report.Cell]] = [{"pool": pool, **one.figures()} for pool, one in measured.items()]
    report.show(f"{len(asked)} questions to {len(talk)} messages", rows)
    figures = {str(pool): one.figures() for pool, one in measured.items()}
    report.write(chosen.json, {"messages": len(talk), "questions": len(asked), "pools": figures})


def _further(texts: Sequence[Text]) -> list[str]:
    """Messages spread over those that are not part of the conversation."""
    long = [one.text for one in texts if len(one.text.split()) >= _LEAST_WORDS]
    return long[:: max(1, len(long) // FURTHER)][:FURTHER]


def _measured(talk: Sequence[Text], asked: Sequence[str]) -> dict[int, Measured]:
    embedder, found = MiniLmEmbedder(threads=2), {pool: Measured() for pool in POOLS}
    with scratch.cluster() as cluster, Progress() as progress:
        database = scratch.opened(cluster)
        task = progress.add_task("Taking in", total=len(talk))
        (shelf,) = fill(database, embedder, talk, lambda done: progress.update(task, completed=done)).values()
        with cluster.superuser("scratch") as owner:
            owner.autocommit = True
            owner.execute("VACUUM ANALYZE")
        for question in progress.track(asked, description="Asking"):
            _ask(database, embedder, shelf, question, found)
        database.close()
    return found


def _ask(
    database: Database, embedder: Embedder, shelf: Shelf, question: str, found: dict[int, Measured]
) -> None:  # fmt: skip
    vector = embed_question(embedder, question)
    best = set(_recalled(database, shelf, question, vector, MOST, _EVERY_ROW))
    for pool, measured in found.items():
        if not best:
            continue
        compared = _recalled(database, shelf, question, vector, pool, pool)
        begun = time.perf_counter()
        told = _recalled(database, shelf, question, vector, MOST, pool)
        measured.seconds.append(time.perf_counter() - begun)
        measured.in_pool.append(len(best.intersection(compared)) / len(best))
        measured.found.append(len(best.intersection(told)) / len(best))


def _recalled(
    database: Database, shelf: Shelf, question: str, vector: Vector, most: int, pool: int
) -> list[object]:  # fmt: skip
    with database.transaction(shelf.principal) as tx:
        found = store.recall(
            tx, shelf.session_id, question, vector, clearance=shelf.principal.clearance, since=1, others=False,
            most=most, pool=pool, sessions=0, verbatim=0,
        )  # fmt: skip
    return [row.row_id for row in found]


if __name__ == "__main__":
    main()
