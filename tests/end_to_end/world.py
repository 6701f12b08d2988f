"""The stack as the tests see it: from outside, and with a look into its queues and its database."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from local import emulator
from local.stack import RunningStack
from local.stack_client import StackClient

_QUIET_SECONDS = 1.0
"""A queue may be empty for a moment while its message is on the way to the next one."""


@dataclass
class World:
    """A running stack and somebody to talk to it."""

    stack: RunningStack
    talk: StackClient
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(100, 1_000)))

    def phone(self) -> str:
        """A telephone number that nobody in these tests has used, from the range kept for drama."""
        return f"+447700900{next(self._numbers):03}"

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Rows of the stack's database, as a superuser: past row-level security."""
        with self.stack.cluster.connect_as_superuser("parlour") as connection:
            return connection.execute(query.encode(), parameters).fetchall()

    def execute(self, statement: str, *parameters: object) -> None:
        """Change the stack's database, past row-level security: to bring about what only an accident would."""
        with self.stack.cluster.connect_as_superuser("parlour") as connection:
            connection.execute(statement.encode(), parameters)

    def value(self, query: str, *parameters: object) -> Any:
        return self.rows(query, *parameters)[0][0]

    def queued(self, *, dead: bool = False) -> dict[str, int]:
        """How many messages each queue holds, waiting, delayed or being worked on; empty queues are left out."""
        client = emulator.client("sqs", self.stack.addresses.emulator)
        counted = {}
        for url in client.list_queues().get("QueueUrls", []):
            is_dead = "dead" in url.lower() or "dlq" in url.lower()
            if is_dead == dead:
                counted[url.rsplit("/", 1)[-1]] = _held(
                    client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
                )
        return {name: count for name, count in counted.items() if count}

    def settle(self, seconds: float = 90) -> None:
        """Wait until nothing is on its way any more that somebody waits for: Pulses are written behind everything, and
        what is to be remembered is looked for minutes later."""
        until = time.monotonic() + seconds
        quiet_since = None
        while quiet_since is None or time.monotonic() - quiet_since < _QUIET_SECONDS:
            assert time.monotonic() < until, f"still on its way after {seconds} s: {self.queued()}"
            queued = [name for name in self.queued() if not name.endswith(("-pulse", "-memory"))]
            busy = queued or self.value("SELECT count(*) FROM messages WHERE state IN ('unanswered', 'in_turn')")
            quiet_since = None if busy else quiet_since or time.monotonic()
            time.sleep(0.2)


def _held(answer: Any) -> int:
    names = (
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed",
    )
    return sum(int(answer["Attributes"].get(name, 0)) for name in names)
