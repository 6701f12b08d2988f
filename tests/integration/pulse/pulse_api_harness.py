"""A tenant with a project whose Pulse is read over the API and written by the product's writer, without a model."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from fastapi.testclient import TestClient

from parlour.infra.postgres import Database
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import writing_job
from parlour.pulse.writing.level_draft import PulseDependencies
from tests.integration.api.conftest import (
    FakeQueues,
    ManualClock,
    create_key_headers,
    operator_headers,
    sample_pack_files,
)

PROJECT = """
display_name: Project
properties: {state: {type: choice, choices: [open, done]}, budget: {type: number}}
rag: {pulse: auto, children: auto, status_properties: [state]}
"""
TASK = """
display_name: Task
properties: {state: {type: choice, choices: [open, done]}}
rag: {status_properties: [state]}
"""
PROJECTS = "- {key: NRS, name: River station, properties: {state: open, budget: 5000}}\n"
TASKS = """
- {key: T-1, name: Pour the slab, project: project/NRS, properties: {state: open}}
- {key: T-2, name: Order the concrete, project: project/NRS, properties: {state: open}}
"""
PULSE = "/v1/entities/project/NRS/pulse"


@dataclass
class PulseApiHarness:
    """The tenant, who reads in it, and the writer behind the queue."""

    client: TestClient
    database: Database
    clock: ManualClock
    queues: FakeQueues
    tenant: str = "works"

    @property
    def all(self) -> dict[str, str]:
        """The headers of somebody who may see everything."""
        return operator_headers(self.tenant)

    def reader(self) -> dict[str, str]:
        """Those of a viewer who may see what is internal."""
        return create_key_headers(self.client, self.tenant, "viewer")

    def get(self, path: str = "", headers: dict[str, str] | None = None, status: int = 200, **query: object) -> Any:
        asked = {name: str(value) for name, value in query.items()}
        answer = self.client.get(PULSE + path, headers=headers or self.all, params=asked)
        assert answer.status_code == status, answer.text
        return answer.json()

    def change(self, handle: str, **body: object) -> None:
        answer = self.client.patch(f"/v1/entities/{handle}", json=body, headers=self.all)
        assert answer.status_code == 200, answer.text

    def make(self, **body: object) -> None:
        answer = self.client.post("/v1/entities", json=body, headers=self.all)
        assert answer.status_code == 201, answer.text

    def ask(self, question: str = "", headers: dict[str, str] | None = None) -> Any:
        answer = self.client.post(f"{PULSE}/refresh", json={"question": question}, headers=headers or self.all)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def write(self) -> None:
        """Have it written, and everything else that was ordered."""
        self.ask()
        self.deliver()

    def deliver(self) -> None:
        """What the queue holds, to the writer."""
        orders = [PulseJob.from_json(body) for body, _ in self.queues.pulse.sent]
        self.queues.pulse.sent.clear()
        for order in orders:
            writing_job.run_pulse_job(self.services, order, lambda: 600.0)

    @property
    def services(self) -> PulseDependencies:
        return PulseDependencies(
            self.database,
            dict,
            Decimal(20),
            Decimal(5),
            timedelta(hours=24),
            lambda _: None,
            self.clock,
            lambda _: None,
            lambda low, _: low,
        )


@pytest.fixture
def pulse_api(
    client: TestClient, open_database: Callable[[], Database], clock: ManualClock, queues: FakeQueues
) -> PulseApiHarness:
    """A project with two tasks that nobody has written a Pulse of yet."""
    return make_pulse_project(client, open_database, clock, queues, "works")


def make_pulse_project(
    client: TestClient, open_database: Callable[[], Database], clock: ManualClock, queues: FakeQueues, slug: str
) -> PulseApiHarness:
    """The same under a tenant's slug."""
    files = {
        **sample_pack_files(slug, f"{slug}.example"),
        "entity_types/project.yaml": PROJECT,
        "entity_types/task.yaml": TASK,
        "entities/project.yaml": PROJECTS,
        "entities/task.yaml": TASKS,
    }
    made = PulseApiHarness(client, open_database(), clock, queues, slug)
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers(slug))
    assert answer.status_code == 200, answer.text
    queues.pulse.sent.clear()
    clock.advance(minutes=5)
    return made
