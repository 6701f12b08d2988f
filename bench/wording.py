"""Words that a stranger stops at: private and vague names, archaic phrases, names in docstrings that do not exist.

`bench.shape` counts them, and `tests/conventions/test_wording.py` lets their number in a file only fall.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Literal, get_args

type Kind = Literal["private name", "vague name", "vague subquery", "archaic phrase", "stale name", "loose mapping"]

KINDS: tuple[Kind, ...] = get_args(Kind.__value__)

#: Participles, pronouns and fillers, which say nothing of what they name.
VAGUE_NAMES = frozenset(
    """
    anew asked beside drawn everywhere following foo given gone heard held here it kept known left lost made meant near
    obj one ones other others overheard papers put res rest said seen sought stuff such taken telling there thing things
    tmp told wanted weighed whole within worded
    """.split()  # noqa: SIM905  # a list of fifty strings is harder to read
)

#: Turns of phrase that no engineer writes today. docs/VOCABULARY.md has plain ones.
ARCHAIC = re.compile(
    r"\b(?:whoever|whatever|whichever|whosoever|anew|somebody|anybody|nobody|everybody|lest|hence|thus|thereof|therein"
    r"|thereby|upon|naught|in vain|for ever|as yet|let be|no more(?=[.,;:)]|$)|(?:is|are|was|were|be|been) (?:told|let)"
    r"|tells? of|knows? of|puts? (?:off|away)|hangs? on|stands? (?:in|for|by|there|beside|below|above)|mends?"
    r"|comes? to an end|goes? on(?=[.,;:)]|$)|of its own accord|what becomes of|what became of|what is (?:left )?of)\b",
    re.IGNORECASE,
)

UNUSED_HEADING = "## Words that are not used"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_QUOTED_NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")
_SUBQUERY = re.compile(
    r"(?:\bWITH(?: RECURSIVE)?|\),)\s+(\w+)(?: \([^)]*\))? AS (?:NOT )?(?:MATERIALIZED )?\("
    r"|\)\s+(?:AS )?([a-z_]\w*)(?=\s*(?:ON|,|\)|WHERE|JOIN|LEFT|CROSS|GROUP|ORDER|;|\())"
)
_SQL_PARAMETER = re.compile(r"%\((\w+)\)s")
_COMMENT = re.compile(r"(?:^|  )#[:!]? ?(.*)$", re.MULTILINE)
_SQL_COMMENT = re.compile(r"--(?! name:)(.*)$", re.MULTILINE)
_KEYWORDS = frozenset(
    {"as", "on", "where", "join", "left", "cross", "group", "order", "and", "or", "limit", "union", "is"}
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A word at a line of a file."""

    kind: Kind
    line: int
    word: str


def read_unused_words(vocabulary: str) -> Mapping[str, frozenset[str]]:
    """Return the names that may contain a word, by the words of the table in docs/VOCABULARY.md."""
    section = vocabulary.partition(f"{UNUSED_HEADING}\n")[2].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return {
        word.strip(): frozenset(re.findall(r"`([^`]+)`", allowed))
        for words, _, allowed in (row for row in rows if row[0].strip() != "word")
        for word in words.split(",")
    }


def find_in_python(
    source: str, tree: ast.AST, unused: Mapping[str, frozenset[str]], known: frozenset[str]
) -> Iterator[Finding]:
    """Yield what a module has of each kind, `loose mapping` excepted. known: every name that exists."""
    for name, line in defined_names(tree):
        yield from _judge_name(name, line, unused)
    for text, line in (*_docstrings(tree), *_comments(source)):
        yield from _judge_prose(text, line, known)


def find_in_sql(source: str, unused: Mapping[str, frozenset[str]], known: frozenset[str]) -> Iterator[Finding]:
    """Yield what a file of statements has of each kind."""
    for match in _SQL_COMMENT.finditer(source):
        yield from _judge_prose(match[1], _line_of(source, match), known)
    code = _SQL_COMMENT.sub("", source)
    for match in _SQL_PARAMETER.finditer(code):
        yield from _judge_name(match[1], _line_of(code, match), unused)
    for match in _SUBQUERY.finditer(code):
        name = (match[1] or match[2]).lower()
        if name in _KEYWORDS:
            continue
        for finding in _judge_name(name, _line_of(code, match), unused):
            yield Finding("vague subquery", finding.line, finding.word)


def defined_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield every name that a module defines, and its line: functions, classes, fields, arguments, locals, aliases."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.alias(asname=str(name)):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno


