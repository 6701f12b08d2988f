"""How long a web user waits for the first event and the first words, by stage, with a model of fixed delays.

The API runs under a web server, turns in threads beside it, on a real database. Each follower posts a message and
follows the stream. Figures are milliseconds on one machine: everything shares its processors, the model's delay apart.

first_event_ms            from the POST until its follower has the turn's first event.
first_text_over_model_ms  from the POST until the first words, less the model's own delay, which is fixed.
stages                    medians, in order: `post` until the message is accepted; `begin` until the turn's first event
                          is committed; `prepare` until the model is asked; `model` beyond its own delay, until its
                          first words are committed; `deliver` from there to the follower.
resume_identical          of replies whose follower left after every event and resumed with Last-Event-ID: the share
                          that was the same text, without a gap or a repeat.
"""

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx2

from bench import report
from local import temporary_database
from local.database import APP_ROLE
from parlour.infra.postgres import Database, connector
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage
from tests.conversation_harness import ConversationHarness, open_conversation_harness
from tests.integration.api.live_api import LiveApi, run_live_api

FOLLOWERS = (1, 20, 100)
ROUNDS = {1: 10, 20: 2, 100: 1}
"""Rounds by followers: a median needs some turns."""

_WAITS = ("first_event_ms", "first_text_over_model_ms")
_FIRST_TOKEN_SECONDS = 0.3
_SECONDS_PER_WORD = 0.02
_WORDS = "The crane comes on Friday at nine, when the north gate is free again. " * 3
MODEL_SECONDS = _FIRST_TOKEN_SECONDS + _SECONDS_PER_WORD * len(_WORDS.split(" "))
"""What the model takes for a reply."""

_MAX_CONNECTIONS = 300
_LIMITS = json.dumps(
    {"address_per_minute": 6_000, "new_visitors_per_minute": 6_000, "binding_per_minute": 6_000, "anonymous_share": 1}
)
"""All followers come from one address."""


@dataclass
class FixedModel:
    """Waits as long as always, then writes 50 words a second. `asked_at`: when it was asked, by what was asked."""

    provider: str = "anthropic"
    asked_at: dict[str, float] = field(default_factory=dict)

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        """Stream the text."""
        del seconds_left
        self.asked_at[_last_words(request)] = time.time()
        time.sleep(_FIRST_TOKEN_SECONDS)
        for word in _WORDS.split(" "):
            yield TextDelta(f"{word} ")
            time.sleep(_SECONDS_PER_WORD)
        yield Completion(({"type": "text", "text": _WORDS},), "end_turn", TokenUsage(100, 40))


@dataclass(frozen=True, slots=True)
class Wait:
    """One message; moments are seconds of the wall clock, one clock for all of them."""

    posted: float
    accepted: float
    began: float
    asked: float
    committed: float
    first_event: float
    first_text: float

    def stages(self) -> Mapping[str, float]:
        """Milliseconds by stage."""
        return {
            "post": 1000 * (self.accepted - self.posted),
            "begin": 1000 * (self.began - self.accepted),
            "prepare": 1000 * (self.asked - self.began),
            "model": 1000 * (self.committed - self.asked - _FIRST_TOKEN_SECONDS),
            "deliver": 1000 * (self.first_text - self.committed),
        }


def measure() -> dict[str, Any]:
    """Return the figures by the number of followers at once."""
    with open_crowded_harness() as (harness, open_database), run_live_api(harness, open_database) as api:
        _ask_at_once(api, 1)  # imports, caches, connections
        waits = {
            followers: [wait for _ in range(ROUNDS[followers]) for wait in _ask_at_once(api, followers)]
            for followers in FOLLOWERS
        }
        identical = _resume_at_every_event(api)
    summaries = {str(followers): _summary(found) for followers, found in waits.items()}
    by_name = {name: {n: summary[name] for n, summary in summaries.items()} for name in (*_WAITS, "stages")}
    return {**by_name, "resume_identical": identical}


@contextmanager
def open_crowded_harness() -> Iterator[tuple[ConversationHarness, Callable[[], Database]]]:
    """A harness by the real clock that lets all followers in at once, and what opens further connections."""
    with temporary_database.temporary_cluster() as cluster:
        cluster.set_max_connections(_MAX_CONNECTIONS)
        with closing(temporary_database.create_migrated_database(cluster)) as database:
            harness = open_conversation_harness(database, datetime.now(UTC))
            harness.clock = lambda: datetime.now(UTC)  # type: ignore[assignment]
            harness.query(f"UPDATE bindings SET limits = '{_LIMITS}' RETURNING id")
            harness.max_tenant_turns = max(FOLLOWERS)
            where = cluster.connection_parameters("scratch", APP_ROLE, temporary_database.APP_PASSWORD)
            yield harness, lambda: Database(connector(where))


