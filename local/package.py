"""`python -m local.package`: `sam build` for both architectures; prints what the layers weigh."""

import sys
from collections.abc import Iterator
from pathlib import Path

from layers.compile import LAYERS
from local import deployment
from local.deployment import ARCHITECTURES
from local.errors import StackError

MAX_BYTES = 250 * 1024 * 1024
"""Lambda's limit for a function and its layers, unzipped."""


def layer_sizes(built: Path) -> dict[str, int]:
    """Bytes of each built layer, unzipped, by its name in the template."""
    return {layer: sum(_file_sizes(built.parent / layer)) for layer in LAYERS}


def main() -> int:
    """Returns the exit status: 1 when a build fails or is larger than Lambda takes."""
    for architecture in ARCHITECTURES:
        try:
            weights = layer_sizes(deployment.build(architecture, _report_progress))
        except StackError as problem:
            sys.stderr.write(f"parlour: {architecture}: {problem}\n")
            return 1
        for layer, size in weights.items():
            sys.stdout.write(f"{architecture:<8} {layer:<18} {size / 1e6:6.1f} MB\n")
        total = sum(weights.values())
        sys.stdout.write(f"{architecture:<8} {'of 262.1 MB':<18} {total / 1e6:6.1f} MB\n")
        if total > MAX_BYTES:
            sys.stderr.write(f"parlour: {architecture}: the layers are larger than Lambda takes\n")
            return 1
    return 0


def _file_sizes(folder: Path) -> Iterator[int]:
    return (path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _report_progress(line: str) -> None:
    sys.stdout.write(f"   {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
