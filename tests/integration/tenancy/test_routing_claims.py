"""Hosts and numbers that tenants claim without proof: who gets them, when, and what is never theirs."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.postgres import Database
from parlour.tenancy import audit, routing_keys
from parlour.tenancy.routing_keys import RoutePolicy
from tests.integration.tenancy.conftest import SampleTenant

NUMBER, HOST = "whatsapp:104729350000142", "web:chat.example.com"
CLOUD, LAPTOP = RoutePolicy("https://console.example.com"), RoutePolicy(accepts_all=True)
ACME_HOST = "web:acme.example.com"


def request(
    database: Database,
    tenant: SampleTenant,
    key: str,
    now: datetime,
    policy: RoutePolicy = CLOUD,
    *,
    operator: bool = False,
) -> bool:
    """Claim a key as an administrator of the tenant, or as the operator; return whether it leads there."""
    principal = tenant.operator if operator else tenant.admin
    with database.transaction(principal) as tx:
        return routing_keys.request_key(principal, tx, key, tenant.binding_id, policy, now)


def accept(database: Database, tenant: SampleTenant, key: str, now: datetime, *, ends_reservation: bool = False) -> str:
    with database.transaction(tenant.operator) as tx:
        found = routing_keys.accept_claim(tenant.operator, tx, key, CLOUD, now, ends_reservation=ends_reservation)
    return found.binding


def release(database: Database, tenant: SampleTenant, now: datetime) -> None:
    with database.transaction(tenant.tenant_id) as tx:
        routing_keys.release_keys_except(tx, [], now)


def holder(database: Database, key: str) -> UUID | None:
    with database.transaction(None) as tx:
        route = routing_keys.find_routing_key(tx, key)
    return route.tenant_id if route else None


@pytest.mark.parametrize("key", [NUMBER, HOST, "gupshup:AcmeApp"])
def test_a_claim_leads_nowhere_until_the_operator_accepts_it(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime, key: str
) -> None:
    assert not request(database, brick, key, now)
    assert not request(database, brick, key, now)  # again: nothing changes
    assert holder(database, key) is None
    with database.transaction(None) as tx:
        assert routing_keys.is_waiting(tx, key)
        assert [(route.slug, route.key) for route in routing_keys.list_waiting_routes(tx, 5)] == [("brick", key)]
    with database.transaction(acme.admin) as tx:
        assert routing_keys.list_waiting_claims(tx) == []
    assert accept(database, brick, key, now + timedelta(seconds=1)) == "site-adviser"
    assert holder(database, key) == brick.tenant_id
    with database.transaction(brick.operator) as tx:
        assert not routing_keys.is_waiting(tx, key)
        (entry, *_) = audit.list_entries(brick.operator, tx, 1).rows
    assert (entry.action, entry.details) == ("route.accepted", {"key": key})
    with pytest.raises(NotFound):
        accept(database, brick, key, now)


def test_nobody_but_the_operator_accepts(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    request(database, brick, NUMBER, now)
    with pytest.raises(Forbidden), database.transaction(brick.admin) as tx:
        routing_keys.accept_claim(brick.admin, tx, NUMBER, CLOUD, now)
    with pytest.raises(NotFound):
        accept(database, acme, NUMBER, now)


def test_a_claim_that_waits_keeps_nobody_out(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    """A tenant that claims everything in sight squats on nothing."""
    request(database, brick, NUMBER, now)
    request(database, acme, NUMBER, now)
    accept(database, acme, NUMBER, now)
    assert holder(database, NUMBER) == acme.tenant_id
    with pytest.raises(Conflict, match="another tenant"):
        accept(database, brick, NUMBER, now)


def test_the_operator_the_only_tenant_and_a_laptop_wait_for_nobody(
    database: Database, add_sample_tenant: Callable[[str], SampleTenant], now: datetime
) -> None:
    first = add_sample_tenant("first")
    assert request(database, first, HOST, now)
    second = add_sample_tenant("second")
    assert request(database, second, NUMBER, now, operator=True)
    assert request(database, second, "gupshup:Desk", now, LAPTOP)
    assert not request(database, second, "gupshup:Other", now)


def test_what_a_tenant_gave_up_stays_reserved_for_thirty_days(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    release(database, acme, now)
    last = now + timedelta(days=29, hours=23)
    assert not request(database, brick, ACME_HOST, last)
    assert not request(database, brick, ACME_HOST, last, operator=True)
    with pytest.raises(Conflict, match=r"reserved for another tenant until .* --end-reservation"):
        accept(database, brick, ACME_HOST, last)
    assert request(database, acme, ACME_HOST, last)  # its own comes back without anybody's acceptance
    assert holder(database, ACME_HOST) == acme.tenant_id


def test_after_thirty_days_anybody_may_claim_it_and_waits(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    release(database, acme, now)
    later = now + timedelta(days=30)
    assert not request(database, brick, ACME_HOST, later)
    assert not request(database, acme, ACME_HOST, later)
    accept(database, brick, ACME_HOST, later)
    assert holder(database, ACME_HOST) == brick.tenant_id


def test_the_operator_may_end_a_reservation(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    release(database, acme, now)
    request(database, brick, ACME_HOST, now)
    accept(database, brick, ACME_HOST, now, ends_reservation=True)
    assert holder(database, ACME_HOST) == brick.tenant_id
    with pytest.raises(Conflict):
        request(database, acme, ACME_HOST, now)
    release(database, brick, now + timedelta(days=1))
    assert not request(database, acme, ACME_HOST, now + timedelta(days=2))  # brick had it last


OWN_HOSTS = [
    "console.example.com",
    "CONSOLE.Example.com",
    "console.example.com:443",
    "console.example.com.",
    "CONSOLE.example.com.:8443",
    "\uff43onsole.example.com",
    "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com",
    "a1b2c3d4e5.execute-api.cn-north-1.amazonaws.com.cn",
    "abc.lambda-url.eu-west-1.on.aws",
    *("localhost", "LocalHost.:8700", "localhost.localdomain", "ip6-localhost"),
    *("127.0.0.1", "127.1", "127.255.0.9:80", "0x7f000001", "0177.0.0.1", "2130706433", "0.0.0.0", "0"),
    *("[::1]:8700", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:1]"),
]


@pytest.mark.parametrize("host", OWN_HOSTS)
def test_a_host_of_the_deployment_is_nobodys(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime, host: str
) -> None:
    key = routing_keys.web_key(host)
    for operator in (False, True):
        with pytest.raises(InvalidRequest, match="this deployment itself"):
            request(database, brick, key, now, operator=operator)
    assert holder(database, key) is None
    near_hosts = (
        "chat.console.example.com",
        "my-console.example.com",
        "example.com",
        "localhost.example",
        "127.1.example",
    )
    for near in map(routing_keys.web_key, (*near_hosts, "chat.localhost", "192.168.1.5", "[fd00::1]", "mylocalhost")):
        assert request(database, brick, near, now, operator=True)  # a host of its own is anybody's


def test_a_host_in_other_letters_is_the_same_host(
    database: Database, acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    policy = RoutePolicy("https://bücher.example")
    for spelling in ("bücher.example", "BÜCHER.example:443", "xn--bcher-kva.example", "bu\u0308cher.example"):
        with pytest.raises(InvalidRequest):
            request(database, brick, routing_keys.web_key(spelling), now, policy, operator=True)


def test_of_two_tenants_at_once_one_gets_the_key(
    open_database: Callable[[], Database], acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    databases = [open_database(), open_database()]
    for attempt in range(5):
        with ThreadPoolExecutor(2) as pool:
            claims = [
                pool.submit(_claim_or_conflict, database, tenant, now, f"{NUMBER}{attempt}")
                for database, tenant in zip(databases, (acme, brick), strict=True)
            ]
            assert sorted(claim.result(timeout=10) for claim in claims) == [False, True]


def test_a_key_given_up_meanwhile_is_not_taken(
    open_database: Callable[[], Database], acme: SampleTenant, brick: SampleTenant, now: datetime
) -> None:
    """The owner lets go of its host in the moment in which another tenant claims it, as the operator."""
    owner, rival = open_database(), open_database()
    with ThreadPoolExecutor(1) as pool:
        with owner.transaction(acme.tenant_id) as tx:
            routing_keys.release_keys_except(tx, [], now)
            claim = pool.submit(_claim_or_conflict, rival, brick, now, ACME_HOST)
            time.sleep(0.3)
            assert not claim.done()
        assert claim.result(timeout=10) is False
    assert holder(owner, ACME_HOST) is None
    assert request(owner, acme, ACME_HOST, now)


def _claim_or_conflict(database: Database, tenant: SampleTenant, now: datetime, key: str) -> bool:
    try:
        return request(database, tenant, key, now, operator=True)
    except Conflict:
        return False
