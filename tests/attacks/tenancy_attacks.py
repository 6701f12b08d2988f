"""Somebody of one tenant reaches for what is not theirs: access beyond their own, and addresses of others."""

from datetime import timedelta
from uuid import UUID

from parlour.infra.errors import ParlourError
from parlour.principal import Principal
from parlour.tenancy import api_keys
from parlour.tenancy.api_keys import NewApiKey
from tests.conversation_harness import ConversationHarness


def key_with_an_end_makes_an_endless_one(desk: ConversationHarness) -> bool:
    end = desk.clock() + timedelta(minutes=5)
    with desk.database.transaction(desk.admin) as tx:
        narrow = api_keys.create_key(desk.admin, tx, NewApiKey("ci", ["admin"], 1, end, ["people"]), desk.clock())
    holder = Principal(desk.tenant_id, "key", narrow.key.id, frozenset(narrow.key.roles), narrow.key.clearance)
    return _makes_a_key(desk, holder)


def administrator_makes_a_key(desk: ConversationHarness) -> bool:
    return _makes_a_key(desk, Principal(desk.tenant_id, "member", UUID(int=1), frozenset({"admin"}), clearance=1))


def _makes_a_key(desk: ConversationHarness, maker: Principal) -> bool:
    try:
        with desk.database.transaction(maker) as tx:
            api_keys.create_key(maker, tx, NewApiKey("endless", ["admin"], 1), desk.clock())
    except ParlourError:
        return False
    return True
