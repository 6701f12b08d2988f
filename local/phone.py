"""A phone on this machine: a small server that plays Gupshup's and Meta's send APIs and keeps what it received.

Like the providers it answers with an id, and reports to the webhook afterwards what became of the message: to the one
that the message's provider has, signed where that is Meta. It also serves Meta's media, and can be told to misbehave:
`POST /behaviour {"next": "hang_up"}` takes the next message and hangs up instead of answering, `"slow"` with `seconds`
answers late. `python -m local.phone --port 8702 --callback URL` runs it.
"""

import argparse
import json
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qs

import httpx2
import uvicorn
from fastapi import Body, Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.background import BackgroundTask

from local import gupshup_webhooks, meta_webhooks
from parlour.infra.json_values import JsonObject

SAMPLE_PHOTO = b"\x89PNG\r\n\x1a\n" + bytes(64)
"""What everybody's photo looks like here."""

_MAX_MESSAGES = 5_000
"""How many messages are remembered; the oldest fall out."""

_REPORTED_STATUSES = {"gupshup": ("enqueued", "sent", "delivered"), "whatsapp_cloud": ("sent", "delivered")}
_TEMPLATE_TITLES = ("Yes", "No")
"""The titles of a question template's buttons: the template has them, not the message."""

_REPORT_INTERVAL_SECONDS = 0.3
"""From one report to the next. The provider takes its time as well: a report that overtook the answer to the send
call would be about a message that nobody knows yet."""


@dataclass(frozen=True, slots=True)
class ReadReceipt:
    """A message of the phone's owner that was marked as read; `is_typing`: somebody types since then."""

    message_id: str
    at: datetime
    is_typing: bool

    def to_json(self) -> JsonObject:
        return {"message_id": self.message_id, "at": self.at.isoformat(), "is_typing": self.is_typing}


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """One message that arrived at the phone.

    sender   our number, as the send API was told; recipient: the phone's number, E.164.
    status   submitted, then what was last reported to the webhook.
    provider gupshup or whatsapp_cloud; app is then the phone number's id, and callback what was given along.
    buttons  what the owner of the phone may press: id and title of each.
    """

    id: str
    at: datetime
    app: str
    sender: str
    recipient: str
    kind: str
    text: str
    status: str = "submitted"
    provider: str = "gupshup"
    callback: str = ""
    buttons: list[JsonObject] = field(default_factory=list)

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
            "provider": self.provider,
            "buttons": list(self.buttons),
        }


class SimulatedPhone:
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
        self._messages: deque[ReceivedMessage] = deque(maxlen=_MAX_MESSAGES)
        self._receipts: deque[ReadReceipt] = deque(maxlen=_MAX_MESSAGES)

    def receive(self, form: dict[str, str]) -> ReceivedMessage:
        """Keep what the send API was given; KeyError or ValueError when a field is missing or not readable."""
        content = _parse_template(form) if "template" in form else _parse_message(form["message"])
        message = ReceivedMessage(
            id=str(uuid.uuid4()),
            at=self._clock(),
            app=form["src.name"],
            sender="+" + form["source"].removeprefix("+"),
            recipient="+" + form["destination"].removeprefix("+"),
            kind=str(content.get("type", "text")),
            text=str(content.get("text") or content.get("caption") or ""),
            buttons=_gupshup_buttons(content),
        )
        return self._store(message)

    def receive_from_meta(self, phone_number_id: str, body: JsonObject) -> ReceivedMessage:
        """The same for Meta's send API; KeyError when a field is missing."""
        kind = str(body["type"])
        message = ReceivedMessage(
            id=f"wamid.{uuid.uuid4().hex}",
            at=self._clock(),
            app=phone_number_id,
            sender=phone_number_id,
            recipient="+" + str(body["to"]).removeprefix("+"),
            kind=kind,
            text=_message_text(kind, body),
            provider="whatsapp_cloud",
            callback=str(body.get("biz_opaque_callback_data", "")),
            buttons=_meta_buttons(body),
        )
        return self._store(message)

    def mark_read(self, body: JsonObject) -> None:
        """Keep a read receipt of Meta's send API; KeyError when a field is missing."""
        receipt = ReadReceipt(str(body["message_id"]), self._clock(), "typing_indicator" in body)
        with self._lock:
            self._receipts.append(receipt)

    def receipts(self) -> list[ReadReceipt]:
        """Every read receipt, oldest first."""
        with self._lock:
            return list(self._receipts)

    def _store(self, message: ReceivedMessage) -> ReceivedMessage:
        with self._lock:
            self._messages.append(message)
        return message

    def messages(self, recipient: str = "") -> list[ReceivedMessage]:
        """Everything received, oldest first; only one phone's when `recipient` is given."""
        with self._lock:
            return [message for message in self._messages if recipient in {"", message.recipient}]

    def clear(self) -> None:
        """Start again with nothing."""
        with self._lock:
            self._messages.clear()
            self._receipts.clear()

    def report_delivery(self, message: ReceivedMessage) -> None:
        """Tell the webhook that the message was (at Gupshup) enqueued, sent and delivered."""
        phone_id = f"wamid.{uuid.uuid4().hex}"
        for kind in _REPORTED_STATUSES[message.provider]:
            self._wait(_REPORT_INTERVAL_SECONDS)
            self._report(self._status_event(message, kind, phone_id))
            self._set_status(message.id, kind)

    def _status_event(self, message: ReceivedMessage, kind: str, phone_id: str) -> JsonObject:
        to, now = message.recipient.removeprefix("+"), self._clock()
        if message.provider == "gupshup":
            return gupshup_webhooks.message_event(
                app=message.app, kind=kind, provider_id=message.id, phone_id=phone_id, to=to, now=now
            )
        told = meta_webhooks.status(
            phone_number_id=message.app, kind=kind, message_id=message.id, to=to, callback=message.callback, now=now
        )
        return meta_webhooks.webhook(told)

    def _set_status(self, message_id: str, status: str) -> None:
        with self._lock:
            for index, message in enumerate(self._messages):
                if message.id == message_id:
                    self._messages[index] = replace(message, status=status)


