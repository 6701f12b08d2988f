"""Handles of records that are gone: one that was made of a name says that name wherever it stands.

Records of prompts name what they tell of by its handle, and are not words that could be emptied; so they are written
again, with a handle in its place that leads nowhere.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from parlour.context.packing import pressed
from parlour.forgetting import store
from parlour.infra.postgres import Transaction

_NOTHING = "forgotten"


def are_in(text: str, handles: Iterable[str]) -> bool:
    """Whether JSON names one of these."""
    return any(f'"{one}"' in text for one in handles)


def without(text: str, handles: Iterable[str]) -> str:
    """JSON with what leads nowhere in the place of these."""
    for one in handles:
        text = text.replace(f'"{one}"', f'"{one.partition("/")[0]}/{_NOTHING}"')
    return text


def rename(tx: Transaction, records: Sequence[tuple[UUID, int]], handles: Sequence[str]) -> None:
    """Write these records of prompts, by turn and step, without the handles."""
    for row in store.ledgers_named(tx, records):
        store.put_ledger(tx, replace(row, basis=_packed(row.basis, handles), made=_packed(row.made, handles)))


def _packed(given: bytes | None, handles: Sequence[str]) -> bytes | None:
    if given is None:
        return None
    return pressed(without(zlib.decompress(given).decode(), handles).encode())
