"""Fixtures that tests of Pulses share with those of records, and the API over the same database."""

from tests.integration.api.conftest import client, clock, logged, queue, queues
from tests.integration.knowledge.conftest import library
from tests.integration.pulse.site import site
from tests.integration.pulse.works import works

__all__ = ["client", "clock", "library", "logged", "queue", "queues", "site", "works"]
