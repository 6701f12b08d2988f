"""How long somebody on WhatsApp waits, with a model of fixed delays: from Meta's webhook to the Graph API.

The webhook is posted over HTTP and signed; envelopes, turns and sending run in threads, each as soon as its queue has
something, on a real database; the Graph API is the laptop's phone, over HTTP. Queues of AWS add their own time, which
is not in these figures. Everybody writes once, in a quiet conversation. Figures are milliseconds on one machine.

whatsapp_first_sign_ms   from the POST until the Graph API is asked to show the blue ticks and the typing indicator.
whatsapp_over_model_ms   from the POST until the Graph API has the reply, less what the model takes, which is fixed.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response

from bench import report
from bench.streaming_latency import FOLLOWERS, MODEL_SECONDS, ROUNDS, FixedModel, open_crowded_harness
from local import meta_webhooks, phone
from local.phone import SimulatedPhone
from parlour.api.database_pool import DatabasePool
from parlour.channels import intake_messages, outbox, provider_http
from parlour.channels.send import send_reply
from parlour.channels.webhooks import WebhookRequest, WebhookSecrets, accept_webhook
from parlour.channels.whatsapp_cloud_api import WhatsAppCloudProvider
from parlour.conversations.inbound_messages import SessionWakeup, receive_envelope
from parlour.conversations.turn_runner import run_session
from parlour.infra.ids import uuid7
from parlour.infra.queues import QueueMessage
from parlour.principal import system_principal
from tests.conversation_harness import ConversationHarness, FakeQueue
from tests.integration.api.live_api import WorkerQueue

WAITS = ("whatsapp_first_sign_ms", "whatsapp_over_model_ms")
_PHONE_NUMBER_ID = "104729350000142"
_APP_SECRET = "bench-app-secret-0000"
_MAX_WAIT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class _Token:
    def get(self, reference: str, /) -> str:
        return f"token of {reference}"


@dataclass(frozen=True, slots=True)
class _Deployment:
    """Where webhooks are posted, and the phone that plays Meta."""

    webhook: str
    phone: SimulatedPhone


def measure() -> dict[str, Any]:
    """Return the figures by the number of people who write at once."""
    with open_crowded_harness() as (harness, open_database):
        pool = DatabasePool(open_database, max(FOLLOWERS))
        with _run_deployment(harness, pool) as deployment:
            _write_at_once(deployment, 1)  # imports, caches, connections
            waits = {
                people: [wait for _ in range(ROUNDS[people]) for wait in _write_at_once(deployment, people)]
                for people in FOLLOWERS
            }
    return {
        name: {
            str(people): {
                f"p{share}": round(report.percentile([one[name] for one in found], share), 1) for share in (50, 95)
            }
            for people, found in waits.items()
        }
        for name in WAITS
    }


def show(figures: dict[str, Any]) -> None:
    """Print the figures as tables."""
    for percent in ("p50", "p95"):
        rows = [
            {"at once": people, **{name: figures[name][people][percent] for name in WAITS}}
            for people in figures[WAITS[0]]
        ]
        report.show(f"Waiting on WhatsApp, {percent}, milliseconds", rows)


@contextmanager
def _run_deployment(harness: ConversationHarness, pool: DatabasePool) -> Iterator[_Deployment]:
    """Run the path of a message until the block ends; what a worker raised is raised then."""
    meta = SimulatedPhone(lambda _event: None, lambda: datetime.now(UTC), lambda _seconds: None)
    harness.model = FixedModel()  # type: ignore[assignment]
    with ExitStack() as servers:
        graph = servers.enter_context(_serve(phone.build_app(meta)))
        provider = WhatsAppCloudProvider(provider_http.new_client(), graph, _Token())

        def receive(message: QueueMessage) -> None:
            with pool.borrow() as database:
                for envelope in intake_messages.unpack_envelopes(message.body):
                    receive_envelope(database, turn_queues, harness.wakeups, envelope, datetime.now(UTC))

        def run_turn(message: QueueMessage) -> None:
            with pool.borrow() as database:
                dependencies = replace(
                    harness.make_dependencies(database),
                    outbox_queue=replies,
                    read_receipts={"whatsapp_cloud": provider},
                    sleep=time.sleep,
                )
                run_session(dependencies, SessionWakeup.parse(message.body), lambda: 60.0)

        def send(message: QueueMessage) -> None:
            tenant_id, outbox_id = outbox.parse_wakeup(message.body)
            now = datetime.now(UTC)
            with pool.borrow() as database:
                send_reply(
                    system_principal(tenant_id),
                    database,
                    {"whatsapp_cloud": provider},
                    outbox_id,
                    uuid7(now),
                    now,
                    lambda: 60.0,
                )

        intake, turns, replies = WorkerQueue(receive), WorkerQueue(run_turn), WorkerQueue(send)
        turn_queues: Mapping[str, FakeQueue | WorkerQueue] = {"whatsapp": FakeQueue(), "web": turns}
        webhook = servers.enter_context(_serve(_inbound(intake)))
        try:
            yield _Deployment(f"{webhook}/webhooks/whatsapp", meta)
        finally:
            for queue in (intake, turns, replies):
                queue.join()
            pool.close()
    assert [*intake.problems, *turns.problems, *replies.problems] == []


def _inbound(intake: WorkerQueue) -> FastAPI:
    app = FastAPI()
    secrets = WebhookSecrets(whatsapp_app_secrets=(_APP_SECRET,))

    @app.post("/webhooks/whatsapp")
    async def take(request: Request) -> Response:
        given = WebhookRequest("POST", request.url.path, dict(request.headers), await request.body())
        answer = accept_webhook(given, secrets, intake, datetime.now(UTC))
        return Response(answer.body, answer.status)

    return app


@contextmanager
def _serve(app: FastAPI) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def _write_at_once(deployment: _Deployment, people: int) -> list[Mapping[str, float]]:
    deployment.phone.clear()
    barrier = threading.Barrier(people)
    names = [f"{time.time_ns() % 10**9}{number:03}" for number in range(people)]

    def write(name: str) -> float:
        body = _webhook_body(name)
        headers = {meta_webhooks.SIGNATURE_HEADER: meta_webhooks.sign(body, _APP_SECRET)}
        with httpx2.Client(timeout=60) as client:
            barrier.wait()
            posted = time.time()
            client.post(deployment.webhook, content=body, headers=headers).raise_for_status()
        return posted

    with ThreadPoolExecutor(people) as pool:
        posted = dict(zip(names, pool.map(write, names), strict=True))
    deadline = time.monotonic() + _MAX_WAIT_SECONDS
    while len(deployment.phone.messages()) < people and time.monotonic() < deadline:
        time.sleep(0.01)
    signs = {one.message_id: one.at.timestamp() for one in deployment.phone.receipts()}
    replies = {one.recipient: one.at.timestamp() for one in deployment.phone.messages()}
    return [
        {
            WAITS[0]: 1000 * (signs[f"wamid.{name}"] - at),
            WAITS[1]: 1000 * (replies[f"+91{name}"] - at - MODEL_SECONDS),
        }
        for name, at in posted.items()
    ]


def _webhook_body(name: str) -> bytes:
    message = meta_webhooks.text_message(
        phone_number_id=_PHONE_NUMBER_ID,
        sender=f"+91{name}",
        name="Bench",
        text="When does the crane come?",
        message_id=f"wamid.{name}",
        now=datetime.now(UTC),
    )
    return meta_webhooks.encode(meta_webhooks.webhook(message))
