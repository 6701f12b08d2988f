"""Whether an Office file, which is an archive, may be opened: it is measured before anything in it is parsed."""

import re
import zipfile
from pathlib import Path

from parlour.files.problems import unreadable_file

MAX_ENTRIES = 10_000
MAX_ENTRY_BYTES = 256 * 1024 * 1024
MAX_MARKUP_BYTES = 128 * 1024 * 1024
"""Of one part that is XML and is parsed as a whole."""

MAX_TOTAL_BYTES = 512 * 1024 * 1024
MAX_COMPRESSION_RATIO = 200
"""Times that all of it may be larger than the file. Office's XML shrinks to a tenth, a sheet of repeated rows to a
hundredth; what bombs are made of shrinks to a thousandth."""

_RATIO_CHECKED_ABOVE = 16 * 1024 * 1024
"""So little unpacked harms nobody, however steep."""

_MARKUP = (".xml", ".rels", ".vml")
_ENCRYPTED_FLAG = 0x1
_BLOCK = 1024 * 1024
_DEFINES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_OVERLAP = 16


_FOLDERS = ("word/", "xl/", "ppt/")
"""Where each of Office's three keeps what it has to say."""


def check_office_zip(path: Path, folder: str = "") -> None:
    """UnreadableFile when the archive is broken, encrypted, a bomb, or has markup that defines entities; or when it is
    another of Office's three than the one that has this folder.

    What an archive says of its parts' sizes may be a lie, so the markup is unpacked once, block by block, and counted.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_declared_sizes(entries, path.stat().st_size)
            _check_kind(entries, folder)
            for entry in entries:
                if entry.filename.lower().endswith(_MARKUP):
                    _check_markup(archive, entry)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, OSError, EOFError, ValueError) as error:
        raise unreadable_file("broken") from error


def _check_declared_sizes(entries: list[zipfile.ZipInfo], size: int) -> None:
    total = sum(entry.file_size for entry in entries)
    if any(entry.flag_bits & _ENCRYPTED_FLAG for entry in entries):
        raise unreadable_file("encrypted")
    largest = max((entry.file_size for entry in entries), default=0)
    if len(entries) > MAX_ENTRIES or total > MAX_TOTAL_BYTES or largest > MAX_ENTRY_BYTES:
        raise unreadable_file("bomb")
    if total > _RATIO_CHECKED_ABOVE and total > MAX_COMPRESSION_RATIO * size:
        raise unreadable_file("bomb")


def _check_kind(entries: list[zipfile.ZipInfo], folder: str) -> None:
    there = {known for known in _FOLDERS for entry in entries if entry.filename.startswith(known)}
    if folder and there and folder not in there:
        raise unreadable_file("wrong_kind")


def _check_markup(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Unpack a part and throw it away: its true size, and that it has no document type. Office never writes one."""
    seen, tail = 0, b""
    with archive.open(entry) as part:
        while block := part.read(_BLOCK):
            seen += len(block)
            if seen > MAX_MARKUP_BYTES:
                raise unreadable_file("bomb")
            if _DEFINES.search((tail + block).replace(b"\0", b"")):
                raise unreadable_file("markup_bomb")
            tail = block[-_OVERLAP:]
