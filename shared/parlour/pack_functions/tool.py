"""The `@tool` decorator: a typed Python function becomes a tool that models may call.

Builders import this file in their own programs, so it imports no more than the standard library until it is used.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The call that runs a tool; a function that has a parameter of this type receives it.

    key         the idempotency key: the same for every attempt of this call.
    tenant      the tenant's slug.
    principal   on whose behalf: kind and id, such as `user:0198…`; no name, phone number or address.
    session_id  the conversation.
    """

    key: str
    tenant: str
    principal: str
    session_id: str


class ToolRefusal(Exception):
    """Tells the model why the call was not done. Raise it only if nothing was changed."""


class ToolFlags(TypedDict, total=False):
    """The keys of a tool file that a decorator may set."""

    name: str
    description: str
    writes: bool
    idempotent: bool
    heavy: bool
    needs_approval: bool | Literal["never", "writes", "always"] | dict[str, Any]
    approver: Literal["user", "viewer", "editor", "admin"]
    approval_hours: int
    editable: bool
    trusted_results: bool
    timeout_seconds: int


class FunctionTool[**P, R]:
    """A function as a tool; calling it calls the function, so tests need nothing else."""

    def __init__(self, function: Callable[P, R], flags: ToolFlags) -> None:
        self._function = function
        self._lookup: Callable[[ToolCall], object] | None = None
        self._flags: dict[str, Any] = {**flags}
        self.name: str = self._flags.pop("name", function.__name__)
        self.description: str = self._flags.pop("description", "") or inspect.getdoc(function) or ""
        if not self.description:
            raise TypeError(f"{function.__name__} needs a docstring: the model reads it to know when to call the tool")
        self.__doc__, self.__wrapped__ = self.description, function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self._function(*args, **kwargs)

    def lookup[L: Callable[[ToolCall], object]](self, function: L) -> L:
        """Register what tells the result of an earlier call by its key; it returns None if nothing was done."""
        self._lookup = function
        return function

    def definition(self, address: str) -> dict[str, Any]:
        """Return the tool file of the pack, for a function at `address` (module.name)."""
        schema = self._arguments_model().model_json_schema()
        schema.pop("title", None)
        for entry in schema.get("properties", {}).values():
            entry.pop("title", None)
        endpoint = f"function:{address}"
        lookup = {"lookup": endpoint} if self._lookup else {}
        return {"description": self.description, "schema": schema, "endpoint": endpoint, **lookup, **self._flags}

    def run(self, arguments: Mapping[str, Any], call: ToolCall) -> object:
        """Check the arguments and call the function. Raises ToolRefusal for arguments that do not fit."""
        from pydantic import ValidationError  # noqa: PLC0415

        try:
            checked = self._arguments_model().model_validate(dict(arguments))
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise ToolRefusal(f"the arguments do not fit: {wrong}") from None
        given: dict[str, Any] = {name: getattr(checked, name) for name in type(checked).model_fields}
        for name, parameter in self._parameters().items():
            if parameter.annotation is ToolCall:
                given[name] = call
        return self._function(**given)  # type: ignore[call-arg]

    def find_result(self, call: ToolCall) -> object:
        """Return the result of an earlier call with the same key, or None if it was not done."""
        if self._lookup is None:
            raise LookupError(f"{self.name} has no lookup")
        return self._lookup(call)

    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self._function, eval_str=True).parameters

    def _arguments_model(self) -> "type[BaseModel]":
        from pydantic import ConfigDict, create_model  # noqa: PLC0415

        fields: dict[str, Any] = {}
        for name, parameter in self._parameters().items():
            if parameter.annotation is inspect.Parameter.empty or parameter.kind in _VARIADIC:
                raise TypeError(f"{self.name}: give the parameter {name} a type")
            if parameter.annotation is not ToolCall:
                is_required = parameter.default is inspect.Parameter.empty
                fields[name] = (parameter.annotation, ... if is_required else parameter.default)
        return create_model(self.name, __config__=ConfigDict(extra="forbid"), **fields)


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


@overload
def tool[**P, R](function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool[**P, R](**flags: Unpack[ToolFlags]) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(function: Any = None, /, **flags: Unpack[ToolFlags]) -> Any:
    """Make a tool of a function: `@tool`, or `@tool(writes=True)` with the flags of a tool file."""
    if function is not None:
        return FunctionTool(function, flags)
    return lambda decorated: FunctionTool(decorated, flags)
