"""The sandbox runs a handler as Lambda does: alone, within its time, and no further than its process lives."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from local.lambda_runtime import FunctionCode, HandlerFailed, Sandbox

type Write = Callable[[str], FunctionCode]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function made of one file."""

    def write(text: str) -> FunctionCode:
        task = tmp_path / "task"
        task.mkdir()
        (task / "handler.py").write_text(text, "utf-8")
        return FunctionCode(task, ())

    return write


def test_the_answer_is_what_the_handler_returns(write: Write) -> None:
    code = write(
        "def handler(event, context):\n    return {'text': event['text'] + 'é', 'id': context.aws_request_id}\n"
    )
    with Sandbox(code, {}) as sandbox:
        first, second = sandbox.invoke({"text": "caf"}), sandbox.invoke({"text": "caf"})
    assert first["text"] == second["text"] == "café"
    assert first["id"] != second["id"]


def test_the_handler_sees_the_environment_it_is_given_and_nothing_of_ours(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "1")
    code = write("import os\ndef handler(event, context):\n    return dict(os.environ)\n")
    with Sandbox(code, {"GIVEN": "2"}) as sandbox:
        seen = sandbox.invoke({})
    assert seen["GIVEN"] == "2"
    assert "OURS" not in seen


def test_a_package_of_this_environment_cannot_be_imported(write: Write) -> None:
    with pytest.raises(HandlerFailed, match="No module named 'pytest'"):
        Sandbox(write("import pytest\n"), {}).__enter__()


def test_what_a_layer_brings_can_be_imported(write: Write, tmp_path: Path) -> None:
    code = write("import brought\ndef handler(event, context):\n    return brought.VALUE\n")
    (tmp_path / "layer").mkdir()
    (tmp_path / "layer" / "brought.py").write_text("VALUE = 7\n")
    with Sandbox(FunctionCode(code.folder, (tmp_path / "layer",)), {}) as sandbox:
        assert sandbox.invoke({}) == 7


def test_what_the_handler_raises_is_told_with_its_kind_and_its_log(write: Write) -> None:
    code = write("def handler(event, context):\n    print('before')\n    raise LookupError('nobody there')\n")
    with Sandbox(code, {}) as sandbox, pytest.raises(HandlerFailed, match="LookupError: nobody there") as caught:
        sandbox.invoke({})
    assert "before" in caught.value.log


def test_a_handler_that_raised_is_invoked_again_in_the_same_process(write: Write) -> None:
    code = write("n = 0\ndef handler(event, context):\n    global n\n    n += 1\n    return 1 // (n - 1)\n")
    with Sandbox(code, {}) as sandbox:
        with pytest.raises(HandlerFailed, match="ZeroDivisionError"):
            sandbox.invoke({})
        assert sandbox.invoke({}) == 1


def test_a_handler_knows_its_remaining_time_and_is_ended_when_it_is_over(write: Write) -> None:
    code = write(
        "import time\ndef handler(event, context):\n"
        "    print(context.get_remaining_time_in_millis(), flush=True)\n    time.sleep(60)\n"
    )
    begun = time.monotonic()
    with Sandbox(code, {}) as sandbox, pytest.raises(HandlerFailed, match="the time is up") as caught:
        sandbox.invoke({}, seconds=0.5)
    assert time.monotonic() - begun < 20
    assert 0 < int(caught.value.log.split()[0]) <= 500


def test_a_handler_that_takes_its_process_down_is_reported(write: Write) -> None:
    code = write("import os\ndef handler(event, context):\n    os._exit(3)\n")
    with Sandbox(code, {}) as sandbox, pytest.raises(HandlerFailed, match=r"Runtime\.ExitError: exit status 3"):
        sandbox.invoke({})


def test_a_handler_can_be_killed_in_the_middle_of_its_work(write: Write, tmp_path: Path) -> None:
    code = write(
        "import pathlib, time\ndef handler(event, context):\n"
        "    pathlib.Path(event).write_text('begun')\n    time.sleep(60)\n    pathlib.Path(event).write_text('done')\n"
    )
    mark = tmp_path / "mark"
    with Sandbox(code, {}) as sandbox:
        sandbox.begin(str(mark))
        while not mark.exists():
            time.sleep(0.01)
        sandbox.kill()
    assert mark.read_text() == "begun"


def test_a_snapshot_is_taken_before_the_first_event_and_its_hooks_run_around_it(write: Write) -> None:
    code = write(
        "from snapshot_restore_py import register_before_snapshot, register_after_restore\nran = []\n"
        "register_before_snapshot(ran.append, 'before')\nregister_after_restore(ran.append, 'after')\n"
        "def handler(event, context):\n    return ran\n"
    )
    with Sandbox(code, {}, snapshot=True) as sandbox:
        assert sandbox.invoke({}) == ["before", "after"]
