"""E-mail: its header as the reader of threads knows it, its text, and the names of what was attached."""

import email
import email.policy
from email.message import EmailMessage
from pathlib import Path

from parlour.files.extract.html import html_to_markdown
from parlour.files.extract.parts import Part, escape_markdown
from parlour.files.extract.plain_text import decode_text
from parlour.files.problems import unreadable_file

_HEADER_FIELDS = ("From", "To", "Cc", "Date", "Subject")


def extract(path: Path) -> list[Part]:
    """Return the e-mail as one part. Attachments are named, not read: they are files of their own."""
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    header = [f"{name}: {escape_markdown(value)}" for name in _HEADER_FIELDS if (value := _header(message, name))]
    if not header:
        raise unreadable_file("broken")
    named = [escape_markdown(name) for part in message.iter_attachments() if (name := part.get_filename())]
    attached = f"Attached: {', '.join(named)}" if named else ""
    return [Part("\n\n".join(filter(None, ["\n".join(header), _body(message), attached])))]


def _header(message: EmailMessage, name: str) -> str:
    """Return a header's text, also of one that breaks the rules."""
    try:
        return str(message.get(name, ""))
    except (ValueError, IndexError, AttributeError):
        return ""


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    try:
        text = data.decode(charset, errors="replace") if charset else decode_text(data)
    except LookupError:
        text = decode_text(data)
    return html_to_markdown(text) if part.get_content_subtype() == "html" and text.strip() else text
