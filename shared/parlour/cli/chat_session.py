"""A conversation in the terminal: the same session, messages and events as the web page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from rich.console import Console
from rich.text import Text

from parlour.cli import rendering, suggestions
from parlour.cli.api_client import ApiClient
from parlour.infra.errors import NotFound, ParlourError, RetryError

_POLL_SECONDS = 0.2
_TIMEOUT_SECONDS = 300.0
"""Seconds between two looks for what is new, and without anything new until we stop looking."""


@dataclass(slots=True)
class ChatSession:
    """One session with one binding. `number` is the last event that was shown."""

    client: ApiClient
    console: Console
    session: dict[str, Any]
    last_event_number: int = 0
    _is_line_open: bool = field(default=False, init=False)

    @property
    def agent_name(self) -> str:
        return rendering.strip_control_codes(self.session["binding"]["name"])

    def send(self, text: str) -> None:
        """Send `text` and show the reply as it comes, with its sources."""
        body = {"text": text, "client_message_id": uuid4().hex}
        self._call("POST", "messages", body)
        block = 0
        for event in self._read_until_stopped():
            kind = event["kind"]
            payload = event["payload"]
            if kind == "text_delta":
                if block and payload["block"] != block:  # a further step: its text is a paragraph of its own
                    self._end_line()
                    self.console.print()
                block, self._is_line_open = payload["block"], True
                self.console.print(Text(rendering.strip_control_codes(payload["text"])), end="", soft_wrap=True)
            elif kind == "text_reset":
                self._print_note("the model stopped early; asking again")
            elif kind == "tool_call":
                self._print_note(f"using {payload['name']}")
            elif kind == "error":
                self._print_note(payload["message"])
        self._end_line()
        messages = self._call("GET", "messages", limit=1)["messages"]
        citations = messages[-1]["citations"] if messages else []
        if citations:
            self.console.print(Text("\n") + rendering.render_sources(citations), style="dim")

    def _read_until_stopped(self) -> Iterator[dict[str, Any]]:
        """Yield the events of the turn; Ctrl-C stops the turn and shows how it ends, a second one leaves."""
        turn_id = ""
        try:
            for event in self._read_events():
                turn_id = event["turn_id"]
                yield event
        except KeyboardInterrupt:
            if not turn_id:
                raise
            self._print_note(self._call("POST", f"turns/{turn_id}/stop")["message"])
            yield from self._read_events()

    def _read_events(self) -> Iterator[dict[str, Any]]:
        """Yield new events up to the end of a turn; RetryError when none comes for minutes."""
        silent = 0.0
        while silent < _TIMEOUT_SECONDS:
            for event in self._call("GET", "events", after=self.last_event_number)["events"]:
                self.last_event_number, silent = event["number"], 0.0
                yield event
                if event["kind"] == "done":
                    return
            self.client.dependencies.sleep(_POLL_SECONDS)
            silent += _POLL_SECONDS
        raise RetryError("no answer yet; when it is ready, `parlour turns` shows it")

    def _print_note(self, text: str) -> None:
        self._end_line()
        self.console.print(Text(f"({rendering.strip_control_codes(text)})", style="dim"))

    def _end_line(self) -> None:
        if self._is_line_open:
            self.console.print()
        self._is_line_open = False

    def _call(self, method: str, path: str, body: object = None, **query: object) -> Any:
        headers = {"Authorization": f"Bearer {self.session['token']}"}
        return self.client.send_request(
            method, f"v1/sessions/{self.session['session_id']}/{path}", body, headers, query
        )


def open_chat(client: ApiClient, console: Console, binding: str) -> ChatSession:
    """Open a session as a visitor: `binding` is a slug of the tenant, or a host (it has a dot)."""
    place = {"host": binding} if "." in binding else {"tenant": client.tenant, "binding": binding}
    try:
        session = client.send_request("POST", "v1/sessions", place)
    except NotFound as problem:
        raise NotFound(_unknown_agent(client, binding) or str(problem)) from problem
    return ChatSession(client, console, session)


def _unknown_agent(client: ApiClient, binding: str) -> str:
    """Return which public agents the tenant has; empty when the key may not list them."""
    try:
        found = client.request("GET", "v1/bindings")["bindings"]
    except ParlourError:
        return ""
    slugs = [one["slug"] for one in found if one["door"] == "public" and "web" in one["channels"]]
    return suggestions.unknown_name("agent", binding, slugs)
