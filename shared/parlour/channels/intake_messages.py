"""What the intake queue carries: an envelope, or many statuses in one; and a file that has to wait, by itself.

After an outage a webhook may bring thousands of statuses. A message each would take longer to put on the queue than
the provider waits for an answer. In which order they are applied does not matter, so they need no group of their own.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import batched

from parlour.channels.envelope import Envelope
from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.queues import REDRIVEN_KEY, QueueMessage

MAX_SEPARATE_STATUSES = 10
"""So many fit one call to the queue as they are."""

_MAX_BATCHED_STATUSES = 50
"""Statuses in one message: some 20 KB, 500 KB with everything at its longest; half a second of the receiver's time."""

_FILE_RETRY_KEY = "is_file_retry"
_UNBOUND_KEY = "is_unbound"


def pack_envelopes(envelopes: Sequence[Envelope], *, is_unbound: bool = False) -> list[QueueMessage]:
    """Return the queue's messages: each person's message by itself and in order, then the statuses in batches.

    is_unbound  whether the webhook's secret speaks for any number; the messages say so.
    """
    statuses = [one for one in envelopes if one.kind == "status"]
    if len(statuses) <= MAX_SEPARATE_STATUSES:
        messages = [_to_message(one) for one in envelopes]
    else:
        messages = [*(_to_message(one) for one in envelopes if one.kind != "status"), *_batch_statuses(statuses)]
    return [replace(one, body={**one.body, _UNBOUND_KEY: True}) for one in messages] if is_unbound else messages


def unpack_envelopes(body: JsonObject) -> list[Envelope]:
    """Return the envelopes of one queue message; MalformedPayload when it is something else."""
    if "statuses" not in body:
        return [Envelope.from_json(body)]
    given = body["statuses"]
    if not isinstance(given, list):
        raise MalformedPayload("intake: statuses must be a list")
    return [Envelope.from_json(one if isinstance(one, dict) else {}) for one in given]


def file_retry_message(envelope: Envelope) -> QueueMessage:
    """Return the envelope as a message in a group of its own, so that waiting for its file delays nobody's messages."""
    name = f"file|{envelope.group_id}|{envelope.deduplication_id}"
    return QueueMessage({**envelope.to_json(), _FILE_RETRY_KEY: True}, name, name)


def is_file_retry(body: JsonObject) -> bool:
    """Whether this message came back by itself, for its file."""
    return body.get(_FILE_RETRY_KEY) is True


def needs_bound_secret(body: JsonObject) -> bool:
    """Whether this came with a secret that speaks for any number, and no operator has vouched for it by a redrive."""
    return body.get(_UNBOUND_KEY) is True and body.get(REDRIVEN_KEY) is not True


def _to_message(envelope: Envelope) -> QueueMessage:
    return QueueMessage(envelope.to_json(), envelope.group_id, envelope.deduplication_id)


def _batch_statuses(statuses: Sequence[Envelope]) -> Iterator[QueueMessage]:
    by_number: dict[str, list[Envelope]] = defaultdict(list)
    for one in statuses:
        by_number[one.to].append(one)
    for number, ours in by_number.items():
        for some in batched(ours, _MAX_BATCHED_STATUSES, strict=False):
            once = canonical_json([one.deduplication_id for one in some])
            yield QueueMessage({"statuses": [one.to_json() for one in some]}, f"statuses|{number}", once)
