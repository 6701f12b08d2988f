"""Fixtures that more than one room's tests use."""

from datetime import datetime

import pytest

from parlour.infra.postgres import Database
from tests.conversation_harness import ConversationHarness, open_conversation_harness
from tests.integration.knowledge_tenant import library, other_library

__all__ = ["library", "other_library"]


@pytest.fixture
def conversation(database: Database, now: datetime) -> ConversationHarness:
    """The example's site desk on this test's own database."""
    return open_conversation_harness(database, now)
