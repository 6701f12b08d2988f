"""`make logs`: what the functions of the running stack have logged, oldest first. Ids and numbers, never a payload."""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import boto3

from local import emulator
from local.errors import StackError
from local.state import STATE_FOLDER

_PLATFORM = ("START ", "END ", "REPORT ", "INIT_START ")


class LogLine(NamedTuple):
    """One line of a function's log."""

    at: datetime
    function: str
    text: str


def read_log_lines(endpoint: str) -> list[LogLine]:
    """All lines of all functions, oldest first; the platform's own are left out."""
    client = _client(endpoint)
    groups = [group["logGroupName"] for group in client.describe_log_groups()["logGroups"]]
    return sorted((line for group in groups for line in _read_log_group(client, group)), key=lambda line: line.at)


def main() -> int:
    """Print them; returns the exit status."""
    parser = argparse.ArgumentParser(description="Show what the functions of the running stack have logged.")
    parser.add_argument("--state", type=Path, default=STATE_FOLDER, help="the folder that the stack keeps its state in")
    try:
        endpoint = _running_endpoint(parser.parse_args().state)
    except StackError as problem:
        sys.stderr.write(f"parlour: {problem}\n")
        return 1
    for line in read_log_lines(endpoint):
        sys.stdout.write(f"{line.at:%H:%M:%S} {line.function:<12} {line.text}\n")
    return 0


def _running_endpoint(state: Path) -> str:
    file = state / "stack.json"
    endpoint = str(json.loads(file.read_text())["endpoint"]) if file.exists() else ""
    if not endpoint or not emulator.is_running(endpoint):
        raise StackError("the stack is not running: start it with `make run`")
    return endpoint


def _read_log_group(client: Any, group: str) -> Iterator[LogLine]:
    for page in client.get_paginator("filter_log_events").paginate(logGroupName=group):
        for event in page["events"]:
            at = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
            for text in event["message"].splitlines():
                if text.strip() and not text.startswith(_PLATFORM):
                    yield LogLine(at, group.rsplit("/", 1)[-1], text.strip())


def _client(endpoint: str) -> Any:
    given = emulator.client_environment(endpoint)
    return boto3.client(
        "logs",
        endpoint_url=endpoint,
        region_name=given["AWS_REGION"],
        aws_access_key_id=given["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=given["AWS_SECRET_ACCESS_KEY"],
    )


if __name__ == "__main__":
    sys.exit(main())