class NextResponse:
    """How the next message that comes is answered; everything after it as usual."""

    def __init__(self) -> None:
        self._next: JsonObject = {}

    def set_next(self, said: JsonObject) -> None:
        """`{"next": "hang_up"}` or `{"next": "slow", "seconds": 20}`."""
        self._next = said

    def respond(self, body: JsonObject, status: int, report: Callable[[], None]) -> Response:
        """The answer to a message that was taken, or what the next one is to get instead.

        `report` tells what becomes of it: after the answer, or meanwhile where the answer is late or never comes.
        """
        said, self._next = self._next, {}
        if not said:
            return JSONResponse(body, status, background=BackgroundTask(report))
        threading.Thread(target=report, daemon=True).start()
        if said.get("next") == "hang_up":
            return StreamingResponse(iter(()), status, headers={"content-length": "64"})  # and nothing of it comes
        time.sleep(float(str(said.get("seconds", 15))))
        return JSONResponse(body, status)


def build_app(phone: SimulatedPhone, behaviour: NextResponse | None = None) -> FastAPI:
    """The providers' APIs, and the few routes with which the console and the tests look at the phone."""
    app = FastAPI(title="Phone", docs_url=None, redoc_url=None)
    manners = behaviour or NextResponse()
    _add_gupshup(app, phone, manners)
    _add_meta(app, phone, manners)

    @app.post("/behaviour", status_code=204)
    def behave(said: Annotated[dict[str, Any], Body()]) -> None:
        manners.set_next(said)

    @app.get("/messages")
    def read(to: str = "") -> JsonObject:
        return {"messages": [message.to_json() for message in phone.messages(to)]}

    @app.get("/receipts")
    def read_receipts() -> JsonObject:
        return {"receipts": [receipt.to_json() for receipt in phone.receipts()]}

    @app.delete("/messages", status_code=204)
    def forget() -> None:
        phone.clear()

    return app


def _add_gupshup(app: FastAPI, phone: SimulatedPhone, manners: NextResponse) -> None:
    @app.post("/wa/api/v1/msg")
    @app.post("/wa/api/v1/template/msg")
    def send(content: Annotated[bytes, Depends(_raw_body)], apikey: Annotated[str, Header()] = "") -> Response:
        if not apikey:
            return _gupshup_error(401, "Portal User Not Found With APIKey")
        try:
            message = phone.receive(_parse_form(content))
        except (KeyError, ValueError) as error:
            return _gupshup_error(400, f"Invalid request: {error}")
        answer: JsonObject = {"status": "submitted", "messageId": message.id}
        return manners.respond(answer, 202, partial(phone.report_delivery, message))

    @app.get("/wa/{app_id}/media/{media_id}")
    def download_file() -> Response:
        return Response(SAMPLE_PHOTO, media_type="image/png")


