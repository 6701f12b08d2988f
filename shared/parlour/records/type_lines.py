"""What models read of the record types: a line for each with its properties, and the relations of links. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from parlour.infra.json_values import Json, JsonObject
from parlour.records.built_in_types import BUILT_IN_TYPES, CONVERSATION_TYPE
from parlour.records.properties import choices_of
from parlour.records.property_text import order_properties, unit_of

_MAX_TYPES = 12
"""Types with a line of their own; further ones are named only."""

_MAX_PROPERTIES, _MAX_CHOICES, _MAX_RELATIONS = 12, 8, 24
_GENERAL_RELATIONS = ("contains", "depends_on", "references", "relates_to")
"""Relations that fit records of every pack; the rest of the catalogue is accepted, too."""


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """The types that a tenant's packs define, and what their links say.

    properties  by the type's key, as `properties.py` describes them, in the order of the type's file.
    relations   those of links between records that are public in the pack's files.
    """

    properties: Mapping[str, JsonObject] = field(default_factory=dict)
    relations: Sequence[str] = ()

    @classmethod
    def parse(cls, rows: str) -> "KnownTypes":
        """Read rows of types and relations; "" has none.

        {"types": [{"key", "properties", "property_order", "is_built_in"}], "relations": [name]}
        """
        found = json.loads(rows or "{}")
        own = {
            row["key"]: order_properties(row, row["properties"])
            for row in found.get("types") or ()
            if not row["is_built_in"]
        }
        return cls(own, tuple(found.get("relations") or ()))


def render_type_lines(types: KnownTypes, *, can_link: bool) -> list[str]:
    """Return the lines: the pack's types with their properties, the built-in ones too where the pack has none.

    can_link  whether the relations are listed.
    """
    built_in = {key: kind.properties for key, kind in BUILT_IN_TYPES.items() if key != CONVERSATION_TYPE}
    described = dict(sorted((types.properties or built_in).items()))
    shown = dict(list(described.items())[:_MAX_TYPES])
    named = sorted({*built_in, *described} - shown.keys())
    first = next(iter(shown))
    lines = [
        f"Handles are type/key, as {first}/KEY. Types and properties (* required, dates as 2026-02-17, numbers without "
        "unit):",
        *(f"- {key}: {', '.join(_properties(properties))}" for key, properties in shown.items()),
        *([f"- also: {', '.join(named)}"] if named else []),
    ]
    if can_link:
        relations = dict.fromkeys((*types.relations[:_MAX_RELATIONS], *_GENERAL_RELATIONS))
        lines.append(f"Relations: {', '.join(relations)}.")
    return lines


def _properties(properties: JsonObject) -> Iterator[str]:
    """Return a type's properties in their order. Of too many, the required ones are never left out."""
    definitions = {name: definition for name, definition in properties.items() if isinstance(definition, dict)}
    shown = sorted(definitions, key=lambda name: not definitions[name].get("required"))[:_MAX_PROPERTIES]
    yield from (_property(name, definition) for name, definition in definitions.items() if name in shown)
    if len(definitions) > _MAX_PROPERTIES:
        yield "..."


def _property(name: str, definition: JsonObject) -> str:
    star = "*" if definition.get("required") else ""
    note = ", ".join(filter(None, [_kind(definition), unit_of(definition)]))
    return f"{name}{star} ({note})" if note else f"{name}{star}"


def _kind(definition: JsonObject) -> str:
    """Return what a value must be: the choices, or the kind unless it is text."""
    kind: Json = definition.get("type", "text")
    if kind == "choice":
        choices = choices_of(definition)
        return " | ".join([*choices[:_MAX_CHOICES], *(["..."] if len(choices) > _MAX_CHOICES else [])])
    return "" if kind == "text" or (kind == "number" and unit_of(definition)) else str(kind)
