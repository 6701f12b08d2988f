"""What a file is, by its bytes: the kinds that people send in a chat, and nothing that runs. Pure."""

import io
import zipfile
from collections.abc import Callable

_OFFICE_PREFIX = "application/vnd.openxmlformats-officedocument."
_OFFICE_TYPES = {
    "word/": f"{_OFFICE_PREFIX}wordprocessingml.document",
    "xl/": f"{_OFFICE_PREFIX}spreadsheetml.sheet",
    "ppt/": f"{_OFFICE_PREFIX}presentationml.presentation",
}
_MACRO_ENTRY = "vbaProject.bin"
_MAX_ZIP_ENTRIES = 5_000
"""Of an archive: its list of parts takes ten times as much memory when it is read, and is all that some consist of."""

_ZIP_ENTRY_HEADER = b"PK\x01\x02"
_MARKUP = ("<!doctype", "<html", "<svg", "<script", "<?xml", "<?php")
_ALLOWED_CONTROLS = frozenset("\t\n\r\f")


def detect_mime_type(data: bytes) -> str | None:
    """Return the MIME type of the bytes; None for a type that is not supported, whatever the name says."""
    return next((kind for sniff in _DETECTORS if (kind := sniff(data))), None)


def _by_signature(data: bytes) -> str | None:
    beginnings = {
        b"\xff\xd8\xff": "image/jpeg",
        b"\x89PNG\r\n\x1a\n": "image/png",
        b"GIF87a": "image/gif",
        b"GIF89a": "image/gif",
        b"%PDF-": "application/pdf",
        b"OggS": "audio/ogg",
        b"#!AMR": "audio/amr",
        b"ID3": "audio/mpeg",
    }
    return next((kind for beginning, kind in beginnings.items() if data.startswith(beginning)), None)


def _detect_riff(data: bytes) -> str | None:
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _detect_iso_media(data: bytes) -> str | None:
    if data[4:8] != b"ftyp":
        return None
    brand = data[8:12]
    if brand.startswith(b"M4A"):
        return "audio/mp4"
    return "video/3gpp" if brand.startswith(b"3g") else "video/mp4"


def _detect_audio_frame(data: bytes) -> str | None:
    """AAC and MP3 begin with a frame: eleven or twelve bits set, then the layer (none for AAC)."""
    if len(data) < 2 or data[0] != 0xFF:
        return None
    if data[1] & 0xF6 == 0xF0:
        return "audio/aac"
    return "audio/mpeg" if data[1] & 0xE6 == 0xE2 else None


def _detect_office(data: bytes) -> str | None:
    """Word, Excel and PowerPoint as of 2007, without macros; no other archive."""
    if not data.startswith(b"PK\x03\x04") or data.count(_ZIP_ENTRY_HEADER) > _MAX_ZIP_ENTRIES:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return None
    if "[Content_Types].xml" not in names or any(name.endswith(_MACRO_ENTRY) for name in names):
        return None
    return next((kind for folder, kind in _OFFICE_TYPES.items() if any(n.startswith(folder) for n in names)), None)


def _detect_plain_text(data: bytes) -> str | None:
    """Text that no reader takes for a page or a program."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    beginning = text[:1024].lower().lstrip()
    if not beginning or beginning.startswith(("#!", *_MARKUP)) or any(mark in beginning for mark in _MARKUP[:4]):
        return None
    printable = all((character >= " " and character != "\x7f") or character in _ALLOWED_CONTROLS for character in text)
    return "text/plain" if printable else None


_DETECTORS: tuple[Callable[[bytes], str | None], ...] = (
    _by_signature,
    _detect_riff,
    _detect_iso_media,
    _detect_audio_frame,
    _detect_office,
    _detect_plain_text,
)
