"""Talking to a running stack from outside, as a customer's phone, a browser and an operator would."""

import json
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import httpx2

from local import example_tenant
from local.errors import StackError
from local.stack import RunningStack
from local.state import ROOT

_POLL_SECONDS = 0.15
_CITATION_MARK = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class WebSession:
    """A visitor's session: its id and the token that every call of it carries."""

    id: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class StackClient:
    """One outsider with an HTTP client, a context manager that closes it. Not shared between threads."""

    def __init__(self, stack: RunningStack) -> None:
        self._at = stack.addresses
        self._operator = {
            "Authorization": f"Bearer {stack.keys.operator_key}",
            "Parlour-Tenant": example_tenant.TENANT_SLUG,
        }
        self.client = httpx2.Client(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def post_webhook(self, payload: object) -> int:
        """Deliver a provider's payload to the deployed webhook; returns the HTTP status."""
        content, headers = json.dumps(payload), {"Content-Type": "application/json"}  # escapes what UTF-8 cannot hold
        return self.client.post(self._at.webhook, content=content, headers=headers).status_code

    def phone_messages(self, number: str) -> list[dict[str, Any]]:
        """What the phone with that number (E.164) has received, oldest first."""
        messages: list[dict[str, Any]] = self._request_json("GET", f"{self._at.phone}/messages", params={"to": number})[
            "messages"
        ]
        return messages

    def open_session(self, binding: str) -> WebSession:
        """Open a web session with a binding, as a page with the widget does."""
        opened = self._request_json(
            "POST", f"{self._at.console}/v1/sessions", json={"tenant": example_tenant.TENANT_SLUG, "binding": binding}
        )
        return WebSession(opened["session_id"], opened["token"])

    def send_message(self, session: WebSession, text: str) -> str:
        """Write into a web session; returns the message's id."""
        url = f"{self._at.console}/v1/sessions/{session.id}/messages"
        body = {"text": text, "client_message_id": uuid.uuid4().hex}
        return str(self._request_json("POST", url, json=body, headers=session.headers)["message_id"])

    def list_events(self, session: WebSession, after: int = 0) -> list[dict[str, Any]]:
        """The session's events after a number, in order."""
        url = f"{self._at.console}/v1/sessions/{session.id}/events"
        found: list[dict[str, Any]] = self._request_json("GET", url, params={"after": after}, headers=session.headers)[
            "events"
        ]
        return found

    def list_turns(self, limit: int = 50, session_id: str = "") -> list[dict[str, Any]]:
        """The tenant's or one session's newest turns as an operator sees them, newest first."""
        wanted = {"limit": str(limit), **({"session_id": session_id} if session_id else {})}
        answer = self._request_json("GET", f"{self._at.console}/v1/turns", params=wanted, headers=self._operator)
        found: list[dict[str, Any]] = answer["turns"]
        return found

    def get_turn(self, turn_id: str) -> dict[str, Any]:
        """One turn in full."""
        return self._request_json("GET", f"{self._at.console}/v1/turns/{turn_id}", headers=self._operator)

    def _request_json(self, method: str, url: str, **how: Any) -> dict[str, Any]:
        answer = self.client.request(method, url, **how)
        if answer.is_error:
            raise StackError(f"{method} {url} answered {answer.status_code}: {answer.text[:300]}")
        body: dict[str, Any] = answer.json()
        return body


def sample_payload(name: str, *, text: str = "", sender: str = "") -> dict[str, Any]:
    """A webhook payload from events/, as if sent now: with a fresh id, and with another text or phone if given."""
    event = json.loads((ROOT / "events" / f"{name}.json").read_text())
    payload: dict[str, Any] = json.loads(event["body"])
    payload["timestamp"] = int(datetime.now(UTC).timestamp() * 1000)
    payload["payload"]["id"] = f"ABEG{uuid.uuid4().hex}"
    if text:
        payload["payload"]["payload"]["text"] = text
    if sender:
        payload["payload"]["source"] = payload["payload"]["sender"]["phone"] = sender.removeprefix("+")
    return payload


def wait_until[T](read: Callable[[], T], description: str, seconds: float) -> T:
    """Look again and again until there is something; StackProblem saying that `what` did not come."""
    deadline = time.monotonic() + seconds
    while not (found := read()):
        if time.monotonic() > deadline:
            raise StackError(f"{description} did not arrive within {seconds:.0f} s")
        time.sleep(_POLL_SECONDS)
    return found


def citation_problem(reply: dict[str, Any]) -> str:
    """Why a reply (as GET /v1/turns/{id} gives it) is not validly cited; nothing when it is."""
    known = {citation["number"] for citation in reply["citations"]}
    marks = {int(number) for number in _CITATION_MARK.findall(reply["text"])}
    if not marks:
        return "the reply cites nothing"
    if marks != known:
        return f"the reply marks {sorted(marks)}, its sources are {sorted(known)}"
    return ""


def answer_problem(reply: dict[str, Any], phrase: str, title: str) -> str:
    """Why a reply does not say `phrase` with a source whose title has `title` beside it; nothing when it does."""
    told = [line for line in reply["text"].splitlines() if phrase in line]
    if not told:
        return f"the reply does not say '{phrase}'"
    marks = {int(number) for line in told for number in _CITATION_MARK.findall(line)}
    titles = [citation["title"] for citation in reply["citations"] if citation["number"] in marks]
    if not any(title in one for one in titles):
        return f"the reply says '{phrase}' from {', '.join(titles) or 'nowhere'}, not from {title}"
    return ""
