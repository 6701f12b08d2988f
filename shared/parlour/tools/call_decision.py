"""The decision about a call that a model asks for: by tool, rights, approval and arguments."""

from collections.abc import Callable
from dataclasses import dataclass

from parlour.infra.errors import ModelError
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal
from parlour.tools import effects
from parlour.tools.arguments import validate_arguments
from parlour.tools.tool_definition import Tool


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nothing runs; the model reads the error."""

    error: ModelError


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Nothing runs until a person agrees."""

    tool: Tool


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The dispatcher runs the call; its result comes as a message of its own."""

    tool: Tool


@dataclass(frozen=True, slots=True)
class PerformEffect:
    """The call is reserved before it runs."""

    tool: Tool


@dataclass(frozen=True, slots=True)
class RunRead:
    """The call runs at once. `tool` is None for a name that no tool has, which the model reads as an error."""

    tool: Tool | None


type CallDecision = Refuse | AskPerson | Dispatch | PerformEffect | RunRead


def decide_call(
    tool: Tool | None,
    principal: Principal,
    user: Principal,
    arguments: JsonObject,
    *,
    is_reserved: bool,
    must_ask: Callable[[Tool], bool],
) -> CallDecision:
    """Return the decision about a call.

    The rights are checked once more where the effect runs, and a call that a person agreed to is decided again there.

    principal    has the rights that the user has with this tool; `user`, those in general.
    is_reserved  an earlier decision let the call run: neither rights nor approval are asked for again.
    must_ask     whether a person has to agree first; called for calls that are allowed and not reserved.
    """
    if tool is None:
        return RunRead(None)
    if not is_reserved:
        if not effects.has_write_rights(principal, tool):
            return Refuse(effects.not_allowed(user))
        if must_ask(tool):
            return AskPerson(tool)
    if not tool.heavy:
        return PerformEffect(tool) if tool.writes else RunRead(tool)
    try:
        validate_arguments(tool.schema, arguments)
    except ModelError as error:
        return Refuse(error)
    return Dispatch(tool)
