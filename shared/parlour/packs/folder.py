"""A pack's folder on disk, for whoever has one: the command line and the local stack."""

from collections.abc import Mapping
from pathlib import Path

from parlour.infra.errors import InvalidPack, InvalidRequest
from parlour.packs import function_tools, pack_parser
from parlour.packs.validate import validate
from parlour.text.spelling_suggestions import list_options

_CODE_FOLDERS = (f"{function_tools.FUNCTIONS_FOLDER}/", "tests/")
"""What a builder keeps beside the pack; it is not applied."""


def read_folder(folder: Path) -> dict[str, str]:
    """Return the files of a pack by path below `folder`, with /. Hidden files and folders are skipped.

    Functions of the pack become files in `tools/`; a file that is there wins.

    InvalidRequest when the folder is missing, is no pack or cannot be read; InvalidPack for a pack that is too large,
    and with every problem of a pack in which a file is not UTF-8 text.
    """
    if not folder.is_dir():
        raise InvalidRequest(f"{folder} is not a folder; give the folder that contains {pack_parser.TENANT_FILE}")
    try:
        files = {**function_tools.read_function_tools(folder), **_read_pack(folder)}
    except OSError as error:
        raise InvalidRequest(f"{error.filename} cannot be read: {error.strerror}") from None
    try:
        "".join(files.values()).encode()
    except UnicodeEncodeError:  # no request can carry it
        validate(files)
    return files


def check_target(folder: Path) -> None:
    """Raise InvalidRequest unless `folder` is missing or empty."""
    try:
        is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    except OSError as error:
        raise InvalidRequest(f"{folder} cannot be read: {error.strerror}; choose a new folder") from None
    if not is_free:
        raise InvalidRequest(f"{folder} is not empty; choose a new folder")


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write an exported pack below `folder`, making folders as needed.

    InvalidRequest for a path that leads out, and for a folder that cannot be written.
    """
    root = folder.resolve()
    for name in files:
        if not (root / name).resolve().is_relative_to(root):
            raise InvalidRequest(f"{name} points outside the folder; nothing was written")
    try:
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    except OSError as error:
        raise InvalidRequest(f"cannot write {error.filename}: {error.strerror}; choose another folder") from None


def _read_pack(folder: Path) -> dict[str, str]:
    if not (folder / pack_parser.TENANT_FILE).is_file():
        packs = sorted(str(path.parent) for path in folder.glob(f"*/{pack_parser.TENANT_FILE}"))
        hint = f"; did you mean {list_options(packs)}?" if packs else "; give the folder of a pack"
        raise InvalidRequest(f"{folder} contains no {pack_parser.TENANT_FILE}{hint}")
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    shown = {
        name: path
        for name, path in paths.items()
        if name not in pack_parser.IGNORED_FILES
        and not name.startswith(_CODE_FOLDERS)
        and not any(part.startswith(".") for part in name.split("/"))
    }
    problems = pack_parser.find_size_problems({name: path.stat().st_size for name, path in shown.items()})
    if problems:
        raise InvalidPack(problems)
    return {name: path.read_bytes().decode(errors="surrogateescape") for name, path in shown.items()}
