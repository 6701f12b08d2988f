"""Whether records fit their types, links lead to records, and documents belong to one."""

from collections.abc import Iterator
from typing import Any

from parlour.infra.errors import PackProblem
from parlour.knowledge.records.kinds import KINDS
from parlour.knowledge.records.properties import SOURCES, is_system, misfit
from parlour.knowledge.records.record import PROJECT
from parlour.packs import built_in_kinds
from parlour.packs.format import EntityType, Property, Record
from parlour.packs.locate import Located, Place
from parlour.packs.reading import Reading
from parlour.text.suggestions import listed, meant

_OWN_FIELDS = frozenset({"date", "author"})
"""What a document's header has fields for; its row has them among the metadata."""


def problems(reading: Reading) -> Iterator[PackProblem]:
    """Everything that is wrong with records and what leads to them."""
    own = reading.all("entity_types", EntityType)
    types = {**built_in_kinds.kinds(), **own}
    names = reading.names("entity_types") | KINDS.keys()
    for name, kind, at in reading.each("entity_types", EntityType):
        yield from _reserved(at, kind, name)
    records: Iterator[tuple[str, tuple[Record, ...], Located]] = reading.each("entities", tuple)
    known = _Known(reading)
    for name, found, at in records:
        if name not in names:
            yield at.problem((), f"there is no entity type '{name}'{meant(name, names)} (there are: {listed(names)})")
        yield from _repeated(at, found)
        for number, record in enumerate(found):
            yield from _properties(at, (number, "properties"), record, types.get(name))
            yield from _links(at, number, f"{name}/{record.key}", record, known)
            yield from _project(at, number, f"{name}/{record.key}", record, known)
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


def _project(at: Located, number: int, source: str, record: Record, known: _Known) -> Iterator[PackProblem]:
    if record.project is None:
        return
    if not record.project.startswith(f"{PROJECT}/"):
        yield at.problem((number, "project"), f"must name a project, like '{PROJECT}/NRS'")
    elif message := known.missing(record.project):
        yield at.problem((number, "project"), message)
    elif record.project == source:
        yield at.problem((number, "project"), "a project does not belong to itself")


def _reserved(at: Located, kind: EntityType, name: str) -> Iterator[PackProblem]:
    """Properties that only Parlour writes, of every record."""
    for one in kind.properties:
        if is_system(one) or one == SOURCES:
            yield at.problem(("properties", one), f"every record has this already, {name} cannot define it")


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
    return misfit(known.type, known.choices, value)
