"""The console in a browser: one run of Playwright against the stack that the stories share."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.node import NODE
from tests.stories import words
from tests.stories.stack import Stack, plain_environment

FOLDER = Path(__file__).parent
PLAYWRIGHT = FOLDER / "node_modules" / "@playwright" / "test" / "cli.js"


#: The specs in which the agents play the scenes of the example's pack.
DEMO_SPECS = ("people.spec.ts",)


def test_console_works_in_a_browser(request: pytest.FixtureRequest) -> None:
    specs = [one.name for one in sorted(FOLDER.glob("*.spec.ts")) if one.name not in DEMO_SPECS]
    _run_playwright(request, "running_stack", specs)


def test_people_and_agents_answer_in_a_browser(request: pytest.FixtureRequest) -> None:
    _run_playwright(request, "demo_stack", DEMO_SPECS)


def _run_playwright(request: pytest.FixtureRequest, stack: str, specs: Sequence[str]) -> None:
    """Run the specs, or those of them that BROWSER_TESTS names, against a stack that starts if there are any."""
    wanted = os.environ.get("BROWSER_TESTS", "").split()  # noqa: TID251 - a launcher
    chosen = [word for word in wanted if any(word.partition(".")[0] in spec for spec in specs)] if wanted else specs
    if not chosen:
        pytest.skip(f"no spec is called {' or '.join(wanted)}")
    assert NODE.is_file(), "Node.js is missing: run `make environments`"
    assert PLAYWRIGHT.is_file(), "Playwright is missing: run `make environments`"
    running: Stack = request.getfixturevalue(stack)
    environment = {
        **plain_environment(),
        "CONSOLE_URL": f"{running.url}/console/",
        "CONSOLE_TENANT": running.tenant,
        "CONSOLE_OPERATOR_KEY": running.operator_key,
        "CONSOLE_WEBHOOK": running.webhook,
        "CONSOLE_PHONE": running.phone,
        "CONSOLE_OFFICE": running.office,
    }
    results = words.ROOT / ".parlour" / "browser" / stack  # Playwright empties the folder, and two may run at once
    command: list[str | Path] = [NODE, PLAYWRIGHT, "test", "--workers=1", f"--output={results}", *chosen]
    output: list[str] = []
    with subprocess.Popen(
        command, cwd=FOLDER, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            output.append(line)
    assert process.returncode == 0, "".join(output)
