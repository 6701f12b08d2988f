"""Which kept texts of a prompt's record go with what is forgotten: the record names them by hash. Pure."""

import json
import re
import zlib
from collections.abc import Iterator, Set
from dataclasses import dataclass

from parlour.context.segment import Layer, Lot
from parlour.infra.jsonable import Json, JsonObject

_HASH = re.compile(r"[0-9a-f]{64}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_EVERYBODYS_LAYERS = frozenset({Layer.TOOLS, Layer.TIERS, Layer.BRIEFING, Layer.REMINDER})
_EVERYBODYS_LOTS = frozenset(
    {str(lot) for lot in Lot if lot.layer in _EVERYBODYS_LAYERS | {Layer.DELTAS}} | {str(Lot.FLOATING)}
)
_EVERYBODYS_FIELDS = ("tools", "reminders", "floating", "about")
"""What of a prompt is the tenant's own, and not about whoever it was made for."""

_OF_SESSIONS = frozenset({"agent_states", "summaries", "kept_verbatim"})
"""Sources that are known by their session first."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What goes: sources by table and id, whole turns by id, and of one session its turns by number."""

    sources: Set[tuple[str, str]] = frozenset()
    turns: Set[str] = frozenset()
    numbers: Set[int] = frozenset()

    @property
    def ids(self) -> set[str]:
        """Every id; a record that names none of them has nothing that goes."""
        return {one for _, one in self.sources} | set(self.turns)


@dataclass(frozen=True, slots=True)
class Shelf:
    """A packed part of a record, opened."""

    text: str

    @classmethod
    def of(cls, given: bytes) -> "Shelf":
        return cls(zlib.decompress(given).decode())

    @property
    def hashes(self) -> set[str]:
        """Everything that it names."""
        return set(_HASH.findall(self.text))

    def mentions(self, ids: Set[str]) -> bool:
        """Whether one of these ids, or of handles, stands in it."""
        handles = (one for one in ids if not _UUID.fullmatch(one))
        return not ids.isdisjoint(_UUID.findall(self.text)) or any(one in self.text for one in handles)

    def sought(self, what: Sought) -> set[str]:
        """The texts that go with what is sought."""
        return set(_sought(json.loads(self.text), what))

    def everybodys(self) -> set[str]:
        """The texts that are the tenant's own."""
        return set(_everybodys(json.loads(self.text)))


def _hashes(node: Json) -> Iterator[str]:
    if node:  # most parts that are asked for are not there
        yield from _HASH.findall(json.dumps(node))


def _sought(node: Json, what: Sought) -> Iterator[str]:
    if isinstance(node, list):
        for one in node:
            yield from _sought(one, what)
    elif isinstance(node, dict):
        if _is_sought(node, what):
            yield from _hashes(node)
            return
        yield from _recapped(node, what)
        yield from _summed_up(node, what)
        yield from _pinned(node, what)
        for one in node.values():
            if isinstance(one, dict | list):
                yield from _sought(one, what)


def _is_sought(node: JsonObject, what: Sought) -> bool:
    """An item or a message of a source that goes, or one that tells of it; a turn of history that goes."""
    if "asked" in node and str(node.get("id")) in what.turns:
        return True
    also = node.get("also")
    sources = [node.get("source"), *(also if isinstance(also, list) else [])]
    return any(_key(one) in what.sources for one in sources if isinstance(one, dict))


def _key(source: JsonObject) -> tuple[str, str]:
    table, one = str(source.get("table")), str(source.get("id"))
    return table, one.partition("/")[0] if table in _OF_SESSIONS else one


def _recapped(node: JsonObject, what: Sought) -> Iterator[str]:
    """Lines of a recap that tell of turns that go."""
    lines, numbers = node.get("recap"), node.get("turns")
    if isinstance(lines, list) and isinstance(numbers, list):
        yield from (str(line) for line, number in zip(lines, numbers, strict=False) if number in what.numbers)


def _summed_up(node: JsonObject, what: Sought) -> Iterator[str]:
    """A summary that tells of turns that go, with what it keeps word for word."""
    until = node.get("until")
    if what.numbers and "text" in node and isinstance(until, int) and until >= min(what.numbers):
        yield from _hashes(node)


def _pinned(node: JsonObject, what: Sought) -> Iterator[str]:
    """Pieces of a briefing that stand for items that go: there the items are without their words."""
    held, segment = node.get("held"), node.get("segment")
    if not isinstance(held, list) or not isinstance(segment, dict):
        return
    pieces = list(_hashes(segment))
    for one in held:
        item, place = (one.get("item"), one.get("place")) if isinstance(one, dict) else (None, None)
        if isinstance(item, dict) and _is_sought(item, what) and isinstance(place, int) and place < len(pieces):
            yield pieces[place]


def _everybodys(node: Json) -> Iterator[str]:
    if isinstance(node, list):
        for one in node:
            yield from _everybodys(one)
    elif isinstance(node, dict):
        layer = node.get("layer")
        if node.get("lot") in _EVERYBODYS_LOTS or (isinstance(layer, int) and layer in _EVERYBODYS_LAYERS):
            yield from _hashes(node)
            return
        for field in _EVERYBODYS_FIELDS:
            yield from _hashes(node.get(field))
        for one in node.values():
            if isinstance(one, dict | list):
                yield from _everybodys(one)
