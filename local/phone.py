"""A phone on this machine: a small server that plays Gupshup's send API and keeps what it received.

Like the provider it takes a form, answers 202 with an id, and reports `enqueued`, `sent` and `delivered`
to the webhook afterwards. `python -m local.phone --port 8702 --callback URL` runs it.
"""

import argparse
import json
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import parse_qs

import httpx2
import uvicorn
from fastapi import BackgroundTasks, FastAPI, Header, Request
from fastapi.responses import JSONResponse, Response

from local import gupshup
from parlour.infra.jsonable import JsonObject

_KEPT = 5_000
"""How many messages are remembered; the oldest fall out."""

_REPORTED = ("enqueued", "sent", "delivered")
_BETWEEN_SECONDS = 0.3
"""From one report to the next. The provider takes its time as well: a report that overtook the answer to the send
call would be about a message that nobody knows yet."""


@dataclass(frozen=True, slots=True)
class Received:
    """One message that arrived at the phone.

    sender   our number, as the send API was told; recipient: the phone's number, E.164.
    status   submitted, then what was last reported to the webhook.
    """

    id: str
    at: datetime
    app: str
    sender: str
    recipient: str
    kind: str
    text: str
    status: str = "submitted"

    def to_json(self) -> JsonObject:
        return {
            "id": self.id,
            "at": self.at.isoformat(),
            "app": self.app,
            "from": self.sender,
            "to": self.recipient,
            "type": self.kind,
            "text": self.text,
            "status": self.status,
        }


class Phone:
    """What was received, in order, and reporting back what became of it. Safe to use from several threads."""

    def __init__(
        self,
        report: Callable[[JsonObject], None],
        clock: Callable[[], datetime],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._report = report
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._messages: deque[Received] = deque(maxlen=_KEPT)

    def receive(self, form: dict[str, str]) -> Received:
        """Keep what the send API was given; KeyError or ValueError when a field is missing or not readable."""
        content = _content(form["message"])
        message = Received(
            id=str(uuid.uuid4()),
            at=self._clock(),
            app=form["src.name"],
            sender="+" + form["source"].removeprefix("+"),
            recipient="+" + form["destination"].removeprefix("+"),
            kind=str(content.get("type", "text")),
            text=str(content.get("text") or content.get("caption") or ""),
        )
        with self._lock:
            self._messages.append(message)
        return message

    def messages(self, recipient: str = "") -> list[Received]:
        """Everything received, oldest first; only one phone's when `recipient` is given."""
        with self._lock:
            return [message for message in self._messages if recipient in {"", message.recipient}]

    def forget(self) -> None:
        """Start again with nothing."""
        with self._lock:
            self._messages.clear()

    def confirm(self, message: Received) -> None:
        """Tell the webhook that the message was enqueued, sent and delivered."""
        phone_id = f"wamid.{uuid.uuid4().hex}"
        for kind in _REPORTED:
            self._wait(_BETWEEN_SECONDS)
            event = gupshup.message_event(
                app=message.app,
                kind=kind,
                provider_id=message.id,
                phone_id=phone_id,
                to=message.recipient.removeprefix("+"),
                now=self._clock(),
            )
            self._report(event)
            self._mark(message.id, kind)

    def _mark(self, message_id: str, status: str) -> None:
        with self._lock:
            for index, message in enumerate(self._messages):
                if message.id == message_id:
                    self._messages[index] = replace(message, status=status)


def build(phone: Phone) -> FastAPI:
    """The provider's send API, and the few routes with which the console and the tests look at the phone."""
    app = FastAPI(title="Phone", docs_url=None, redoc_url=None)

    @app.post("/wa/api/v1/msg")
    async def send(request: Request, tasks: BackgroundTasks, apikey: Annotated[str, Header()] = "") -> Response:
        if not apikey:
            return _refusal(401, "Portal User Not Found With APIKey")
        try:
            message = phone.receive(_form(await request.body()))
        except (KeyError, ValueError) as error:
            return _refusal(400, f"Invalid request: {error}")
        tasks.add_task(phone.confirm, message)
        return JSONResponse({"status": "submitted", "messageId": message.id}, status_code=202)

    @app.get("/messages")
    def read(to: str = "") -> JsonObject:
        return {"messages": [message.to_json() for message in phone.messages(to)]}

    @app.delete("/messages", status_code=204)
    def forget() -> None:
        phone.forget()

    return app


def main() -> None:
    """Serve one phone until told to stop."""
    parser = argparse.ArgumentParser(description="Play the WhatsApp provider on a laptop.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--callback", default="", help="the webhook that status events go to")
    arguments = parser.parse_args()
    phone = Phone(_poster(arguments.callback), lambda: datetime.now(UTC))
    uvicorn.run(build(phone), host="127.0.0.1", port=arguments.port, log_level="warning")


def _poster(url: str) -> Callable[[JsonObject], None]:
    client = httpx2.Client(timeout=10)

    def post(event: JsonObject) -> None:
        if url:
            client.post(url, json=event)

    return post


def _form(body: bytes) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}


def _content(message: str) -> JsonObject:
    """The send API takes a JSON object, or plain text for short."""
    try:
        content = json.loads(message)
    except json.JSONDecodeError:
        return {"type": "text", "text": message}
    return content if isinstance(content, dict) else {"type": "text", "text": message}


def _refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"status": "error", "message": message}, status_code=status)


if __name__ == "__main__":
    main()
