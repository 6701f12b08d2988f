"""A site office on this machine: a small system of somebody else's, which the example's tools call.

It keeps requests for information, notifies foremen and compiles reports. Like many such systems it carries out every
request that it is sent, also one that it was sent before: whoever calls is to see to it that things happen once.
Requests for information can be asked for by the key they came with. `python -m local.office --port 8705` runs it.
"""

import argparse
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

import httpx2
import uvicorn
from fastapi import BackgroundTasks, Body, FastAPI, Header
from fastapi.responses import JSONResponse, Response

from parlour.infra.jsonable import JsonObject

_REPORT_SECONDS = 4.0
"""What compiling a report takes: longer than anybody waits for a chat message."""

_TRIES = 5
"""How often a result is called back until it is taken."""

type Kept = list[JsonObject]
type Given = Annotated[dict[str, Any], Body()]
type Key = Annotated[str, Header()]


@dataclass
class Office:
    """What the office did, in order. Safe to use from several threads."""

    clock: Callable[[], datetime]
    wait: Callable[[float], None] = time.sleep
    report_seconds: float = _REPORT_SECONDS
    rfis: Kept = field(default_factory=list)
    notifications: Kept = field(default_factory=list)
    reports: Kept = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, among: Kept, prefix: str, key: str, given: JsonObject) -> JsonObject:
        """One more of a kind, numbered."""
        with self._lock:
            kept = {"number": f"{prefix}-{len(among) + 101}", "at": self.clock().isoformat(), **given, "key": key}
            among.append(kept)
        return _shown(kept)

    def by_key(self, among: Kept, key: str) -> JsonObject | None:
        """What came with that key first, if anything did."""
        with self._lock:
            return next((_shown(one) for one in among if one["key"] == key), None)

    def compile(self, key: str, given: JsonObject) -> JsonObject:
        """A report, after some seconds: how many requests are open on which subjects."""
        self.wait(self.report_seconds)
        with self._lock:
            subjects = [str(rfi.get("subject", "")) for rfi in self.rfis]
        said = f"{len(subjects)} requests for information are open."
        return self.keep(self.reports, "REP", key, {**given, "summary": said, "open_requests": [*subjects]})

    def forget(self) -> None:
        """Start again with nothing."""
        with self._lock:
            for among in (self.rfis, self.notifications, self.reports):
                among.clear()


def build(office: Office, call_back: Callable[[str, JsonObject], None]) -> FastAPI:
    """The office's own API, and the routes with which a test looks at what it did."""
    app = FastAPI(title="Site office", docs_url=None, redoc_url=None)

    @app.post("/rfis", status_code=201)
    def raise_rfi(given: Given, idempotency_key: Key = "") -> JsonObject:
        return office.keep(office.rfis, "RFI", idempotency_key, given)

    @app.get("/rfis/by-key/{key:path}")
    def find_rfi(key: str) -> Response:
        found = office.by_key(office.rfis, key)
        return JSONResponse(found) if found else JSONResponse({"detail": "none came with that key"}, status_code=404)

    @app.post("/notifications", status_code=201)
    def notify_foreman(given: Given, idempotency_key: Key = "") -> JsonObject:
        return office.keep(office.notifications, "N", idempotency_key, given)

    @app.post("/reports")
    def compile_report(given: Given, idempotency_key: Key = "") -> JsonObject:
        return office.compile(idempotency_key, given)

    @app.post("/reports/later", status_code=202)
    def compile_later(
        given: Given, tasks: BackgroundTasks, idempotency_key: Key = "", parlour_callback: Key = ""
    ) -> JsonObject:
        tasks.add_task(lambda: call_back(parlour_callback, office.compile(idempotency_key, given)))
        return {"status": "compiling"}

    @app.get("/done")
    def done() -> JsonObject:
        return {"rfis": [*office.rfis], "notifications": [*office.notifications], "reports": [*office.reports]}

    @app.delete("/done", status_code=204)
    def forget() -> None:
        office.forget()

    return app


def main() -> None:
    """Serve one office until told to stop."""
    parser = argparse.ArgumentParser(description="Play a site office on a laptop.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--report-seconds", type=float, default=_REPORT_SECONDS)
    arguments = parser.parse_args()
    office = Office(lambda: datetime.now(UTC), report_seconds=arguments.report_seconds)
    uvicorn.run(build(office, _post), host="127.0.0.1", port=arguments.port, log_level="warning")


def _post(url: str, result: JsonObject) -> None:
    """Give the result to whoever asked for it, a few times if need be; it is taken once."""
    for attempt in range(_TRIES):
        try:
            if not url or httpx2.post(url, json=result, timeout=10).is_success:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(2**attempt)


def _shown(kept: JsonObject) -> JsonObject:
    return {name: value for name, value in kept.items() if name != "key"}


if __name__ == "__main__":
    main()
