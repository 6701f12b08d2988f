"""Pulses on the real database, read over the API."""

from tests.integration.api.conftest import client, clock, logged, queue, queues
from tests.integration.pulse.works import works

__all__ = ["client", "clock", "logged", "queue", "queues", "works"]
