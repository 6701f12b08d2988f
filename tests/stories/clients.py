"""The people of the stories and what they speak with: providers' webhooks, the HTTP API, a phone, the command."""

import hashlib
import hmac
import json
import re
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.stories import words
from tests.stories.stack import Stack, plain_environment, until

_MARK = re.compile(r"\[(\d+)\]")
_SECONDS = 120

HTTP = httpx2.Client(timeout=_SECONDS)


@dataclass(frozen=True)
class Api:
    """The API as somebody of a tenant: an operator, a member or a key."""

    url: str
    tenant: str
    key: str

    def send(self, method: str, path: str, body: object = None, **how: Any) -> httpx2.Response:
        """Send a request; the answer may be a refusal."""
        headers = {"Authorization": f"Bearer {self.key}", words.TENANT_HEADER: self.tenant, **how.pop("headers", {})}
        return HTTP.request(method, self.url + path, json=body, headers=headers, **how)

    def ask(self, method: str, path: str, body: object = None, **how: Any) -> Any:
        """Send a request that must be granted; return its JSON, or None where there is none."""
        answer = self.send(method, path, body, **how)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        return answer.json() if answer.content else None

    def get(self, path: str, **params: Any) -> Any:
        """Read something that must be there."""
        return self.ask("GET", path, params=params)

    def status(self, method: str, path: str, body: object = None, **how: Any) -> int:
        """Return the HTTP status that a request gets."""
        return self.send(method, path, body, **how).status_code

    def key_for(self, *roles: str, clearance: int = 1) -> "Api":
        """Make an API key with these roles; return the API as its holder."""
        made = self.ask("POST", "/v1/keys", {"name": "story", "roles": [*roles], "clearance": clearance})
        return Api(self.url, self.tenant, made["key"])

    def record(self, kind: str, name: str, **more: Any) -> str:
        """Make a record; return its handle."""
        return str(self.ask("POST", words.ENTITIES, {"type": kind, "name": name, **more})["handle"])

    def document(self, title: str, content: str) -> str:
        """Write a document of the example project; return its handle."""
        wanted = {"project": "project/NRS", "title": title, "content": content}
        return str(self.ask("POST", "/v1/documents", wanted)["handle"])

    def titles_found(self, query: str, **params: Any) -> list[str]:
        """Return the titles that a search finds, best first."""
        return [card["title"] for card in self.get("/v1/search", q=query, **params)["cards"]]

    def turns(self, session_id: str) -> list[dict[str, Any]]:
        """Return a session's turns, oldest first."""
        found: list[dict[str, Any]] = self.get("/v1/turns", session_id=session_id, limit=100)["turns"]
        return found[::-1]

    def prompt(self, turn_id: str) -> str:
        """Return the text of a turn's last prompt, as it was sent to the model."""
        return str(self.get(words.REBUILT_PROMPT.format(turn_id))["text"])

    def sessions_of(self, number: str) -> list[dict[str, Any]]:
        """Return the sessions of whoever has that phone number; none while nothing came from it."""
        people = self.get("/v1/users", text=number[-4:])["users"]
        found: list[dict[str, Any]] = [
            session for person in people for session in self.get("/v1/sessions", user=person["id"])["sessions"]
        ]
        return found


