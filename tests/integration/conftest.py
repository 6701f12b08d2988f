"""Fixtures that more than one room's tests use."""

from datetime import datetime

import pytest

from parlour.infra.postgres import Database
from tests.desk import Desk, open_desk


@pytest.fixture
def desk(database: Database, now: datetime) -> Desk:
    """The example's site desk on this test's own database."""
    return open_desk(database, now)
