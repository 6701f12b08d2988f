"""`make readme`: run every command block of README and of the task pages as written, with a stopwatch.

A block that begins with ```sh is run by bash. A word after `sh` says why it is not run: `aws`, `key` or `long`.
README begins in an empty folder and makes the clone. Every other page begins in it with `make run` and without what
the page before left. Blocks of one page share the folder and what they export. A block that ends in `make run` starts
the stack; one that runs already is stopped before, as Ctrl-C does.

Two things differ from the page: REPOSITORY is this checkout, and PARLOUR_CONSOLE_PORT replaces the console's port.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local.errors import StackError
from local.state import ROOT, STATE_FOLDER
from local.up import run_with_signals

FIRST_PAGE = "README.md"
NOT_RUN = {
    "aws": "needs an AWS account; `make run` deploys the same template to the emulator",
    "key": "needs a key of yours",
    "long": "takes long, or installs packages outside of the clone",
}

_BLOCK = re.compile(r"^( *)```sh *(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_STARTS_STACK = re.compile(r"^make run\b.*\Z", re.MULTILINE)
_READY = "Parlour is ready."
_PLAIN_START = "make run"
_BLOCK_SECONDS, _START_SECONDS, _STOP_SECONDS = 300, 900, 90
_LOOK_EVERY = 0.2
_SHOWN_LINES = 15


@dataclass(frozen=True, slots=True)
class Block:
    """A command block: its page, the line where its commands begin, the mark after `sh`, and its text."""

    page: str
    line: int
    mark: str
    text: str

    @property
    def starts_stack(self) -> bool:
        """Whether its last command starts the stack."""
        return bool(_STARTS_STACK.search(self.text.strip()))


def find_blocks(page: str, text: str) -> Iterator[Block]:
    """Yield the command blocks of a page in order, without the indentation of a list around them."""
    for found in _BLOCK.finditer(text):
        indent, mark, body = found.groups()
        line = text.count("\n", 0, found.start(3)) + 1
        yield Block(page, line, mark, re.sub(rf"^{indent}", "", body, flags=re.MULTILINE))


def list_pages(root: Path = ROOT) -> list[str]:
    """Return the pages that are run: README first, which makes the clone that the others use."""
    return [FIRST_PAGE, "docs/api.md", *sorted(str(p.relative_to(root)) for p in (root / "docs/tasks").glob("*.md"))]


class FreshClone:
    """A folder with nothing in it, where blocks run; and the stack that one of them started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clone = folder / "parlour"
        self._variables = folder / "variables"
        self._output = folder / "stack.log"
        self._stack: subprocess.Popen[bytes] | None = None
        self._started = ""
        inherited = os.environ  # noqa: TID251 - a launcher
        hidden = ("ANTHROPIC_", "PARLOUR_URL", "PARLOUR_KEY", "PARLOUR_TENANT", "PARLOUR_MODEL", "MAKE", "MFLAGS")
        self._environment = {name: value for name, value in inherited.items() if not name.startswith(hidden)}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def run(self, block: Block) -> str:
        """Run a block; return what went wrong, or nothing."""
        script = f"source {self._variables}\nset -eo pipefail\n{self._as_typed(block.text)}"
        return self._start_stack(script, block.text) if block.starts_stack else self._run_to_the_end(script)

    def begin_page(self, page: str) -> str:
        """Make the state fresh for a page; return what went wrong, or nothing."""
        if page == FIRST_PAGE:
            self._variables.write_text(f"cd {shlex.quote(str(self._folder))}\n")
            return ""
        self._variables.write_text(f"cd {shlex.quote(str(self._clone))}\n")
        self._run_to_the_end(f"cd {shlex.quote(str(self._clone))} && git clean -fdq")
        return "" if self._started == _PLAIN_START else self.run(Block(page, 0, "", _PLAIN_START))

    def stop_stack(self) -> None:
        """Stop the stack as Ctrl-C does; kill it if it does not stop."""
        if self._stack is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._stack.pid, signal.SIGINT)
        try:
            self._stack.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._stack.pid, signal.SIGKILL)
            self._stack.wait()
        self._stack, self._started = None, ""

    def _as_typed(self, text: str) -> str:
        typed = text.replace("REPOSITORY", shlex.quote(str(ROOT)))
        port = self._environment.get("PARLOUR_CONSOLE_PORT", "8700")
        return typed.replace("127.0.0.1:8700", f"127.0.0.1:{port}")

    def _run_to_the_end(self, script: str) -> str:
        keep = f'trap \'{{ export -p; printf "cd %q\\n" "$PWD"; }} > {shlex.quote(str(self._variables))}\' EXIT'
        try:
            ran = subprocess.run(
                ["/bin/bash", "-c", f"{keep}\n{script}"],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_BLOCK_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it did not end within {_BLOCK_SECONDS} s"
        return "" if ran.returncode == 0 else f"exit status {ran.returncode}\n{_last_lines(ran.stdout)}"

    def _start_stack(self, script: str, text: str) -> str:
        self.stop_stack()
        with self._output.open("w") as written:
            self._stack = subprocess.Popen(
                ["/bin/bash", "-c", script],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        while _READY not in self._output.read_text("utf-8"):
            if self._stack.poll() is not None or time.monotonic() > deadline:
                self.stop_stack()
                return f"the stack is not ready\n{_last_lines(self._output.read_text('utf-8'))}"
            time.sleep(_LOOK_EVERY)
        self._started = text.strip().splitlines()[-1]
        with self._variables.open("a") as variables:
            variables.write(f"cd {shlex.quote(str(self._clone))}\n")
        return ""


def _last_lines(text: str) -> str:
    return "\n".join(f"      {line}" for line in text.splitlines()[-_SHOWN_LINES:])


def check_pages(clone: FreshClone, pages: list[str]) -> int:
    """Run the blocks of the pages in order, print each with its time, and return how many failed."""
    failed = 0
    for page in pages:
        sys.stdout.write(f"\n{page}\n")
        if problem := clone.begin_page(page):
            sys.stdout.write(f"    FAILED: {problem}\n")
            return failed + 1
        begun = time.monotonic()
        for block in find_blocks(page, (ROOT / page).read_text("utf-8")):
            failed += not _run_block(clone, block)
        sys.stdout.write(f"  {time.monotonic() - begun:7.1f} s  the whole page\n")
        sys.stdout.flush()
    return failed


def _run_block(clone: FreshClone, block: Block) -> bool:
    """Run a block unless its mark says why not, print the outcome, and return whether nothing failed."""
    title = f"line {block.line}: {block.text.strip().splitlines()[0]}"
    if block.mark:
        sys.stdout.write(f"   not run  {title}\n             ({block.mark}: {NOT_RUN[block.mark]})\n")
        return True
    begun = time.monotonic()
    problem = clone.run(block)
    sys.stdout.write(f"  {time.monotonic() - begun:7.1f} s  {title}\n")
    if problem:
        sys.stdout.write(f"    FAILED: {problem}\n")
    sys.stdout.flush()
    return not problem


def main() -> int:
    """Return the exit status: 0 only when every block that was run worked."""
    parser = argparse.ArgumentParser(description="Run the command blocks of README and of the task pages.")
    parser.add_argument("pages", nargs="*", help="pages to run after README; without any, all of them")
    chosen = parser.parse_args().pages
    pages = list_pages()
    if unknown := set(chosen) - set(pages):
        sys.stderr.write(f"parlour: no such page: {', '.join(sorted(unknown))}; there are {', '.join(pages)}\n")
        return 2
    selected = [page for page in pages if page == FIRST_PAGE or not chosen or page in chosen]
    return run_with_signals(lambda _: _check(selected))


def _check(pages: list[str]) -> int:
    clone = FreshClone(STATE_FOLDER / "readme")
    try:
        if failed := check_pages(clone, pages):
            raise StackError(f"{failed} command blocks failed")
    finally:
        clone.stop_stack()
    sys.stdout.write("\nEvery block that was run worked.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
