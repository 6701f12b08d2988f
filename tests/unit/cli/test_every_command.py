"""Every command: its help fits a terminal and has an example; what is wrong is said once, without a traceback."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer

from parlour.cli import app
from parlour.cli.api_client import CliDependencies

CLOSED = ("--url", "http://127.0.0.1:9", "--tenant", "acme", "--key", "k")

#: What an argument of that name is given; other arguments get an id.
SAMPLES = {"handle": "risk/R-03", "kind": "fact", "usd": "5", "path": "x.md", "file": "x.md"}
WITHOUT_API = {"invoke", "new", "schema"}


def find_commands(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, found in getattr(command, "commands", {}).items():
        yield from find_commands(found, *names, name)
    if not hasattr(command, "commands"):
        yield names, command


COMMANDS = dict(find_commands(typer.main.get_command(app.app)))


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliDependencies:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.md").write_text("x")

    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    def open_client(url: str) -> httpx2.Client:
        return httpx2.Client(base_url=url, transport=httpx2.MockTransport(refuse))

    return CliDependencies(open_client, lambda _arguments: 0, lambda _seconds: None, tmp_path)


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_fits_a_terminal_and_has_an_example(
    names: tuple[str, ...], outside: CliDependencies, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run([*names, "--help"], outside) == 0
    printed = capsys.readouterr().out
    assert f"parlour {' '.join(names)}" in printed.rpartition("Example")[2]
    assert [line for line in printed.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_an_unknown_option_is_one_line_that_names_the_help(
    names: tuple[str, ...], outside: CliDependencies, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run([*names, "--nonsense"], outside) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert "--nonsense" in printed.err


@pytest.mark.parametrize("names", [names for names in COMMANDS if names[0] not in WITHOUT_API], ids=" ".join)
def test_a_closed_port_is_one_line_that_names_it(
    names: tuple[str, ...], outside: CliDependencies, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [SAMPLES.get(one.name, "0198c1f2") for one in COMMANDS[names].params if is_needed(one)]
    assert app.run([*CLOSED, *names, *arguments], outside) in {1, 2}
    printed = capsys.readouterr()
    said = " ".join((printed.out + printed.err).split())
    assert "Traceback" not in said
    assert said.count("http://127.0.0.1:9") <= 1
    assert (printed.out + printed.err).strip()


def is_needed(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument" and parameter.required)
