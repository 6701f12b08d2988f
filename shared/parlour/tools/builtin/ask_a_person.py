"""The tool by which a model asks for a person; the turn's last transaction opens the conversation."""

from parlour.infra.json_values import JsonObject
from parlour.tools.run import ToolContext

_ANSWER = "A person is asked as soon as you reply, and the user reads so below your reply. Do not say it again."


def ask_a_person(_context: ToolContext, _arguments: JsonObject) -> JsonObject:
    """Tell the model what happens next."""
    return {"ok": True, "done": "a person was asked", "message": _ANSWER}
