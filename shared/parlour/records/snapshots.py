"""A record as a sentence or two: what is indexed, embedded and cited of an entity. Pure."""

import re
from dataclasses import dataclass, field

from parlour.infra.json_values import JsonObject
from parlour.records.property_text import format_property, format_value, order_properties, words
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
    named = placeholders(template)
    rest = [
        f"{_label(record_type, prop)}: {text}"
        for prop, value in order_properties(record_type.rag, properties).items()
        if prop not in named and (text := format_property(record_type.properties.get(prop), value))
    ]
    # A template writes its units itself.
    values = {prop: text for prop in named if (text := format_value(properties.get(prop)))}
    slots = {**values, "name": name, "type": record_type.display_name, "key": key}
    # Where only a part of a sentence has a value, the rest reads "unknown", so that the sentence stays whole.
    first = "".join(
        _PLACEHOLDER.sub(lambda found: slots.get(found[1], "unknown"), sentence)
        for sentence in _SENTENCE_END.split(template)
        if not (asked := _PLACEHOLDER.findall(sentence)) or not slots.keys().isdisjoint(asked)
    ).strip()
    metadata: JsonObject = {"kind": record_type.display_name, "heading": "record", "type": record_type.key, "key": key}
    return RowDraft("snapshot", 0, name, "\n".join([first, *rest]), classification, metadata)


def _label(record_type: SnapshotTemplate, prop: str) -> str:
    definition = record_type.properties.get(prop)
    label = definition.get("label") if isinstance(definition, dict) else None
    return label if isinstance(label, str) and label else words(prop)
