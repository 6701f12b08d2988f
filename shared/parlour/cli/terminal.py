"""Standard output for what was asked for, standard error for remarks about it."""

import json

from rich.console import Console, RenderableType
from rich.text import Text


def show(what: RenderableType) -> None:
    """Something drawn."""
    Console().print(what)


def line(text: str) -> None:
    """One line, exactly as it is."""
    Console().print(Text(text), soft_wrap=True)


def machine(what: object) -> None:
    """JSON, for programs."""
    line(json.dumps(what, indent=2, ensure_ascii=False))


def remark(text: str) -> None:
    """Something beside the point of the output."""
    Console(stderr=True).print(Text(text, style="dim"), soft_wrap=True)


def aside(what: RenderableType) -> None:
    """Something drawn that is beside the point of the output."""
    Console(stderr=True).print(what)


def problem(text: str) -> None:
    """Why the command did not do what was asked."""
    Console(stderr=True).print(Text(text), soft_wrap=True)
