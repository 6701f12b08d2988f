"""The API under a web server, with turns and approved calls that run as soon as something wakes them."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from uuid import UUID

import httpx2
import uvicorn

from local.example_tenant import TENANT_SLUG
from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.turn_runner import run_session
from parlour.infra.postgres import Database
from parlour.infra.queues import QueueMessage
from parlour.tools.dispatch import dispatch_call
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness
from tests.integration.api.conftest import FakeQueues, ManualClock, RecordingQueue, make_dependencies


@dataclass
class WorkerQueue:
    """A queue with a worker: what is sent is worked on at once, in a thread."""

    work: Callable[[QueueMessage], None]
    problems: list[BaseException] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        for message in messages:
            self._threads.append(threading.Thread(target=self._run, args=(message,)))
            self._threads[-1].start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)

    def _run(self, message: QueueMessage) -> None:
        try:
            self.work(message)
        except BaseException as problem:  # noqa: BLE001 - the test that joins raises it
            self.problems.append(problem)


@dataclass
class LiveApi:
    """A running API. `url` is its address; turns run while `turns` has workers."""

    url: str
    conversation: ConversationHarness
    turns: WorkerQueue
    calls: WorkerQueue
    client: httpx2.Client

    def open_session(self) -> dict[str, str]:
        answer = self.client.post("/v1/sessions", json={"tenant": TENANT_SLUG, "binding": "site-desk"})
        assert answer.status_code == 201, answer.text
        opened: dict[str, str] = answer.json()
        return opened


@contextmanager
def run_live_api(
    conversation: ConversationHarness, open_database: Callable[[], Database], asking: ApprovalHarness | None = None
) -> Iterator[LiveApi]:
    """Run the API until the block ends; what a worker raised is raised then."""

    def run_turn(message: QueueMessage) -> None:
        with pool.borrow() as database:
            dependencies = replace(conversation.make_dependencies(database), tool_queue=calls)
            run_session(dependencies, SessionWakeup.parse(message.body), lambda: 60.0)

    def run_call(message: QueueMessage) -> None:
        assert asking is not None
        with pool.borrow() as database:
            dependencies = replace(asking.make_dependencies(database), wake=lambda one: turns.send([one.message]))
            dispatch_call(dependencies, conversation.tenant_id, UUID(str(message.body["tool_call_id"])), lambda: 900.0)

    turns, calls, pool = WorkerQueue(run_turn), WorkerQueue(run_call), DatabasePool(open_database)
    dependencies = make_dependencies(pool, ManualClock(conversation.clock()), RecordingQueue(), FakeQueues())
    app = create_app(replace(dependencies, turns_web_queue=turns, tools_queue=calls, clock=conversation.clock))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
            yield LiveApi(f"http://127.0.0.1:{port}", conversation, turns, calls, client)
    finally:
        calls.join()
        turns.join()
        server.should_exit = True
        thread.join(10)
        pool.close()
    assert [*turns.problems, *calls.problems] == []
