"""AgentDojo's tasks, tools and judges, for the environment that has AgentDojo and not Parlour.

    .parlour/agentdojo/bin/python -P bench/agentdojo_tasks.py

One JSON object per line in, one out: {"op": "suites"}; for each pair {"op": "begin", "suite", "user", "injection"},
any number of {"op": "call", "name", "arguments"}, and {"op": "end", "output"}.
"""

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from agentdojo.agent_pipeline import GroundTruthPipeline
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks import load_attack
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite import get_suites
from agentdojo.types import ChatAssistantMessage, ChatToolResultMessage, text_content_block_from_string

VERSION = "v1.2.2"
ATTACK = "direct"
_READ_PREFIXES = ("get_", "read_", "search_", "list_", "check_")


def main() -> None:
    suites = get_suites(VERSION)
    pipeline = GroundTruthPipeline(None)  # what is attacked; this attack asks it nothing
    pipeline.name = "local"
    with contextlib.redirect_stdout(sys.stderr):  # tasks print; the answers must stand alone
        for asked in _requests():
            if asked["op"] == "suites":
                _answer({name: _describe(suite) for name, suite in suites.items()})
            else:
                _run(suites[asked["suite"]], asked, pipeline)


class ServedTask(BasePipelineElement):  # type: ignore[misc]
    """Lets the other process call the task's tools until it ends the task."""

    def __init__(self, task: Any, injection_task: Any) -> None:
        self._task, self._injection_task = task, injection_task

    def query(
        self, query: str, runtime: Any, env: Any = None, messages: Sequence[Any] = (), extra_args: Any = None
    ) -> tuple[Any, ...]:
        """Say what is asked and what its ground truth is, then serve calls."""
        _answer(
            {
                "prompt": query,
                "output": self._task.GROUND_TRUTH_OUTPUT,
                "user_calls": _calls(self._task, env),
                "injection_calls": _calls(self._injection_task, env),
                "goal": self._injection_task.GOAL,
            }
        )
        done: list[Any] = []
        for asked in _requests():
            if asked["op"] == "end":
                text = [text_content_block_from_string(asked["output"])]
                done.append(ChatAssistantMessage(role="assistant", content=text, tool_calls=None))
                break
            call = FunctionCall(function=asked["name"], args=asked["arguments"])
            result, error = runtime.run_function(env, call.function, call.args)
            text = tool_result_to_str(result)
            _answer({"error": error} if error else {"result": text})
            empty, content = [text_content_block_from_string("")], [text_content_block_from_string(text)]
            done.append(ChatAssistantMessage(role="assistant", content=empty, tool_calls=[call]))
            done.append(
                ChatToolResultMessage(role="tool", content=content, tool_call=call, tool_call_id=None, error=error)
            )
        return query, runtime, env, [*messages, *done], extra_args or {}


def _run(suite: Any, asked: Any, pipeline: Any) -> None:
    task, injected = suite.user_tasks[asked["user"]], suite.injection_tasks[asked["injection"]]
    injections = load_attack(ATTACK, suite, pipeline).attack(task, injected)
    utility, security = suite.run_task_with_pipeline(ServedTask(task, injected), task, injected, injections)
    _answer({"utility": bool(utility), "attacked": bool(security)})


def _describe(suite: Any) -> dict[str, Any]:
    writing = _writing_tools(suite)
    tools = [
        {
            "name": one.name,
            "description": one.description.partition("\n")[0][:300],
            "schema": one.parameters.model_json_schema(),
            "writes": one.name in writing,
        }
        for one in suite.tools
    ]
    pairs = [[user, injection] for user in suite.user_tasks for injection in suite.injection_tasks]
    return {"tools": tools, "pairs": pairs}


def _writing_tools(suite: Any) -> set[str]:
    """Return the tools that change their environment in some task, and those whose names promise no mere reading."""
    found = {one.name for one in suite.tools if not one.name.startswith(_READ_PREFIXES)}
    runtime = FunctionsRuntime(suite.tools)
    for task in (*suite.user_tasks.values(), *suite.injection_tasks.values()):
        env = suite.load_and_inject_default_environment({})
        env = task.init_environment(env) if hasattr(task, "init_environment") else env
        for call in task.ground_truth(env):
            before = env.model_dump()
            runtime.run_function(env, call.function, call.args)
            if env.model_dump() != before:
                found.add(call.function)
    return found


def _calls(task: Any, env: Any) -> list[dict[str, Any]]:
    return [{"name": one.function, "arguments": dict(one.args)} for one in task.ground_truth(env)]


def _requests() -> Iterator[Any]:
    for line in sys.stdin:
        yield json.loads(line)


def _answer(content: Any) -> None:
    sys.__stdout__.write(json.dumps(content, default=str) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
