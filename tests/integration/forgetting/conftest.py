"""A desk with canaries, and somebody who talks there."""

import pytest

from local.database import Cluster
from tests.desk import ConversationHarness
from tests.integration.forgetting.aviary import ErasureFixture, ErasureHarness
from tests.integration.talking import WebConversation


@pytest.fixture
def aviary(desk: ConversationHarness, cluster: Cluster, database_name: str) -> ErasureFixture:
    return ErasureFixture(ErasureHarness(desk), cluster, database_name)


@pytest.fixture
def talk(aviary: ErasureFixture) -> WebConversation:
    return WebConversation(aviary.desk)
