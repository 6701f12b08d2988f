"""`python layers/hash.py`: one hash over all code that is deployed, for the template's parameter CodeHash.

Lambda publishes a version when this text changes. It covers the functions, the package and the pinned
requirements together, because a changed layer alone publishes nothing.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEPLOYED = ("functions", "shared", "layers/dependencies/requirements.txt")
"""Folders and files, from the root, that end up in a function or a layer."""


def code_hash(root: Path = ROOT, names: Iterable[str] = DEPLOYED) -> str:
    """64 hexadecimal digits over the names and contents of those files; caches of the interpreter do not count."""
    digest = hashlib.sha256()
    for path in sorted(_files(root, names)):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _files(root: Path, names: Iterable[str]) -> Iterator[Path]:
    for name in names:
        place = root / name
        found = place.rglob("*") if place.is_dir() else [place]
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)


if __name__ == "__main__":
    sys.stdout.write(f"{code_hash()}\n")
