"""A desk with canaries, and somebody who talks there."""

import pytest

from local.database import Cluster
from tests.desk import Desk
from tests.integration.forgetting.aviary import Aviary, Room
from tests.integration.talking import Talk


@pytest.fixture
def aviary(desk: Desk, cluster: Cluster, database_name: str) -> Aviary:
    return Aviary(Room(desk), cluster, database_name)


@pytest.fixture
def talk(aviary: Aviary) -> Talk:
    return Talk(aviary.desk)
