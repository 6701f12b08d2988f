"""The reference of a pack's fields (docs/pack-reference.md), made from the same JSON Schemas as the editors'. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parlour.packs.json_schema import FILE_KINDS, FileKind, file_schema

_HEAD = """# Reference: the files of a pack

Generated from the format's code by `make reference`; do not edit it.

`parlour new NAME` writes a pack to begin with. `parlour schema FOLDER` writes the JSON Schemas that editors complete
and check with. A file's name is the slug, name, key or type of its content. Fields in **bold** are required.
"""

_DOCUMENT_NOTE = "The header of a document (.md, .txt, .eml): between two lines of `---`, above the text."
_LIST_NOTE = "A list of records, all of that type."


def render_reference() -> str:
    """Return the whole page as Markdown."""
    contents = "\n".join(f"- [`{kind.path}`](#{_anchor(kind.path)})" for kind in FILE_KINDS)
    described: set[str] = set()
    sections = [section for kind in FILE_KINDS for section in _render_file(kind, described)]
    return "\n".join([_HEAD, contents, "", *sections])


def _render_file(kind: FileKind, described: set[str]) -> Iterator[str]:
    """Yield the sections of a kind of file: its own fields, then the parts that no earlier section describes."""
    schema: Mapping[str, Any] = file_schema(kind)
    definitions: Mapping[str, Any] = schema.get("definitions", {})
    root = definitions[_reference_name(schema["items"])] if schema["type"] == "array" else schema
    note = {"document": _DOCUMENT_NOTE, "entities": _LIST_NOTE}.get(kind.name, root["description"])
    yield f"## `{kind.path}`\n\n{note}\n\n{_render_fields(root, definitions)}"
    for name in sorted(definitions):
        part = definitions[name]
        if "properties" in part and part is not root and name not in described:
            described.add(name)
            yield f"### {name}\n\n{part['description']}\n\n{_render_fields(part, definitions)}"


def _render_fields(model: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    required = model.get("required", ())
    rows = [
        (
            f"**`{name}`**" if name in required else f"`{name}`",
            _type_text(field, definitions),
            f"`{_scalar_text(field['default'])}`" if "default" in field else "",
            field["description"],
        )
        for name, field in model["properties"].items()
    ]
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(
        ["| field | value | default | meaning |", "|---|---|---|---|", *(f"| {line} |" for line in lines), ""]
    )


def _type_text(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return what a field's value is, in words."""
    name = _reference_name(node)
    if name:
        part = definitions[name]
        return f"[{name}](#{_anchor(name)})" if "properties" in part else _type_text(part, definitions)
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"] if value != "")
    if "anyOf" in node:
        return ", or ".join(_type_text(option, definitions) for option in node["anyOf"])
    return _plain_type_text(node, definitions)


def _plain_type_text(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    kind = node.get("type")
    if kind == "array":
        return f"list of: {_type_text(node['items'], definitions)}"
    if kind == "object":
        values = list(node.get("patternProperties", {}).values())
        return f"name: {_type_text(values[0], definitions)}" if values else "JSON object"
    if isinstance(kind, list):
        return " or ".join(_TYPE_WORDS[one] for one in kind)
    text = _TYPE_WORDS[str(kind)]
    if "maxLength" in node:
        return f"{text}, at most {node['maxLength']:,} characters"
    if "minimum" in node and "maximum" in node:
        return f"{text} from {node['minimum']:,} to {node['maximum']:,}"
    return text


_TYPE_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def _reference_name(node: Mapping[str, Any]) -> str:
    """Return the definition that a field refers to; empty if it has a type of its own."""
    parts: Sequence[Mapping[str, Any]] = node.get("allOf", [node])
    return str(parts[0].get("$ref", "")).rpartition("/")[2]


def _scalar_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _anchor(heading: str) -> str:
    """Return the anchor that Markdown viewers give a heading."""
    kept = (letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return "".join(kept).replace(" ", "-")
