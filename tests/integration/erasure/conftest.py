"""A desk with canaries, and somebody who talks there."""

import pytest

from local.database import Cluster
from tests.conversation_harness import ConversationHarness
from tests.integration.erasure.erasure_fixture import ErasureFixture, ErasureHarness
from tests.integration.web_conversation import WebConversation


@pytest.fixture
def erasure_fixture(conversation: ConversationHarness, cluster: Cluster, database_name: str) -> ErasureFixture:
    return ErasureFixture(ErasureHarness(conversation), cluster, database_name)


@pytest.fixture
def web_conversation(erasure_fixture: ErasureFixture) -> WebConversation:
    return WebConversation(erasure_fixture.desk)
