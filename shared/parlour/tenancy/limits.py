"""How much one visitor, one address and one binding may ask for: the numbers, and the buckets they stand for. Pure."""

import hashlib
import hmac
from dataclasses import dataclass, fields
from decimal import Decimal
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.signing_keys import parse_signing_keys

type LimitScope = Literal["visitor", "address", "binding", "new_visitors"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a binding takes, as messages or new visitors per minute, with as many at once.

    address_per_minute  messages of one network address on the web; its new visitors and open streams in proportion.
    binding_per_minute  messages on the web, and as many on messaging channels.
    anonymous_share  the part of the tenant's daily cap that visitors whom no channel has verified may spend.
    """

    visitor_per_minute: int = 30
    address_per_minute: int = 120
    binding_per_minute: int = 1_200
    new_visitors_per_minute: int = 120
    anonymous_share: float = 0.2

    @classmethod
    def from_settings(cls, settings: JsonObject) -> "Limits":
        """Return the limits of a binding; what it does not say is the default."""
        given = {one.name: settings[one.name] for one in fields(cls) if settings.get(one.name) is not None}
        return cls(**given)  # type: ignore[arg-type]

    @property
    def address_streams(self) -> int:
        """How many streams the visitors of one address may have open at once: 5 by default."""
        return max(1, self.address_per_minute // _MESSAGES_PER_OPEN_STREAM)

    @property
    def anonymous_part(self) -> Decimal:
        """The share as a decimal."""
        return Decimal(str(self.anonymous_share))


_MESSAGES_PER_OPEN_STREAM = 24
"""Messages per minute of an address for each stream that it may have open."""

DEFAULT_LIMITS = Limits()

_MIN_STREAMS_PER_MINUTE = 12
"""Streams that one visitor may open at least: an idle one ends after 20 seconds and is opened again."""


_MAILED_OPENINGS_PER_MINUTE = 10
"""Conversations of anonymous visitors that people are mailed of at once; the mails of others wait and are joined."""

_MIN_SESSIONS_PER_MINUTE = 12
"""Sessions that a known visitor may open in a minute at least: a page opens or resumes one when it loads."""

_REQUESTS_PER_MINUTE = 600
"""Requests of one visitor: a chat that polls at its fastest makes 100 a minute, and people have several windows."""

_MESSAGES_PER_NEW_VISITOR = 12
"""Messages that an address may send for each new visitor that it may bring: 10 of them a minute by default."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """One bucket: it holds `per_minute` tokens at most, and as many flow in every minute."""

    scope: LimitScope
    key: str
    per_minute: int


def message_limits(limits: Limits, user_id: UUID, binding_id: UUID, address: str = "") -> list[RateLimit]:
    """Return the buckets that a message on the web takes a token from, the narrowest first.

    address  the hash of where it came from; "" when that is not known.
    """
    by_address = [RateLimit("address", address, limits.address_per_minute)] if address else []
    return [
        RateLimit("visitor", str(user_id), limits.visitor_per_minute),
        *by_address,
        RateLimit("binding", str(binding_id), limits.binding_per_minute),
    ]


def messaging_limits(limits: Limits, user_id: UUID, binding_id: UUID) -> list[RateLimit]:
    """Return the buckets of a message on a messaging channel: visitors of the web never empty those of phones."""
    return [
        RateLimit("visitor", str(user_id), limits.visitor_per_minute),
        RateLimit("binding", f"messaging:{binding_id}", limits.binding_per_minute),
    ]


def stream_limits(limits: Limits, user_id: UUID, address: str = "") -> list[RateLimit]:
    """Return the buckets that a stream of events takes a token from: as large as those of messages, but their own.

    A client opens a stream again after each answer. `address`: as for `message_limits`.
    """
    found = [RateLimit("visitor", f"stream:{user_id}", max(limits.visitor_per_minute, _MIN_STREAMS_PER_MINUTE))]
    if address:
        per_minute = max(limits.address_per_minute, _MIN_STREAMS_PER_MINUTE)
        found.append(RateLimit("address", f"stream:{address}", per_minute))
    return found


def session_limits(limits: Limits, user_id: UUID) -> list[RateLimit]:
    """Return the bucket that a further session of a known visitor takes a token from."""
    per_minute = max(limits.visitor_per_minute, _MIN_SESSIONS_PER_MINUTE)
    return [RateLimit("visitor", f"session:{user_id}", per_minute)]


def request_limits(user_id: UUID) -> list[RateLimit]:
    """Return the bucket that every request of a visitor takes a token from."""
    return [RateLimit("visitor", f"request:{user_id}", _REQUESTS_PER_MINUTE)]


def opening_limits(binding_id: UUID) -> list[RateLimit]:
    """Return the bucket that a conversation takes a token from which an anonymous visitor brings to the inbox."""
    return [RateLimit("binding", f"inbox:{binding_id}", _MAILED_OPENINGS_PER_MINUTE)]


def visitor_limits(limits: Limits, binding_id: UUID, address: str) -> list[RateLimit]:
    """Return the buckets that a new visitor takes a token from, the narrowest first. `address`: as above."""
    per_address = max(1, limits.address_per_minute // _MESSAGES_PER_NEW_VISITOR)
    by_address = [RateLimit("address", f"new:{address}", per_address)] if address else []
    return [*by_address, RateLimit("new_visitors", str(binding_id), limits.new_visitors_per_minute)]


def hash_address(secret: str, address: str) -> str:
    """Return a network address as buckets know it: nobody can read the address back.

    One that a single customer of a provider can choose at will counts once: the /64 of an IPv6 address. "" for a
    loopback address, which is that of a proxy or of a developer, and tells visitors not apart.
    """
    network = _parse_network(address)
    if not network:
        return ""
    return hmac.new(parse_signing_keys(secret)[0].encode(), f"address:{network}".encode(), hashlib.sha256).hexdigest()[
        :32
    ]


def _parse_network(address: str) -> str:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if found.is_loopback:
        return ""
    return str(IPv6Network((found, 64), strict=False) if isinstance(found, IPv6Address) else found)
