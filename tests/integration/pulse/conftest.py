"""Fixtures that tests of Pulses share with those of records, and the API over the same database."""

from tests.integration.api.conftest import client, clock, logged, queue, queues
from tests.integration.knowledge_tenant import library
from tests.integration.pulse.pulse_api_harness import pulse_api
from tests.integration.pulse.pulse_harness import pulse_harness

__all__ = ["client", "clock", "library", "logged", "pulse_api", "pulse_harness", "queue", "queues"]
