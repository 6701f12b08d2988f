"""What became of a prompt's sources since: words of what was deleted, or lifted above a reader, are not shown to them.

A record keeps words as they were. Whoever looks at it later may see less than who asked then, and what it tells of may
have been deleted or closed in the meantime: it is the source as it is now that decides, in one query for all of them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly.segment import Item, Layer, Segment, Source, SourceKind
from parlour.prompts.ledger import store
from parlour.prompts.ledger.store import SourceStatus

WITHHELD_PLACEHOLDER = "(closed or deleted since)"
"""What a reader is shown in the place of words."""

_RECORD_TABLES = {"edges": "entities", "trees": "entities", "pulses": "entities", "pulse_changes": "entities"}
"""Sources that are named by the record that they stand around."""

_DELETED_IF_MISSING = frozenset(
    {"entities", "documents", "files", "handles", "citation_numbers", "facts", "episodes", "summaries"}
)
"""Where a source that is not there was deleted; rows are written anew, and most replies cite nothing."""

_TABLES_WITH_STATUS = frozenset({*_DELETED_IF_MISSING, "context_rows", "messages"})
_CITATION_NUMBER = re.compile(r'\\?"(?:document|n)\\?":\s*(\d{1,9})|\[(\d{1,9})\] ')
_HANDLE = re.compile(r"[a-z][a-z0-9_]*/[A-Za-z0-9][A-Za-z0-9_.~-]*")
_CALL_LAYERS = frozenset({Layer.HISTORY, Layer.CALLS})

type _SourceKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ViewerRestrictions:
    """What of a turn's words its reader is not shown, by their hashes, and the sources that are gone, whoever reads."""

    withheld_hashes: frozenset[str]
    deleted_sources: tuple[Source, ...]


def find_restrictions(
    principal: Principal,
    tx: Transaction,
    session_id: UUID,
    items: Iterable[Item],
    segments: Iterable[Segment],
    recap_lines: Sequence[tuple[str, int]],
    texts_by_hash: Mapping[str, str],
) -> ViewerRestrictions:
    """Return what the viewer may see of the sources of these items, and of what calls and their results name.

    `recap_lines` have the numbers of their turns. Texts are named by hash; `texts_by_hash` has them. Nobody sees what
    is above their clearance by now; only administrators see what was deleted.
    """
    found: dict[str, set[_SourceKey]] = {}
    for item in items:
        keys = {_source_key(one) for one in (item.source, *item.further_sources)}
        if item.kind in {SourceKind.HISTORY, SourceKind.CALLS}:
            keys |= _sources_in_call(texts_by_hash.get(item.text, ""))
        for text in (item.text, item.title, *item.shorter_texts):
            found.setdefault(text, set()).update(key for key in keys if key[0] in _TABLES_WITH_STATUS)
    for block in (block for one in segments if one.layer in _CALL_LAYERS for block in one.blocks if block.is_json):
        found.setdefault(block.pieces[0], set()).update(_sources_in_call(texts_by_hash.get(block.pieces[0], "")))
    for line, number in recap_lines:
        found.setdefault(line, set()).add(("turns", str(number)))
    rests = {text: keys for text, keys in found.items() if keys and texts_by_hash.get(text)}
    named = {key for keys in rests.values() for key in keys}
    asked: dict[str, set[str]] = {}
    for table, one in named:
        asked.setdefault(table, set()).add(one)
    if not asked:
        return ViewerRestrictions(frozenset(), ())
    told = {(one.table, one.id): one for one in store.read_source_status(tx, session_id, asked)}
    mentioned = {("handles", one) for text in texts_by_hash.values() for one in _find_handles(text)}
    gone = {key for key in named if _is_deleted(told.get(key), key, mentioned)}
    closed = {key for key, one in told.items() if one.classification > principal.clearance}
    hidden = closed if principal.has_role("admin") else closed | gone
    withheld = frozenset(text for text, keys in rests.items() if not hidden.isdisjoint(keys))
    told_of = sorted(key for key in gone if key[0] != "citation_numbers")  # numbers go also when rows are written anew
    return ViewerRestrictions(withheld, tuple(Source(*key) for key in told_of))


def find_restricted_and_deleted(
    tx: Transaction, session_id: UUID, sources: Iterable[Source], clearance: int
) -> tuple[frozenset[Source], frozenset[Source]]:
    """Which of these sources, some of which may be handles or numbers of the session's, are above that clearance by
    now, and which are gone."""
    keys = {one: _source_key(one) for one in sources}
    asked: dict[str, set[str]] = {}
    for table, one in keys.values():
        asked.setdefault(table, set()).add(one)
    told = {(one.table, one.id): one for one in store.read_source_status(tx, session_id, asked)} if asked else {}
    mentioned = {key for key in keys.values() if key[0] == "handles"}
    above = {one for one, key in keys.items() if key in told and told[key].classification > clearance}
    return frozenset(above), frozenset(one for one, key in keys.items() if _is_deleted(told.get(key), key, mentioned))


def find_highest_level(tx: Transaction, session_id: UUID, sources: Iterable[Source]) -> int:
    """Return the highest classification that one of these sources has by now; 0 where none has any."""
    asked: dict[str, set[str]] = {}
    for table, one in map(_source_key, sources):
        if table in _TABLES_WITH_STATUS:
            asked.setdefault(table, set()).add(one)
    found = store.read_source_status(tx, session_id, asked) if asked else []
    return max((one.classification for one in found), default=0)


def handle_sources(text: str) -> list[Source]:
    """Return what looks like a handle in a call or its result."""
    return [Source("handles", one) for one in sorted(_find_handles(text))]


def _is_deleted(status: SourceStatus | None, key: _SourceKey, mentioned: set[_SourceKey]) -> bool:
    """Return whether a source was deleted; what merely looks like a handle, and leads nowhere, never existed."""
    if status is not None:
        return status.is_deleted
    return key[0] in _DELETED_IF_MISSING and key not in mentioned


def _source_key(source: Source) -> _SourceKey:
    return _RECORD_TABLES.get(source.table, source.table), source.id


def _sources_in_call(text: str) -> set[_SourceKey]:
    """Return what a call or its result names: sources by the session's numbers, records and documents by handle.

    Text that is no call names nothing.
    """
    if not text.startswith("{"):
        return set()
    numbers = {("citation_numbers", one or other) for one, other in _CITATION_NUMBER.findall(text)}
    return numbers | {("handles", one) for one in _find_handles(text)}


def _find_handles(text: str) -> set[str]:
    return set(_HANDLE.findall(text)) if text.startswith("{") else set()
