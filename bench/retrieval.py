"""How much of what answers a question is found: any corpus, taken in and searched by the product's own services.

    python -m bench.retrieval --corpus C.jsonl --queries Q.jsonl [--memory] [--json FILE]

corpus   a line each: {"scope", "id", "kind": "message" | "chunk", "sent_at"?, "speaker"?, "title"?, "text"}; ids are
         unique within a scope, messages without a time stand in the order in which they were said.
queries  a line each: {"scope", "text", "previous": [what they asked before, oldest first], "relevant": [ids]}

Everything runs on the embedded PostgreSQL as the app role, with MiniLM (int8, 384 dimensions) in this process. A
scope is a tenant of its own: its chunks are documents, its messages one conversation; a query searches its scope and
nothing else. One result is one row as search returns it, so that two pieces of one chunk are two results.

A query without relevant ids is left out.

recall_at             percent of a query's relevant ids among its first 5, 10, 20 results; the mean over queries.
recall_within_tokens  the same for as many results as fit 500 ... 4,000 tokens (cl100k, the text as a model reads it).
p50_ms, p95_ms        of a search for 20 results: embedding the question, and the one statement.

A corpus with messages is then asked as a turn asks its memory when it begins: by messages alone, and with anchors.
`memory` says what comes along each time and what anchors gain (bench/memory_retrieval.py); --memory does no more.

Which halves of the public sets constants were chosen on: bench/corpora.py and docs/decisions/0025-search.md.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path

from rich.progress import Progress

from bench import report
from bench.corpus_format import BadLine, Question, Text, read_corpus, read_questions
from bench.corpus_ingestion import Shelf, by_scope, fill
from bench.memory_retrieval import Memory, as_figures
from local import temporary_database
from local.database import Cluster
from local.embeddings import MiniLmEmbedder
from parlour.infra.postgres import Database
from parlour.search import hybrid_search
from parlour.search.index.embedders import Embedder, Vector, embed_texts
from parlour.search.query_expansion import expand_query
from parlour.search.results import SearchResult
from parlour.search.scope import SearchScope
from parlour.text import token_counter

PLACES = (5, 10, 20)
BUDGETS = (500, 1_000, 2_000, 4_000)
_LONG = 150
"""Results that are looked at for the token budgets; of short messages 4,000 tokens hold more than a hundred."""


@dataclass
class Measured:
    """Per query: the parts of its relevant ids that were found, and the milliseconds of its search."""

    at: dict[int, list[float]] = field(default_factory=lambda: {place: [] for place in PLACES})
    within: dict[int, list[float]] = field(default_factory=lambda: {budget: [] for budget in BUDGETS})
    milliseconds: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, object]:
        """What is printed and written."""
        return {
            "recall_at": {str(place): _percent(parts) for place, parts in self.at.items()},
            "recall_within_tokens": {str(budget): _percent(parts) for budget, parts in self.within.items()},
            "p50_ms": round(report.percentile(self.milliseconds, 50), 2),
            "p95_ms": round(report.percentile(self.milliseconds, 95), 2),
            "queries": len(self.milliseconds),
        }


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--memory", action="store_true", help="only as a turn remembers what was said")
    chosen = parser.parse_args()
    try:
        corpus = read_corpus(chosen.corpus)
        questions = read_questions(chosen.queries, corpus)
    except BadLine as problem:
        parser.error(str(problem))
    said, asked = _conversations(corpus, questions)
    if chosen.memory and not asked:
        parser.error("no question is asked of a conversation; leave --memory out")
    logging.disable(logging.INFO)
    figures: dict[str, object] = {}
    with temporary_database.temporary_cluster() as cluster, Progress() as progress:
        taken_in = _taken_in(cluster, said if chosen.memory else corpus, progress)
        if not chosen.memory:
            figures = _searched(taken_in, questions, progress)
        if asked:
            figures["memory"] = _remembered(taken_in, said, asked)
    report.show("Retrieval", _rows(figures))
    report.write(chosen.json, figures)


@dataclass(frozen=True, slots=True)
class _TakenIn:
    """A corpus in the database, and what it was embedded with."""

    database: Database
    embedder: Embedder
    shelves: dict[str, Shelf]


def _conversations(corpus: list[Text], questions: list[Question]) -> tuple[list[Text], list[Question]]:
    """The messages, and the questions in whose scope there are any."""
    said = [one for one in corpus if one.is_message]
    scopes = {one.scope for one in said}
    return said, [one for one in questions if one.scope in scopes]


def _taken_in(cluster: Cluster, corpus: Sequence[Text], progress: Progress) -> _TakenIn:
    database, embedder = temporary_database.create_migrated_database(cluster), MiniLmEmbedder(threads=2)
    task = progress.add_task("Taking in", total=len(corpus))
    shelves = fill(database, embedder, corpus, lambda done: progress.update(task, completed=done))
    with cluster.connect_as_superuser("scratch") as owner:
        owner.execute("VACUUM ANALYZE")
    return _TakenIn(database, embedder, shelves)


def _searched(taken_in: _TakenIn, questions: Sequence[Question], progress: Progress) -> dict[str, object]:
    measured = Measured()
    for question in progress.track(questions, description="Searching"):
        measure(taken_in.database, taken_in.embedder, taken_in.shelves[question.scope], question, measured)
    return measured.figures()


def _remembered(taken_in: _TakenIn, corpus: Sequence[Text], questions: Sequence[Question]) -> dict[str, object]:
    memory = Memory(taken_in.database, taken_in.embedder, taken_in.shelves, by_scope(corpus))
    return as_figures(memory.measure(questions))


def measure(database: Database, embedder: Embedder, shelf: Shelf, question: Question, measured: Measured) -> None:
    """Ask one question, and note how much of what answers it came back."""
    begun = time.perf_counter()
    short = ask(database, embedder, shelf, question, max(PLACES))
    measured.milliseconds.append((time.perf_counter() - begun) * 1000)
    wanted = question.relevant
    found = [shelf.line_of(row) for row in short]
    for place, parts in measured.at.items():
        parts.append(len(wanted.intersection(found[:place])) / len(wanted))
    long = ask(database, embedder, shelf, question, _LONG)
    for budget, parts in measured.within.items():
        parts.append(len(wanted.intersection(map(shelf.line_of, _fitting(long, budget)))) / len(wanted))


def ask(database: Database, embedder: Embedder, shelf: Shelf, question: Question, most: int) -> list[SearchResult]:
    """The results of a question. A scope with chunks and messages is two searches, one result of each in turn."""
    text, previous = question.text, question.previous
    expanded = expand_query(text, previous)
    vectors = embed_texts(embedder, [expanded, text])
    vector, alone = (Vector(vectors.space, vectors.by_text[words]) for words in (expanded, text))

    def look(scope: SearchScope) -> list[SearchResult]:
        with database.transaction(shelf.principal) as tx:
            return hybrid_search.search(
                shelf.principal,
                tx,
                hybrid_search.Question(text=text, vector=vector, unexpanded_vector=alone, previous=previous),
                scope=scope,
                limit=most,
            )

    found = [look(scope) for scope in shelf.scopes]
    return [row for row in chain.from_iterable(zip_longest(*found)) if row is not None][:most]


def _fitting(rows: Sequence[SearchResult], budget: int) -> Iterator[SearchResult]:
    """The first rows that together fit the budget."""
    for row in rows:
        budget -= token_counter.count_plain_tokens(row.content)
        if budget < 0:
            return
        yield row


def _percent(parts: Sequence[float]) -> float:
    return round(100 * sum(parts) / len(parts), 1)


def _rows(figures: Mapping[str, object], lead: str = "") -> list[dict[str, report.Cell]]:
    rows: list[dict[str, report.Cell]] = []
    for name, value in figures.items():
        if isinstance(value, dict):
            rows += _rows(value, f"{lead}{name} ")
        elif isinstance(value, int | float):
            rows.append({"what": f"{lead}{name}", "value": value})
    return rows


if __name__ == "__main__":
    main()
