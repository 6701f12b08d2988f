"""Text and Markdown, which are taken as they are."""

import codecs
from collections.abc import Sequence
from pathlib import Path

from parlour.files.extract.parts import Part

_BYTE_ORDER_MARKS: Sequence[tuple[bytes, str]] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = {code: None for code in range(32) if chr(code) not in "\t\n\r\f"}


def extract(path: Path) -> list[Part]:
    """Return the whole text as one part; form feeds separate pages."""
    return [Part(decode_text(path.read_bytes()))]


def decode_text(data: bytes) -> str:
    """Decode text by its byte order mark, else as UTF-8, else as Windows writes it. Control characters are dropped."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace").translate(_CONTROLS)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    return text.translate(_CONTROLS)
