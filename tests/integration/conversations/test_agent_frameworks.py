"""A Pydantic AI agent and a Strands agent as the agent of a pack: killed in the middle, one reply and one effect.

Both run with models of their own that are scripted, in an environment that has the two packages.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from tests.integration.conversations.function_desk import FunctionDesk, open_function_desk

_PACKAGES = Path(".parlour/agent-frameworks/lib/python3.13/site-packages").resolve()
_LAYERS = (Path("shared").resolve(), _PACKAGES)

PYDANTIC_AI = """
import json, parlour
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

def model(messages, info):
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        assert last.tool_name == "book_appointment"
        return ModelResponse(parts=[TextPart("Booked: " + json.loads(last.content)["number"])])
    assert "Rosa" in info.instructions
    assert [tool.name for tool in info.function_tools] == ["book_appointment", "free_times"]
    return ModelResponse(parts=[ToolCallPart("book_appointment", {"name": "Priya", "start": "2026-03-03T10:00:00"})])

reception = parlour.from_pydantic_ai(lambda: Agent(FunctionModel(model), instructions="Be brief."))
"""

STRANDS = """
import json, parlour
from strands import Agent
from strands.models import Model

class ScriptedModel(Model):
    def update_config(self, **config): ...
    def get_config(self): return {}
    async def structured_output(self, *args, **kwargs): yield {}
    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        assert "Rosa" in system_prompt and len(tool_specs) == 2
        result = next((block["toolResult"] for block in messages[-1]["content"] if "toolResult" in block), None)
        yield {"messageStart": {"role": "assistant"}}
        if result:
            text = "Booked: " + json.loads(result["content"][0]["text"])["number"]
            yield {"contentBlockDelta": {"delta": {"text": text}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "book_appointment", "toolUseId": "t1"}}}}
            arguments = json.dumps({"name": "Priya", "start": "2026-03-03T10:00:00"})
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if result else "tool_use"}}
        usage = {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}

reception = parlour.from_strands(lambda **given: Agent(model=ScriptedModel(), **given))
"""


class Killed(BaseException):
    """Stands for the end of Parlour's own process."""


@pytest.fixture(params=[PYDANTIC_AI, STRANDS], ids=["pydantic_ai", "strands"])
def desk(database: Database, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[FunctionDesk]:
    with open_function_desk(database, tmp_path, _LAYERS) as opened:
        (opened.functions.code / "reception.py").write_text(request.param)
        opened.send("salon-own-loop", "Tuesday at ten, please. I am Priya.")
        yield opened


def test_an_agent_killed_after_its_effect_gives_one_reply_and_one_effect(
    desk: FunctionDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke = desk.functions.invoke

    def invoke_and_die(tenant: str, event: JsonObject, seconds: float) -> object:
        answer = invoke(tenant, event, seconds)
        if event["kind"] == "call":
            raise Killed
        return answer

    wake = desk.harness.list_wakes()[-1]
    monkeypatch.setattr(desk.functions, "invoke", invoke_and_die)
    with pytest.raises(Killed):
        desk.run_turn(wake)
    monkeypatch.setattr(desk.functions, "invoke", invoke)
    desk.functions.close()
    desk.harness.clock.now += timedelta(minutes=3)
    desk.run_turn(wake)
    assert desk.replies() == ["Booked: A-1"]
    assert desk.bookings() == ["A-1"]
    assert [event["kind"] for event in desk.functions.events] == ["agent", "call", "lookup", "agent"]
    usage = desk.harness.query("SELECT provider, input_tokens > 0, output_tokens > 0 FROM llm_calls")
    assert usage == [("function", True, True)] * 2
