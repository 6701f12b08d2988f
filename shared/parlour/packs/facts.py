"""Whether records fit their types, links lead to records, and documents belong to one."""

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any

from parlour.infra.errors import PackProblem
from parlour.knowledge.text.nearest import listed, meant
from parlour.packs.format import EntityType, Property, Record
from parlour.packs.locate import Located, Place
from parlour.packs.reading import Reading

_OWN_FIELDS = frozenset({"date", "author"})
"""What a document's header has fields for; its row has them among the metadata."""


def problems(reading: Reading) -> Iterator[PackProblem]:
    """Everything that is wrong with records and what leads to them."""
    types = reading.all("entity_types", EntityType)
    records: Iterator[tuple[str, tuple[Record, ...], Located]] = reading.each("entities", tuple)
    known = _Known(reading)
    for name, found, at in records:
        if name not in reading.names("entity_types"):
            yield at.problem(
                (), f"there is no entity type '{name}' (there are: {listed(reading.names('entity_types'))})"
            )
        yield from _repeated(at, found)
        for number, record in enumerate(found):
            yield from _properties(at, (number, "properties"), record, types.get(name))
            yield from _links(at, number, f"{name}/{record.key}", record, known)
    for key, document in reading.documents().items():
        entity = document.header.entity
        if entity and (message := known.missing(entity)):
            yield reading.located[f"documents/{key}"].problem(("entity",), message)
        for name in sorted(_OWN_FIELDS & document.header.metadata.keys()):
            yield reading.located[f"documents/{key}"].problem(("metadata", name), f"say this in the field `{name}`")


class _Known:
    """The records that a reference may name, also those of a file in which something else is wrong."""

    def __init__(self, reading: Reading) -> None:
        self._names: set[str] = set()
        self._unread = reading.names("entities")
        for kind in reading.names("entities"):
            at = reading.located.get(f"entities/{kind}.yaml")
            if at and isinstance(at.value, list):
                self._unread.discard(kind)
                self._names |= {f"{kind}/{one.get('key')}" for one in at.value if isinstance(one, dict)}

    def missing(self, reference: str) -> str | None:
        """What to say about a reference that leads nowhere; None when it leads somewhere, or may."""
        kind = reference.partition("/")[0]
        if reference in self._names or kind in self._unread:
            return None
        alike = {name for name in self._names if name.startswith(f"{kind}/")} or self._names
        return f"there is no record '{reference}'{meant(reference, self._names)} (there are: {listed(alike)})"


def _repeated(at: Located, records: tuple[Record, ...]) -> Iterator[PackProblem]:
    first: dict[str, int] = {}
    for number, record in enumerate(records):
        if first.setdefault(record.key, number) != number:
            line = at.line((first[record.key], "key"))
            yield at.problem((number, "key"), f"'{record.key}' is here twice; first on line {line}")


def _links(at: Located, number: int, source: str, record: Record, known: _Known) -> Iterator[PackProblem]:
    for index, link in enumerate(record.links):
        place = (number, "links", index)
        if message := known.missing(link.to):
            yield at.problem((*place, "to"), message)
        if link.to == source:
            yield at.problem((*place, "to"), "a record cannot be linked to itself")
        if link in record.links[:index]:
            yield at.problem(place, "this link is here twice")


def _properties(at: Located, place: Place, record: Record, kind: EntityType | None) -> Iterator[PackProblem]:
    if kind is None:
        return
    for name, value in record.properties.items():
        known = kind.properties.get(name)
        if known is None:
            near = meant(name, kind.properties)
            yield at.problem(
                (*place, name), f"is not a property of this type{near} (there are: {listed(kind.properties)})"
            )
        elif message := _misfit(known, value):
            yield at.problem((*place, name), message)
    for name, known in kind.properties.items():
        if known.required and name not in record.properties:
            yield at.problem((*place, name), "is missing: this type requires it")


def _misfit(known: Property, value: Any) -> str | None:
    fits, expected = _TYPES[known.type]
    if known.type == "choice":
        near = meant(str(value), known.choices)
        return None if value in known.choices else f"must be one of {', '.join(known.choices)}{near}"
    return None if fits(value) else f"must be {expected}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_date(value: object) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


_TYPES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "text; put numbers in quotes"),
    "number": (_is_number, "a number, without unit and thousands separators"),
    "integer": (lambda value: _is_number(value) and isinstance(value, int), "a whole number"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "date": (_is_date, "an ISO date like 2026-02-17"),
    "choice": (lambda value: isinstance(value, str), "one of the choices"),
}