class Visitor:
    """Somebody on the web page of a binding, in one session."""

    def __init__(self, url: str, tenant: str, binding: str, visitor_token: str = "") -> None:
        headers = {"Authorization": f"Bearer {visitor_token}"} if visitor_token else {}
        place = {"tenant": tenant, "binding": binding}
        answer = HTTP.post(f"{url}/v1/sessions", json=place, headers=headers)
        assert answer.is_success, answer.text[:500]
        opened = answer.json()
        self.session_id: str = opened["session_id"]
        self.token: str = opened["token"]
        self.visitor_token: str = opened["visitor_token"]
        self._url, self._tenant, self._binding = url, tenant, binding

    def again(self) -> "Visitor":
        """Open another session with the same agent as the same visitor."""
        return Visitor(self._url, self._tenant, self._binding, self.visitor_token)

    @property
    def path(self) -> str:
        """The session's path in the API."""
        return f"/v1/sessions/{self.session_id}"

    def send(
        self, method: str, path: str, body: object = None, *, with_token: str | None = None, **how: Any
    ) -> httpx2.Response:
        """Send a request with the visitor's token, or with another."""
        token = self.visitor_token if with_token is None else with_token
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **how.pop("headers", {})}
        return HTTP.request(method, self._url + path, json=body, headers=headers, **how)

    def get(self, path: str, **params: Any) -> Any:
        """Read something that must be there."""
        answer = self.send("GET", path, params=params)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer.json()

    def say(self, text: str, **more: Any) -> str:
        """Write a message; return its id."""
        answer = self.send("POST", f"{self.path}/messages", {"text": text, **more}, with_token=self.token)
        assert answer.is_success, answer.text[:500]
        return str(answer.json()["message_id"])

    def ask(self, text: str) -> dict[str, Any]:
        """Write a message and wait for the turn to end; return the reply."""
        before = self.turns_done()
        self.say(text)
        until(lambda: self.turns_done() > before, f"the reply to {text[:60]!r}")
        return self.messages()[-1]

    def turns_done(self) -> int:
        """Count the turns that have ended."""
        return [event["kind"] for event in self.events()].count("done")

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """Return the session's events after a number, in order."""
        found: list[dict[str, Any]] = self.get(f"{self.path}/events", after=after)["events"]
        return found

    def messages(self) -> list[dict[str, Any]]:
        """Return the session's messages, oldest first."""
        found: list[dict[str, Any]] = self.get(f"{self.path}/messages")["messages"]
        return found

    def facts(self) -> list[dict[str, Any]]:
        """Return what the agent remembers of the visitor."""
        found: list[dict[str, Any]] = self.get("/v1/memory")["facts"]
        return found


class Phone:
    """Somebody with WhatsApp, reached through Gupshup."""

    def __init__(self, stack: Stack, number: str) -> None:
        self.number = number
        self._stack = stack
        self._digits = number.removeprefix("+")

    def payload(self, text: str, *, app: str = words.GUPSHUP_APP, sent_at: float | None = None) -> dict[str, Any]:
        """Return a webhook's body for a text message."""
        return self.payload_of("text", {"text": text}, app=app, sent_at=sent_at)

    def payload_of(
        self, kind: str, content: dict[str, Any], *, app: str = words.GUPSHUP_APP, sent_at: float | None = None
    ) -> dict[str, Any]:
        """Return a webhook's body for a message of another kind."""
        message = {
            "id": uuid.uuid4().hex,
            "source": self._digits,
            "type": kind,
            "payload": content,
            "sender": {"phone": self._digits, "name": "Jon"},
        }
        return gupshup_event(app, "message", message, sent_at)

    def write(self, text: str) -> None:
        """Send a text message; the webhook must accept it."""
        assert deliver(self._stack, self.payload(text)) == 200

    def press(self, title: str) -> None:
        """Press a button below the last message."""
        (button,) = [one["id"] for one in self.received()[-1]["buttons"] if one["title"] == title]
        chosen = {"title": title, "id": uuid.uuid4().hex, "reply": title, "postbackText": button}
        assert deliver(self._stack, self.payload_of("button_reply", chosen)) == 200

    def received(self) -> list[dict[str, Any]]:
        """Return what came to the phone, oldest first."""
        found: list[dict[str, Any]] = HTTP.get(f"{self._stack.phone}/messages", params={"to": self.number}).json()[
            "messages"
        ]
        return found

    def reply(self, number: int = 1) -> str:
        """Wait for the nth message that comes to the phone; return its text."""
        found = until(lambda: self.received()[number - 1 : number], f"message {number} on {self.number}")
        return str(found[0]["text"])

    def ask(self, text: str) -> str:
        """Send a text message and wait for what comes back."""
        before = len(self.received())
        self.write(text)
        return self.reply(before + 1)


def gupshup_event(app: str, kind: str, payload: dict[str, Any], sent_at: float | None = None) -> dict[str, Any]:
    """Return a Gupshup webhook's body; `sent_at` is a Unix time, by default now."""
    moment = time.time() if sent_at is None else sent_at
    return {"app": app, "timestamp": int(moment * 1000), "version": 2, "type": kind, "payload": payload}


