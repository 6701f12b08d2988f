"""Saying what is going on: a spinner with the seconds in a terminal, plain lines anywhere else."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

_WIDTH = 46


class Progress:
    """Steps with their times, and notes between them."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Something that takes a while; says when it began and how long it took."""
        begun = time.monotonic()
        try:
            with self._spinner(title):
                yield
        except BaseException:
            self._print_result("[red]x[/]", title, begun)
            raise
        self._print_result("[green]ok[/]", title, begun)

    def print_detail(self, text: str) -> None:
        """Something worth knowing about the step that is going on."""
        self._console.print(f"   [dim]{escape(text)}[/]", soft_wrap=True)

    def print_line(self, text: str) -> None:
        """A line as it is; rich markup is understood."""
        self._console.print(text, soft_wrap=True)

    @contextmanager
    def _spinner(self, title: str) -> Iterator[None]:
        if self._console.is_terminal:
            with self._console.status(escape(title)):
                yield
        else:
            self._console.print(f"   {escape(title)} ...")
            yield

    def _print_result(self, mark: str, title: str, begun: float) -> None:
        seconds = time.monotonic() - begun
        self._console.print(f"{mark:>2} {escape(title):<{_WIDTH}} [dim]{seconds:6.1f} s[/]")
