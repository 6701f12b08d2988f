"""A desk with canaries, and somebody who talks there."""

import pytest

from local.database import Cluster
from tests.conversation_harness import ConversationHarness
from tests.integration.erasure.erasure_fixture import ErasureFixture, ErasureHarness
from tests.integration.web_conversation import WebConversation


@pytest.fixture
def aviary(desk: ConversationHarness, cluster: Cluster, database_name: str) -> ErasureFixture:
    return ErasureFixture(ErasureHarness(desk), cluster, database_name)


@pytest.fixture
def talk(aviary: ErasureFixture) -> WebConversation:
    return WebConversation(aviary.desk)
