"""Which calls ask a person first. Pure."""

from jsonschema import Draft202012Validator
from referencing import Registry

from parlour.infra.json_values import Json, JsonObject
from parlour.tools.tool_definition import Tool


def asks_first(policy: Json, tool: Tool, arguments: JsonObject) -> bool:
    """Return whether a policy has the call ask: "never", "writes", "always", or a JSON Schema that the arguments match.

    Anything else asks, so that a policy that nobody understands allows nothing.
    """
    if isinstance(policy, dict):
        return Draft202012Validator(policy, registry=Registry()).is_valid(arguments)
    return {"never": False, "writes": tool.writes}.get(str(policy), True)
