"""Standard output for what was asked for, standard error for remarks about it."""

import json
import sys

from rich.console import Console, RenderableType
from rich.text import Text


def print_renderable(what: RenderableType) -> None:
    """Something drawn."""
    Console().print(what)


def print_line(text: str) -> None:
    """One line, exactly as it is."""
    Console().print(Text(text), soft_wrap=True)


def print_json(what: object) -> None:
    """JSON, for programs."""
    print_line(json.dumps(what, indent=2, ensure_ascii=False))


def print_note(text: str) -> None:
    """Something beside the point of the output."""
    Console(stderr=True).print(Text(text, style="dim"), soft_wrap=True)


def print_renderable_to_stderr(what: RenderableType) -> None:
    """Something drawn that is beside the point of the output."""
    Console(stderr=True).print(what)


def print_error(text: str) -> None:
    """Why the command did not do what was asked."""
    Console(stderr=True).print(Text(text), soft_wrap=True)


def is_interactive() -> bool:
    """Return whether somebody can answer a question."""
    return sys.stdin.isatty()
