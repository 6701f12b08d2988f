"""No attack gets through, each would without its defence, and what a defence permits works."""

from collections.abc import Iterator

import pytest

from local.database import OWNER_ROLE, Cluster, open_connection
from tests.attacks.attacks import ATTACKS, Attack
from tests.attacks.defences import DEFENCES, run_committed, without
from tests.attacks.injections import list_injection_attacks
from tests.conversation_harness import ConversationHarness

ALL_ATTACKS = [*ATTACKS, *list_injection_attacks()]


@pytest.fixture
def attacked(conversation: ConversationHarness, cluster: Cluster, database_name: str) -> Iterator[ConversationHarness]:
    with open_connection(cluster.connection_parameters(database_name, OWNER_ROLE)) as owner:
        conversation.owner = lambda statement: run_committed(owner, statement)
        yield conversation


@pytest.mark.parametrize("attack", ALL_ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_stopped(attack: Attack, attacked: ConversationHarness) -> None:
    assert not attack.gets_through(attacked)


@pytest.mark.parametrize("attack", ALL_ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_gets_through_without_its_defence(attack: Attack, attacked: ConversationHarness) -> None:
    with without(attack.defence, attacked):
        assert attack.gets_through(attacked)


@pytest.mark.parametrize("attack", ALL_ATTACKS, ids=lambda attack: attack.name)
def test_what_is_allowed_works(attack: Attack, attacked: ConversationHarness) -> None:
    assert attack.allowed(attacked)


def test_every_defence_has_an_attack() -> None:
    assert {attack.defence for attack in ATTACKS} == set(DEFENCES)
