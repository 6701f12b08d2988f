"""What of a file that came with a message a model can be given: an image, a text's words, or its name alone. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from parlour.channels.sniff import kind_of

LARGEST_BYTES = 16 * 1024 * 1024
"""Of anything that is sent along with a message; WhatsApp's own limits for pictures, sound and films are lower."""

LARGEST_IMAGE = 5 * 1024 * 1024 // 4 * 3
"""Bytes. Anthropic's API takes images of 5 MB, on Bedrock too, and counts them in base64."""

LONGEST_TEXT = 100_000
"""Characters, some 25,000 tokens: longer than any prompt has room for."""

PATIENCE = timedelta(minutes=2)
"""How long after a message came its file is tried for, when only the provider or the store is in the way."""

AWAITED = PATIENCE + timedelta(seconds=30)
"""How long after a message came its answer waits for the file: a last try may take half a minute. The sweep wakes its
session later than that."""

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
TEXT = "text/plain"

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Included:
    """A file as models are given it.

    body     a text's words.
    problem  why a model hears its name alone: too_large, unreadable, or why it was not fetched (`media`).
    """

    kind: Literal["image", "text", "other"]
    media_type: str
    body: str | None = None
    problem: str | None = None


def included(data: bytes) -> Included:
    """What a file is, by its bytes alone: JPEG, PNG, GIF and WebP are images; plain text, Markdown, CSV and JSON in
    UTF-8 are text."""
    kind = kind_of(data)
    if kind in IMAGES:
        return Included("image", kind) if len(data) <= LARGEST_IMAGE else _other(kind, "too_large")
    if kind != TEXT:
        return _other(kind or "", "unreadable")
    text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    return Included("text", kind, text) if len(text) <= LONGEST_TEXT else _other(kind, "too_large")


def not_fetched(problem: str) -> Included:
    """A file that is not there."""
    return _other("", problem)


def plain_name(name: str, otherwise: str = "file") -> str:
    """A file's name in one line, without folders."""
    plain = " ".join(name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").split())
    return plain[:_LONGEST_NAME] or otherwise


def _other(media_type: str, problem: str) -> Included:
    return Included("other", media_type, problem=problem)
