"""What uploaded files cost: pages a second, memory, and how long people wait for replies meanwhile.

    python -m bench.ingestion [--json FILE] [--quick]

The product's own path: the API's handler starts an upload, the form takes the bytes to the emulator's bucket, the
handlers of ingest and of the embedder work in processes of their own, on a real database, with MiniLM served on this
machine. A file is read when its rows are written and words find them; it is ready when each has its vector.

pages a second    several PDFs with two workers of ingest: from the first's arrival until the last is read.
child, worker MB  the most resident memory of the process that reads the file, and of the function's own (Linux). The
                  workers here are forked with every function's code imported; a deployed one has only its own.
turn p50, p95     from the webhook to the reply row, one person at a time, with the offline model; the baseline is the
                  same just before, with no file on its way: ratios hold on any machine.
"""

import json
import logging
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import psutil

from bench import generated_files, report
from bench.invocation_metrics import Meter, Metered
from bench.throughput import measure
from local import servers
from local.event_source import EventSource, EventSourceMapping
from local.stack import EMBEDDING_DIMENSIONS, EMBEDDING_MODEL
from local.state import free_ports, minimal_environment
from tests.chaos import operator_requests
from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant, open_chaos_environment

WORKERS = 2
"""Of ingest at once."""

_SECONDS = 120.0
_LOOK_SECONDS = 0.02
_EMBEDDER_SECONDS = 300.0
"""As deployed: with less than 80 left it begins nothing."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Pages of the long PDF, of a file of every other kind, and of the one that is made ready; PDFs that are read at
    once; turns that are timed."""

    long: int = 300
    other: int = 60
    ready: int = 15
    at_once: int = 4
    turns: int = 30


QUICK = Sizes(6, 2, 2, 2, 3)


class Yard:
    """A tenant whose files are read by handlers in workers, and what was measured of each invocation."""

    def __init__(self, running: ChaosEnvironment, desk: ChaosTenant) -> None:
        self.running = running
        self.desk = desk
        self.metered: list[Metered] = []
        self._is_over = False
        self._ingest = self._source("IngestQueue.fifo", "ingest", _SECONDS)
        self._embedding = self._source("EmbeddingQueue", "embedder", _EMBEDDER_SECONDS)

    def _source(self, queue: str, function: str, seconds: float) -> EventSource:
        url = self.running.sqs.get_queue_url(QueueName=f"chaos-{queue}")["QueueUrl"]
        return EventSource(self.running.sqs, EventSourceMapping(function, url, function, seconds, int(seconds) + 10))

    def upload(self, name: str, data: bytes) -> str:
        """As a browser does it; the file's id."""
        begun = self._ask("POST", "/v1/files", {"name": name, "size_bytes": len(data)})
        form = begun["upload"]
        sent = httpx2.post(form["url"], data=form["fields"], files={"file": (name, data)}, timeout=60)
        if not sent.is_success:
            raise LookupError(f"the bucket answered {sent.status_code}: {sent.text[:200]}")
        file_id = str(begun["file"]["id"])
        self._ask("POST", f"/v1/files/{file_id}/complete", {})
        return file_id

    def file(self, file_id: str) -> dict[str, Any]:
        """A file as the API tells it; one that failed is an error."""
        found: dict[str, Any] = self._ask("GET", f"/v1/files/{file_id}", None)
        if found["state"] == "failed":
            raise LookupError(f"{found['name']}: {found['problem']}")
        return found

    def wait(self, file_ids: Sequence[str], states: set[str], seconds: float = _SECONDS) -> float:
        """The moment at which all of them were in one of the states."""
        until = time.monotonic() + seconds
        left = list(file_ids)
        while left:
            left = [one for one in left if self.file(one)["state"] not in states]
            if left and time.monotonic() > until:
                raise TimeoutError(f"{len(left)} files are not {' or '.join(sorted(states))} after {seconds:.0f} s")
            time.sleep(5 * _LOOK_SECONDS if left else 0)
        return time.monotonic()

    @contextmanager
    def reading(self, workers: int = 1) -> Iterator[None]:
        """Ingest's workers take what comes; what one is at when the block ends, it ends."""
        with _pollers([lambda: self._step(self._ingest, Meter())] * workers):
            yield

    @contextmanager
    def embedding(self) -> Iterator[None]:
        """The embedder's worker takes what comes."""
        with _pollers([lambda: self._step(self._embedding, None)]):
            yield

    def end(self) -> None:
        """Kill whoever is still at something."""
        self._is_over = True
        self.running.workers.stop()

    def _step(self, source: EventSource, meter: Meter | None) -> bool:
        records = source.receive(1)
        if records:
            try:
                ended = source.handle(self.running.workers, records, meter)
            except OSError:
                if self._is_over:
                    return False  # its worker was killed under it
                raise
            if ended.outcome != "answered" and not self._is_over:
                raise LookupError(f"{source.mapping.name} ended: {ended}")
            if isinstance(ended.answer, Metered):
                self.metered.append(ended.answer)
        return bool(records)

    def _ask(self, method: str, path: str, body: object) -> Any:
        wanted = operator_requests.operator_request(method, path, body, self.desk)
        ended = self.running.workers.invoke("http_api", wanted, 30)
        if ended.outcome != "answered" or ended.answer["statusCode"] >= 300:
            raise LookupError(f"{method} {path} was answered with {ended}")
        return json.loads(ended.answer["body"])


