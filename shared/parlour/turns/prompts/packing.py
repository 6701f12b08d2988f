"""JSON in which nothing long is said twice: what occurs again is kept once, and named by its place. Pure.

A turn's record tells of most of its candidates three times (as they were given, as they came out, as they stand in the
prompt), each with hashes that do not compress; told once, a record takes half the room.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from parlour.infra.jsonable import Json, JsonObject

_REFERENCE = "#"
"""What a place in the list of shared parts is named with; a string of the JSON's own that begins so gets another."""

_LONG = 12
"""Letters from which on a string is worth a place."""

type _Name = str | int | tuple[type, bool | int | float | None]
type _Names = tuple[_Name, ...]


def packed(value: JsonObject) -> JsonObject:
    """`value` as {"shared": [...], "packed": ...}."""
    sharing = _Sharing()
    root = sharing.name(value)
    sharing.count()
    whole = sharing.told(root)
    return {"shared": sharing.shared, "packed": whole}


def unpacked(given: JsonObject) -> JsonObject:
    """What was packed; parts that were said twice are the same objects."""
    shared, places = given["shared"], list[Json]()
    assert isinstance(shared, list)  # noqa: S101 - narrows a type
    for one in shared:
        places.append(_resolved(one, places))
    found = _resolved(given["packed"], places)
    assert isinstance(found, dict)  # noqa: S101 - narrows a type
    return found


def _resolved(value: Json, places: Sequence[Json]) -> Json:
    if isinstance(value, str) and value.startswith(_REFERENCE):
        return value[1:] if value.startswith(_REFERENCE * 2) else places[int(value[1:])]
    if isinstance(value, list):
        return [_resolved(one, places) for one in value]
    if isinstance(value, dict):
        return {key: _resolved(one, places) for key, one in value.items()}
    return value


class _Sharing:
    """A value taken apart. A text names itself, any other leaf is named by its type and value, and each different
    object or list has a number; a part's own parts come before it.

    shared  parts that occur more than once, those that others name first.
    """

    def __init__(self) -> None:
        self.shared: list[Json] = []
        self._objects: dict[tuple[_Names, _Names], int] = {}
        self._lists: dict[_Names, int] = {}
        self._parts: list[tuple[Json, _Names]] = []
        self._uses: Counter[_Name] = Counter()
        self._places: dict[_Name, str] = {}

    def name(self, value: Json) -> _Name:
        """What a part is called."""
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            own = tuple([self.name(one) for one in value.values()])
            return self._number(self._objects, (tuple(value), own), value, own)
        if isinstance(value, list):
            own = tuple([self.name(one) for one in value])
            return self._number(self._lists, own, value, own)
        return (type(value), value)

    def count(self) -> None:
        """Count how often each part occurs in different others."""
        self._uses = Counter(chain.from_iterable(own for _, own in self._parts))

    def told(self, name: _Name) -> Json:
        """A part as it is kept: its place where it is shared."""
        if name in self._places:
            return self._places[name]
        told = self._whole(name)
        if self._uses[name] < 2 or not self._is_long(name):
            return told
        self._places[name] = f"{_REFERENCE}{len(self.shared)}"
        self.shared.append(told)
        return self._places[name]

    def _number[K](self, numbers: dict[K, int], key: K, value: Json, own: _Names) -> int:
        number = numbers.setdefault(key, len(self._parts))
        if number == len(self._parts):
            self._parts.append((value, own))
        return number

    def _is_long(self, name: _Name) -> bool:
        if isinstance(name, str):
            return len(name) >= _LONG
        return isinstance(name, int) and bool(self._parts[name][1])

    def _whole(self, name: _Name) -> Json:
        if isinstance(name, str):
            return _REFERENCE + name if name.startswith(_REFERENCE) else name
        if isinstance(name, tuple):
            return name[1]
        value, own = self._parts[name]
        told = [self.told(one) for one in own]
        return dict(zip(value, told, strict=True)) if isinstance(value, dict) else told
