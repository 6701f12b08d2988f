"""The API's description: complete, and true of what the API does."""

from collections.abc import Callable
from datetime import datetime

from fastapi.testclient import TestClient

from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.infra.postgres import Database
from tests.conversation_harness import ConversationHarness
from tests.integration.api.conformance_run import run_conformance
from tests.integration.api.conftest import FakeQueues, ManualClock, RecordingQueue, make_dependencies
from tests.integration.api.described_tenant import DescribedTenant, fill_examples

UNSUCCESSFUL: set[str] = set()
"""Operations that no run brings to a 2xx, and why."""


def test_the_api_does_what_its_description_says(
    conversation: ConversationHarness, open_database: Callable[[], Database], now: datetime
) -> None:
    pool, queues = DatabasePool(open_database), FakeQueues()
    app = create_app(make_dependencies(pool, ManualClock(now), RecordingQueue(), queues))
    tenant = DescribedTenant(conversation, TestClient(app), queues, now)
    document = app.openapi()
    fill_examples(document, *tenant.prepare())
    report = run_conformance(app, document, tenant.headers, tenant.headers_of)
    pool.close()
    print(
        "2XX",
        len(report.statuses),
        len(report.statuses) - len(report.unsuccessful),
        {n: sorted(report.statuses[n]) for n in report.unsuccessful},
    )
    assert report.failures == {}
    assert report.unsuccessful == UNSUCCESSFUL
