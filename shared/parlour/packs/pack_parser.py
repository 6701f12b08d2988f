"""The files of a pack, read one by one: what each of them says, and everything wrong inside a file."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.packs import field_formats, front_matter, model_validation, source_positions
from parlour.packs.format import (
    Agent,
    Binding,
    Document,
    DocumentHeader,
    EntityType,
    Human,
    Record,
    Team,
    Tenant,
    Tool,
)
from parlour.packs.scene_format import Scene
from parlour.packs.source_positions import ParsedYaml
from parlour.text.spelling_suggestions import closest_option, did_you_mean

MAX_FILES = 1_000
MAX_YAML_BYTES = 256 * 1024
MAX_DOCUMENT_BYTES = 1024 * 1024
MAX_TOTAL_YAML_BYTES = 1024 * 1024
"""Reading this much takes about four seconds."""
MAX_PACK_BYTES = 5 * 1024 * 1024
"""Of a whole pack: what one request to the API may carry."""

TENANT_FILE = "tenant.yaml"
SCENES_FOLDER = "demo"
IGNORED_FILES = frozenset({"README.md"})

_MODELS_BY_FOLDER: Mapping[str, tuple[Any, Callable[[str], str]]] = {
    "humans": (Human, field_formats.slug),
    "teams": (Team, field_formats.slug),
    "agents": (Agent, field_formats.slug),
    "bindings": (Binding, field_formats.slug),
    "tools": (Tool, field_formats.identifier),
    "entity_types": (EntityType, field_formats.identifier),
    "entities": (tuple[Record, ...], field_formats.identifier),
    SCENES_FOLDER: (Scene, field_formats.slug),
}


@dataclass(slots=True)
class ParsedPack:
    """What was read, by file: the YAML of all files whose YAML is sound, and their models.

    A model of a file with problems has defaults, or nothing, where something is wrong; `has_problem` tells where.
    """

    files: Mapping[str, str]
    yaml_by_file: dict[str, ParsedYaml] = field(default_factory=dict)
    models_by_file: dict[str, Any] = field(default_factory=dict)
    problems: list[PackProblem] = field(default_factory=list)
    _wrong_places: dict[str, set[str]] = field(default_factory=dict)
    _enclosing_places: dict[str, set[str]] = field(default_factory=dict)

    def add_problems(self, problems: Iterable[PackProblem]) -> None:
        """Note what is wrong, and where."""
        for problem in problems:
            self.problems.append(problem)
            self._wrong_places.setdefault(problem.file, set()).add(problem.field)
            self._enclosing_places.setdefault(problem.file, set()).update(_enclosing_places(problem.field))

    def list_names(self, folder: str) -> set[str]:
        """Return the names that files in `folder` give, whether their content is valid or not.

        A file with a slip in its path gives the name that it was meant to give.
        """
        return {PurePosixPath(path).stem for path in self.files if folder in _intended_folders(path.partition("/")[0])}

    def get_models[P](self, folder: str, kind: type[P]) -> dict[str, P]:
        """Return the models of a folder by name, in order."""
        found = {
            PurePosixPath(path).stem: self.models_by_file[path]
            for path in sorted(self.models_by_file)
            if path.startswith(f"{folder}/")
        }
        return {name: part for name, part in found.items() if isinstance(part, kind)}

    def iterate_models[P](self, folder: str, kind: type[P]) -> Iterator[tuple[str, P, ParsedYaml]]:
        """Name, model and places of a folder's files."""
        for name, part in self.get_models(folder, kind).items():
            yield name, part, self.yaml_by_file[f"{folder}/{name}.yaml"]

    def get_tenant(self) -> Tenant | None:
        """Return the tenant, when its file can be read."""
        found = self.models_by_file.get(TENANT_FILE)
        return found if isinstance(found, Tenant) else None

    def get_documents(self) -> dict[str, Document]:
        """Return the documents by key."""
        found = {path.removeprefix("documents/"): part for path, part in sorted(self.models_by_file.items())}
        return {key: part for key, part in found.items() if isinstance(part, Document)}

    def has_problem(self, file: str, place: str = "") -> bool:
        """Return whether something is wrong in a file, or at one place of it, in what is there or what encloses it."""
        if not place:
            return file in self._wrong_places
        is_wrong = not self._wrong_places.get(file, set()).isdisjoint(_enclosing_places(place))
        return is_wrong or place in self._enclosing_places.get(file, ())


def parse_pack(files: Mapping[str, str]) -> ParsedPack:
    """Read every file. Raises InvalidPack at once when the pack is too large; otherwise notes problems and goes on."""
    oversized = find_size_problems({path: len(text.encode(errors="surrogatepass")) for path, text in files.items()})
    if oversized:
        raise InvalidPack(oversized)
    reading = ParsedPack({path: text for path, text in sorted(files.items()) if path not in IGNORED_FILES})
    for path, text in reading.files.items():
        try:
            _parse_file(reading, path, text.removeprefix("\ufeff").replace("\r\n", "\n"))
        except InvalidPack as error:
            reading.add_problems(error.problems)
    if TENANT_FILE not in reading.files:
        reading.add_problems([PackProblem(TENANT_FILE, 1, "-", "is missing: it names the tenant of the pack")])
    return reading