@contextmanager
def _pollers(steps: Sequence[Callable[[], bool]]) -> Iterator[None]:
    """Take each step again and again, in a thread of its own, until the block ends."""
    over = threading.Event()

    def poll(step: Callable[[], bool]) -> None:
        while not over.is_set():
            if not step():
                time.sleep(_LOOK_SECONDS)

    with ThreadPoolExecutor(len(steps)) as threads:
        polling = [threads.submit(poll, step) for step in steps]
        try:
            yield
        finally:
            over.set()
        for one in polling:
            one.result()


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--quick", action="store_true", help="few pages: to see that it works")
    asked = parser.parse_args()
    logging.disable(logging.INFO)
    sizes = QUICK if asked.quick else Sizes()
    with _minilm() as given, open_chaos_environment({}, offline=True, extra_variables=given) as running:
        yard = Yard(running, running.create_tenant("ingestion", with_knowledge=True))
        _warm_up(yard)
        ready = made_ready(yard, sizes)
        kinds = [by_kind(yard, ending, sizes) for ending in generated_files.KINDS]
        together = at_once(yard, sizes)
        turns = list(meanwhile(yard, sizes))
    report.show("One file of each kind, one after the other", kinds)
    report.show(f"PDFs at once ({psutil.cpu_count()} cores)", [together])
    report.show("From upload to every vector", [ready])
    report.show("Turns meanwhile, one person at a time", turns)
    figures = {"cores": psutil.cpu_count(), "kinds": kinds, "at_once": together, "ready": ready, "turns": turns}
    report.write(asked.json, figures)


def by_kind(yard: Yard, ending: str, sizes: Sizes) -> dict[str, report.Cell]:
    """One file by itself: how long the worker was at it, and what memory that took."""
    count = sizes.long if ending == "pdf" else sizes.other
    data = generated_files.KINDS[ending](count)
    before = len(yard.metered)
    with yard.reading():
        file_id = yard.upload(f"works.{ending}", data)
        yard.wait([file_id], {"embedding", "ready"})
    (metered,) = yard.metered[before:]
    file = yard.file(file_id)
    return {
        "kind": ending,
        "pages": count,
        "MB": len(data) / 1e6,
        "tokens": file["tokens"],
        "rows": file["chunks"],
        "seconds": metered.seconds,
        "pages a second": count / metered.seconds,
        "child MB": metered.child,
        "worker MB": metered.worker,
    }


def at_once(yard: Yard, sizes: Sizes) -> dict[str, report.Cell]:
    """As many PDFs as are said, all there when two workers begin."""
    data = generated_files.pdf(sizes.long)
    file_ids = [yard.upload(f"part-{number}.pdf", data) for number in range(sizes.at_once)]
    begun = time.monotonic()
    with yard.reading(WORKERS):
        seconds = yard.wait(file_ids, {"embedding", "ready"}) - begun
    read = sizes.at_once * sizes.long
    return {
        "files": sizes.at_once,
        "pages": read,
        "workers": WORKERS,
        "seconds": seconds,
        "pages a second": read / seconds,
    }


