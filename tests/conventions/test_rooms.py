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
    frozenset({"principal", "pack_functions"}),
    frozenset({"infra"}),
    frozenset({"jobs"}),
    frozenset({"tenancy", "channels", "tools", "models", "prompts/assembly"}),
    frozenset({"notifications"}),
    frozenset({"search", "inbox"}),
    frozenset({"records"}),
    frozenset({"documents", "files"}),
    frozenset({"tools/builtin"}),
    frozenset({"prompts/ledger"}),
    frozenset({"approvals"}),
    frozenset({"pulse", "memory"}),
    frozenset({"conversations"}),
    frozenset({"packs", "erasure"}),
    frozenset({"api", "cli"}),
    frozenset({"bootstrap", "testing"}),
)
"""The rooms from below: a room is a folder of the package, a folder in one, or the module `principal`."""

ROOMS = frozenset().union(*FLOORS)

PURE_INFRA = {"parlour.infra.errors", "parlour.infra.json_values", "parlour.infra.ids", "parlour.infra.signing_keys"}
"""What a pure file may use of the ground floor: words and values, nothing that reaches outside."""

PURE = {
    "approvals": {"policy", "question", "rows", "typed_answer"},
    "channels": {
        "envelope",
        "gupshup_webhook",
        "mime_types",
        "outgoing_message",
        "payload_fields",
        "whatsapp_cloud_webhook",
        "whatsapp_format",
    },
    "conversations": {
        "canned_replies",
        "citations",
        "conversation_references",
        "journal",
        "linking/link_codes",
        "outgoing_links",
        "rows",
        "sessions/title",
        "stage_timer",
    },
    "documents": {"pages", "tree"},
    "erasure": {"dead_letter_filter", "quotations", "report", "tool_writes"},
    "inbox": {"service_hours", "thread"},
    "files": {"extract/parts", "file", "file_rows", "file_types", "problems"},
    "memory": {
        "agent_state/agent_state",
        "agent_state/record_changes",
        "agent_state/state_rendering",
        "agent_state/state_updates",
        "extraction/answer_check",
        "extraction/episodes",
        "extraction/extraction_window",
        "extraction/model_answer",
        "extraction/prompt",
        "extraction/second_look",
        "facts/explicit_facts",
        "facts/fact",
        "facts/fact_keys",
        "facts/grounding",
        "facts/merge_rules",
        "facts/own_text",
        "memory_job",
        "memory_policy",
        "recall/recall_rendering",
        "recall/recall_usage",
        "summaries/anchors",
        "summaries/key_details",
        "summaries/summary_answer",
        "summaries/summary_window",
        "summaries/turn_rows",
    },
    "models": {"daily_cap", "model", "model_routing", "roles"},
    "pack_functions": {"agent", "entry", "pydantic_ai_agent", "strands_agent", "tool"},
    "notifications": {"chatwoot_note", "chatwoot_webhook", "event", "signature"},
    "packs": {"built_in_types", "field_formats", "format", "json_schema", "reference", "validate"},
    "prompts/assembly": "*",
    "prompts/ledger": {"past_turns", "prompt_record"},
    "pulse": {
        "due/scheduling_rules",
        "material/numbered_sources",
        "material/prompt_assembly",
        "pulse",
        "reading/changes_since",
        "reading/text_diff",
        "writing/fingerprint",
        "writing/offline_answer",
        "writing/prompt",
        "writing/pulse_markdown",
        "writing/statement_check",
    },
    "records": {
        "built_in_types",
        "cards/card",
        "citation_target",
        "deltas",
        "linked_records_text",
        "properties",
        "record",
        "record_type",
        "relations",
        "snapshots",
        "write_counts",
        "write_rights",
    },
    "search": {"index/context_rows", "index/message_rows", "results"},
    "tenancy": {"access", "labels", "limits", "persona", "roles", "rows", "signed_tokens", "visitor_tokens"},
    "text": "*",
    "tools": {"addresses", "callbacks", "effect_status", "http_answers", "result", "rows", "tool_definition"},
    "tools/builtin": {"create_requests", "definitions", "record_json"},
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

FOLDERS_OF_ROOMS = {"prompts"}
"""What holds rooms and is none: nothing is in it but them."""

DRAWERS = {"utils", "helpers", "common", "manager", "base", "core", "misc", "constants", "shared"}

MODULES = sorted(PACKAGE.rglob("*.py"))
SOURCES = [*MODULES, *sorted(Path("functions").rglob("*.py")), *sorted(Path("local").rglob("*.py"))]


def room_of(path: Path) -> str:
    return room_of_parts(path.relative_to(PACKAGE).with_suffix("").parts)


def room_of_name(name: str) -> str:
    """Return the room of a dotted name below `parlour`."""
    return room_of_parts(tuple(name.split(".")[1:]))


def room_of_parts(parts: tuple[str, ...]) -> str:
    nested = "/".join(parts[:2])
    return nested if nested in ROOMS else parts[0]


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
    rooms = {room_of_name(name) for name in imports(path) if name.startswith("parlour.")}
    return rooms - {room_of(path), *FOLDERS_OF_ROOMS}


def floor(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__init__.py"], ids=str)
def test_imports_run_downward_and_rooms_of_one_floor_do_not_meet(path: Path) -> None:
    room = room_of(path)
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
        if name.startswith("parlour.") and name.split(".")[2:3] == ["store"] and room_of_name(name) != room_of(path)
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
    own_runtime = {"bootstrap"} if path.parent.name == "http_stream" else set()
    assert {entry.name for entry in path.parent.iterdir() if entry.name != "__pycache__"} == {
        "handler.py"
    } | own_runtime


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


def test_every_file_is_in_a_room_and_every_room_on_exactly_one_floor() -> None:
    assert all(not first & second for first, second in itertools.combinations(FLOORS, 2))
    assert {room_of(path) for path in MODULES} - {"__init__"} - FOLDERS_OF_ROOMS == ROOMS
    assert {path.name for folder in FOLDERS_OF_ROOMS for path in (PACKAGE / folder).glob("*.py")} == {"__init__.py"}
