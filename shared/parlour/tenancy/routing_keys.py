"""Routing keys: which tenant, and which binding, an address of the outside world leads to.

A key is unique in the whole deployment. Reading one needs no tenant, since it is how the tenant is found;
the database lets a key be written only by the tenant it leads to.

A tenant proves nothing about the hosts and numbers in its pack. Where the deployment has several tenants, its claim of
one waits until the operator accepts it, and leads nowhere until then. What a tenant gives up stays reserved for it.
"""

import socket
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit
from uuid import UUID

from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import audit, store
from parlour.tenancy.labels import is_identifier, validate_identifier
from parlour.tenancy.rows import RoutingClaim, RoutingKey, WaitingClaim, WaitingRoute

__all__ = [
    "NO_POLICY",
    "RoutePolicy",
    "RoutingKey",
    "WaitingClaim",
    "WaitingRoute",
    "accept_claim",
    "claim_key",
    "count_tenants_with_numbers",
    "drop_waiting_claims_except",
    "find_routing_key",
    "gupshup_key",
    "is_waiting",
    "list_own_keys",
    "list_waiting_claims",
    "list_waiting_routes",
    "release_keys_except",
    "request_key",
    "require_claimable",
    "tenant_key",
    "web_key",
    "whatsapp_key",
]

RESERVATION = timedelta(days=30)
"""How long a key that a tenant gave up is no other tenant's."""

_PROVIDER_DOMAINS = (".amazonaws.com", ".amazonaws.com.cn", ".on.aws")
"""Where AWS puts APIs, this deployment's among them. No tenant has a host there."""

_LOOPBACK_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """Which claims of hosts and numbers a deployment takes.

    public_url   where the deployment is reached; no tenant may claim its host. "": only AWS's own names are known.
    accepts_all  whether no claim waits for the operator, as on a laptop.
    """

    public_url: str = ""
    accepts_all: bool = False

    def is_own_host(self, key: str) -> bool:
        """Whether `key` is that of a host of the deployment itself."""
        host = key.removeprefix("web:")
        is_ours = bool(self.public_url) and key == web_key(urlsplit(self.public_url).netloc)
        return host != key and (is_ours or host.endswith(_PROVIDER_DOMAINS) or _is_this_machine(host))


def _is_this_machine(host: str) -> bool:
    """Whether the console of this machine is reached by the host, in any form that browsers read: `127.1`.

    Names below .localhost are for packs on a laptop.
    """
    if host in _LOOPBACK_NAMES:
        return True
    address: IPv4Address | IPv6Address | None = None
    with suppress(ValueError, OSError):
        address = ip_address(host[1:-1]) if host.startswith("[") else IPv4Address(socket.inet_aton(host))
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return address is not None and (address.is_loopback or address.is_unspecified)


NO_POLICY = RoutePolicy()
"""What holds where nothing else is said."""


def count_tenants_with_numbers(tx: Transaction) -> int:
    """Return how many tenants of the deployment are reached by a messaging number; needs no tenant."""
    count: int = tx.value(store.SQL["count_tenants_with_numbers"])
    return count


def tenant_key(slug: str) -> str:
    """Return the key of a tenant as a whole."""
    return f"tenant:{slug}"


def gupshup_key(app: str) -> str:
    """Return the key of a Gupshup app, by the name that its webhooks carry (case matters)."""
    return f"gupshup:{app}"


def whatsapp_key(phone_number_id: str) -> str:
    """Return the key of a WhatsApp Cloud number, by the id that Meta's webhooks carry."""
    return f"whatsapp:{phone_number_id}"


def web_key(host: str) -> str:
    """Return the key of a web host from a Host header or an Origin: case, port and final dot dropped.

    A name in other letters than ASCII is written as DNS has it.
    """
    name = host.strip().lower()
    with suppress(UnicodeError):
        name = name.encode("idna").decode() if not name.isascii() else name
    bare = name.partition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0]
    return f"web:{bare.rstrip('.')}"


def find_routing_key(tx: Transaction, key: str) -> RoutingKey | None:
    """Where `key` leads. Works in a transaction without a tenant and in any tenant's; any text is safe."""
    return store.find_routing_key(tx, key) if is_identifier(key) else None


def claim_key(tx: Transaction, key: str, binding_id: UUID | None) -> None:
    """Let `key` lead to the transaction's tenant and to `binding_id`; repeating it changes nothing.

    Raises Conflict when another tenant holds the key, InvalidRequest for a text that cannot be one.
    """
    validate_identifier("routing key", key)
    if store.claim_routing_key(tx, key, binding_id) is None:
        raise Conflict(f"the routing key {key} belongs to another tenant; choose another or have it released there")


def require_claimable(key: str, policy: RoutePolicy) -> None:
    """Raise InvalidRequest for a host of the deployment itself."""
    if policy.is_own_host(key):
        host = key.removeprefix("web:")
        raise InvalidRequest(f"channels.web.host: {host} is an address of this deployment itself; choose another host")


