"""The command over the API over a real database."""

from tests.integration.api.conftest import acme, brick, client, clock, feed, logged, queue, queues, visit

__all__ = ["acme", "brick", "client", "clock", "feed", "logged", "queue", "queues", "visit"]
