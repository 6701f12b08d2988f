"""What of a file that came with a message a model can be given: an image, a text's words, or its name alone. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from parlour.channels.mime_types import detect_mime_type

MAX_ATTACHMENT_BYTES = 16 * 1024 * 1024
"""Of anything that is sent along with a message; WhatsApp's own limits for pictures, sound and films are lower."""

MAX_IMAGE_BYTES = 5 * 1024 * 1024 // 4 * 3
"""Bytes. Anthropic's API takes images of 5 MB, on Bedrock too, and counts them in base64."""

MAX_TEXT_CHARS = 100_000
"""Characters, some 25,000 tokens: longer than any prompt has room for."""

FETCH_RETRY_PERIOD = timedelta(minutes=2)
"""How long after a message came its file is tried for, when only the provider or the store is in the way."""

MAX_FILE_WAIT = FETCH_RETRY_PERIOD + timedelta(seconds=30)
"""How long after a message came its answer waits for the file: a last try may take half a minute. The sweep wakes its
session later than that."""

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
TEXT_TYPE = "text/plain"

_MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class AttachmentContent:
    """A file as models are given it.

    body     a text's words.
    problem  why a model hears its name alone: too_large, unreadable, or why it was not fetched (`media`).
    """

    kind: Literal["image", "text", "other"]
    media_type: str
    body: str | None = None
    problem: str | None = None


def read_content(data: bytes) -> AttachmentContent:
    """Return what a file is, by its bytes alone: JPEG, PNG, GIF and WebP are images.

    Plain text, Markdown, CSV and JSON in UTF-8 are text.
    """
    kind = detect_mime_type(data)
    if kind in IMAGE_TYPES:
        return AttachmentContent("image", kind) if len(data) <= MAX_IMAGE_BYTES else _name_only(kind, "too_large")
    if kind != TEXT_TYPE:
        return _name_only(kind or "", "unreadable")
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    return AttachmentContent("text", kind, text) if len(text) <= MAX_TEXT_CHARS else _name_only(kind, "too_large")


def missing_content(problem: str) -> AttachmentContent:
    """Return the content of a file that is not there."""
    return _name_only("", problem)


def plain_file_name(name: str, default: str = "file") -> str:
    """Return a file's name in one line, without folders."""
    plain = " ".join(name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").split())
    return plain[:_MAX_NAME_CHARS] or default


def _name_only(media_type: str, problem: str) -> AttachmentContent:
    return AttachmentContent("other", media_type, problem=problem)
