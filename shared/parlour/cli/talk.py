"""A conversation in the terminal: the same session, messages and events as the web page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from rich.console import Console
from rich.text import Text

from parlour.cli import drawing
from parlour.cli.target import Target
from parlour.infra.errors import RetryError

_EVERY = 0.2
_PATIENCE = 300.0
"""Seconds between two looks for what is new, and without anything new until we stop looking."""


@dataclass(slots=True)
class Talk:
    """One session with one binding. `number` is the last event that was shown."""

    target: Target
    console: Console
    session: dict[str, Any]
    number: int = 0
    _line_open: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        return drawing.plain(self.session["binding"]["name"])

    def say(self, text: str) -> None:
        """Send `text` and show the reply as it comes, with its sources."""
        body = {"text": text, "client_message_id": uuid4().hex}
        self._call("POST", "messages", body)
        for event in self._events():
            self._show(event["kind"], event["payload"])
        self._sources()

    def _events(self) -> Iterator[dict[str, Any]]:
        """What is new, up to the end of a turn; RetryError when nothing comes for minutes."""
        silent = 0.0
        while silent < _PATIENCE:
            for event in self._call("GET", "events", after=self.number)["events"]:
                self.number, silent = event["number"], 0.0
                yield event
                if event["kind"] == "done":
                    return
            self.target.outside.sleep(_EVERY)
            silent += _EVERY
        raise RetryError("no answer came so far; it is kept, and `parlour turns` will show it")

    def _show(self, kind: str, payload: dict[str, Any]) -> None:
        if kind == "text_delta":
            self._line_open = True
            self.console.print(Text(drawing.plain(payload["text"])), end="", soft_wrap=True)
        elif kind == "text_reset":
            self._remark("the model broke off; asking again")
        elif kind == "tool_call":
            self._remark(f"using {payload['name']}")
        elif kind == "error":
            self._remark(payload["message"])

    def _remark(self, text: str) -> None:
        self._end_line()
        self.console.print(Text(f"({drawing.plain(text)})", style="dim"))

    def _end_line(self) -> None:
        if self._line_open:
            self.console.print()
        self._line_open = False

    def _sources(self) -> None:
        self._end_line()
        messages = self._call("GET", "messages", most=1)["messages"]
        citations = messages[-1]["citations"] if messages else []
        if citations:
            self.console.print(Text("\n") + drawing.sources(citations), style="dim")

    def _call(self, method: str, path: str, body: object = None, **query: object) -> Any:
        headers = {"Authorization": f"Bearer {self.session['token']}"}
        return self.target.send(method, f"v1/sessions/{self.session['session_id']}/{path}", body, headers, query)


def begin(target: Target, console: Console, binding: str) -> Talk:
    """Open a session as a visitor: `binding` is a slug of the tenant, or a host (it has a dot)."""
    place = {"host": binding} if "." in binding else {"tenant": target.tenant, "binding": binding}
    return Talk(target, console, target.send("POST", "v1/sessions", place))