def existing_names(tree: ast.AST) -> Iterator[str]:
    """Yield every word that a module uses outside its prose."""
    prose = {id(node) for node in _docstring_nodes(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose:
                yield from re.findall(r"\w+", text)
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.ImportFrom(module=str(name)):
                yield from name.split(".")
            case ast.TypeVar(name=name):
                yield name
    yield from (name for name, _ in defined_names(tree))


def literal_types(trees: Iterable[ast.AST]) -> dict[frozenset[str], str]:
    """Return the name of each `type X = Literal[...]` of strings by its values."""
    found = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.TypeAlias) and (values := _literal_values(node.value)):
                found[values] = node.name.id
    return found


def find_loose_mappings(tree: ast.AST, literals: Mapping[frozenset[str], str]) -> Iterator[Finding]:
    """Yield each constant mapping that has a key for every value of a Literal, and takes any text by its type."""
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=name),
                annotation=ast.Subscript(slice=ast.Tuple(elts=[ast.Name(id="str"), *_])),
                value=value,
            ):
                keys = _dict_keys(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                keys = _dict_keys(value)
            case _:
                continue
        if keys in literals:
            yield Finding("loose mapping", node.lineno, f"{name}: keys are {literals[keys]}")


def _literal_values(value: ast.expr) -> frozenset[str] | None:
    match value:
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=values)):
            texts = [
                value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)
            ]
            return frozenset(texts) if len(texts) == len(values) else None
    return None


def _dict_keys(value: ast.expr | None) -> frozenset[str]:
    while isinstance(value, ast.Call) and len(value.args) == 1:  # MappingProxyType({...})
        value = value.args[0]
    if not isinstance(value, ast.Dict):
        return frozenset()
    return frozenset(key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _judge_name(name: str, line: int, unused: Mapping[str, frozenset[str]]) -> Iterator[Finding]:
    bare = name.strip("_").lower()
    if bare in VAGUE_NAMES:
        yield Finding("vague name", line, name)
        return
    for word in dict.fromkeys(word.lower() for word in _WORD.findall(name)):
        if word in unused and name not in {exception.rpartition(".")[2] for exception in unused[word]}:
            yield Finding("private name", line, f"{name} ({word})")
            return


def _judge_prose(text: str, line: int, known: frozenset[str]) -> Iterator[Finding]:
    for number, row in enumerate(text.splitlines()):
        for match in ARCHAIC.finditer(re.sub(r"`[^`]*`", "", row)):
            yield Finding("archaic phrase", line + number, match[0])
        for match in _QUOTED_NAME.finditer(row):
            if missing := [part for part in match[1].split(".") if part and part not in known]:
                yield Finding("stale name", line + number, f"{match[1]} ({missing[0]})")


def _docstring_nodes(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the texts that stand alone: docstrings, and what stands after a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def _docstrings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in _docstring_nodes(tree):
        yield str(node.value), node.lineno


def _comments(source: str) -> Iterator[tuple[str, int]]:
    for match in _COMMENT.finditer(source):
        yield match[1], _line_of(source, match)


def _line_of(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def source_files(root: Path) -> list[Path]:
    """Return the Python files of a checkout's product, tests and benchmarks, and the product's SQL."""
    folders = ("shared", "functions", "local", "bench", "tests")
    modules = sorted(path for folder in folders for path in (root / folder).rglob("*.py"))
    return [*(path for path in modules if "node_modules" not in path.parts), *sorted((root / "shared").rglob("*.sql"))]


def find_all(root: Path) -> dict[str, list[Finding]]:
    """Return what stands in each file under the root of a checkout, by its path."""
    unused = read_unused_words((root / "docs/VOCABULARY.md").read_text("utf-8"))
    sources = {path: path.read_text("utf-8") for path in source_files(root)}
    trees = {path: ast.parse(text) for path, text in sources.items() if path.suffix == ".py"}
    statements = {path: text for path, text in sources.items() if path not in trees}
    settings = [*root.glob("*.yaml"), *root.glob("*.toml"), root / "Makefile", *(root / "examples").rglob("*.yaml")]
    texts = [*map(_SQL_COMMENT.sub, repeat(""), statements.values()), *(path.read_text("utf-8") for path in settings)]
    known = frozenset(
        chain(
            (name for tree in trees.values() for name in existing_names(tree)),
            (name for text in texts for name in re.findall(r"\w+", text)),
            (part for path in sources for part in (*path.relative_to(root).parts, path.stem)),
        )
    )
    literals = literal_types(trees.values())
    found = {
        path: [*find_in_python(sources[path], tree, unused, known), *find_loose_mappings(tree, literals)]
        for path, tree in trees.items()
    } | {path: [*find_in_sql(text, unused, known)] for path, text in statements.items()}
    return {path.relative_to(root).as_posix(): findings for path, findings in found.items() if findings}
