"""The order in which a file names the properties of a type or the arguments of a tool. Pure.

Objects in the database have an order of their own, so a list beside them has the file's.
"""

from parlour.infra.json_values import Json, JsonObject
from parlour.packs.items import ConfigKind
from parlour.records.property_text import PROPERTY_ORDER, order_properties, with_property_order
from parlour.tools.tool_definition import ARGUMENT_ORDER, BUILTIN_SCHEME


def keep_file_order(kind: ConfigKind, row: JsonObject) -> JsonObject:
    """Return the row of a part of a pack with the order of its file."""
    if kind == "entity_type":
        return {**row, "rag": with_property_order(_object(row["properties"]), _object(row["rag"]))}
    if kind == "tool" and not str(row["endpoint"]).startswith(BUILTIN_SCHEME):
        schema = _object(row["schema"])
        arguments = _object(schema.get("properties"))
        return {**row, "schema": {**schema, ARGUMENT_ORDER: [*arguments]}} if len(arguments) > 1 else row
    return row


def restore_file_order(kind: ConfigKind, row: JsonObject) -> JsonObject:
    """Return the row of `keep_file_order` as its file has it."""
    if kind == "entity_type":
        rag = _object(row["rag"])
        settings = {name: value for name, value in rag.items() if name != PROPERTY_ORDER}
        return {**row, "properties": order_properties(rag, _object(row["properties"])), "rag": settings}
    schema = _object(row.get("schema"))
    if kind == "tool" and ARGUMENT_ORDER in schema:
        keywords = {name: value for name, value in schema.items() if name != ARGUMENT_ORDER}
        order: JsonObject = {PROPERTY_ORDER: schema[ARGUMENT_ORDER]}
        return {**row, "schema": {**keywords, "properties": order_properties(order, _object(schema["properties"]))}}
    return row


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
