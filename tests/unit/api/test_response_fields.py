"""Every field that the API answers with was reviewed: may all callers of the route read it?

After the review: `python -m tests.unit.api.test_response_fields` writes `response_fields.json`.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from parlour.api.app import create_routes
from parlour.infra.json_values import JsonObject

REVIEWED = Path(__file__).with_name("response_fields.json")


def response_fields(description: Mapping[str, JsonObject]) -> dict[str, list[str]]:
    """Return the fields of each schema that a response refers to, also through other schemas."""
    schemas = description["components"]["schemas"]
    assert isinstance(schemas, dict)
    fields: dict[str, list[str]] = {}
    answers = [*map(_responses_of, description["paths"].values()), description["components"].get("responses")]
    pending = _references(answers)
    while pending:
        name = pending.pop()
        if name not in fields:
            schema = schemas[name]
            assert isinstance(schema, dict)
            properties = schema.get("properties", {})
            assert isinstance(properties, dict)
            fields[name] = sorted(properties)
            pending += _references(schema)
    return {name: fields[name] for name in sorted(fields) if fields[name]}


def _responses_of(operations: object) -> list[object]:
    assert isinstance(operations, dict)
    return [operation.get("responses") for operation in operations.values() if isinstance(operation, dict)]


def _references(part: object) -> list[str]:
    """Return the names of the schemas that a part of the description refers to."""
    if isinstance(part, list):
        return [name for entry in part for name in _references(entry)]
    if not isinstance(part, dict):
        return []
    room, _, name = str(part.get("$ref", "")).rpartition("/")
    return ([name] if room == "#/components/schemas" else []) + [
        name for entry in part.values() for name in _references(entry)
    ]


def test_every_field_of_a_response_was_reviewed() -> None:
    assert response_fields(create_routes().openapi()) == json.loads(REVIEWED.read_text("utf-8"))


def record() -> None:
    """Write the fields that there are now as reviewed, one schema a line."""
    fields = response_fields(create_routes().openapi())
    lines = [f" {json.dumps(name)}: {json.dumps(names)}" for name, names in fields.items()]
    REVIEWED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    record()
