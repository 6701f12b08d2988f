"""Named queries: SQL lives in a room's `queries.sql`, under a name and a sentence saying what it does.

    -- name: unanswered
    -- The session's inbound messages that no turn has taken, oldest first.
    SELECT ...;

A line `-- plan: custom` after the name keeps the statement from being prepared, so that PostgreSQL plans it for its
parameters whenever it runs (docs/decisions/0034). Parameters are psycopg's: `%(name)s`, a literal percent sign is `%%`,
also in comments.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_CUSTOM = "-- plan: custom"
_PARAMETER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement with its name (`room.name`) and description, and whether it is never prepared."""

    name: str
    description: str
    sql: str
    is_unprepared: bool = False

    @property
    def parameters(self) -> frozenset[str]:
        """The names the statement expects."""
        return frozenset(_PARAMETER.findall(self.sql))


class Queries(Mapping[str, Query]):
    """The named queries of one room, read from its file when first asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parsed: dict[str, Query] | None = None

    @classmethod
    def for_module(cls, module_file: str) -> "Queries":
        """Return the queries of the room that `module_file` (a store's `__file__`) belongs to."""
        return cls(Path(module_file).with_name("queries.sql"))

    def __getitem__(self, name: str) -> Query:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, Query]:
        if self._parsed is None:
            self._parsed = parse(self._path.read_text("utf-8"), self._path.parent.name)
        return self._parsed


def parse(text: str, room: str) -> dict[str, Query]:
    """Split a `queries.sql` into its queries; a missing description or a repeated name is a ValueError."""
    found: dict[str, Query] = {}
    for chunk in re.split(r"^-- name: *", text, flags=re.MULTILINE)[1:]:
        name, _, rest = chunk.partition("\n")
        name = name.strip()
        lines = rest.splitlines()
        comments = list(itertools.takewhile(lambda line: line.startswith("--"), lines))
        described = [line[2:].strip() for line in comments if line != _CUSTOM]
        sql = "\n".join(lines[len(comments) :]).strip().rstrip(";")
        if not described or not sql or name in found:
            raise ValueError(f"{room}/queries.sql: {name!r} needs a description, a statement and a name of its own")
        found[name] = Query(f"{room}.{name}", " ".join(described), sql, _CUSTOM in comments)
    return found
