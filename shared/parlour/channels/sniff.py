"""What a file is, by its bytes: the kinds that people send in a chat, and nothing that runs. Pure."""

import io
import zipfile
from collections.abc import Callable

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OFFICE_KINDS = {
    "word/": f"{_OFFICE}wordprocessingml.document",
    "xl/": f"{_OFFICE}spreadsheetml.sheet",
    "ppt/": f"{_OFFICE}presentationml.presentation",
}
_MACROS = "vbaProject.bin"
_MOST_PARTS = 5_000
"""Of an archive: its list of parts takes ten times as much memory when it is read, and is all that some consist of."""

_PART = b"PK\x01\x02"
_MARKUP = ("<!doctype", "<html", "<svg", "<script", "<?xml", "<?php")
_PLAIN_CONTROLS = frozenset("\t\n\r\f")


def kind_of(data: bytes) -> str | None:
    """The MIME type that the bytes are of; None for what is not taken, whatever it is called."""
    return next((kind for sniff in _SNIFFERS if (kind := sniff(data))), None)


def _by_beginning(data: bytes) -> str | None:
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


def _riff(data: bytes) -> str | None:
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _iso_media(data: bytes) -> str | None:
    if data[4:8] != b"ftyp":
        return None
    brand = data[8:12]
    if brand.startswith(b"M4A"):
        return "audio/mp4"
    return "video/3gpp" if brand.startswith(b"3g") else "video/mp4"


def _audio_frame(data: bytes) -> str | None:
    """AAC and MP3 begin with a frame: eleven or twelve bits set, then the layer (none for AAC)."""
    if len(data) < 2 or data[0] != 0xFF:
        return None
    if data[1] & 0xF6 == 0xF0:
        return "audio/aac"
    return "audio/mpeg" if data[1] & 0xE6 == 0xE2 else None


def _office(data: bytes) -> str | None:
    """Word, Excel and PowerPoint as of 2007, without macros; no other archive."""
    if not data.startswith(b"PK\x03\x04") or data.count(_PART) > _MOST_PARTS:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return None
    if "[Content_Types].xml" not in names or any(name.endswith(_MACROS) for name in names):
        return None
    return next((kind for folder, kind in _OFFICE_KINDS.items() if any(n.startswith(folder) for n in names)), None)


def _plain_text(data: bytes) -> str | None:
    """Text that no reader takes for a page or a program."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    beginning = text[:1024].lower().lstrip()
    if not beginning or beginning.startswith(("#!", *_MARKUP)) or any(mark in beginning for mark in _MARKUP[:4]):
        return None
    printable = all((character >= " " and character != "\x7f") or character in _PLAIN_CONTROLS for character in text)
    return "text/plain" if printable else None


_SNIFFERS: tuple[Callable[[bytes], str | None], ...] = (
    _by_beginning,
    _riff,
    _iso_media,
    _audio_frame,
    _office,
    _plain_text,
)
