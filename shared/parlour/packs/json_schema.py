"""JSON Schemas of a pack's files, made from the models of the format. Editors complete and check with them. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from parlour.infra.json_values import Json, JsonObject
from parlour.packs.format import (
    Agent,
    Binding,
    DocumentHeader,
    EntityType,
    Human,
    Record,
    Team,
    Tenant,
    Tool,
)
from parlour.packs.scene_format import Scene
from parlour.principal import LEVEL_NAMES

#: The folder of a pack that has the schemas. It is hidden, so it is no part of the pack.
SCHEMA_FOLDER = ".schema"

_DIALECT = "http://json-schema.org/draft-07/schema#"
_DEFINITIONS = "definitions"


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file in a pack.

    name   what it is called in a list of kinds, and the name of its schema.
    path   where such a file is, below the pack's folder.
    model  the type of its content.
    """

    name: str
    path: str
    model: Any

    @property
    def schema_file(self) -> str:
        """Its schema's path below the pack's folder."""
        return f"{SCHEMA_FOLDER}/{self.name}.json"


FILE_KINDS = (
    FileKind("tenant", "tenant.yaml", Tenant),
    FileKind("human", "humans/<slug>.yaml", Human),
    FileKind("team", "teams/<slug>.yaml", Team),
    FileKind("agent", "agents/<slug>.yaml", Agent),
    FileKind("binding", "bindings/<slug>.yaml", Binding),
    FileKind("tool", "tools/<name>.yaml", Tool),
    FileKind("entity_type", "entity_types/<key>.yaml", EntityType),
    FileKind("entities", "entities/<type>.yaml", tuple[Record, ...]),
    FileKind("document", "documents/<key>", DocumentHeader),
    FileKind("scene", "demo/<name>.yaml", Scene),
)


def schema_files() -> dict[str, str]:
    """Return the schema of every kind of file as JSON text, by path below the pack's folder."""
    return {kind.schema_file: json.dumps(file_schema(kind), indent=2) + "\n" for kind in FILE_KINDS}


def schema_comment(path: str) -> str:
    """Return the line that tells an editor the schema of the YAML file at `path`, with the schema's relative path."""
    kind = next(kind for kind in FILE_KINDS if kind.path.partition("/")[0] == path.partition("/")[0])
    return f"# yaml-language-server: $schema={'../' * path.count('/')}{kind.schema_file}\n"


def file_schema(kind: FileKind) -> JsonObject:
    """Return the JSON Schema (draft 7) of a kind of file."""
    made = TypeAdapter(kind.model).json_schema(ref_template=f"#/{_DEFINITIONS}/{{model}}")
    definitions = made.pop("$defs", {})
    root = {"$schema": _DIALECT, "title": f"Parlour pack: {kind.path}", **_simplify(made)}
    return root | ({_DEFINITIONS: {name: _simplify(part) for name, part in definitions.items()}} if definitions else {})


def _simplify(node: Mapping[str, Any]) -> JsonObject:
    """Return a schema without what an author does not need: generated titles, nulls, empty defaults."""
    return dict(_simplified_entries(_without_null(node)))


def _simplified_entries(node: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    for key, value in node.items():
        if key in {"title", "propertyNames"}:
            continue
        if key == "default":
            yield from _default(node, value)
        elif key == "$ref" and len(node) > 1:  # draft 7 ignores what stands beside a reference
            yield "allOf", [{"$ref": value}]
        elif key == "properties":
            yield key, {name: _simplify(part) for name, part in value.items()}
        elif key == "patternProperties":
            yield from ((key, _simplify(value)), ("additionalProperties", False))
        elif isinstance(value, Mapping):
            yield key, _simplify(value)
        elif key in {"anyOf", "oneOf", "allOf"}:
            yield key, [_simplify(part) for part in value]
        else:
            yield key, value


def _without_null(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an optional field's schema without null: an empty field is refused, an absent one is fine."""
    options = [part for part in node.get("anyOf", ()) if part != {"type": "null"}]
    if len(options) != 1:
        return {**node, "anyOf": options} if options else node
    return {**options[0], **{key: value for key, value in node.items() if key != "anyOf"}}


def _default(node: Mapping[str, Any], value: Any) -> Iterator[tuple[str, Json]]:
    if isinstance(value, bool | int | float | str) and value != "":
        is_level = node.get("enum") == list(LEVEL_NAMES)
        yield "default", LEVEL_NAMES[value] if is_level and isinstance(value, int) else value
