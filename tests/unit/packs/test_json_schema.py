"""JSON Schemas of a pack's files: they say what the parser says, and every field explains itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from parlour.packs import front_matter
from parlour.packs.json_schema import FILE_KINDS, FileKind, file_schema, schema_comment, schema_files

PACK = Path("packs/construction")


def kind_of(path: str) -> FileKind:
    return next(kind for kind in FILE_KINDS if kind.path.partition("/")[0] == path.partition("/")[0])


def example_files() -> Iterator[tuple[str, Any]]:
    for file in sorted(PACK.rglob("*")):
        path = file.relative_to(PACK).as_posix()
        if file.suffix == ".yaml":
            yield path, yaml.load(file.read_text("utf-8"), YamlJson)
        elif path.startswith("documents/") and file.is_file():
            header = front_matter.split(file.read_text("utf-8"))
            assert header
            yield path, yaml.load(header[0], YamlJson)


class YamlJson(yaml.SafeLoader):
    """YAML as JSON has it: dates are texts."""


YamlJson.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def problems(path: str, text: str) -> list[str]:
    validator = Draft7Validator(file_schema(kind_of(path)))
    return [error.message for error in validator.iter_errors(yaml.load(text, YamlJson))]


@pytest.mark.parametrize("kind", FILE_KINDS, ids=lambda kind: kind.name)
def test_schema_of_a_kind_is_a_valid_schema(kind: FileKind) -> None:
    Draft7Validator.check_schema(file_schema(kind))


def test_every_file_of_the_example_pack_fits_its_schema() -> None:
    found = dict(example_files())
    assert len(found) > 30
    for path, content in found.items():
        Draft7Validator(file_schema(kind_of(path))).validate(content)


@pytest.mark.parametrize("kind", FILE_KINDS, ids=lambda kind: kind.name)
def test_every_field_and_model_has_a_description(kind: FileKind) -> None:
    schema: Any = file_schema(kind)
    models = [schema, *schema.get("definitions", {}).values()]
    fields = {name: field for model in models for name, field in model.get("properties", {}).items()}
    assert all(model["description"] for model in models if "properties" in model)
    assert [name for name, field in fields.items() if not field.get("description")] == []
    assert fields or schema["type"] == "array"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tenant.yaml", "slug: acme\ndisplay_name: Acme\ncolour: red"),
        ("tenant.yaml", "slug: Acme!\ndisplay_name: Acme"),
        ("tenant.yaml", "display_name: Acme"),
        ("tenant.yaml", "slug: acme\ndisplay_name: Acme\nsecrets: {Bad-Name: parlour/tenants/acme/x}"),
        ("humans/ida.yaml", "display_name: Ida\nlanguages: [english]"),
        ("bindings/desk.yaml", "display_name: D\nhuman: a\nteam: a\nagent: a\nclearance: secret"),
        ("bindings/desk.yaml", "display_name: D\nhuman: a\nteam: a\nagent: a\nwrites: some"),
        ("bindings/desk.yaml", "display_name: D\nhuman: a\nteam: a\nagent: a\nowner:"),
        ("entities/task.yaml", "- name: no key"),
    ],
)
def test_mistake_is_found_by_the_schema(path: str, text: str) -> None:
    assert problems(path, text)


def test_short_forms_fit_the_schema() -> None:
    binding = "display_name: D\nhuman: a\nteam: a\nagent: a\nclearance: internal\nwrites: own\ntool_writes: {act: all}"
    assert problems("bindings/desk.yaml", binding) == []
    assert problems("entity_types/task.yaml", "display_name: Task\nrag: {budget: 9000}") == []
    assert problems("agents/desk.yaml", "display_name: Desk") == []


def test_comment_leads_from_a_file_to_its_schema() -> None:
    for path in ("tenant.yaml", "humans/ida.yaml", "entities/task.yaml", "entity_types/task.yaml"):
        relative = schema_comment(path).strip().rpartition("=")[2]
        joined = (Path("/pack") / Path(path).parent / relative).resolve()
        assert str(joined.relative_to("/pack")) in schema_files()
