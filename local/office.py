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

from parlour.infra.json_values import JsonObject

_REPORT_SECONDS = 4.0
"""What compiling a report takes: longer than anybody waits for a chat message."""

_MAX_CALLBACK_ATTEMPTS = 5
"""How often a result is called back until it is taken."""

type OfficeEntries = list[JsonObject]
type RequestBody = Annotated[dict[str, Any], Body()]
type HeaderText = Annotated[str, Header()]


@dataclass
class Office:
    """What the office did, in order. Safe to use from several threads."""

    clock: Callable[[], datetime]
    wait: Callable[[float], None] = time.sleep
    report_seconds: float = _REPORT_SECONDS
    rfis: OfficeEntries = field(default_factory=list)
    notifications: OfficeEntries = field(default_factory=list)
    reports: OfficeEntries = field(default_factory=list)
    loses_first_page: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_entry(self, entries: OfficeEntries, prefix: str, key: str, given: JsonObject) -> JsonObject:
        """One more of a kind, numbered."""
        with self._lock:
            kept = {"number": f"{prefix}-{len(entries) + 101}", "at": self.clock().isoformat(), **given, "key": key}
            entries.append(kept)
        return _without_key(kept)

    def find_by_key(self, entries: OfficeEntries, key: str) -> JsonObject | None:
        """What came with that key first, if anything did."""
        with self._lock:
            return next((_without_key(one) for one in entries if one["key"] == key), None)

    def compile_report(self, key: str, given: JsonObject) -> JsonObject:
        """A report, after some seconds: how many requests are open on which subjects."""
        self.wait(self.report_seconds)
        with self._lock:
            subjects = [str(rfi.get("subject", "")) for rfi in self.rfis]
        said = f"Open requests for information: {len(subjects)}."
        return self.add_entry(self.reports, "REP", key, {**given, "summary": said, "open_requests": [*subjects]})

    def clear(self) -> None:
        """Start again with nothing."""
        with self._lock:
            for among in (self.rfis, self.notifications, self.reports):
                among.clear()


def build_app(office: Office, call_back: Callable[[str, JsonObject], None]) -> FastAPI:
    """The office's own API, and the routes with which a test looks at what it did."""
    app = FastAPI(title="Site office", docs_url=None, redoc_url=None)

    @app.post("/rfis", status_code=201)
    def raise_rfi(given: RequestBody, idempotency_key: HeaderText = "") -> JsonObject:
        return _acknowledgement(office.add_entry(office.rfis, "RFI", idempotency_key, given))

    @app.get("/rfis/by-key/{key:path}")
    def find_rfi(key: str) -> Response:
        found = office.find_by_key(office.rfis, key)
        return (
            JSONResponse(_acknowledgement(found))
            if found
            else JSONResponse({"detail": "none came with that key"}, status_code=404)
        )

    @app.post("/notifications", status_code=201)
    def notify_foreman(given: RequestBody, idempotency_key: HeaderText = "") -> Response:
        page = office.add_entry(office.notifications, "N", idempotency_key, given)
        if office.loses_first_page and len(office.notifications) == 1:
            # The foreman was paged, but the caller gets no answer.
            return JSONResponse({"detail": "the pager's line broke off"}, status_code=500)
        return JSONResponse(page, status_code=201)

    @app.post("/reports")
    def compile_report(given: RequestBody, idempotency_key: HeaderText = "") -> JsonObject:
        return office.compile_report(idempotency_key, given)

    @app.post("/reports/later", status_code=202)
    def compile_later(
        given: RequestBody, tasks: BackgroundTasks, idempotency_key: HeaderText = "", parlour_callback: HeaderText = ""
    ) -> JsonObject:
        tasks.add_task(lambda: call_back(parlour_callback, office.compile_report(idempotency_key, given)))
        return {"status": "compiling"}

    @app.get("/done")
    def done() -> JsonObject:
        return {"rfis": [*office.rfis], "notifications": [*office.notifications], "reports": [*office.reports]}

    @app.delete("/done", status_code=204)
    def forget() -> None:
        office.clear()

    return app


def main() -> None:
    """Serve one office until told to stop."""
    parser = argparse.ArgumentParser(description="Play a site office on a laptop.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--report-seconds", type=float, default=_REPORT_SECONDS)
    parser.add_argument("--lose-first-page", action="store_true", help="page the foreman once without an answer")
    arguments = parser.parse_args()
    office = Office(
        lambda: datetime.now(UTC), report_seconds=arguments.report_seconds, loses_first_page=arguments.lose_first_page
    )
    uvicorn.run(build_app(office, _call_back), host="127.0.0.1", port=arguments.port, log_level="warning")


def _call_back(url: str, result: JsonObject) -> None:
    """Give the result to whoever asked for it, a few times if need be; it is taken once."""
    for attempt in range(_MAX_CALLBACK_ATTEMPTS):
        try:
            if not url or httpx2.post(url, json=result, timeout=10).is_success:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(2**attempt)


def _acknowledgement(entry: JsonObject) -> JsonObject:
    """Return what the sender of an entry is told: nothing that was sent comes back."""
    return {"number": entry["number"], "at": entry["at"]}


def _without_key(kept: JsonObject) -> JsonObject:
    return {name: value for name, value in kept.items() if name != "key"}


if __name__ == "__main__":
    main()
