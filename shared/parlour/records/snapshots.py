"""A record as a sentence or two: what is indexed, embedded and cited of an entity. Pure."""

import re
from dataclasses import dataclass, field

from parlour.infra.json_values import Json, JsonObject
from parlour.search.index.context_rows import RowDraft

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_OWN = frozenset({"name", "type", "key"})
_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s)")


@dataclass(frozen=True, slots=True)
class SnapshotTemplate:
    """What a snapshot needs of an entity type.

    properties: per property an object whose `label`, if any, is how the property is called in text.
    rag: `semantic` is the template of the first line, with `{{name}}`, `{{type}}`, `{{key}}` and `{{property}}`.
    """

    key: str
    display_name: str
    properties: JsonObject = field(default_factory=dict)
    rag: JsonObject = field(default_factory=dict)


def placeholders(template: str) -> frozenset[str]:
    """Return the properties that a template names; name, type and key are not among them: every record has them."""
    return frozenset(_PLACEHOLDER.findall(template)) - _OWN


def snapshot_row(
    record_type: SnapshotTemplate, key: str, name: str, properties: JsonObject, classification: int
) -> RowDraft:
    """Return the record's row: its type's template filled in, then every property the template does not name.

    A sentence of the template whose properties all have no value is left out.
    """
    template = record_type.rag.get("semantic")
    template = template if isinstance(template, str) and template.strip() else "{{name}} ({{type}})"
    values = {label: text for label, value in properties.items() if (text := format_value(value))}
    named = placeholders(template)
    rest = [
        f"{_label(record_type, prop)}: {values[prop]}"
        for prop in sorted(values, key=_property_order)
        if prop not in named
    ]
    slots = {**values, "name": name, "type": record_type.display_name, "key": key}
    # Where only a part of a sentence has a value, the rest reads "unknown", so that the sentence stays whole.
    first = "".join(
        _PLACEHOLDER.sub(lambda found: slots.get(found[1], "unknown"), sentence)
        for sentence in _SENTENCE_END.split(template)
        if not (asked := _PLACEHOLDER.findall(sentence)) or not slots.keys().isdisjoint(asked)
    ).strip()
    metadata: JsonObject = {"kind": record_type.display_name, "heading": "record", "type": record_type.key, "key": key}
    return RowDraft("snapshot", 0, name, "\n".join([first, *rest]), classification, metadata)


def format_value(value: Json) -> str:
    """Return a property's value as a reader would write it; "" for nothing."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(filter(None, map(format_value, value)))
        case dict():
            return "; ".join(
                f"{_without_underscores(name)}: {text}" for name, part in value.items() if (text := format_value(part))
            )
        case _:
            return str(value).strip()


def _property_order(name: str) -> tuple[int, str]:
    """Where the database puts a property, so that a record reads the same before it is written and after."""
    return len(name.encode()), name


def _label(record_type: SnapshotTemplate, prop: str) -> str:
    definition = record_type.properties.get(prop)
    label = definition.get("label") if isinstance(definition, dict) else None
    return label if isinstance(label, str) and label else _without_underscores(prop)


def _without_underscores(name: str) -> str:
    return name.replace("_", " ")
