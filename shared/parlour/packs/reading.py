"""The files of a pack, read one by one: what each of them says, and everything wrong inside a file."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.packs import explain, front_matter, locate, spelling
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
from parlour.packs.locate import Located
from parlour.text.suggestions import meant

MOST_FILES = 1_000
MOST_YAML_BYTES = 256 * 1024
MOST_DOCUMENT_BYTES = 1024 * 1024
MOST_YAML_IN_ALL = 1024 * 1024
"""Reading this much takes about four seconds."""
MOST_BYTES = 5 * 1024 * 1024
"""Of a whole pack: what one request to the API may carry."""

TENANT = "tenant.yaml"
IGNORED = frozenset({"README.md"})

_FOLDERS: Mapping[str, tuple[Any, Callable[[str], str]]] = {
    "humans": (Human, spelling.slug),
    "teams": (Team, spelling.slug),
    "agents": (Agent, spelling.slug),
    "bindings": (Binding, spelling.slug),
    "tools": (Tool, spelling.identifier),
    "entity_types": (EntityType, spelling.identifier),
    "entities": (tuple[Record, ...], spelling.identifier),
}


@dataclass(slots=True)
class Reading:
    """What was read. `located` and `parts` are by file: the first has all whose YAML is sound, the second the valid."""

    files: Mapping[str, str]
    located: dict[str, Located] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    problems: list[PackProblem] = field(default_factory=list)

    def names(self, folder: str) -> set[str]:
        """The names that files in `folder` give, whether their content is valid or not."""
        return {_stem(path) for path in self.files if path.startswith(f"{folder}/") and path.endswith(".yaml")}

    def all[P](self, folder: str, kind: type[P]) -> dict[str, P]:
        """The valid parts of a folder by name, in order."""
        found = {_stem(path): self.parts[path] for path in sorted(self.parts) if path.startswith(f"{folder}/")}
        return {name: part for name, part in found.items() if isinstance(part, kind)}

    def each[P](self, folder: str, kind: type[P]) -> Iterator[tuple[str, P, Located]]:
        """Name, part and places of a folder's valid files."""
        for name, part in self.all(folder, kind).items():
            yield name, part, self.located[f"{folder}/{name}.yaml"]

    def tenant(self) -> Tenant | None:
        """The tenant, when its file is valid."""
        found = self.parts.get(TENANT)
        return found if isinstance(found, Tenant) else None

    def documents(self) -> dict[str, Document]:
        """The valid documents by key."""
        found = {path.removeprefix("documents/"): part for path, part in sorted(self.parts.items())}
        return {key: part for key, part in found.items() if isinstance(part, Document)}


def read(files: Mapping[str, str]) -> Reading:
    """Read every file. Raises InvalidPack at once when the pack is too large; otherwise notes problems and goes on."""
    oversized = list(_oversized(files))
    if oversized:
        raise InvalidPack(oversized)
    reading = Reading({path: text for path, text in sorted(files.items()) if path not in IGNORED})
    for path, text in reading.files.items():
        try:
            _read_file(reading, path, text.removeprefix("\ufeff").replace("\r\n", "\n"))
        except InvalidPack as error:
            reading.problems.extend(error.problems)
    if TENANT not in reading.files:
        reading.problems.append(PackProblem(TENANT, 1, "-", "is missing: a pack says in it whose it is"))
    return reading


def _read_file(reading: Reading, path: str, text: str) -> None:
    folder, _, name = path.partition("/")
    _refuse_unstorable(path, text)
    if path == TENANT:
        _keep(reading, Tenant, locate.read(path, text))
    elif folder == "documents":
        _read_document(reading, path, name, text)
    elif folder in _FOLDERS and name.endswith(".yaml") and "/" not in name:
        kind, spelt = _FOLDERS[folder]
        _named(path, name.removesuffix(".yaml"), spelt)
        _keep(reading, kind, locate.read(path, text))
    else:
        raise InvalidPack([PackProblem(path, 1, "-", _misplaced(folder, name))])


def _keep(reading: Reading, kind: Any, located: Located) -> None:
    reading.located[located.file] = located
    reading.parts[located.file] = explain.parse(kind, located)


def _read_document(reading: Reading, path: str, key: str, text: str) -> None:
    _named(path, key, spelling.document_key)
    halves = front_matter.split(text)
    if halves is None:
        message = "must begin with a line of ---, the header (`title: ...`), and another line of ---"
        raise InvalidPack([PackProblem(path, 1, "-", message)])
    located = reading.located[path] = locate.read(path, halves[0], first_line=2)
    header = explain.parse(DocumentHeader, located)
    if not halves[1].strip():
        raise InvalidPack([located.problem((), "has a header but no text")])
    reading.parts[path] = Document(header, halves[1])


def _named(path: str, name: str, spelt: Callable[[str], str]) -> None:
    try:
        spelt(name)
    except ValueError as error:
        raise InvalidPack([PackProblem(path, 1, "-", f"the name of this file {error}")]) from None


def _misplaced(folder: str, name: str) -> str:
    if folder in _FOLDERS:
        return f"must be {folder}/<name>.yaml"
    near = meant(folder, [*_FOLDERS, "documents"]) if name else meant(folder, [TENANT])
    return f"has no place in a pack{near} (there are: {TENANT}, {', '.join(_FOLDERS)}, documents)"


def _oversized(files: Mapping[str, str]) -> Iterator[PackProblem]:
    if len(files) > MOST_FILES:
        yield PackProblem("-", 1, "-", f"a pack has at most {MOST_FILES} files; this one has {len(files)}")
    sizes = {path: len(text.encode(errors="surrogatepass")) for path, text in files.items()}
    for path, size in sorted(sizes.items()):
        most = MOST_DOCUMENT_BYTES if path.startswith("documents/") else MOST_YAML_BYTES
        if size > most:
            yield PackProblem(path, 1, "-", f"is {size:,} bytes long; {most:,} are the most")
    whole, yaml = sum(sizes.values()), sum(size for path, size in sizes.items() if not path.startswith("documents/"))
    if whole > MOST_BYTES:
        yield PackProblem("-", 1, "-", f"a pack has at most {MOST_BYTES:,} bytes; this one has {whole:,}")
    if yaml > MOST_YAML_IN_ALL:
        yield PackProblem("-", 1, "-", f"a pack has at most {MOST_YAML_IN_ALL:,} bytes of YAML; this one has {yaml:,}")


def _refuse_unstorable(path: str, text: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        found = next(filter(spelling.unstorable, line), None)
        if found is not None:
            problem = PackProblem(path, number, "-", f"contains the character U+{ord(found):04X}, which is not text")
            raise InvalidPack([problem])


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".yaml")
