"""Ask an agent as a web visitor, print the answer with its sources, and read a record's Pulse.

    .parlour/api-client/bin/python examples/ask.py "How wide is the crack at C4?"

`make clients` generates the package parlour_client beside this file. PARLOUR_URL, PARLOUR_TENANT and PARLOUR_BINDING
choose the agent. The Pulse is read with the API key in PARLOUR_KEY, and left out without one.
"""

import os
import sys
import time
from http import HTTPStatus
from typing import Any

from parlour_client import AuthenticatedClient, Client
from parlour_client.api.pulse import get_pulse
from parlour_client.api.sessions import list_events, list_messages, open_session, post_message
from parlour_client.models import NewMessage, NewSession, OpenedSession, TextDeltaEvent, TurnDoneEvent, TurnProblemEvent
from parlour_client.types import Response

URL = os.environ.get("PARLOUR_URL", "http://127.0.0.1:8700")
TENANT = os.environ.get("PARLOUR_TENANT", "northbank")
BINDING = os.environ.get("PARLOUR_BINDING", "site-desk")
QUESTION = "How wide is the crack at C4?"

#: Seconds between two reads of the events. Where the deployment streams, /v1/sessions/{id}/stream needs no polling.
POLL_SECONDS = 0.3
TIMEOUT_SECONDS = 60


def result_of(response: Response[Any]) -> Any:
    """Return the body of a successful response; exit with the API's own sentence otherwise."""
    if response.status_code < HTTPStatus.BAD_REQUEST:
        return response.parsed
    error = getattr(response.parsed, "error", None)
    sys.exit(f"{response.status_code}: {error.message if error else response.content.decode()}")


def follow_events(client: AuthenticatedClient, opened: OpenedSession) -> None:
    """Print the answer as it is written, until its turn is done."""
    seen, deadline = 0, time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        for event in result_of(list_events.sync_detailed(opened.session_id, client=client, after=seen)).events:
            seen = event.number
            if isinstance(event, TextDeltaEvent):
                print(event.payload.text, end="", flush=True)
            elif isinstance(event, TurnProblemEvent):
                print("\n(The turn had a problem and is retried.)")
            elif isinstance(event, TurnDoneEvent):
                print()
                return
        time.sleep(POLL_SECONDS)
    sys.exit(f"No answer within {TIMEOUT_SECONDS} s. Run: parlour attention")


def ask(question: str) -> None:
    """Start a conversation, ask, and list the sources of the answer."""
    start = NewSession(tenant=TENANT, binding=BINDING)
    opened = result_of(open_session.sync_detailed(client=Client(base_url=URL), body=start))
    visitor = AuthenticatedClient(base_url=URL, token=opened.token)
    result_of(post_message.sync_detailed(opened.session_id, client=visitor, body=NewMessage(text=question)))
    print(f"{opened.binding.name}: ", end="")
    follow_events(visitor, opened)
    answer = result_of(list_messages.sync_detailed(opened.session_id, client=visitor)).messages[-1]
    for citation in answer.citations:
        print(f"  [{citation.number}] {citation.title} {citation.locator}")


def print_pulse(key: str, record_type: str, record_key: str) -> None:
    """Print the Pulse of a record at the clearance of the key, and what changed since it was written."""
    client = AuthenticatedClient(base_url=URL, token=key)
    view = result_of(get_pulse.sync_detailed(record_type, record_key, client=client, parlour_tenant=TENANT))
    print(f"\nPulse of {view.name}:")
    print(view.pulse.markdown if view.pulse else "It is not written yet.")
    if view.changes_text:
        print(view.changes_text)


if __name__ == "__main__":
    ask(sys.argv[1] if len(sys.argv) > 1 else QUESTION)
    if api_key := os.environ.get("PARLOUR_KEY"):
        print_pulse(api_key, *os.environ.get("PARLOUR_RECORD", "project/NRS").split("/", 1))
