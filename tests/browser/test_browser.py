"""The console in a browser: one run of Playwright against the stack that the stories share."""

import os
import subprocess
import sys
from pathlib import Path

from tests.node import NODE
from tests.stories.stack import Stack, plain_environment

FOLDER = Path(__file__).parent
PLAYWRIGHT = FOLDER / "node_modules" / "@playwright" / "test" / "cli.js"


def test_console_works_in_a_browser(running_stack: Stack) -> None:
    assert NODE.is_file(), "Node.js is missing: run `make environments`"
    assert PLAYWRIGHT.is_file(), "Playwright is missing: run `make environments`"
    environment = {
        **plain_environment(),
        "CONSOLE_URL": f"{running_stack.url}/console/",
        "CONSOLE_TENANT": running_stack.tenant,
        "CONSOLE_OPERATOR_KEY": running_stack.operator_key,
        "CONSOLE_WEBHOOK": running_stack.webhook,
    }
    only = os.environ.get("BROWSER_TESTS", "").split()  # noqa: TID251 - a launcher
    command: list[str | Path] = [NODE, PLAYWRIGHT, "test", "--workers=1", *only]
    output = []
    with subprocess.Popen(
        command, cwd=FOLDER, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            output.append(line)
    assert process.returncode == 0, "".join(output)
