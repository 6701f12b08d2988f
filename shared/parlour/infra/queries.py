"""Named queries: SQL lives in a room's `queries.sql`, under a name and a sentence saying what it does.

    -- name: unanswered
    -- The session's inbound messages that no turn has taken, oldest first.
    SELECT ...;

A line `-- plan: anew` among these has the statement planned for its very parameters whenever it runs, and never
prepared (docs/decisions/0034); `-- plan: once` has it planned once for all parameters, also where PostgreSQL would take
the plan for dearer than it is. Comments and indentation are not sent: psycopg remembers how a statement is written only
up to 4,096 characters. Parameters are psycopg's: `%(name)s`, a literal percent sign is `%%`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_ANEW, _ONCE = "-- plan: anew", "-- plan: once"
_PARAMETER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement with its name (`room.name`) and description, and whether it is to be planned anew each time, or
    once for all parameters."""

    name: str
    description: str
    sql: str
    anew: bool = False
    once: bool = False

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
    def beside(cls, module_file: str) -> "Queries":
        """The queries of the room that `module_file` (a store's `__file__`) belongs to."""
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
        described = [line[2:].strip() for line in lines if line.startswith("--") and line not in {_ANEW, _ONCE}]
        sql = "\n".join(line for line in map(str.strip, lines) if not line.startswith("--")).strip().rstrip(";")
        if not described or not sql or name in found:
            raise ValueError(f"{room}/queries.sql: {name!r} needs a description, a statement and a name of its own")
        found[name] = Query(f"{room}.{name}", " ".join(described), sql, _ANEW in lines, _ONCE in lines)
    return found
