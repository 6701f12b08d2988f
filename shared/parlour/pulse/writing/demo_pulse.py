"""The model that writes the scripted Pulses of a demo, from the numbered documents of the prompt."""

import re
from collections.abc import Iterator, Sequence

from parlour.infra.errors import ProviderRejected
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.models.demo_scenes import Exchange, Scene, ToolOutcome, fill_statements
from parlour.models.model import Completion, ModelRequest, StreamPart, TokenUsage, content_blocks
from parlour.models.model_routing import DEMO_PROVIDER

_HANDLE = re.compile(r"^Write the Pulse of (\S+)\.$", re.MULTILINE)
_DOCUMENT = re.compile(r"^\[(\d{1,3})\] (.*)$", re.MULTILINE)


class DemoPulseModel:
    """Writes the statements of the scene for the record, as far as the documents hold what they quote."""

    provider = DEMO_PROVIDER

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self._scenes = {scene.pulse_of: scene for scene in scenes if scene.pulse_of}

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:  # noqa: ARG002
        """Return the Pulse in one piece. ProviderRejected when no scene is for this record, or nothing fits."""
        blocks = [*request.system, *(block for one in request.messages for block in content_blocks(one))]
        text = "\n".join(str(block.get("text", "")) for block in blocks)
        handle = _HANDLE.search(text)
        scene = self._scenes.get(handle[1]) if handle else None
        statements = fill_statements(scene, Exchange("", outcomes=[_material(text)])) if scene else []
        if not statements:
            raise ProviderRejected("no scene of the demo fits this record")
        answer = canonical_json({"statements": [{"text": said, "sources": [*found]} for said, found in statements]})
        usage = TokenUsage(len(canonical_json(request.to_json())) // 4, len(answer) // 4)
        yield Completion(({"type": "text", "text": answer},), "end_turn", usage)


def _material(text: str) -> ToolOutcome:
    """Return the numbered documents of a Pulse's prompt as a tool's result has them."""
    heads = list(_DOCUMENT.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    documents: list[JsonObject] = [
        {"n": int(head[1]), "title": head[2], "contents": text[head.start(2) : end]}
        for head, end in zip(heads, ends, strict=True)
    ]
    return ToolOutcome("", {"documents": [*documents]}, "")
