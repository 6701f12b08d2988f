"""`python -m local.invoke FUNCTION EVENT`: one handler, on one file of events/, against the running stack.

It runs under AWS's own runtime client with nothing but the function's folder and its layers, as they are built
from the files at this moment, and in the environment that the template gave the deployed function. The answer
goes to standard output, the handler's log to standard error.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from local import deployment, emulator
from local.errors import StackError
from local.lambda_runtime import HandlerFailed, Sandbox
from local.state import ROOT, STATE_FOLDER

_SAMPLE_TOKEN = "development-token"
"""Stands in the sample events where the stack's own webhook token belongs."""

_SAMPLE_TIME = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
"""When the sample events were sent."""


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status: 0 answered, 1 the handler failed, 2 it could not be run."""
    parser = argparse.ArgumentParser(prog="parlour invoke", description="Run one handler on a sample event.")
    parser.add_argument("function", help="a folder of functions/, like receiver")
    parser.add_argument("event", help="a file of events/, like receiver_text.json")
    parser.add_argument("--state", type=Path, default=STATE_FOLDER, help="the folder of the running stack's state")
    chosen = parser.parse_args(arguments)
    try:
        answer = invoke_function(chosen.function, chosen.event, chosen.state)
    except StackError as problem:
        sys.stderr.write(f"parlour: {problem}\n")
        return 2
    except HandlerFailed as problem:
        sys.stderr.write(f"{problem.log}\nparlour: {chosen.function} failed: {problem}\n")
        return 1
    sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
    return 0


def invoke_function(function: str, event: str, folder: Path) -> Any:
    """The handler's answer. Raises StackProblem for what a person can mend, HandlerFailed for what the handler did."""
    _check_function(function)
    read = read_event(event)
    stack = _read_running_stack(folder)
    configured = emulator.client("lambda", stack["endpoint"]).get_function_configuration(
        FunctionName=stack["outputs"][f"{deployment.function_resource(function)}Name"]
    )
    environment = {**configured["Environment"]["Variables"], **emulator.client_environment(stack["endpoint"])}
    built = deployment.build(deployment.host_architecture(), _report_progress)
    with Sandbox(deployment.function_code(built, function), environment) as sandbox:
        answer = sandbox.invoke(
            _insert_token(refresh_times(read, datetime.now(UTC)), stack), seconds=float(configured["Timeout"])
        )
        sys.stderr.write(sandbox.log)
    return answer


def list_functions() -> list[str]:
    """The names that can be invoked."""
    return sorted(path.parent.name for path in (ROOT / "functions").glob("*/handler.py"))


def read_event(name: str) -> Any:
    """The event in a file of events/ (or at a path), parsed. StackProblem when there is none or it is no JSON."""
    found = next((path for path in (Path(name), ROOT / "events" / name) if path.is_file()), None)
    if found is None:
        known = ", ".join(sorted(path.name for path in (ROOT / "events").glob("*.json")))
        raise StackError(f"event file {name} not found; available: {known}")
    try:
        return json.loads(found.read_text("utf-8"))
    except ValueError as problem:
        raise StackError(f"{found} is not valid JSON: {problem}") from None


def _check_function(name: str) -> None:
    if name not in list_functions():
        raise StackError(f"unknown function {name}; available: {', '.join(list_functions())}")


def _read_running_stack(folder: Path) -> dict[str, Any]:
    file = folder / "stack.json"
    stack: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if not stack or not emulator.is_running(stack["endpoint"]):
        raise StackError("the stack is not running: start it in another terminal with `make run`")
    return stack


def refresh_times(event: Any, now: datetime) -> Any:
    """Return a sample event as if it was sent now: an old message has no free reply and would need a person."""
    text = json.dumps(event).replace(_SAMPLE_TIME.isoformat(), now.isoformat(timespec="seconds"))
    return json.loads(text.replace(_milliseconds(_SAMPLE_TIME), _milliseconds(now)))


def _milliseconds(moment: datetime) -> str:
    return str(int(moment.timestamp() * 1000))


def _insert_token(event: Any, stack: dict[str, Any]) -> Any:
    """The event with the running stack's webhook token in the place of the samples'."""
    text = json.dumps(event)
    if _SAMPLE_TOKEN not in text:
        return event
    client = emulator.client("secretsmanager", stack["endpoint"])
    secret = json.loads(client.get_secret_value(SecretId=stack["outputs"]["WebhookSecretId"])["SecretString"])
    return json.loads(text.replace(_SAMPLE_TOKEN, secret["gupshup_tokens"][0]))


def _report_progress(line: str) -> None:
    sys.stderr.write(f"   {line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
