"""Ids that are given in part, looked up among the latest rows of the API."""

from collections.abc import Iterator
from typing import Any

from parlour.cli.api_client import ApiClient
from parlour.cli.suggestions import find_id, parse_full_id

_LATEST = 100
_LATEST_TURNS_WITH_CALLS = 20
"""A turn's tool calls take a request of their own."""

ID_HELP = "the first or last 8 characters are enough"


def turn_id(target: ApiClient, text: str) -> str:
    """Return the id of a turn."""
    return parse_full_id(text) or find_id("turn", text, lambda: (one["id"] for one in _list(target, "turns")))


def session_id(target: ApiClient, text: str) -> str:
    """Return the id of a session, looked up in the latest turns."""
    return parse_full_id(text) or find_id(
        "session", text, lambda: (one["session_id"] for one in _list(target, "turns"))
    )


def user_id(target: ApiClient, text: str) -> str:
    """Return the id of a user."""
    return parse_full_id(text) or find_id("user", text, lambda: (one["id"] for one in _list(target, "users")))


def key_id(target: ApiClient, text: str) -> str:
    """Return the id of an API key."""
    return parse_full_id(text) or find_id("key", text, lambda: (one["id"] for one in _list(target, "keys")))


def approval_id(target: ApiClient, text: str) -> str:
    """Return the id of an approval."""
    return parse_full_id(text) or find_id("approval", text, lambda: _approval_ids(target))


def file_id(target: ApiClient, text: str) -> str:
    """Return the id of a file."""
    return parse_full_id(text) or find_id("file", text, lambda: (one["id"] for one in _list(target, "files")))


def message_id(target: ApiClient, text: str) -> str:
    """Return the id of a user's message, looked up in the latest turns."""
    if full := parse_full_id(text):
        return full
    return find_id("message", text, lambda: _message_ids(target))


def fact_id(target: ApiClient, text: str) -> str:
    """Return the id of a fact, looked up in what is remembered of the latest users."""
    if full := parse_full_id(text):
        return full
    return find_id("fact", text, lambda: _fact_ids(target))


def tool_call_id(target: ApiClient, text: str) -> str:
    """Return the id of a tool call, looked up in the latest turns."""
    if full := parse_full_id(text):
        return full
    return find_id("tool call", text, lambda: _tool_call_ids(target))


def _approval_ids(target: ApiClient) -> Iterator[str]:
    found = target.request("GET", "v1/approvals", state="all", limit=_LATEST)["approvals"]
    yield from (one["id"] for one in found)


def _message_ids(target: ApiClient) -> Iterator[str]:
    for turn in _list(target, "turns"):
        yield from (message["id"] for message in turn["input_messages"])


def _fact_ids(target: ApiClient) -> Iterator[str]:
    for user in _list(target, "users"):
        memory = target.request("GET", f"v1/users/{user['id']}/memory")
        yield from (fact["id"] for fact in memory["facts"])


def _tool_call_ids(target: ApiClient) -> Iterator[str]:
    for turn in _list(target, "turns")[:_LATEST_TURNS_WITH_CALLS]:
        yield from (call["id"] for call in target.request("GET", f"v1/turns/{turn['id']}")["tool_calls"])


def _list(target: ApiClient, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = target.request("GET", f"v1/{kind}", limit=_LATEST)[kind]
    return found