def _ask_at_once(api: LiveApi, followers: int) -> list[Wait]:
    model = api.conversation.model = FixedModel()  # type: ignore[assignment]
    sessions = [api.open_session() for _ in range(followers)]
    barrier = threading.Barrier(followers)

    def ask(session: dict[str, str]) -> Wait:
        with _client(api, session) as client:
            barrier.wait()
            return _ask(client, session["session_id"], model)

    with ThreadPoolExecutor(followers) as pool:
        return list(pool.map(ask, sessions))


def _ask(client: httpx2.Client, session_id: str, model: FixedModel) -> Wait:
    text = f"When does the crane come to {session_id}?"
    posted = time.time()
    client.post("messages", json={"text": text}).raise_for_status()
    accepted = time.time()
    received = [(event, time.time()) for event in _follow(client, 0)]
    first, first_text = received[0], next(one for one in received if one[0]["kind"] == "text_delta")
    return Wait(
        posted,
        accepted,
        _moment(first[0]["at"]),
        next(at for asked, at in model.asked_at.items() if session_id in asked),
        _moment(first_text[0]["at"]),
        first[1],
        first_text[1],
    )


def _follow(client: httpx2.Client, after: int) -> Iterator[dict[str, Any]]:
    with client.stream("GET", "stream", headers={"Last-Event-ID": str(after)} if after else {}) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line[6:])


def _resume_at_every_event(api: LiveApi) -> float:
    """Follow a turn, leaving after each event; return the share of replies that were received as they were written."""
    api.conversation.model = FixedModel()  # type: ignore[assignment]
    same = 0
    for _ in range(rounds := 5):
        session = api.open_session()
        with _client(api, session) as client:
            client.post("messages", json={"text": "When does the crane come?"}).raise_for_status()
            events: list[dict[str, Any]] = []
            while not events or events[-1]["kind"] != "done":
                events.append(next(_follow(client, events[-1]["number"] if events else 0)))
            (reply,) = [
                one["text"] for one in client.get("messages").json()["messages"] if one["direction"] == "outbound"
            ]
        text = "".join(one["payload"]["text"] for one in events if one["kind"] == "text_delta")
        numbers = [one["number"] for one in events]
        same += text.strip() == reply.strip() and numbers == list(range(1, len(numbers) + 1))
    return same / rounds


def _client(api: LiveApi, session: dict[str, str]) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {session['token']}"}
    return httpx2.Client(base_url=f"{api.url}/v1/sessions/{session['session_id']}/", headers=headers, timeout=120)


def _summary(waits: list[Wait]) -> dict[str, Any]:
    over_model = _percentiles(waits, lambda wait: 1000 * (wait.first_text - wait.posted - _FIRST_TOKEN_SECONDS))
    stages = [wait.stages() for wait in waits]
    return {
        "first_event_ms": _percentiles(waits, lambda wait: 1000 * (wait.first_event - wait.posted)),
        "first_text_over_model_ms": over_model,
        "stages": {name: round(statistics.median(one[name] for one in stages), 1) for name in stages[0]},
    }


def _percentiles(waits: list[Wait], of: Callable[[Wait], float]) -> dict[str, float]:
    values = [of(wait) for wait in waits]
    return {f"p{percent}": round(report.percentile(values, percent), 1) for percent in (50, 95)}


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _last_words(request: ModelRequest) -> str:
    return json.dumps(request.messages[-1])


def show(figures: dict[str, Any]) -> None:
    """Print the figures as tables."""
    for percent in ("p50", "p95"):
        rows = [
            {"at once": followers, **{name: figures[name][followers][percent] for name in _WAITS}}
            for followers in figures["stages"]
        ]
        report.show(f"Waiting for the first words, {percent}, milliseconds", rows)
    stages = [{"at once": followers, **medians} for followers, medians in figures["stages"].items()]
    report.show("Stages of the first words, medians, milliseconds", stages)
    report.show("Resumed after every event", [{"resume_identical": figures["resume_identical"]}])
