"""Routing keys: which tenant, and which binding, an address of the outside world leads to.

A key is unique in the whole deployment. Reading one needs no tenant, since it is how the tenant is found;
the database lets a key be written only by the tenant it leads to.
"""

from collections.abc import Collection
from uuid import UUID

from parlour.infra.errors import Conflict
from parlour.infra.postgres import Transaction
from parlour.tenancy import store
from parlour.tenancy.labels import is_identifier, validate_identifier
from parlour.tenancy.rows import RoutingKey

__all__ = [
    "RoutingKey",
    "claim_key",
    "count_tenants_with_numbers",
    "find_routing_key",
    "gupshup_key",
    "list_own_keys",
    "release_keys_except",
    "tenant_key",
    "web_key",
    "whatsapp_key",
]


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
    """Return the key of a web host from a Host header or an Origin: case, port and final dot dropped."""
    name = host.strip().lower()
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


def release_keys_except(tx: Transaction, kept: Collection[str]) -> list[str]:
    """Give up the transaction's tenant's keys that are not in `kept`, except the tenant's own; returns them."""
    return sorted(route.key for route in store.release_routing_keys(tx, kept))


def list_own_keys(tx: Transaction) -> list[RoutingKey]:
    """Return the keys that lead to the transaction's tenant, by key."""
    return store.list_own_routing_keys(tx)
