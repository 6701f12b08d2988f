"""Routes that exist on a laptop only: the console's phone and a member's token, served beside the API.

They act for whoever can reach them, so they listen on 127.0.0.1 and answer only requests that were
addressed to this machine by name (another site's page cannot reach them by pointing its own name here).
"""

import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

import httpx2
from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from local import gupshup_webhooks

_MAX_MESSAGES = 100
_LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1", "testserver"})
_HIDDEN_STATUSES = {"submitted": "", "enqueued": ""}
"""What the console does not show; `sent`, `delivered` and `read` are shown as they are."""

DEFAULT_NUMBER = "+447700900123"
"""The phone that the console plays unless told otherwise; from the range that Ofcom keeps for drama."""


class TypedMessage(BaseModel):
    """A message typed on the console's phone."""

    text: str = Field(max_length=20_000)
    sender: str = Field(default=DEFAULT_NUMBER, alias="from", pattern=r"^\+[1-9][0-9]{6,14}$")
    app: str = Field(default=gupshup_webhooks.DEMO_APP, max_length=100)


@dataclass(frozen=True, slots=True)
class ConsoleAddresses:
    """Where the rest of the stack is.

    webhook  the deployed webhook, with its token.
    phone    base URL of the phone (local/phone.py).
    contact  whom the phone talks to, as a person would call them.
    binding  slug of the binding that the phone's WhatsApp number belongs to.
    tenant   slug of the example tenant.
    """

    webhook: str
    phone: str
    contact: str
    binding: str
    tenant: str


class ConsolePhone:
    """The console's phone: what was typed goes to the webhook as the provider would send it."""

    def __init__(self, places: ConsoleAddresses, client: httpx2.Client, clock: Callable[[], datetime]) -> None:
        self._addresses = places
        self._client = client
        self._clock = clock
        self._typed: deque[tuple[str, dict[str, Any]]] = deque(maxlen=1_000)

    def send(self, written: TypedMessage) -> str:
        """Send `written` to the webhook; returns its provider id. httpx2.HTTPError when it was not accepted."""
        now, message_id = self._clock(), f"ABEG{uuid.uuid4().hex}"
        event = gupshup_webhooks.text_message(
            app=written.app, sender=written.sender, name="Console", text=written.text, message_id=message_id, now=now
        )
        self._client.post(self._addresses.webhook, json=event).raise_for_status()
        shown = {"id": message_id, "direction": "sent", "text": written.text, "at": now.isoformat(), "status": ""}
        self._typed.append((written.sender, shown))
        return message_id

    def messages(self, number: str) -> list[dict[str, Any]]:
        """What went to and fro on the phone with that number, oldest first."""
        answer = self._client.get(f"{self._addresses.phone}/messages", params={"to": number}).raise_for_status()
        received = [
            {
                "id": message["id"],
                "direction": "received",
                "text": message["text"],
                "at": message["at"],
                "status": _HIDDEN_STATUSES.get(message["status"], message["status"]),
            }
            for message in answer.json()["messages"]
        ]
        typed = [shown for sender, shown in list(self._typed) if sender == number]
        return sorted(typed + received, key=itemgetter("at"))[-_MAX_MESSAGES:]


def build_router(phone: ConsolePhone, addresses: ConsoleAddresses, member_token: Callable[[], str]) -> APIRouter:
    """The three routes. `member_token` signs in the example tenant's developer."""
    router = APIRouter(prefix="/local", dependencies=[Depends(_require_local_host)], include_in_schema=False)

    @router.post("/phone")
    def write(written: TypedMessage) -> Response:
        try:
            return JSONResponse({"id": phone.send(written)}, status_code=202)
        except httpx2.HTTPError as error:
            return _error_response("webhook_failed", f"the webhook rejected the message: {error}")

    @router.get("/phone/messages")
    def read(request: Request) -> Response:
        number = request.query_params.get("from", DEFAULT_NUMBER)
        try:
            found = phone.messages(number)
        except httpx2.HTTPError as error:
            return _error_response("phone_unavailable", f"the phone does not answer: {error}")
        answer = {"contact": addresses.contact, "binding": addresses.binding, "from": number, "messages": found}
        return JSONResponse(answer)

    @router.get("/token")
    def token() -> dict[str, str]:
        return {"token": member_token(), "tenant": addresses.tenant}

    return router


def _require_local_host(request: Request) -> None:
    if request.url.hostname not in _LOCAL_HOSTS:
        raise HTTPException(404)


def _error_response(code: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=502)