def made_ready(yard: Yard, sizes: Sizes) -> dict[str, report.Cell]:
    """One PDF until each of its rows has its vector; the embedder waits five seconds for more to come."""
    data = generated_files.pdf(sizes.ready)
    with yard.reading(), yard.embedding():
        begun = time.monotonic()
        file_id = yard.upload("short.pdf", data)
        read = yard.wait([file_id], {"embedding", "ready"}) - begun
        ready = yard.wait([file_id], {"ready"}) - begun
    rows = yard.file(file_id)["chunks"]
    return {
        "pages": sizes.ready,
        "rows": rows,
        "read s": read,
        "ready s": ready,
        "rows a second": rows / (ready - read),
    }


def meanwhile(yard: Yard, sizes: Sizes) -> Iterator[dict[str, report.Cell]]:
    """Turns with nothing else under way, while two PDFs at a time are read, and while vectors are made."""
    alone = _turns(yard, sizes)
    yield _row("nothing (baseline)", alone, alone, "")
    data = generated_files.pdf(sizes.long)
    file_ids = [yard.upload(f"more-{number}.pdf", data) for number in range(2 * sizes.at_once)]
    before = len(yard.metered)
    with yard.reading(WORKERS):
        waits = _turns(yard, sizes)
        read = len(yard.metered) - before
    yield _row("two workers read PDFs", waits, alone, f"{read} of {len(file_ids)} files were read")
    with yard.embedding():
        before, begun = _begun(yard), time.monotonic()
        waits = _turns(yard, sizes)
        made = _vectors(yard) - before
        note = f"{made} vectors were made, {made / (time.monotonic() - begun):.0f} a second"
        yield _row("vectors are made", waits, alone, note)
        yard.end()


def _begun(yard: Yard) -> int:
    """How many vectors there are once the embedder is at it: its nudge comes five seconds after the rows."""
    before, until = _vectors(yard), time.monotonic() + _SECONDS
    while (now := _vectors(yard)) == before and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
    return now


def _vectors(yard: Yard) -> int:
    return int(yard.running.value("SELECT count(*) FROM embeddings WHERE tenant_id = %s", yard.desk.tenant_id))


def _turns(yard: Yard, sizes: Sizes) -> list[float]:
    return [wait for _ in range(sizes.turns) for wait in measure(yard.running, yard.desk, 1).waits]


def _row(what: str, waits: Sequence[float], alone: Sequence[float], note: str) -> dict[str, report.Cell]:
    p50, p95 = (report.percentile(waits, percent) for percent in (50, 95))
    return {
        "meanwhile": what,
        "turns": len(waits),
        "p50 s": p50,
        "p95 s": p95,
        "p50 x baseline": p50 / statistics.median(alone),
        "p95 x baseline": p95 / report.percentile(alone, 95),
        "besides": note,
    }


def _warm_up(yard: Yard) -> None:
    """The workers open their connections. No wait for a burst's other messages, as in bench.throughput."""
    turns = next(source for source in yard.running.event_sources if source.mapping.name == "turns")
    yard.running.sqs.set_queue_attributes(QueueUrl=turns.mapping.url, Attributes={"DelaySeconds": "0"})
    for _ in range(3):
        measure(yard.running, yard.desk, 1)
    with yard.reading(WORKERS):
        yard.wait([yard.upload("first.txt", b"The crane comes on Tuesday.")], {"embedding", "ready"})


@contextmanager
def _minilm() -> Iterator[Mapping[str, str]]:
    """The laptop's embedding model in a process of its own, and the variables that lead to it."""
    url = f"http://127.0.0.1:{(port := free_ports().embeddings)}/v1"
    command = [sys.executable, "-m", "local.embeddings", "--port", str(port)]
    with subprocess.Popen(command, env=minimal_environment()) as process:
        try:
            until = time.monotonic() + 30
            while not servers.is_answering(f"{url}/models") and time.monotonic() < until:
                time.sleep(_LOOK_SECONDS)
            dimensions = str(EMBEDDING_DIMENSIONS)
            yield {"EMBEDDING_URL": url, "EMBEDDING_MODEL": EMBEDDING_MODEL, "EMBEDDING_DIMENSIONS": dimensions}
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
