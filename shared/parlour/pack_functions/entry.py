"""What the function of a pack does with an event: runs the tool, its lookup, or a stretch of the agent.

Only decorated functions run; the address in the event is `module.name`.
"""

import importlib
import sys
import traceback
from collections.abc import Mapping
from typing import Any

from parlour.pack_functions.agent import AgentReply, AgentRequest, FunctionAgent
from parlour.pack_functions.tool import FunctionTool, ToolCall, ToolRefusal


class ToolCodeError(Exception):
    """A tool's code raised; the message says what and where, as its developer reads it."""


def handle(event: Mapping[str, Any], _context: object = None, *, code_version: str = "") -> dict[str, Any]:
    """Return `{"result": …}`, or `{"refusal": text}` if nothing was done; what else goes wrong is raised.

    A rehearsal returns `{"code_version": …}`. A call that was approved with another version returns `{"changed": true}`
    and does nothing.
    """
    module, _, name = event["function"].rpartition(".")
    target = getattr(importlib.import_module(module), name)
    match event["kind"], target:
        case "rehearsal", FunctionTool():
            return {"code_version": code_version}
        case "call", FunctionTool() if event.get("approved_version", code_version) != code_version:
            return {"changed": True}
        case "call", FunctionTool():
            try:
                return {"result": _to_json(target.run(event["arguments"], ToolCall(**event["call"])))}
            except ToolRefusal as refusal:
                return {"refusal": str(refusal)}
            except Exception as error:
                raise ToolCodeError(_describe_error(error, module)) from error
        case "lookup", FunctionTool():
            return {"result": _to_json(target.find_result(ToolCall(**event["call"])))}
        case "agent", FunctionAgent():
            return {"result": _reply_to_json(target.run(AgentRequest(**event["request"])))}
    raise TypeError(f"{event['function']} is not decorated for {event['kind']}")


def _describe_error(error: Exception, module: str) -> str:
    """Return the error with file and line: where the tool's own module was last, and not the library it called."""
    file = sys.modules[module].__file__
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
    location = f"functions/{'/'.join(module.split('.'))}.py, line {line}: " if line else ""
    return f"{location}{type(error).__name__}: {error}"


def _to_json(value: object) -> Any:
    """Return the value as JSON; what is no object becomes `{"value": …}`, and None stays."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415

    plain = to_jsonable_python(value)
    return plain if plain is None or isinstance(plain, dict) else {"value": plain}


def _reply_to_json(reply: AgentReply) -> dict[str, Any]:
    calls = [{"id": one.id, "name": one.name, "arguments": dict(one.arguments)} for one in reply.calls]
    usage = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens}
    return {"text": reply.text, "calls": calls, **usage}
