"""`python layers/hash.py [PARAMETER=VALUE ...]`: one hash over all that is deployed, for the parameter CodeHash.

Lambda publishes a version when this text changes, and only then: a changed layer, a changed template or a changed
parameter alone publishes nothing, and the old version would go on with the old code or environment. So it covers the
functions, the package, the pinned requirements, the template, and the parameters it is deployed with.
"""

import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEPLOYED = (
    "functions",
    "shared",
    "layers/dependencies/requirements.txt",
    "layers/extraction/requirements.txt",
    "template.yaml",
)
"""Folders and files, from the root, that make up what is deployed."""


def code_hash(root: Path = ROOT, names: Iterable[str] = DEPLOYED, parameters: Iterable[str] = ()) -> str:
    """64 hexadecimal digits over those files' names and contents and the parameters, without interpreter caches."""
    digest = hashlib.sha256("\0".join(sorted(parameters)).encode())
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
    sys.stdout.write(f"{code_hash(parameters=sys.argv[1:])}\n")
