"""The function that streams, as it was built, under the Runtime API: a turn of the built orchestrator, as it runs."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.function_environment import surroundings
from local import deployment, emulator
from local.lambda_runtime import Sandbox
from tests.functions.deployed_function import sqs_event
from tests.integration.api.conftest import sample_pack_files

_EVENT = Path("events/http_api_open_session.json")
_OPERATOR = {"Authorization": f"Bearer {'o' * 48}", "Parlour-Tenant": "acme"}


class StreamedApi:
    """The API through the function, and the turns that its messages wake."""

    def __init__(self, sandbox: Sandbox, built: Path, environment: dict[str, str]) -> None:
        self._sandbox, self._built, self._environment = sandbox, built, environment

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> dict[str, Any]:
        answer: dict[str, Any] = self._sandbox.invoke(self._event(method, path, body, headers))
        return answer

    def stream(self, method: str, path: str, body: object = None, **headers: str) -> Iterator[bytes]:
        return self._sandbox.stream(self._event(method, path, body, headers))

    def run_turn(self) -> None:
        """Run the turn that the newest message woke."""
        queue = self._environment["TURNS_WEB_QUEUE_URL"]
        client = emulator.client("sqs", self._environment["AWS_ENDPOINT_URL"])
        (message,) = client.receive_message(QueueUrl=queue)["Messages"]
        with Sandbox(deployment.function_code(self._built, "orchestrator"), self._environment) as orchestrator:
            assert orchestrator.invoke(sqs_event(message["Body"])) == {"batchItemFailures": []}

    def _event(self, method: str, path: str, body: object, headers: dict[str, str]) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(_EVENT.read_text("utf-8"))
        given = {"Host": "api.example", "Content-Type": "application/json", **headers}
        event |= {"httpMethod": method, "path": path, "body": None if body is None else json.dumps(body)}
        return event | {"headers": given, "multiValueHeaders": {name: [value] for name, value in given.items()}}


@pytest.fixture(scope="module")
def api() -> Iterator[StreamedApi]:
    built = deployment.build(deployment.host_architecture(), print)
    with surroundings() as environment:
        environment |= {"AWS_LAMBDA_EXEC_WRAPPER": "/var/task/bootstrap"}
        with Sandbox(deployment.function_code(built, "http_stream"), environment) as sandbox:
            running = StreamedApi(sandbox, built, environment)
            files = sample_pack_files("acme", "acme.example")
            del files["documents/plan.md"]
            assert running.ask("PUT", "/v1/pack", {"files": files}, **_OPERATOR)["statusCode"] == 200
            yield running


def test_a_turn_is_streamed_while_it_runs_and_resumed_after_every_event(api: StreamedApi) -> None:
    opened = json.loads(api.ask("POST", "/v1/sessions", {"host": "acme.example"})["body"])
    here, visitor = f"/v1/sessions/{opened['session_id']}", {"Authorization": f"Bearer {opened['token']}"}
    assert api.ask("POST", f"{here}/messages", {"text": "When is the pour?"}, **visitor)["statusCode"] == 202
    chunks = api.stream("GET", f"{here}/stream", **visitor)
    prelude, end = next(chunks).split(b"\0" * 8)
    assert end == b""
    assert json.loads(prelude)["statusCode"] == 200
    assert json.loads(prelude)["multiValueHeaders"]["content-type"] == ["text/event-stream; charset=utf-8"]
    assert next(chunks) == b"retry: 1000\n\n"  # has arrived before the turn begins
    turn = threading.Thread(target=api.run_turn)
    turn.start()
    whole = _events(b"".join(chunks).decode())
    turn.join()
    assert whole[-1]["kind"] == "done"
    listed = json.loads(api.ask("GET", f"{here}/events", **visitor)["body"])["events"]
    assert _lasting(whole) == _lasting(listed)
    for cut in range(1, len(listed)):
        resumed = api.ask("GET", f"{here}/stream", **visitor, **{"Last-Event-ID": str(cut)})
        assert _lasting(_events(resumed["body"])) == _lasting(listed[cut:])
        assert not resumed["failed"]


def test_a_run_of_agui_is_streamed(api: StreamedApi) -> None:
    opened = json.loads(api.ask("POST", "/v1/sessions", {"host": "acme.example"})["body"])
    visitor = {"Authorization": f"Bearer {opened['token']}"}
    message = {"id": "u1", "role": "user", "content": "When is the pour?"}
    run = {"threadId": opened["session_id"], "runId": "r1", "messages": [message]}
    chunks = api.stream("POST", "/v1/agui/desk", run, **visitor)
    next(chunks)
    begun = next(chunks).decode()
    assert '"RUN_STARTED"' in begun
    turn = threading.Thread(target=api.run_turn)
    turn.start()
    events = _events(b"".join(chunks).decode())
    turn.join()
    assert (events[-1]["type"], events[-1]["outcome"]) == ("RUN_FINISHED", {"type": "success"})


def test_a_refusal_comes_as_it_does_elsewhere(api: StreamedApi) -> None:
    refused = api.ask("GET", "/v1/sessions/0198f000-0000-7000-8000-000000000001/stream")
    assert (refused["statusCode"], refused["failed"]) == (401, False)
    assert json.loads(refused["body"])["error"]["code"] == "unauthenticated"


def _lasting(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without progress, of which a follower that fell behind gets the newest only."""
    return [one for one in events if one["kind"] not in {"agent_state", "context_usage", "entity_patch"}]


def _events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
