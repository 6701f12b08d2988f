"""JSON in which nothing long is said twice: what occurs again is kept once, and named by its place. Pure.

A turn's record tells of most of its candidates three times (as they were given, as they came out, as they stand in the
prompt), each with hashes that do not compress; told once, a record takes half the room.
"""

from collections import Counter
from collections.abc import Sequence

from parlour.infra.jsonable import Json, JsonObject

_REFERENCE = "#"
"""What a place in the list of shared parts is named with; a string of the JSON's own that begins so gets another."""

_LONG = 12
"""Letters from which on a string is worth a place."""

type _Key = tuple[object, ...]


def packed(value: JsonObject) -> JsonObject:
    """`value` as {"shared": [...], "packed": ...}."""
    sharing = _Sharing()
    root = sharing.number(value)
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
    """A value taken apart: each different part has a number, a part's own parts come before it.

    shared  parts that occur more than once, those that others name first.
    """

    def __init__(self) -> None:
        self.shared: list[Json] = []
        self._numbers: dict[_Key, int] = {}
        self._parts: list[tuple[Json, tuple[int, ...]]] = []
        self._uses: Counter[int] = Counter()
        self._places: dict[int, str] = {}

    def number(self, value: Json) -> int:
        """The number of a part."""
        own: tuple[int, ...] = ()
        if isinstance(value, dict):
            own = tuple(map(self.number, value.values()))
            key: _Key = (dict, tuple(value), own)
        elif isinstance(value, list):
            own = tuple(map(self.number, value))
            key = (list, own)
        else:
            key = (type(value), value)
        number = self._numbers.setdefault(key, len(self._parts))
        if number == len(self._parts):
            self._parts.append((value, own))
        return number

    def count(self) -> None:
        """Count how often each part occurs in different others."""
        for _, own in self._parts:
            self._uses.update(own)

    def told(self, number: int) -> Json:
        """A part as it is kept: its place where it is shared."""
        if number in self._places:
            return self._places[number]
        value, own = self._parts[number]
        told = self._with(value, own)
        is_long = bool(own) or (isinstance(value, str) and len(value) >= _LONG)
        if self._uses[number] < 2 or not is_long:
            return told
        self._places[number] = f"{_REFERENCE}{len(self.shared)}"
        self.shared.append(told)
        return self._places[number]

    def _with(self, value: Json, own: Sequence[int]) -> Json:
        if isinstance(value, dict):
            return {key: self.told(one) for key, one in zip(value, own, strict=True)}
        if isinstance(value, list):
            return [self.told(one) for one in own]
        if isinstance(value, str) and value.startswith(_REFERENCE):
            return _REFERENCE + value
        return value
