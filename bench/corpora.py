"""Public sets as a corpus and queries for `bench.retrieval`; none of their text is part of the project.

    python -m bench.corpora mtrag-un FILE --to FOLDER
    python -m bench.corpora qmsum FILE --to FOLDER
    python -m bench.corpora tau2 FOLDER --to FOLDER

mtrag-un   one scope per domain, its passages as chunks; a question with what the same user asked before it.
qmsum      one scope per meeting, its turns as messages with their speakers; a question with the turns of its span.
           Questions whose span is longer than LONGEST_SPAN turns ask for a summary and are left out.
tau2       one scope, its documents as chunks; what the customer wants with the documents that the task requires.

Writes FOLDER/NAME.corpus.jsonl, and its queries twice over: NAME.tune.jsonl is what constants were chosen on,
NAME.report.jsonl what figures are reported on. Halves are by conversation (mtrag-un), meeting (qmsum) and task (tau2),
so that no question of a half is asked in the context of the other's.
"""

import argparse
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

type Line = dict[str, Any]

LONGEST_SPAN = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=sorted(SETS))
    parser.add_argument("path", type=Path)
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER")
    chosen = parser.parse_args()
    corpus, queries = SETS[chosen.set](chosen.path)
    chosen.to.mkdir(parents=True, exist_ok=True)
    tune = [line for line in queries if zlib.crc32(line["group"].encode()) % 2 == 0]
    report = [line for line in queries if zlib.crc32(line["group"].encode()) % 2 == 1]
    for name, lines in (("corpus", corpus), ("tune", tune), ("report", report)):
        path = chosen.to / f"{chosen.set}.{name}.jsonl"
        path.write_text("".join(f"{json.dumps(_without_group(line))}\n" for line in lines), "utf-8")
        print(f"{path}: {len(lines)} lines")


def mtrag_un(path: Path) -> tuple[list[Line], list[Line]]:
    """Passages by domain, and every question that has some."""
    tasks = [task for task in read_lines(path) if task["contexts"]]
    passages = {
        (task["Collection"], passage["document_id"]): passage
        for task in read_lines(path)
        for passage in task["contexts"]
    }
    corpus = [
        {"scope": scope, "id": key, "kind": "chunk", "title": passage.get("title") or "", "text": passage["text"]}
        for (scope, key), passage in passages.items()
    ]
    queries = [
        {
            "group": task["conversation_id"],
            "scope": task["Collection"],
            "text": asked[-1],
            "previous": asked[:-1],
            "relevant": [passage["document_id"] for passage in task["contexts"]],
        }
        for task in tasks
        if (asked := [turn["text"] for turn in task["input"] if turn["speaker"] == "user"])
    ]
    return corpus, queries


def qmsum(path: Path) -> tuple[list[Line], list[Line]]:
    """Meetings turn by turn."""
    corpus: list[Line] = []
    queries: list[Line] = []
    for number, meeting in enumerate(read_lines(path)):
        scope = f"meeting-{number}"
        turns = meeting["meeting_transcripts"]
        corpus += [
            {"scope": scope, "id": str(place), "kind": "message", "speaker": turn["speaker"], "text": turn["content"]}
            for place, turn in enumerate(turns)
            if turn["content"].strip()
        ]
        kept = {line["id"] for line in corpus if line["scope"] == scope}
        for query in meeting["specific_query_list"]:
            span = [str(place) for place in _places(query["relevant_text_span"]) if str(place) in kept]
            if 0 < len(span) <= LONGEST_SPAN:
                queries.append(
                    {"group": scope, "scope": scope, "text": query["query"], "previous": [], "relevant": span}
                )
    return corpus, queries


def tau2(path: Path) -> tuple[list[Line], list[Line]]:
    """A bank's documents, and what customers come with."""
    documents = [json.loads(file.read_text("utf-8")) for file in sorted((path / "documents").glob("*.json"))]
    corpus = [
        {"scope": "bank", "id": one["id"], "kind": "chunk", "title": one["title"], "text": one["content"]}
        for one in documents
    ]
    queries = [
        {
            "group": task["id"],
            "scope": "bank",
            "text": task["user_scenario"]["instructions"],
            "previous": [],
            "relevant": task["required_documents"],
        }
        for task in json.loads((path / "tasks.json").read_text("utf-8"))
        if task.get("required_documents")
    ]
    return corpus, queries


SETS: Mapping[str, Callable[[Path], tuple[list[Line], list[Line]]]] = {
    "mtrag-un": mtrag_un,
    "qmsum": qmsum,
    "tau2": tau2,
}


def read_lines(path: Path) -> Iterator[Line]:
    """The objects of a JSON lines file."""
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def _places(spans: Iterable[tuple[str, str]]) -> list[int]:
    return sorted({place for first, last in spans for place in range(int(first), int(last) + 1)})


def _without_group(line: Line) -> Line:
    return {name: value for name, value in line.items() if name != "group"}


if __name__ == "__main__":
    main()
