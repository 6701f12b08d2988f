"""What a tool is: a name, a JSON schema for its arguments, an endpoint and flags. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from parlour.infra.jsonable import Json, JsonObject

BUILT_IN = "python:"
"""The scheme of endpoints that are functions of Parlour's own: `python:search_knowledge`."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_REFERENCES = ("$ref", "$dynamicRef")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the tenant configured it.

    schema       JSON Schema (draft 2020-12) of the arguments, an object.
    endpoint     `python:<name>`: built in.
    auth         the name of a secret, never its value.
    writes, idempotent, heavy, needs_approval
                 writing, long and guarded tools need effects, which this release does not have: `problems`
                 refuses them when a pack is applied, and `run` runs reads only.
    """

    name: str
    description: str
    schema: JsonObject
    endpoint: str
    auth: str | None = None
    writes: bool = False
    idempotent: bool = False
    heavy: bool = False
    needs_approval: bool = False

    @property
    def is_read(self) -> bool:
        """Whether a call changes nothing and can be made at once."""
        return not (self.writes or self.heavy or self.needs_approval)

    def to_model(self) -> JsonObject:
        """The tool as a model is told of it."""
        return {"name": self.name, "description": self.description, "input_schema": self.schema}


def problems(tool: Tool) -> list[tuple[str, str]]:
    """Everything that keeps the tool from being used, as (field, what to do); empty when it is sound."""
    found = [(flag, "is not available yet; leave it out") for flag in _unavailable(tool)]
    if not _NAME.fullmatch(tool.name):
        found.append(("name", "use lower-case letters, digits and underscores, at most 64, beginning with a letter"))
    if not tool.description.strip():
        found.append(("description", "say what the tool does and when to use it; the model reads this"))
    if not tool.endpoint.startswith(BUILT_IN):
        found.append(("endpoint", f"begin with {BUILT_IN}; other kinds of endpoint are not available yet"))
    return found + [("schema", problem) for problem in _schema_problems(tool.schema)]


def _unavailable(tool: Tool) -> list[str]:
    flags = {"writes": tool.writes, "heavy": tool.heavy, "needs_approval": tool.needs_approval}
    return [name for name, is_set in flags.items() if is_set]


def _schema_problems(schema: JsonObject) -> Iterator[str]:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield f"is not a JSON Schema (draft 2020-12) at {error.json_path}"
    if schema.get("type") != "object":
        yield 'must describe an object: add "type": "object"'
    for reference in _references(schema):
        if not reference.startswith("#"):
            yield f"may refer to itself only, not to {reference}"


def _references(part: Json) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (target for name in _REFERENCES if isinstance(target := part.get(name), str))
    children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for child in children:
        yield from _references(child)
