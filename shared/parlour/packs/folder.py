"""A pack's folder on disk, for whoever has one: the command line and the local stack."""

from collections.abc import Mapping
from pathlib import Path

from parlour.infra.errors import InvalidPack, InvalidRequest, PackProblem
from parlour.packs import pack_parser


def read_folder(folder: Path) -> dict[str, str]:
    """Return the files of a pack by path below `folder`, with /. Hidden files and folders are skipped.

    InvalidRequest when there is no such folder, InvalidPack for files that are not UTF-8 text or too large.
    """
    if not folder.is_dir():
        raise InvalidRequest(f"{folder} is not a folder; give the folder that contains {pack_parser.TENANT_FILE}")
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    shown = {name: path for name, path in paths.items() if not any(part.startswith(".") for part in name.split("/"))}
    large = [name for name, path in shown.items() if path.stat().st_size > pack_parser.MAX_PACK_BYTES]
    if large:
        raise InvalidPack(
            [PackProblem(name, 1, "-", f"is larger than {pack_parser.MAX_PACK_BYTES:,} bytes") for name in large]
        )
    return {name: _decode(name, path) for name, path in shown.items() if name not in pack_parser.IGNORED_FILES}


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write an exported pack below `folder`, making folders as needed; InvalidRequest for a path that leads out."""
    root = folder.resolve()
    for name in files:
        if not (root / name).resolve().is_relative_to(root):
            raise InvalidRequest(f"{name} points outside the folder; nothing was written")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def _decode(name: str, path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        problem = PackProblem(name, 1, "-", f"is not UTF-8 text (byte {error.start})")
        raise InvalidPack([problem]) from None
