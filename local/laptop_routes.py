"""Routes that exist on a laptop only: the console's simulated phone and a member's token, served beside the API.

They act for whoever can reach them, so they listen on 127.0.0.1 and answer only requests that were
addressed to this machine by name (another site's page cannot reach them by pointing its own name here).
"""

import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from operator import itemgetter
from typing import Annotated, Any

import httpx2
from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from local import gupshup_webhooks, meta_webhooks

_MAX_MESSAGES = 100
_LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1", "testserver"})
_HIDDEN_STATUSES = {"submitted": "", "enqueued": ""}
"""What the console does not show; `sent`, `delivered` and `read` are shown as they are."""

_NAME = "Console"
"""The profile name of the phone's owner."""

DEFAULT_NUMBER = "+447700900123"
"""The phone that the console plays unless told otherwise; from the range that Ofcom keeps for drama."""


type SenderNumber = Annotated[str, Field(pattern=r"^\+[1-9][0-9]{6,14}$")]


class TypedMessage(BaseModel):
    """A message typed on the console's phone, to a binding of a tenant."""

    text: str = Field(max_length=20_000)
    button_id: str = Field(default="", max_length=256, description="Of the button that was pressed; its title is text.")
    sender: SenderNumber = Field(default=DEFAULT_NUMBER, alias="from")
    tenant: str = Field(max_length=100)
    binding: str = Field(max_length=100)


@dataclass(frozen=True, slots=True)
class BusinessNumber:
    """A WhatsApp number that the phone can write to.

    binding  slug of the binding that answers; `name` is what it is called, `contact` who speaks.
    number   what messages are routed by: a Gupshup app's name, or the id of a number at Meta.
    """

    binding: str
    name: str
    contact: str
    provider: str
    number: str


@dataclass(frozen=True, slots=True)
class ConsoleAddresses:
    """Where the rest of the stack is.

    webhook          Gupshup's deployed webhook, with its token.
    whatsapp         Meta's deployed webhook.
    whatsapp_secret  the app secret that Meta's webhooks are signed with.
    phone            base URL of the phone (local/phone.py).
    tenant           slug of the tenant that the console opens with.
    """

    webhook: str
    whatsapp: str
    whatsapp_secret: str
    phone: str
    tenant: str


class ConsolePhone:
    """The console's phone: what was typed goes to the webhook as the provider would send it."""

    def __init__(self, places: ConsoleAddresses, client: httpx2.Client, clock: Callable[[], datetime]) -> None:
        self._addresses = places
        self._client = client
        self._clock = clock
        self._typed: deque[tuple[str, str, dict[str, Any]]] = deque(maxlen=1_000)

    def send(self, written: TypedMessage, to: BusinessNumber) -> str:
        """Send `written` to the provider's webhook; returns its provider id. httpx2.HTTPError when it was refused."""
        now = self._clock()
        message_id = (
            self._send_gupshup(written, to, now) if to.provider == "gupshup" else self._send_meta(written, to, now)
        )
        shown = {
            "id": message_id,
            "direction": "sent",
            "text": written.text,
            "at": now.isoformat(),
            "status": "",
            "buttons": [],
        }
        self._typed.append((written.sender, to.number, shown))
        return message_id

    def messages(self, sender: str, to: BusinessNumber) -> list[dict[str, Any]]:
        """What went to and fro between the phone with that number and a business's, oldest first."""
        answer = self._client.get(f"{self._addresses.phone}/messages", params={"to": sender}).raise_for_status()
        received = [
            {
                "id": message["id"],
                "direction": "received",
                "text": message["text"],
                "at": message["at"],
                "status": _HIDDEN_STATUSES.get(message["status"], message["status"]),
                "buttons": message["buttons"],
            }
            for message in answer.json()["messages"]
            if message["app"] == to.number
        ]
        typed = [shown for *ends, shown in list(self._typed) if ends == [sender, to.number]]
        return sorted(typed + received, key=itemgetter("at"))[-_MAX_MESSAGES:]

    def _send_gupshup(self, written: TypedMessage, to: BusinessNumber, now: datetime) -> str:
        message_id = f"ABEG{uuid.uuid4().hex}"
        app, sender, text, button = to.number, written.sender, written.text, written.button_id
        event = (
            gupshup_webhooks.button_reply(
                app=app, sender=sender, name=_NAME, title=text, button_id=button, message_id=message_id, now=now
            )
            if button
            else gupshup_webhooks.text_message(
                app=app, sender=sender, name=_NAME, text=text, message_id=message_id, now=now
            )
        )
        self._client.post(self._addresses.webhook, json=event).raise_for_status()
        return message_id

    def _send_meta(self, written: TypedMessage, to: BusinessNumber, now: datetime) -> str:
        message_id = f"wamid.{uuid.uuid4().hex}"
        number, sender, text, button = to.number, written.sender, written.text, written.button_id
        change = (
            meta_webhooks.button_reply(
                phone_number_id=number,
                sender=sender,
                name=_NAME,
                title=text,
                button_id=button,
                message_id=message_id,
                now=now,
            )
            if button
            else meta_webhooks.text_message(
                phone_number_id=number, sender=sender, name=_NAME, text=text, message_id=message_id, now=now
            )
        )
        body = meta_webhooks.encode(meta_webhooks.webhook(change))
        signature = meta_webhooks.sign(body, self._addresses.whatsapp_secret)
        headers = {"Content-Type": "application/json", meta_webhooks.SIGNATURE_HEADER: signature}
        self._client.post(self._addresses.whatsapp, content=body, headers=headers).raise_for_status()
        return message_id


type NumberFinder = Callable[[str], Sequence[BusinessNumber]]


def build_router(
    phone: ConsolePhone, find_numbers: NumberFinder, tenant: str, member_token: Callable[[], str]
) -> APIRouter:
    """Build the four routes.

    find_numbers  returns the WhatsApp numbers of a tenant.
    tenant        the tenant that the console opens with.
    member_token  signs in the developer.
    """
    router = APIRouter(prefix="/local", dependencies=[Depends(_require_local_host)], include_in_schema=False)

    def find_number(tenant: str, binding: str) -> BusinessNumber:
        for number in find_numbers(tenant):
            if number.binding == binding:
                return number
        raise HTTPException(404, f"{tenant} has no binding '{binding}' with a WhatsApp number")

    @router.get("/phone/numbers")
    def list_numbers(tenant: str) -> dict[str, Any]:
        return {"from": DEFAULT_NUMBER, "numbers": [asdict(number) for number in find_numbers(tenant)]}

    @router.post("/phone")
    def write(written: TypedMessage) -> Response:
        try:
            message_id = phone.send(written, find_number(written.tenant, written.binding))
        except httpx2.HTTPError as error:
            return _error_response("webhook_failed", f"the webhook rejected the message: {error}")
        return JSONResponse({"id": message_id}, status_code=202)

    @router.get("/phone/messages")
    def read(tenant: str, binding: str, sender: Annotated[SenderNumber, Query(alias="from")]) -> Response:
        try:
            found = phone.messages(sender, find_number(tenant, binding))
        except httpx2.HTTPError as error:
            return _error_response("phone_unavailable", f"the phone does not answer: {error}")
        return JSONResponse({"messages": found})

    @router.get("/token")
    def token() -> dict[str, str]:
        return {"token": member_token(), "tenant": tenant}

    return router


def _require_local_host(request: Request) -> None:
    if request.url.hostname not in _LOCAL_HOSTS:
        raise HTTPException(404)


def _error_response(code: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=502)
