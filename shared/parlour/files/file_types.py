"""What kinds of files are taken, and which one a file is: by its bytes, and among texts by its name. Pure."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Literal

from parlour.files.problems import unreadable_file

type FileType = Literal["pdf", "docx", "xlsx", "pptx", "html", "markdown", "text", "email", "csv"]

_OFFICE = "application/vnd.openxmlformats-officedocument."

MEDIA_TYPES: Mapping[FileType, str] = {
    "pdf": "application/pdf",
    "docx": f"{_OFFICE}wordprocessingml.document",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
    "pptx": f"{_OFFICE}presentationml.presentation",
    "html": "text/html",
    "markdown": "text/markdown",
    "text": "text/plain",
    "email": "message/rfc822",
    "csv": "text/csv",
}

_BY_EXTENSION: Mapping[str, FileType] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".xlsx": "xlsx",
    ".pptx": "pptx",
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".log": "text",
    ".eml": "email",
    ".csv": "csv",
    ".tsv": "csv",
}
_OLD_OFFICE = frozenset({".doc", ".xls", ".ppt"})
_ZIP_TYPES: frozenset[FileType] = frozenset({"docx", "xlsx", "pptx"})

_PDF = b"%PDF-"
_PDF_WITHIN = 1024
"""Readers look for a PDF's beginning this far in."""

_ZIP = b"PK\x03\x04"
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
"""What an Office file with a password is: a container of the old format with this stream in it."""


def file_type_of_name(name: str) -> FileType:
    """Return the file type that a name's ending says; UnreadableFile for one that is not supported."""
    ending = PurePosixPath(name).suffix.lower()
    if ending in _OLD_OFFICE:
        raise unreadable_file("old_office")
    found = _BY_EXTENSION.get(ending)
    if found is None:
        raise unreadable_file("not_taken")
    return found


def validate_bytes(kind: FileType, data: bytes) -> None:
    """UnreadableFile when `data`, the whole file, is empty or surely not of the kind that its name says."""
    if not data.strip():
        raise unreadable_file("empty")
    if kind in _ZIP_TYPES and data.startswith(_COMPOUND):
        raise unreadable_file("encrypted" if _ENCRYPTED in data else "old_office")
    if _is_other_type(kind, data):
        raise unreadable_file("wrong_kind")
    if kind == "pdf" and _PDF not in data[:_PDF_WITHIN]:
        raise unreadable_file("broken")
    if kind in _ZIP_TYPES and not data.startswith(_ZIP):
        raise unreadable_file("broken")


def _is_other_type(kind: FileType, data: bytes) -> bool:
    """Whether the bytes are surely of another kind. Which of Office's three an archive is, what is in it says."""
    if data.startswith((_COMPOUND, *_PICTURES)):
        return True
    if kind == "pdf":
        return data.startswith(_ZIP)
    if kind in _ZIP_TYPES:
        return data.startswith(_PDF)
    return data.startswith((_PDF, _ZIP)) or (not data.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in data)
