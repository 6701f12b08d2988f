"""Ids that are given in part, looked up among the latest rows of the API."""

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
    return parse_full_id(text) or find_id(
        "approval",
        text,
        lambda: (one["id"] for one in target.request("GET", "v1/approvals", state="all", limit=_LATEST)["approvals"]),
    )


def file_id(target: ApiClient, text: str) -> str:
    """Return the id of a file."""
    return parse_full_id(text) or find_id("file", text, lambda: (one["id"] for one in _list(target, "files")))


def message_id(target: ApiClient, text: str) -> str:
    """Return the id of a user's message, looked up in the latest turns."""
    return parse_full_id(text) or find_id(
        "message",
        text,
        lambda: (message["id"] for turn in _list(target, "turns") for message in turn["input_messages"]),
    )


def fact_id(target: ApiClient, text: str) -> str:
    """Return the id of a fact, looked up in what is remembered of the latest users."""
    return parse_full_id(text) or find_id(
        "fact",
        text,
        lambda: (
            fact["id"]
            for user in _list(target, "users")
            for fact in target.request("GET", f"v1/users/{user['id']}/memory")["facts"]
        ),
    )


def tool_call_id(target: ApiClient, text: str) -> str:
    """Return the id of a tool call, looked up in the latest turns."""
    return parse_full_id(text) or find_id(
        "tool call",
        text,
        lambda: (
            call["id"]
            for turn in _list(target, "turns")[:_LATEST_TURNS_WITH_CALLS]
            for call in target.request("GET", f"v1/turns/{turn['id']}")["tool_calls"]
        ),
    )


def _list(target: ApiClient, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = target.request("GET", f"v1/{kind}", limit=_LATEST)[kind]
    return found