def request_key(
    principal: Principal, tx: Transaction, key: str, binding_id: UUID, policy: RoutePolicy, now: datetime
) -> bool:
    """Let `key` lead to the principal's tenant, or let the claim wait for the operator; whether it leads there.

    It leads there at once for the operator, for the only tenant of a deployment, and for a tenant that gave the key up
    within `RESERVATION`. What is reserved for another tenant waits in any case.

    Raises Conflict when another tenant holds the key, InvalidRequest for a host of the deployment itself.
    """
    require_claimable(key, policy)
    route = find_routing_key(tx, key)
    is_own = route is not None and route.tenant_id == principal.tenant_id
    if route is None and not _is_accepted(principal, tx, key, policy, now):
        store.save_routing_claim(tx, key, binding_id, now)
        return False
    claim_key(tx, key, binding_id)
    # Asked after the claim, which waits for a tenant that is just giving the key up.
    if not is_own and not policy.accepts_all and _find_other_holder(principal, tx, key, now):
        store.release_routing_key(tx, key)
        store.save_routing_claim(tx, key, binding_id, now)
        return False
    store.drop_routing_claim(tx, key)
    return True


def accept_claim(
    principal: Principal,
    tx: Transaction,
    key: str,
    policy: RoutePolicy,
    now: datetime,
    *,
    ends_reservation: bool = False,
) -> WaitingClaim:
    """Let a key that waits lead to the tenant that the operator acts in. Audited.

    Raises Forbidden for anybody but the operator, NotFound when the key does not wait, Conflict when another tenant
    holds it, or gave it up within `RESERVATION` and the operator does not end that, InvalidRequest as `request_key`.
    """
    if principal.kind != "operator":
        raise Forbidden("only the deployment's operator accepts hosts and numbers; use the operator's credentials")
    claim = next((claim for claim in store.list_waiting_claims(tx) if claim.key == key), None)
    if claim is None:
        raise NotFound(f"{key} does not wait for this tenant; `parlour routes list` shows what does")
    require_claimable(key, policy)
    claim_key(tx, key, claim.binding_id)
    other = _find_other_holder(principal, tx, key, now)
    if other is not None and not ends_reservation:
        until = (other.released_at or now) + RESERVATION
        raise Conflict(f"{key} is reserved for another tenant until {until:%Y-%m-%d}; add --end-reservation to move it")
    store.drop_routing_claim(tx, key)
    audit.add_entry(principal, tx, "route.accepted", f"binding:{claim.binding_id}", {"key": key}, now)
    return claim


def is_waiting(tx: Transaction, key: str) -> bool:
    """Whether some tenant's claim of `key` waits for the operator; needs no tenant, and any text is safe."""
    return is_identifier(key) and any(claim.released_at is None for claim in store.find_routing_claims(tx, key))


def list_waiting_claims(tx: Transaction) -> list[WaitingClaim]:
    """Return the claims of the transaction's tenant that wait for the operator, oldest first."""
    return store.list_waiting_claims(tx)


def list_waiting_routes(tx: Transaction, most: int) -> list[WaitingRoute]:
    """Return the claims of all tenants that wait for the operator, oldest first; needs no tenant."""
    return store.list_waiting_routes(tx, most)


def release_keys_except(tx: Transaction, kept: Collection[str], now: datetime) -> list[str]:
    """Give up the transaction's tenant's keys that are not in `kept`, except the tenant's own; returns them.

    They stay reserved for the tenant for `RESERVATION`.
    """
    return sorted(route.key for route in store.release_routing_keys(tx, kept, now))


def drop_waiting_claims_except(tx: Transaction, kept: Collection[str]) -> None:
    """Forget the claims of the transaction's tenant that wait and are not in `kept`."""
    store.drop_waiting_claims(tx, kept)


def list_own_keys(tx: Transaction) -> list[RoutingKey]:
    """Return the keys that lead to the transaction's tenant, by key."""
    return store.list_own_routing_keys(tx)


def _is_accepted(principal: Principal, tx: Transaction, key: str, policy: RoutePolicy, now: datetime) -> bool:
    """Whether a key that nobody holds may be had without the operator's acceptance."""
    if policy.accepts_all or principal.kind == "operator" or store.count_tenants(tx) == 1:
        return True
    last = _find_last_release(tx, key, now)
    return last is not None and last.tenant_id == principal.tenant_id


def _find_other_holder(principal: Principal, tx: Transaction, key: str, now: datetime) -> RoutingClaim | None:
    """Return the claim of another tenant that the key is reserved for."""
    last = _find_last_release(tx, key, now)
    return last if last is not None and last.tenant_id != principal.tenant_id else None


def _find_last_release(tx: Transaction, key: str, now: datetime) -> RoutingClaim | None:
    """Return the claim of the tenant that gave the key up last, within `RESERVATION`."""
    released = [
        (claim.released_at, claim)
        for claim in store.find_routing_claims(tx, key)
        if claim.released_at is not None and claim.released_at > now - RESERVATION
    ]
    return max(released, key=lambda pair: pair[0])[1] if released else None
