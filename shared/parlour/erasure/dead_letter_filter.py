"""Which dead letters are about what is forgotten. Pure.

Most queues carry ids only; what people wrote is in the intake's letters. A queue is the deployment's, not the tenant's:
a letter counts as the tenant's by the address of ours that it came to, or by ids, which nobody else has.
"""

import re
from collections.abc import Set
from dataclasses import dataclass

from parlour.infra.json_values import Json, JsonObject, canonical_json

_UUID_PATTERN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """What identifies dead letters that belong to the erasure.

    routing_keys  our addresses that lead to the tenant.
    addresses     of the person.
    provider_ids  of messages.
    ids           of rows of ours that nothing else has.
    """

    routing_keys: Set[str]
    addresses: Set[str] = frozenset()
    provider_ids: Set[str] = frozenset()
    ids: Set[str] = frozenset()

    def is_about(self, body: JsonObject) -> bool:
        """Whether a letter is about it; of many statuses in one letter it is enough that one is."""
        statuses = body.get("statuses")
        envelopes = statuses if isinstance(statuses, list) else [body]
        return any(self._is_envelope_about(one) for one in envelopes) or (
            bool(self.ids) and not self.ids.isdisjoint(_UUID_PATTERN.findall(canonical_json(body)))
        )

    def _is_envelope_about(self, envelope: Json) -> bool:
        if not isinstance(envelope, dict) or envelope.get("to") not in self.routing_keys:
            return False
        return envelope.get("sender") in self.addresses or envelope.get("provider_message_id") in self.provider_ids
