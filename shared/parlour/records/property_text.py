"""Properties as people read them: in the order of their type's file, numbers with their unit. Pure."""

from collections.abc import Mapping

from parlour.infra.json_values import Json, JsonObject

PROPERTY_ORDER = "property_order"
"""The list among a type's `rag` settings that has the order of its file: objects in the database have another one."""


def order_properties[V](rag: Mapping[str, Json], values: Mapping[str, V]) -> dict[str, V]:
    """Return the values in the order of the type's file.

    What the type does not list comes last, as the database orders it, so that a record reads the same before it is
    written and after.
    """
    listed = rag.get(PROPERTY_ORDER)
    position = {name: number for number, name in enumerate(listed)} if isinstance(listed, list) else {}
    return dict(
        sorted(values.items(), key=lambda item: (position.get(item[0], len(position)), len(item[0].encode()), item[0]))
    )


def with_property_order(properties: JsonObject, rag: JsonObject) -> JsonObject:
    """Return the `rag` settings with the order of these properties; unchanged for fewer than two."""
    return {**rag, PROPERTY_ORDER: [*properties]} if len(properties) > 1 else rag


def unit_of(definition: Json) -> str:
    """Return the unit of a property, "" for none."""
    unit = definition.get("unit") if isinstance(definition, dict) else None
    return unit if isinstance(unit, str) else ""


def format_property(definition: Json, value: Json) -> str:
    """Return a property's value as a reader would write it: "46,000 GBP"; "" for nothing."""
    unit = unit_of(definition)
    if unit and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,} {unit}"
    return format_value(value)


def format_value(value: Json) -> str:
    """Return a value without a unit as a reader would write it; "" for nothing."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(filter(None, map(format_value, value)))
        case dict():
            return "; ".join(f"{words(name)}: {text}" for name, part in value.items() if (text := format_value(part)))
        case _:
            return str(value).strip()


def words(name: str) -> str:
    """Return a property's key as words."""
    return name.replace("_", " ")
