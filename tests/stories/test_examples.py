"""The scripts of examples/ as a stranger runs them: over clients that `make clients` generated."""

import subprocess
from collections.abc import Callable

import pytest

from tests.stories import words
from tests.stories.clients import Api
from tests.stories.stack import Stack, plain_environment

PYTHON = (".parlour/api-client/bin/python", "examples/ask.py")
TYPESCRIPT = (".parlour/node/bin/node", "examples/ask.ts")


@pytest.fixture
def run_example(running_stack: Stack, operator: Api) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Return what runs a script with a viewer's key; further variables of its environment may be given."""
    key = operator.key_for("viewer").key

    def run(script: tuple[str, ...], *question: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        environment = plain_environment() | {words.COMMAND_URL: running_stack.url, words.COMMAND_KEY: key} | variables
        command = [str(words.ROOT / script[0]), *script[1:], *question]
        return subprocess.run(
            command, cwd=words.ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    return run


@pytest.mark.parametrize("script", [PYTHON, TYPESCRIPT], ids=["python", "typescript"])
def test_example_prints_answer_sources_and_pulse(
    script: tuple[str, ...], run_example: Callable[..., "subprocess.CompletedProcess[str]"]
) -> None:
    ran = run_example(script, "What is our liability limited to?")
    assert ran.returncode == 0, ran.stderr
    answer, pulse = ran.stdout.split("\nPulse of ")
    assert "2,430,000" in answer
    assert "] Main works contract" in answer
    assert pulse.startswith("Riverside School extension:\n")


@pytest.mark.parametrize("script", [PYTHON, TYPESCRIPT], ids=["python", "typescript"])
def test_example_with_unknown_agent_prints_the_sentence_of_the_api(
    script: tuple[str, ...], run_example: Callable[..., "subprocess.CompletedProcess[str]"]
) -> None:
    ran = run_example(script, PARLOUR_BINDING="nobody-here")
    assert ran.returncode == 1
    assert "no public agent has that name" in ran.stderr