def _parse_file(reading: ParsedPack, path: str, text: str) -> None:
    folder, _, name = path.partition("/")
    if path == TENANT_FILE:
        _check_characters(path, text)
        _add_model(reading, Tenant, source_positions.parse_yaml(path, text))
    elif folder == "documents":
        _check_name(path, name, field_formats.document_key)
        _check_characters(path, text)
        halves = front_matter.split(text)
        if halves is None:
            message = "must begin with a line of ---, the header (`title: ...`), and another line of ---"
            raise InvalidPack([PackProblem(path, 1, "-", message)])
        located = source_positions.parse_yaml(path, halves[0], first_line=2)
        _add_model(reading, DocumentHeader, located)
        if not halves[1].strip():
            reading.add_problems([located.problem_at((), "has a header but no text")])
        if path in reading.models_by_file:
            reading.models_by_file[path] = Document(reading.models_by_file[path], halves[1])
    elif folder in _MODELS_BY_FOLDER and name.endswith(".yaml") and "/" not in name:
        kind, spelt = _MODELS_BY_FOLDER[folder]
        _check_characters(path, text)
        _add_model(reading, kind, source_positions.parse_yaml(path, text))
        _check_name(path, name.removesuffix(".yaml"), spelt)
    else:
        raise InvalidPack([PackProblem(path, 1, "-", _misplaced_message(folder, name))])


def _add_model(reading: ParsedPack, kind: Any, located: ParsedYaml) -> None:
    reading.yaml_by_file[located.file] = located
    reading.add_problems(located.problems)
    try:
        model = model_validation.validate_model(kind, located)
    except InvalidPack as error:
        known = reading.has_problem
        reading.add_problems([one for one in error.problems if one.field == "-" or not known(one.file, one.field)])
        if not located.value or isinstance(located.value, str | int | float):
            return  # nothing to go on with
        model = model_validation.read_valid_parts(kind, located.value)
    reading.models_by_file[located.file] = model


def _check_characters(path: str, text: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        found = next(filter(field_formats.is_unstorable, line), None)
        if found is not None:
            is_byte = 0xDC80 <= ord(found) <= 0xDCFF  # as `surrogateescape` decodes it
            message = (
                "is not UTF-8 text" if is_byte else f"contains the character U+{ord(found):04X}, which is not text"
            )
            raise InvalidPack([PackProblem(path, number, "-", message)])


def _check_name(path: str, name: str, spelt: Callable[[str], str]) -> None:
    try:
        spelt(name)
    except ValueError as error:
        raise InvalidPack([PackProblem(path, 1, "-", f"the file name {error}")]) from None


@lru_cache
def _intended_folders(folder: str) -> list[str]:
    return [folder] if folder in _MODELS_BY_FOLDER else closest_option(folder, _MODELS_BY_FOLDER)


def _misplaced_message(folder: str, name: str) -> str:
    if folder in _MODELS_BY_FOLDER:
        return f"must be {folder}/<name>.yaml"
    near = did_you_mean(folder, [*_MODELS_BY_FOLDER, "documents"]) if name else did_you_mean(folder, [TENANT_FILE])
    return f"does not belong in a pack{near} (allowed: {TENANT_FILE}, {', '.join(_MODELS_BY_FOLDER)}, documents)"


def find_size_problems(sizes: Mapping[str, int]) -> list[PackProblem]:
    """Return what is too large in a pack whose files have these sizes in bytes; the whole first, then its files."""
    total, yaml = sum(sizes.values()), sum(size for path, size in sizes.items() if not path.startswith("documents/"))
    limits = [
        (len(sizes), MAX_FILES, "files"),
        (total, MAX_PACK_BYTES, "bytes"),
        (yaml, MAX_TOTAL_YAML_BYTES, "bytes of YAML"),
    ]
    problems = [
        PackProblem("-", 1, "-", f"a pack has at most {most:,} {unit}; this one has {count:,}")
        for count, most, unit in limits
        if count > most
    ]
    for path, size in sorted(sizes.items()):
        most = MAX_DOCUMENT_BYTES if path.startswith("documents/") else MAX_YAML_BYTES
        if size > most:
            problems.append(PackProblem(path, 1, "-", f"is {size:,} bytes long; the limit is {most:,}"))
    return problems


def _enclosing_places(place: str) -> list[str]:
    """Return a place, as `format_path` writes it, and all that enclose it but the file."""
    return [place, *(place[: step.start()] for step in re.finditer(r"[.\[]", place) if step.start())]