def deliver(stack: Stack, payload: object) -> int:
    """Post a body to the Gupshup webhook; return the HTTP status."""
    return HTTP.post(stack.webhook, json=payload).status_code


def deliver_cloud(stack: Stack, *values: dict[str, Any], secret: str | None = None) -> int:
    """Post a WhatsApp Cloud webhook, signed with the app secret or with another ("": unsigned); return the status."""
    changes = [{"field": "messages", "value": value} for value in values]
    body = json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": changes}]}).encode()
    used = stack.cloud_app_secret if secret is None else secret
    signature = "sha256=" + hmac.new(used.encode(), body, hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", **({words.CLOUD_SIGNATURE: signature} if used else {})}
    return HTTP.post(stack.deployed + words.WHATSAPP_CLOUD_WEBHOOK, content=body, headers=headers).status_code


def cloud_text(number: str, text: str) -> dict[str, Any]:
    """Return the part of a WhatsApp Cloud webhook that tells of a text message."""
    phone = number.removeprefix("+")
    metadata = {"display_phone_number": words.GUPSHUP_NUMBER, "phone_number_id": words.CLOUD_NUMBER_ID}
    message = {
        "from": phone,
        "id": f"wamid.{uuid.uuid4().hex}",
        "timestamp": str(int(time.time())),
        "type": "text",
        "text": {"body": text},
    }
    contacts = [{"profile": {"name": "Priya"}, "wa_id": phone}]
    return {"messaging_product": "whatsapp", "metadata": metadata, "contacts": contacts, "messages": [message]}


@dataclass(frozen=True)
class Command:
    """The `parlour` command in a terminal, far from any checkout."""

    stack: Stack
    folder: Path

    def run(
        self, *arguments: str, tenant: str | None = None, key: str | None = None, typed: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run it as the operator of the example tenant, or as somebody else; `typed` is standard input."""
        environment = {
            **plain_environment(),
            words.COMMAND_URL: self.stack.url,
            words.COMMAND_TENANT: self.stack.tenant if tenant is None else tenant,
            words.COMMAND_KEY: self.stack.operator_key if key is None else key,
            "COLUMNS": "300",
        }
        program = str(Path(sys.executable).with_name("parlour"))
        return subprocess.run(
            [program, *arguments],
            cwd=self.folder,
            env=environment,
            input=typed,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )

    def print(self, *arguments: str, tenant: str | None = None) -> str:
        """Run what must succeed; return standard output."""
        ran = self.run(*arguments, tenant=tenant)
        assert ran.returncode == 0, f"{arguments}: {ran.returncode} {ran.stderr}"
        return ran.stdout

    def json(self, *arguments: str) -> Any:
        """Run what must succeed with --json; return what it prints."""
        return json.loads(self.print(*arguments, "--json"))


def citation_numbers(text: str) -> set[int]:
    """Return the numbers that a reply cites as [n]."""
    return set(map(int, _MARK.findall(text)))


def cited_titles(reply: dict[str, Any]) -> list[str]:
    """Return the titles that a reply cites; every number in its text must have a source, and the other way round."""
    numbers = citation_numbers(reply["text"])
    assert numbers, f"it cites nothing: {reply['text']}"
    assert numbers == {citation["number"] for citation in reply["citations"]}, reply
    return [citation["title"] for citation in reply["citations"]]


def footnotes(text: str) -> dict[int, str]:
    """Return the sources below a WhatsApp reply, by number."""
    return {int(number): source for number, source in re.findall(r"^\[(\d+)\] (.+)$", text, re.MULTILINE)}


def upload(api: Api, name: str, content: bytes, **more: Any) -> dict[str, Any]:
    """Upload a file as a page does, form and all; return it once it can be searched, or has failed."""
    started = api.ask("POST", "/v1/files", {"name": name, "size_bytes": len(content), **more})
    form = started["upload"]
    assert HTTP.post(form["url"], data=form["fields"], files={"file": (name, content)}).is_success
    path = f"/v1/files/{started['file']['id']}"
    api.ask("POST", f"{path}/complete")

    def look() -> dict[str, Any] | None:
        file: dict[str, Any] = api.get(path)
        return file if file["state"] in {"embedding", "ready", "failed"} else None

    found = until(look, f"the end of reading {name}")
    assert found is not None
    return found
