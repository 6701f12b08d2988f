"""`python -m bench.shape [DIR ...] [--json FILE]`: how finely the code of each directory is cut, and how it is worded.

Each directory gives a row for the product and one for the rest. The product is `shared` and `functions` where a
directory has them; elsewhere it is every Python file outside folders of tests, documentation and benchmarks.
A checkout of Parlour has a second table: by room, the words that `bench.wording` finds.
"""

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import report, wording

#: Folders that are nobody's source: built, installed or kept for a while.
_SKIPPED = {".venv", ".git", ".parlour", ".aws-sam", ".mypy_cache", "node_modules", "__pycache__"}
#: Folders that no product has its code in, for directories without `shared`.
_NOT_PRODUCT = {"tests", "test", "docs", "doc", "docs_src", "examples", "bench", "benchmarks", "scripts", "local"}
_STATEMENT = re.compile(r"^-- name: ", re.MULTILINE)


@dataclass
class Shape:
    """The source of one row, added up file by file.

    bodies      lines of each function's body, without its signature and docstring.
    parameters  how many each function has, `self` and `cls` not counted.
    single_use  private functions that their file names once apart from the definition.
    statements  lines of each named SQL statement, without comments and blank lines.
    """

    lines: int = 0
    files: int = 0
    fmt_skip: int = 0
    single_use: int = 0
    bodies: list[int] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    statements: list[int] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Count one file, Python or SQL."""
        text = path.read_text("utf-8", errors="replace")
        if path.suffix == ".sql":
            self.statements += list(_statement_lines(text))
            return
        tree = ast.parse(text)
        functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
        names = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        self.lines += text.count("\n")
        self.files += 1
        self.fmt_skip += len(re.findall(r"#\s*fmt:\s*(?:skip|off)", text))
        self.bodies += [_body_lines(function) for function in functions]
        self.parameters += [_parameter_count(function.args) for function in functions]
        self.single_use += sum(
            function.name.startswith("_") and not function.name.endswith("__") and names[function.name] == 1
            for function in functions
        )

    def row(self, label: str) -> dict[str, report.Cell]:
        """Return the figures under their headings; shares and medians of nothing are 0."""
        bodies = sorted(self.bodies) or [0]
        return {
            "code": label,
            "lines": self.lines,
            "files": self.files,
            "functions_per_1000_lines": round(1000 * len(self.bodies) / max(1, self.lines), 1),
            "single_use_share": round(self.single_use / max(1, len(self.bodies)), 3),
            "fmt_skip": self.fmt_skip,
            "median": statistics.median(bodies),
            "p90": round(report.percentile(bodies, 90)),
            "max": bodies[-1],
            "max_parameters": max(self.parameters, default=0),
            "longest_statement": max(self.statements, default=0),
        }


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _parameter_count(arguments: ast.arguments) -> int:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(one.arg not in {"self", "cls"} for one in named)


def _statement_lines(text: str) -> Iterator[int]:
    for statement in _STATEMENT.split(text)[1:]:
        yield sum(bool(line.strip()) and not line.lstrip().startswith("--") for line in statement.splitlines()[1:])


def measure(directory: Path) -> tuple[Shape, Shape]:
    """Return the shapes of a directory's product and of the rest of its Python and SQL."""
    product, rest = Shape(), Shape()
    roots = {"shared", "functions"} if (directory / "shared").is_dir() else None
    for path in sorted(directory.rglob("*")):
        parts = path.relative_to(directory).parts
        if path.suffix not in {".py", ".sql"} or _SKIPPED & set(parts) or not path.is_file():
            continue
        is_product = parts[0] in roots if roots else not _NOT_PRODUCT & set(parts[:-1])
        (product if is_product else rest).add(path)
    return product, rest


def count_words(directory: Path) -> list[dict[str, report.Cell]]:
    """Return a row for each room and each other folder of a checkout: lines, and findings of each kind."""
    found = wording.find_all(directory)
    lines, counts = Counter[str](), Counter[tuple[str, wording.Kind]]()
    for path in wording.source_files(directory):
        name = path.relative_to(directory).as_posix()
        room = _room(name)
        lines[room] += path.read_text("utf-8").count("\n")
        counts.update((room, finding.kind) for finding in found.get(name, ()))
    rows = [
        {"room": room, "lines": lines[room], **{kind: counts[room, kind] for kind in wording.KINDS}} for room in lines
    ]
    return sorted(rows, key=lambda row: str(row["room"]))


def _room(path: str) -> str:
    """Return a file's room; outside the package its first folder."""
    parts = path.split("/")
    return parts[2].removesuffix(".py") if parts[:2] == ["shared", "parlour"] else f"{parts[0]}/"


def main(directories: Sequence[Path], file: Path | None) -> None:
    """Print a table of every directory's product and rest, and one of the words of each checkout of Parlour."""
    rows, words = [], []
    for directory in directories:
        label = directory.resolve().name
        for name, shape in zip(("product", "rest"), measure(directory), strict=True):
            if shape.files:
                rows.append(shape.row(f"{label}: {name}"))
        if (directory / "docs/VOCABULARY.md").is_file():
            words += [{"code": label, **row} for row in count_words(directory)]
    report.show("The shape of the code", rows)
    if words:
        report.show("Words that a stranger stops at", words)
    report.write(file, {"shape": rows, "words": words})


if __name__ == "__main__":
    options = report.parser(__doc__)
    options.add_argument("directories", nargs="*", type=Path, metavar="DIR", default=[Path()])
    chosen = options.parse_args()
    main(chosen.directories, chosen.json)
