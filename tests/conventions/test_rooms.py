"""The layout of the code: imports run downward, pure files do no I/O, handlers are thin."""

import ast
import functools
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path("shared/parlour")

FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"text"}),
    frozenset({"infra"}),
    frozenset({"principal"}),
    frozenset({"jobs"}),
    frozenset({"context", "tenancy", "channels", "tools", "models"}),
    frozenset({"knowledge"}),
    frozenset({"pulse", "memory"}),
    frozenset({"turns"}),
    frozenset({"packs", "forgetting"}),
    frozenset({"api", "cli"}),
    frozenset({"bootstrap"}),
)

PURE_INFRA = {"parlour.infra.errors", "parlour.infra.json_values", "parlour.infra.ids"}
"""What a pure file may use of the ground floor: words and values, nothing that reaches outside."""

PURE = {
    "text": "*",
    "context": "*",
    "channels": {"envelope", "fields", "format", "gupshup", "outgoing", "sniff", "whatsapp_cloud"},
    "models": {"request", "route", "cap", "roles"},
    "tools": {"addresses", "answers", "callbacks", "definition", "doubt", "records", "result"},
    "knowledge": {
        "cards/card",
        "documents/pages",
        "documents/tree",
        "files/extract/parts",
        "files/file",
        "files/file_rows",
        "files/kinds",
        "files/problems",
        "index/rows",
        "index/said",
        "records/changes",
        "records/cursor",
        "records/definition",
        "records/deltas",
        "records/kinds",
        "records/linked_text",
        "records/properties",
        "records/record",
        "records/relations",
        "records/snapshots",
        "search/found",
        "tools/compound",
        "tools/definitions",
        "tools/results",
    },
    "memory": {
        "extracting/answers",
        "extracting/checked",
        "extracting/episodes",
        "extracting/prompt",
        "extracting/reading",
        "facts/evidence",
        "facts/fact",
        "facts/keys",
        "facts/obvious",
        "facts/rules",
        "facts/wording",
        "order",
        "policy",
        "recalling/told",
        "recalling/used",
        "state/bounded",
        "state/deltas",
        "state/done",
        "state/render",
        "state/shape",
        "summary/anchors",
        "summary/answer",
        "summary/rows",
        "summary/stretch",
        "summary/telling",
    },
    "pulse": {
        "difference",
        "due/rules",
        "extractive",
        "fingerprint",
        "markdown",
        "material/assembled",
        "material/documents",
        "prompt",
        "pulse",
        "since",
        "statements",
    },
    "tenancy": {"roles", "visitor", "records", "persona", "labels", "tokens", "sessions/title"},
    "turns": {"journal", "linking/codes", "own_words", "past", "polite", "records", "timing"},
    "forgetting": {"echoes", "letters", "report", "wrote"},
    "packs": {"format", "validate", "spelling", "built_in_kinds"},
}

IMPURE_LIBRARIES = {
    "boto3",
    "botocore",
    "psycopg",
    "httpx2",
    "anthropic",
    "socket",
    "subprocess",
    "os",
    "time",
    "random",
}

LONGEST_HANDLER = 40

DRAWERS = {"utils", "helpers", "common", "manager", "base", "core", "misc", "constants", "shared"}

MODULES = sorted(PACKAGE.rglob("*.py"))
SOURCES = [*MODULES, *sorted(Path("functions").rglob("*.py")), *sorted(Path("local").rglob("*.py"))]


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """Dotted names that a file imports, those of `from x import y` as x and as x.y."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("parlour.")} - {room_of(path), "__init__"}


def floor(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.parent != PACKAGE or path.stem == "principal"], ids=str
)
def test_imports_run_downward_and_rooms_of_one_floor_do_not_meet(path: Path) -> None:
    room = room_of(path)
    if path == PACKAGE / "infra" / "postgres.py":
        return  # a transaction is opened as a principal: the one place where the ground floor looks up
    upward = {other for other in rooms_imported(path) if floor(other) >= floor(room)}
    assert not upward, f"{path} imports {sorted(upward)}, on its own floor or above"


def pure_files() -> list[Path]:
    found = []
    for room, names in PURE.items():
        folder = PACKAGE / room
        stems = {path.stem for path in folder.glob("*.py")} - {"__init__"} if names == "*" else set(names)
        found += [folder / f"{stem}.py" for stem in sorted(stems)]
    return found


@pytest.mark.parametrize("path", pure_files(), ids=str)
def test_rules_and_decisions_do_no_input_or_output(path: Path) -> None:
    used = {name.split(".")[0] for name in imports(path)} & IMPURE_LIBRARIES
    reached = {name for name in imports(path) if name.startswith("parlour.infra.")}
    outside = {name for name in reached if not any(name == ok or name.startswith(f"{ok}.") for ok in PURE_INFRA)}
    assert not used | outside, f"{path} is a pure file and imports {sorted(used | outside)}"


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_only_stores_read_named_queries(path: Path) -> None:
    if path.name != "store.py" and path.parent != PACKAGE / "infra":
        assert "parlour.infra.queries" not in set(imports(path)), f"{path}: put the query into the room's store"


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_room_does_not_reach_into_anothers_store(path: Path) -> None:
    foreign = {
        name
        for name in imports(path)
        if name.startswith("parlour.") and name.split(".")[2:3] == ["store"] and name.split(".")[1] != room_of(path)
    }
    assert not foreign, f"{path} uses {sorted(foreign)}; ask the room's public functions instead"


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_modules_do_not_import_in_a_circle(path: Path) -> None:
    names = {".".join(("parlour", *one.relative_to(PACKAGE).with_suffix("").parts)): one for one in MODULES}
    start = ".".join(("parlour", *path.relative_to(PACKAGE).with_suffix("").parts))
    seen: set[str] = set()
    waiting = [name for name in imports(path) if name in names]
    while waiting:
        name = waiting.pop()
        assert name != start, f"{path} imports itself in a circle"
        if name not in seen:
            seen.add(name)
            waiting += [other for other in imports(names[name]) if other in names]


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_nothing_is_named_like_a_drawer(path: Path) -> None:
    assert path.stem not in DRAWERS, f"{path}: name it by what it holds"


@pytest.mark.parametrize("path", sorted(Path("functions").glob("*/handler.py")), ids=str)
def test_handlers_are_thin_and_alone(path: Path) -> None:
    assert path.read_text("utf-8").count("\n") <= LONGEST_HANDLER
    assert {entry.name for entry in path.parent.iterdir() if entry.name != "__pycache__"} == {"handler.py"}


def test_nobody_imports_functions_or_the_laptop_stack() -> None:
    for path in MODULES:
        roots = {name.split(".")[0] for name in imports(path)}
        assert not roots & {"functions", "local", "shared", "bench"}, f"{path} looks outside the package"


def test_the_environment_is_read_in_one_place() -> None:
    readers = [path for path in MODULES if "environ" in path.read_text("utf-8") and path.name != "settings.py"]
    assert [path for path in readers if _reads_environment(path)] == []


def _reads_environment(path: Path) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
    )


def test_every_room_stands_on_exactly_one_floor() -> None:
    assert all(not first & second for first, second in itertools.combinations(FLOORS, 2))
    present = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert present <= set().union(*FLOORS)
