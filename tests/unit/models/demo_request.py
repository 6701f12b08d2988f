"""Requests as the demo model gets them, and scenes as a tenant's settings have them."""

import json

from parlour.infra.json_values import Json, JsonObject
from parlour.models.demo import DemoModel
from parlour.models.demo_scenes import DEMO_SETTING, scenes_from_settings
from parlour.models.model import Completion, ModelRequest, TextDelta
from parlour.models.simulated_cache import SimulatedCache

SEARCH: JsonObject = {"name": "search_knowledge"}
ORDER: JsonObject = {"name": "order"}
MEMORY = "<parlour:memory>\nRemembered.\n- name: Rosa\n</parlour:memory>"

GAUGE: JsonObject = {
    "ask": [r"\bcrack\b"],
    "calls": [{"tool": "search_knowledge", "arguments": {"query": "crack width"}}],
    "quotes": {"width": {"title": "site report", "pattern": r"width (0\.\d+ mm)"}},
    "replies": [{"text": "It is {width} wide [width]."}],
}


def user(text: str, *more: JsonObject) -> JsonObject:
    blocks: list[Json] = [{"type": "text", "text": text}, *more, {"type": "text", "text": MEMORY}]
    return {"role": "user", "content": blocks}


def called(name: str, result: Json, call_id: str = "toolu_demo_1") -> tuple[JsonObject, JsonObject]:
    """Return a call and its result."""
    call: list[Json] = [{"type": "tool_use", "id": call_id, "name": name, "input": {}}]
    answer: list[Json] = [{"type": "tool_result", "tool_use_id": call_id, "content": json.dumps(result)}]
    return {"role": "assistant", "content": call}, {"role": "user", "content": answer}


def found(contents: str, title: str = "Site report no. 19") -> tuple[JsonObject, JsonObject]:
    """Return a search and the one document that it found."""
    documents: list[Json] = [{"n": 7, "title": title, "metadata": "", "contents": contents}]
    return called("search_knowledge", {"documents": documents})


def play(scenes: JsonObject, *messages: JsonObject, tools: tuple[JsonObject, ...] = (SEARCH, ORDER)) -> JsonObject:
    """Return the block that the demo model answers with."""
    pauses: list[float] = []
    model = DemoModel(scenes_from_settings({DEMO_SETTING: scenes}), SimulatedCache(lambda: 0.0), pauses.append)
    *deltas, last = model.stream(ModelRequest("m", 500, tools, (), messages), seconds_left=60)
    assert isinstance(last, Completion)
    (block,) = last.blocks
    assert "".join(part.text for part in deltas if isinstance(part, TextDelta)) == block.get("text", "")
    assert len(pauses) == len(deltas)
    assert all(0 < pause < 0.2 for pause in pauses)
    return block
