"""Somebody of one tenant reaches for what is not theirs: access beyond their own, and addresses of others."""

from datetime import timedelta
from uuid import UUID

from parlour.infra.errors import ParlourError
from parlour.infra.ids import uuid7
from parlour.principal import Principal
from parlour.tenancy import api_keys, roles, routing_keys, tenants
from parlour.tenancy.api_keys import NewApiKey
from parlour.tenancy.routing_keys import RoutePolicy
from tests.conversation_harness import ConversationHarness

_POLICY = RoutePolicy("https://console.example.com")
_NEIGHBOURS_HOST = "web:acme.example"


def key_with_an_end_makes_an_endless_one(desk: ConversationHarness) -> bool:
    end = desk.clock() + timedelta(minutes=5)
    with desk.database.transaction(desk.admin) as tx:
        narrow = api_keys.create_key(desk.admin, tx, NewApiKey("ci", ["admin"], 1, end, ["people"]), desk.clock())
    holder = Principal(desk.tenant_id, "key", narrow.key.id, frozenset(narrow.key.roles), narrow.key.clearance)
    return _makes_a_key(desk, holder)


def administrator_makes_a_key(desk: ConversationHarness) -> bool:
    return _makes_a_key(desk, _administrator(desk))


def _makes_a_key(desk: ConversationHarness, maker: Principal) -> bool:
    try:
        with desk.database.transaction(maker) as tx:
            api_keys.create_key(maker, tx, NewApiKey("endless", ["admin"], 1), desk.clock())
    except ParlourError:
        return False
    return True


def administrator_claims_a_number(desk: ConversationHarness) -> bool:
    """Another customer's number, whose messages come here already."""
    _add_neighbour(desk)
    return _leads_here(desk, _administrator(desk), "gupshup:AcmeApp")


def operator_claims_the_console(desk: ConversationHarness) -> bool:
    _add_neighbour(desk)
    return _leads_here(desk, desk.admin, routing_keys.web_key("CONSOLE.example.com.:443"))


def operator_takes_a_host_that_was_given_up(desk: ConversationHarness) -> bool:
    neighbour = _add_neighbour(desk)
    with desk.database.transaction(neighbour) as tx:
        routing_keys.claim_key(tx, _NEIGHBOURS_HOST, None)
        routing_keys.release_keys_except(tx, [], desk.clock())
    return _leads_here(desk, desk.admin, _NEIGHBOURS_HOST)


def operator_applies_a_number(desk: ConversationHarness) -> bool:
    _add_neighbour(desk)
    return _leads_here(desk, desk.admin, "gupshup:OurApp")


def _administrator(desk: ConversationHarness) -> Principal:
    return Principal(desk.tenant_id, "member", UUID(int=1), frozenset({"admin"}), clearance=1)


def _add_neighbour(desk: ConversationHarness) -> Principal:
    neighbour = roles.operator_principal(uuid7(desk.clock()))
    with desk.database.transaction(neighbour) as tx:
        tenants.create_tenant(neighbour, tx, slug="acme", display_name="Acme", settings={}, now=desk.clock())
    return neighbour


def _leads_here(desk: ConversationHarness, principal: Principal, key: str) -> bool:
    """Whether the key leads to the desk's tenant once this principal's pack has claimed it."""
    ((binding_id,),) = desk.query("SELECT id FROM bindings WHERE slug = 'site-desk'")
    try:
        with desk.database.transaction(principal) as tx:
            routing_keys.request_key(principal, tx, key, UUID(str(binding_id)), _POLICY, desk.clock())
    except ParlourError:
        return False
    with desk.database.transaction(None) as tx:
        route = routing_keys.find_routing_key(tx, key)
    return route is not None and route.tenant_id == desk.tenant_id
