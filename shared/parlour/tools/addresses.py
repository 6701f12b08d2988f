"""Which addresses a tool may be reached at. Pure: resolving a name is somebody else's work.

A tenant lists the hosts of its tools, and a name may lead anywhere, also to what only this deployment can reach: its
database, the metadata service, a neighbour. So every address a name resolves to has to be a public one, unless the
deployment says that this very tenant may reach the host all the same.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from parlour.infra.errors import Misconfigured
from parlour.tools.tool_definition import host_of

EVERY_TENANT = "*"
"""In place of a tenant's slug: what a laptop has for the tools of all its tenants."""

_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
"""Global unicast; what is outside is local, multicast, or an IPv4 address in disguise (mapped, 64:ff9b::/96)."""

_BLOCKED_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "192.88.99.0/24",  # 6to4 relays
        "2001::/23",  # Teredo and other assignments of the protocols themselves
        "2002::/16",  # 6to4: an IPv4 address in disguise
        "2620:4f:8000::/48",  # AS112
        "5f00::/16",  # segment routing
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Whether an address, as a resolver gives it, is one that anybody on the internet can reach."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and (found not in _PUBLIC_IPV6 or found.scope_id):
        return False
    refused = any(found.version == network.version and found in network for network in _BLOCKED_NETWORKS)
    return found.is_global and not found.is_multicast and not refused


@dataclass(frozen=True, slots=True)
class PrivateHosts:
    """The hosts that may be private and speak plain http, each for the tenant that the deployment names with it.

    origins  the tenant's slug and the host, as `host_of` writes it -> the origin that answers for it
             ("http://10.1.2.3:8080"), or "" for itself. The slug may be EVERY_TENANT.
    """

    origins: Mapping[tuple[str, str], str]

    @classmethod
    def parse(cls, text: str) -> "PrivateHosts":
        """Read `tenant@host, tenant@host:port, tenant@host=http://other:port`.

        Misconfigured when an origin is none, or when an entry names no tenant: nothing is everybody's by omission.
        """
        return cls(dict(_parse_entry(entry.strip()) for entry in text.split(",") if entry.strip()))

    def is_allowed(self, tenant: str, url: str) -> bool:
        """Whether the URL's host is one of the tenant's: named with its port, or without one for every port."""
        return self._find_entry(tenant, url) is not None

    def target_url(self, tenant: str, url: str) -> str:
        """Return the URL under which the deployment serves the tool to the tenant; perhaps of another origin."""
        key = self._find_entry(tenant, url)
        origin = self.origins[key] if key else ""
        parts = urlsplit(url)
        return url.replace(f"{parts.scheme}://{parts.netloc}", origin, 1) if origin else url

    def _find_entry(self, tenant: str, url: str) -> tuple[str, str] | None:
        host = host_of(url)
        bare = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        entries = ((slug, name) for slug in (tenant, EVERY_TENANT) for name in (host, bare))
        return next((entry for entry in entries if entry in self.origins), None)


def find_address_problem(tenant: str, url: str, private_hosts: PrivateHosts) -> str | None:
    """Return why the deployment will not call a tool's URL for a tenant; None where its name has to be resolved first.

    A name that leads to a private address is found when the tool is called.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or private_hosts.is_allowed(tenant, url):
        return None
    host = (parts.hostname or "").rstrip(".")
    is_literal = host.replace(".", "").isdigit() or ":" in host
    if host == "localhost" or host.endswith(".localhost") or (is_literal and not is_public(host)):
        return (
            f"{host} is not a public address, and this deployment calls no others: give the tool a public https "
            "address. On a laptop (`make run`), tools at 127.0.0.1 are called"
        )
    return "must begin with https://: this deployment calls no tool over plain http" if parts.scheme == "http" else None


def _parse_entry(text: str) -> tuple[tuple[str, str], str]:
    """One entry: whose, which host, and the origin that answers for it."""
    named, _, origin = text.partition("=")
    tenant, _, host = (part.strip().lower() for part in named.partition("@"))
    origin = origin.strip().rstrip("/")
    if not tenant or not host:
        raise Misconfigured(f"PRIVATE_TOOL_HOSTS: {text} must say for which tenant: slug@host, or slug@host=http://...")
    parts = urlsplit(origin)
    if origin and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query):
        raise Misconfigured(f"PRIVATE_TOOL_HOSTS: {tenant}@{host}= must be followed by http://host:port")
    return (tenant, host), origin
