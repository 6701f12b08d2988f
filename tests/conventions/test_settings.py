"""Every field that a pack may have, every variable of a function and every parameter of the stack is read somewhere."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from parlour.infra import settings
from parlour.infra.settings import Settings
from parlour.packs.json_schema import FILE_KINDS

SHARED = Path("shared/parlour")

#: Files that define, check, store and describe a pack: a field that is in these alone changes nothing.
DEFINING = ("packs/", "infra/migrations/", "api/openapi_examples.py", "infra/settings.py")

#: Fields that only the packs' room reads, at an apply, or that are read without their names.
READ_WITHOUT_NAME = {
    "Tenant.plays_on": "packs/date_shift.py",
    **dict.fromkeys(
        ("Voice.tone", "Voice.sentence_length", "Voice.signature_phrases", "Voice.avoid"),
        "prompts/assembly/tiers.py writes every field of the voice",
    ),
}

#: What packs may say and nothing does anything with yet. Only remove from it: read a field, or refuse it.
UNREAD = frozenset({"DocumentHeader.metadata", "ModelRouting.strategy"})

#: Read by AWS itself, not by Parlour.
READ_BY_LAMBDA = frozenset({"aws_lambda_exec_wrapper"})


def list_fields(model: type[BaseModel], visited: set[type[BaseModel]]) -> Iterator[tuple[str, str]]:
    """Yield model and field of a file's model and of the models inside it, each once."""
    if model in visited:
        return
    visited.add(model)
    for name, field in model.model_fields.items():
        yield model.__name__, field.alias or name
        for part in list_models(field.annotation):
            yield from list_fields(part, visited)


def list_models(annotation: object) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and not get_args(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    annotation = getattr(annotation, "__value__", annotation)
    for part in get_args(annotation):
        yield from list_models(part)


def read_names() -> frozenset[str]:
    """Return the attributes, keys and columns that Parlour reads outside of what defines packs."""
    found: set[str] = set()
    for path in SHARED.rglob("*"):
        relative_path = path.relative_to(SHARED).as_posix()
        if path.suffix not in {".py", ".sql"} or relative_path.startswith(DEFINING):
            continue
        text = path.read_text("utf-8")
        if path.suffix == ".sql":
            found.update(re.findall(r"\w+", re.sub(r"--.*", "", text)))
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Attribute(attr=name, ctx=ast.Load()):
                    found.add(name)
                case ast.Constant(value=str(name)):
                    found.add(name)
    return frozenset(found)


READ = read_names()
VISITED: set[type[BaseModel]] = set()
FIELDS = [
    f"{model}.{field}"
    for kind in FILE_KINDS
    for top in list_models(kind.model)
    for model, field in list_fields(top, VISITED)
]


def test_every_field_of_a_pack_is_read_outside_of_the_packs_room() -> None:
    assert len(FIELDS) > 200
    unread = {field for field in FIELDS if field.partition(".")[2] not in READ}
    assert unread - READ_WITHOUT_NAME.keys() <= UNREAD
    assert READ_WITHOUT_NAME.keys() <= unread, "take out what is read by its name"
    assert {*FIELDS} >= UNREAD, "take out what packs may not say any more"
    assert len(UNREAD) <= 2, "the list may only shrink"


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(settings).values() if isinstance(kind, type) and issubclass(kind, Settings)]
)
def test_every_variable_of_a_function_is_read(kind: type[Settings]) -> None:
    assert [name for name in kind.model_fields if name not in READ | READ_BY_LAMBDA] == []


def test_every_parameter_of_the_stack_is_used() -> None:
    text = Path("template.yaml").read_text("utf-8")
    head, _, body = text.partition("\nConditions:")
    names = re.findall(r"^  (\w+):\n    Type: ", head.partition("\nParameters:")[2], re.MULTILINE)
    assert len(names) > 20
    assert [name for name in names if not re.search(rf"!Ref {name}\b|\$\{{{name}\}}|Ref: {name}\b", body)] == []