def _add_meta(app: FastAPI, phone: SimulatedPhone, manners: NextResponse) -> None:
    @app.post("/{version}/{phone_number_id}/messages")
    def send(
        phone_number_id: str,
        body: Annotated[dict[str, Any], Body()],
        authorization: Annotated[str, Header()] = "",
    ) -> Response:
        if not authorization.startswith("Bearer "):
            return _meta_error(401, 190, "Invalid OAuth access token")
        try:
            if body.get("status") == "read":
                phone.mark_read(body)
                return JSONResponse({"success": True})
            message = phone.receive_from_meta(phone_number_id, body)
        except KeyError as error:
            return _meta_error(400, 100, f"Invalid parameter: {error}")
        answer: JsonObject = {"messaging_product": "whatsapp", "messages": [{"id": message.id}]}
        return manners.respond(answer, 200, partial(phone.report_delivery, message))

    @app.get("/media/{media_id}")
    def download(authorization: Annotated[str, Header()] = "") -> Response:
        if not authorization.startswith("Bearer "):
            return _meta_error(401, 190, "Invalid OAuth access token")
        return Response(SAMPLE_PHOTO, media_type="image/png")

    @app.get("/{version}/{media_id}")
    def look_up(request: Request, media_id: str, authorization: Annotated[str, Header()] = "") -> Response:
        if not authorization.startswith("Bearer "):
            return _meta_error(401, 190, "Invalid OAuth access token")
        url = str(request.url_for("download", media_id=media_id))
        return JSONResponse({"url": url, "mime_type": "image/png", "file_size": len(SAMPLE_PHOTO), "id": media_id})


def main() -> None:
    """Serve one phone until told to stop."""
    parser = argparse.ArgumentParser(description="Play the WhatsApp provider on a laptop.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--callback", default="", help="Gupshup's webhook, that status events go to")
    parser.add_argument("--whatsapp-callback", default="", help="the same for Meta's")
    parser.add_argument("--whatsapp-secret", default="", help="the app secret that Meta's webhooks are signed with")
    arguments = parser.parse_args()
    phone = SimulatedPhone(
        make_status_poster(arguments.callback, arguments.whatsapp_callback, arguments.whatsapp_secret),
        lambda: datetime.now(UTC),
    )
    uvicorn.run(build_app(phone), host="127.0.0.1", port=arguments.port, log_level="warning")


def make_status_poster(gupshup_url: str, meta_url: str, secret: str) -> Callable[[JsonObject], None]:
    """Sends an event to its provider's webhook, if there is one."""
    client = httpx2.Client(timeout=10)

    def post(event: JsonObject) -> None:
        if "object" not in event:
            client.post(gupshup_url, json=event) if gupshup_url else None
        elif meta_url:
            body = meta_webhooks.encode(event)
            headers = {
                "content-type": "application/json",
                meta_webhooks.SIGNATURE_HEADER: meta_webhooks.sign(body, secret),
            }
            client.post(meta_url, content=body, headers=headers)

    return post


async def _raw_body(request: Request) -> bytes:
    return await request.body()


def _meta_error(status: int, code: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": "OAuthException", "code": code}}, status_code=status)


def _message_text(kind: str, body: JsonObject) -> str:
    """Return the text of a text message or question; a template's parameters."""
    content: Any = body[kind]
    if kind == "interactive":
        return str(content["body"]["text"])
    if kind != "template":
        return str(content.get("body", ""))
    bodies = [part for part in content.get("components", []) if part["type"] == "body"]
    return " ".join(str(parameter["text"]) for part in bodies for parameter in part["parameters"])


def _meta_buttons(body: Any) -> list[JsonObject]:
    """Return the buttons of a question, or of a template, whose titles only Meta knows."""
    replies = [button["reply"] for button in body.get("interactive", {}).get("action", {}).get("buttons", [])]
    parts = [part for part in body.get("template", {}).get("components", []) if part["type"] == "button"]
    ids = [str(part["parameters"][0]["payload"]) for part in parts]
    found: list[JsonObject] = [{"id": str(reply["id"]), "title": str(reply["title"])} for reply in replies]
    return found or _template_buttons(ids)


def _gupshup_buttons(content: Any) -> list[JsonObject]:
    options = content.get("options", [])
    found: list[JsonObject] = [{"id": str(option["postbackText"]), "title": str(option["title"])} for option in options]
    return found or _template_buttons(content.get("postbacks", []))


def _template_buttons(ids: list[str]) -> list[JsonObject]:
    return [{"id": button, "title": title} for button, title in zip(ids, _TEMPLATE_TITLES, strict=False)]


def _parse_form(body: bytes) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}


def _parse_message(message: str) -> JsonObject:
    """The send API takes a JSON object, or plain text for short."""
    try:
        content = json.loads(message)
    except json.JSONDecodeError:
        return {"type": "text", "text": message}
    if not isinstance(content, dict):
        return {"type": "text", "text": message}
    return {**content, **content["content"], "type": "quick_reply"} if content["type"] == "quick_reply" else content


def _parse_template(form: dict[str, str]) -> JsonObject:
    parameters = json.loads(form["template"]).get("params", [])
    postbacks = [str(postback["text"]) for postback in json.loads(form.get("postbackTexts", "[]"))]
    return {"type": "template", "text": " ".join(str(one) for one in parameters), "postbacks": list(postbacks)}


def _gupshup_error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"status": "error", "message": message}, status_code=status)


if __name__ == "__main__":
    main()
