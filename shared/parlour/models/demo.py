"""The demo model: it plays the scenes of a pack where there is no model key, and asks the offline model for the rest.

It calls the tools for real and quotes their results, so that grounding, citations, effects and costs are those of the
product; only the choice of words is scripted. Its usage is counted like a small Claude model's, prompt cache included.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from parlour.infra.json_values import Json, JsonObject, canonical_digest, canonical_json
from parlour.models.demo_scenes import (
    Exchange,
    Scene,
    SlotMissing,
    ToolOutcome,
    fill_arguments,
    fill_reply,
    find_scene,
)
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage, content_blocks
from parlour.models.model_routing import DEMO_PROVIDER
from parlour.models.offline import NOTE, OFFLINE_CALL_PREFIX, answer_offline, find_late_result, own_words
from parlour.models.simulated_cache import SimulatedCache

_SECONDS_PER_DELTA = 0.11
"""Seconds between two deltas of some four words: about forty tokens a second, as fast as one reads."""

_RUNTIME_TEXT = re.compile(r"<parlour:([a-z]+)>(.*?)</parlour:\1>", re.DOTALL)
_FILE_MARK = re.compile(r"<parlour:file>|\[The user also sent ")
_CALL_PREFIX = "toolu_demo_"


class DemoModel:
    """Plays `scenes`; `sleep` (seconds) sets the pace of the text."""

    provider = DEMO_PROVIDER

    def __init__(self, scenes: Sequence[Scene], cache: SimulatedCache, sleep: Callable[[float], None]) -> None:
        self._scenes, self._cache, self._sleep = scenes, cache, sleep

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        """Play the step of the scene that fits; else stream what the offline model answers."""
        blocks = self._play(request)
        if blocks is None:
            blocks = tuple(map(_without_note, answer_offline(request)))
        text = "".join(str(block["text"]) for block in blocks if block["type"] == "text")
        deltas = re.findall(r"\S+\s*(?:\S+\s*){0,3}", text)
        pause = min(_SECONDS_PER_DELTA, seconds_left / 4 / max(len(deltas), 1))
        for delta in deltas:
            self._sleep(pause)
            yield TextDelta(delta)
        fresh, read, written = self._cache.count(request)
        usage = TokenUsage(fresh, len(canonical_json([*blocks])) // 4, read, written)
        yield Completion(blocks, "end_turn" if text else "tool_use", usage)

    def _play(self, request: ModelRequest) -> tuple[JsonObject, ...] | None:
        """Return the next step of the scene that fits; None when none does, or the results do not hold its slots."""
        exchange = read_exchange(request)
        schemas = {str(tool.get("name")): tool.get("input_schema") for tool in request.tools}
        scene = find_scene(self._scenes, exchange, frozenset(schemas))
        done = len(exchange.outcomes)
        if scene is None or any(outcome.is_offline for outcome in exchange.outcomes):
            return None
        try:
            may_call = request.tool_choice == "auto" and done < len(scene.calls)
            if may_call and (call := _next_call(scene, exchange, schemas)):
                call_id = f"{_CALL_PREFIX}{canonical_digest(request.to_json())[:24]}"
                return ({"type": "tool_use", "id": call_id, **call},)
            return ({"type": "text", "text": fill_reply(scene, exchange)},)
        except SlotMissing:
            return None


def _next_call(scene: Scene, exchange: Exchange, schemas: Mapping[str, Json]) -> JsonObject | None:
    """Return the scene's next call; None when an earlier call failed and its result lacks what this one needs."""
    name, arguments = scene.calls[len(exchange.outcomes)]
    found = schemas.get(name)
    schema = found if isinstance(found, dict) else {}
    try:
        return {"name": name, "input": fill_arguments(scene, exchange, arguments, schema)}
    except SlotMissing:
        if not exchange.outcomes:
            raise
        return None


def read_exchange(request: ModelRequest) -> Exchange:
    """Return the user's last message of a request, with the tool results since and what the runtime tells of it."""
    asked: list[list[JsonObject]] = []
    outcomes: list[ToolOutcome] = []
    names: dict[str, str] = {}
    tail: list[str] = []
    for message in request.messages:
        blocks = content_blocks(message)
        names |= {str(block["id"]): str(block["name"]) for block in blocks if block.get("type") == "tool_use"}
        results = [block for block in blocks if block.get("type") == "tool_result"]
        if message.get("role") == "user" and not results:
            asked.append(blocks)
            outcomes, tail = [], []
        outcomes += [_outcome(block, names) for block in results]
        tail += [str(block.get("text", "")) for block in blocks if message.get("role") == "user"]
    last = asked[-1] if asked else []
    late = find_late_result(last)
    remembered = [found[2] for text in tail for found in _RUNTIME_TEXT.finditer(text) if found[1] == "memory"]
    return Exchange(
        question=own_words(last),
        previous=own_words(asked[-2]) if len(asked) > 1 else "",
        remembered="\n".join(remembered),
        attachment=_attachment(last),
        outcomes=outcomes,
        late=ToolOutcome(late[0], late[1], canonical_json(late[1])) if late else None,
    )


def _without_note(block: JsonObject) -> JsonObject:
    """Return a block without the offline model's first line: the console says once who answers here."""
    text = block.get("text")
    return {**block, "text": text.removeprefix(NOTE).lstrip()} if isinstance(text, str) else block


def _outcome(block: JsonObject, names: dict[str, str]) -> ToolOutcome:
    content, call_id = block.get("content"), str(block.get("tool_use_id"))
    text = content if isinstance(content, str) else "\n".join(str(one.get("text", "")) for one in content_blocks(block))
    return ToolOutcome(names.get(call_id, ""), _parse(text), text, call_id.startswith(OFFLINE_CALL_PREFIX))


def _attachment(blocks: Sequence[JsonObject]) -> dict[str, str]:
    """Return kind, format and size of the first image of a message, or that a file came."""
    for block in blocks:
        source = block.get("source")
        if block.get("type") == "image" and isinstance(source, dict):
            size = len(base64.b64decode(str(source.get("data", "")), validate=False))
            image_format = str(source.get("media_type", "")).rpartition("/")[2].upper()
            return {"kind": "image", "format": image_format, "size": f"{max(size // 1024, 1):,} kB"}
    is_file = any(_FILE_MARK.search(str(block.get("text", ""))) for block in blocks)
    return {"kind": "file"} if is_file else {}


def _parse(text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
