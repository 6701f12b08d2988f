"""Names keep to docs/VOCABULARY.md: no identifier contains a word of its table "Words that are not used"."""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.wording import UNUSED_HEADING, read_unused_words

PACKAGE = Path("shared/parlour")
VOCABULARY = Path("docs/VOCABULARY.md")
SCHEMA = PACKAGE / "infra/migrations/0001_schema.sql"

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TABLE = re.compile(r"^CREATE (?:UNLOGGED )?TABLE (?P<name>\w+) \(\n(?P<body>.*?)^\)", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(r"^    (?P<name>[a-z]\w*) +[a-z]", re.MULTILINE)
_ADDED_COLUMN = re.compile(r"ALTER TABLE (?P<table>\w+)\s+ADD COLUMN (?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name that the code or the schema defines.

    name       as it is written.
    qualified  with its class or table in front, if it is a field or a column.
    """

    name: str
    qualified: str
    defined_in: str


def split_words(identifier: str) -> list[str]:
    """Return the words of a snake_case or CamelCase name, in small letters."""
    return [word.lower() for word in _WORD.findall(identifier)]


def find_offenders(identifiers: Iterator[Identifier], unused: Mapping[str, frozenset[str]]) -> list[str]:
    """Return a line for each identifier that contains an unused word and is not an exception of that word."""
    return [
        f"{one.defined_in}: {one.qualified} ({word})"
        for one in identifiers
        for word in dict.fromkeys(split_words(one.name))
        if word in unused and not unused[word] & {one.name, one.qualified}
    ]


def python_identifiers(source: str, path: str) -> Iterator[Identifier]:
    """Yield the module, and every class, function and annotated field that it defines."""
    yield from (Identifier(part, part, path) for part in Path(path).with_suffix("").parts)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Identifier(node.name, node.name, f"{path}:{node.lineno}")
        if isinstance(node, ast.ClassDef):
            yield from _fields(node, path)


def _fields(node: ast.ClassDef, path: str) -> Iterator[Identifier]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            yield Identifier(name, f"{node.name}.{name}", f"{path}:{statement.lineno}")


def sql_identifiers(schema: str) -> Iterator[Identifier]:
    """Yield every table of the schema and its columns."""
    for table in _TABLE.finditer(schema):
        yield Identifier(table["name"], table["name"], "schema")
        for column in _COLUMN.finditer(table["body"]):
            yield Identifier(column["name"], f"{table['name']}.{column['name']}", "schema")
    for column in _ADDED_COLUMN.finditer(schema):
        yield Identifier(column["name"], f"{column['table']}.{column['name']}", "schema")


@functools.cache
def all_identifiers() -> tuple[Identifier, ...]:
    """Return the identifiers of the package and of the schema."""
    modules = sorted(PACKAGE.rglob("*.py"))
    names = [
        one
        for path in modules
        for one in python_identifiers(path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix())
    ]
    return (*names, *sql_identifiers(SCHEMA.read_text("utf-8")))


@functools.cache
def unused_words() -> Mapping[str, frozenset[str]]:
    return read_unused_words(VOCABULARY.read_text("utf-8"))


def test_identifiers_contain_no_unused_word() -> None:
    assert find_offenders(iter(all_identifiers()), unused_words()) == []


def test_every_exception_of_the_table_is_a_name_that_exists() -> None:
    names = {name for one in all_identifiers() for name in (one.name, one.qualified)}
    assert set().union(*unused_words().values()) <= names


def test_the_table_of_unused_words_is_found() -> None:
    words = unused_words()
    assert len(words) > 40
    assert {"forgotten", "told", "blob"} <= words.keys()
    assert words["place"] == {"place_document", "_place_heading"}
    assert all(re.fullmatch(r"[a-z]+", word) for word in words)


@pytest.mark.parametrize(
    "source",
    ["def find_told_rows(): ...", "class ToldRows: ...", "class Row:\n    told_of: str", "async def told(): ..."],
)
def test_a_planted_python_identifier_is_caught(source: str) -> None:
    assert len(find_offenders(python_identifiers(source, "room/module.py"), unused_words())) == 1


def test_a_planted_module_name_is_caught() -> None:
    assert find_offenders(python_identifiers("", "memory/told_rows.py"), unused_words())


@pytest.mark.parametrize(
    "schema", ["CREATE TABLE blobs (\n    id uuid NOT NULL\n);\n", "CREATE TABLE texts (\n    blob text NOT NULL\n);\n"]
)
def test_a_planted_table_or_column_is_caught(schema: str) -> None:
    assert len(find_offenders(sql_identifiers(schema), unused_words())) == 1


def test_an_exception_is_allowed_only_under_its_own_name() -> None:
    words = read_unused_words(
        f"{UNUSED_HEADING}\n\n| word | use | where |\n|---|---|---|\n| kept | stored | `Plan.kept` |\n"
    )
    source = "class Plan:\n    kept: int\nclass Other:\n    kept: int\n"
    assert find_offenders(python_identifiers(source, "m.py"), words) == ["m.py:4: Other.kept (kept)"]


def test_every_table_of_the_schema_is_read_with_its_columns() -> None:
    schema = SCHEMA.read_text("utf-8")
    tables = set(re.findall(r"CREATE (?:UNLOGGED )?TABLE (\w+)", schema))
    columns = {one.qualified for one in sql_identifiers(schema) if "." in one.qualified}
    assert {column.split(".")[0] for column in columns} == tables
