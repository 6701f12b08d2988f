"""Whether records fit their types, links lead to records, and documents belong to one."""

from collections.abc import Iterator, Mapping

from parlour.infra.errors import PackProblem
from parlour.packs import built_in_types
from parlour.packs.format import HEADER_FIELDS, EntityType, Property, Record
from parlour.packs.pack_parser import ParsedPack
from parlour.packs.source_positions import FieldPath, ParsedYaml
from parlour.records.built_in_types import BUILT_IN_TYPES
from parlour.records.properties import SOURCES_PROPERTY, is_reserved, value_problem
from parlour.records.record import PROJECT_TYPE
from parlour.text.spelling_suggestions import closest_option, did_you_mean, list_options


def find_record_problems(reading: ParsedPack) -> Iterator[PackProblem]:
    """Everything that is wrong with records and what leads to them."""
    own = reading.get_models("entity_types", EntityType)
    defined = reading.list_names("entity_types")
    built_in = {name: kind for name, kind in built_in_types.list_built_in_types().items() if name not in defined}
    types = {name: _list_properties(reading, name, kind) for name, kind in {**built_in, **own}.items()}
    names = defined | BUILT_IN_TYPES.keys()
    for name, kind, at in reading.iterate_models("entity_types", EntityType):
        yield from _check_reserved_properties(at, kind, name)
    records: Iterator[tuple[str, tuple[Record, ...], ParsedYaml]] = reading.iterate_models("entities", tuple)
    known = KnownRecords(reading)
    for name, found, at in records:
        if name not in names:
            yield at.problem_at(
                (), f"unknown entity type '{name}'{did_you_mean(name, names)} (available: {list_options(names)})"
            )
        yield from _check_duplicates(at, found)
        for number, record in enumerate(found):
            yield from _check_properties(at, (number, "properties"), record, types.get(name))
            yield from _check_links(at, number, f"{name}/{record.key}", record, known)
            yield from _check_project(at, number, f"{name}/{record.key}", record, known)
    for key, document in reading.get_documents().items():
        entity = document.header.entity
        if entity and (message := known.missing_message(entity)):
            yield reading.yaml_by_file[f"documents/{key}"].problem_at(("entity",), message)
        for name in sorted(frozenset(HEADER_FIELDS) & document.header.metadata.keys()):
            yield reading.yaml_by_file[f"documents/{key}"].problem_at(
                ("metadata", name), f"use the field `{name}` instead"
            )


def _list_properties(reading: ParsedPack, name: str, kind: EntityType) -> Mapping[str, Property | None] | None:
    """Return a type's properties, with None for one that is wrong; None when they cannot be read at all."""
    file = f"entity_types/{name}.yaml"
    if not kind.properties and reading.has_problem(file, "properties"):
        return None
    return {
        key: None if reading.has_problem(file, f"properties.{key}") or lacks_choices(found) else found
        for key, found in kind.properties.items()
    }


def lacks_choices(found: Property) -> bool:
    """Return whether a property has choices without being a choice, or none although it is one."""
    return (found.type == "choice") != bool(found.choices)


class KnownRecords:
    """The records that a reference may name, also those of a file in which something else is wrong."""

    def __init__(self, reading: ParsedPack) -> None:
        self._names: set[str] = set()
        self._unread = reading.list_names("entities")
        for kind in reading.list_names("entities"):
            at = reading.yaml_by_file.get(f"entities/{kind}.yaml")
            if at and isinstance(at.value, list):
                keys = [one.get("key") if isinstance(one, dict) else None for one in at.value]
                self._names |= {f"{kind}/{key}" for key in keys if key is not None}
                if None not in keys:  # a record whose key is misspelt may be the one that is meant
                    self._unread.discard(kind)

    def missing_message(self, reference: str) -> str | None:
        """Return what to say about a reference that leads nowhere; None when it leads somewhere, or may."""
        kind = reference.partition("/")[0]
        if reference in self._names or kind in self._unread:
            return None
        alike = {name for name in self._names if name.startswith(f"{kind}/")} or self._names
        return f"unknown record '{reference}'{did_you_mean(reference, self._names)} (available: {list_options(alike)})"


def _check_duplicates(at: ParsedYaml, records: tuple[Record, ...]) -> Iterator[PackProblem]:
    first: dict[str, int] = {}
    for number, record in enumerate(records):
        if first.setdefault(record.key, number) != number:
            line = at.line_of((first[record.key], "key"))
            yield at.problem_at((number, "key"), f"'{record.key}' is used twice; first on line {line}")


def _check_links(
    at: ParsedYaml, number: int, source: str, record: Record, known: KnownRecords
) -> Iterator[PackProblem]:
    for index, link in enumerate(record.links):
        place = (number, "links", index)
        if message := known.missing_message(link.to):
            yield at.problem_at((*place, "to"), message)
        if link.to == source:
            yield at.problem_at((*place, "to"), "a record cannot be linked to itself")
        if link in record.links[:index]:
            yield at.problem_at(place, "this link is listed twice")


def _check_project(
    at: ParsedYaml, number: int, source: str, record: Record, known: KnownRecords
) -> Iterator[PackProblem]:
    if record.project is None:
        return
    if not record.project.startswith(f"{PROJECT_TYPE}/"):
        yield at.problem_at((number, "project"), f"must name a project, like '{PROJECT_TYPE}/NRS'")
    elif message := known.missing_message(record.project):
        yield at.problem_at((number, "project"), message)
    elif record.project == source:
        yield at.problem_at((number, "project"), "a project cannot belong to itself")


def _check_reserved_properties(at: ParsedYaml, kind: EntityType, name: str) -> Iterator[PackProblem]:
    """Properties that only Parlour writes, of every record."""
    for one in kind.properties:
        if is_reserved(one) or one == SOURCES_PROPERTY:
            yield at.problem_at(("properties", one), f"every record has this property, {name} cannot define it")


def _check_properties(
    at: ParsedYaml, place: FieldPath, record: Record, properties: Mapping[str, Property | None] | None
) -> Iterator[PackProblem]:
    if properties is None:
        return
    meant: list[str] = []
    for name, value in record.properties.items():
        known = properties.get(name)
        if name not in properties:
            meant += closest_option(name, properties)
            near = did_you_mean(name, properties)
            yield at.problem_at(
                (*place, name), f"is not a property of this type{near} (available: {list_options(properties)})"
            )
        elif known and (message := value_problem(known.type, known.choices, value)):
            yield at.problem_at((*place, name), message)
    for name, known in properties.items():
        if known and known.required and name not in {*record.properties, *meant}:
            yield at.problem_at((*place, name), "is missing: this type requires it")
