"""Fixtures that tests of Pulses share with those of records, and the API over the same database."""

from tests.integration.api.conftest import client, clock, logged, queue, queues
from tests.integration.knowledge_tenant import library
from tests.integration.pulse.pulse_api_harness import works
from tests.integration.pulse.pulse_harness import site

__all__ = ["client", "clock", "library", "logged", "queue", "queues", "site", "works"]
