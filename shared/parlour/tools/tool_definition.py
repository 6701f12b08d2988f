"""What a tool is: a name, a JSON schema for its arguments, an endpoint and flags. Pure."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from parlour.infra.json_values import Json, JsonObject, canonical_json

BUILTIN_SCHEME = "python:"
"""The scheme of endpoints that are functions of Parlour's own: `python:search_knowledge`."""

FUNCTION_SCHEME = "function:"
"""The scheme of endpoints that are functions of the pack: `function:module.name`."""

ARGUMENT_ORDER = "x-argument-order"
"""The list in a tool's schema that has the order of the arguments in its file; no model reads it."""

KEY_PLACEHOLDER = "{key}"
"""Where a lookup's URL takes the key of the call that is asked about."""

DEFAULT_LIGHT_SECONDS, MAX_LIGHT_SECONDS = 20, 60
DEFAULT_HEAVY_SECONDS, MAX_HEAVY_SECONDS = 600, 7 * 86_400
"""A turn waits for a light tool; a heavy one may answer at once, within 14 minutes, or call back within days."""

_PORTS = {"https": 443, "http": 80}
_INVALID_URL_CHARS = re.compile(r"[\s\\\x00-\x1f\x7f]")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_FUNCTION_NAME = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)+", re.IGNORECASE)
_CHECKED_KEYWORDS = frozenset({"maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum"})
"""Keywords that models of Parlour's own tools do not read: the error of a call that breaks one names it."""

_REFERENCE_KEYWORDS = ("$ref", "$dynamicRef")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the tenant configured it.

    schema            JSON Schema (draft 2020-12) of the arguments, an object.
    endpoint          `python:<name>`: built in; `function:<module>.<name>`: a function of the pack; `https://...` (or
                      `http://...` where the deployment allows the host).
    auth              the name of a secret, never its value.
    writes            it changes something outside the turn: each call is an effect, run at most once.
    idempotent        calls with the same key are carried out once, however many arrive: it may be called again.
    heavy             it takes long: it runs outside of the turn, and its result comes as a message of its own.
    needs_approval    which calls ask a person first: "never", "writes", "always", or a JSON Schema of the arguments.
    approver          who is asked: "user" (of the conversation), or members with a role: "viewer", "editor", "admin".
    approval_hours    how long the question stays open.
    editable          the user who is asked may change the arguments; members may in any case.
    trusted_results   nobody outside of the tenant can write what it answers: later writes do not ask because of it.
    lookup            where the endpoint tells the outcome of a call by its key: a URL with `{key}`, or `python:<name>`.
                      Its "not found" promises that the call was not done and will not be.
    timeout_seconds   how long the result is awaited in all; None is the default.
    secret_reference  where the secret store has the secret.
    allowed_hosts     the hosts that the tenant lets its tools reach.
    tenant_slug       the slug by which the deployment knows the tenant.
    definition_json   the tool as models read it, as canonical JSON: every turn of an agent asks for it.
    """

    name: str
    description: str
    schema: JsonObject
    endpoint: str
    auth: str | None = None
    writes: bool = False
    idempotent: bool = False
    heavy: bool = False
    needs_approval: Json = "never"
    approver: str = "user"
    approval_hours: int = 24
    editable: bool = False
    trusted_results: bool = False
    lookup: str | None = None
    timeout_seconds: int | None = None
    secret_reference: str | None = None
    allowed_hosts: Sequence[str] = ()
    tenant_slug: str = ""
    definition_json: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "definition_json", canonical_json(self.to_definition()))

    @property
    def is_read_only(self) -> bool:
        """Whether a call changes nothing and can be made at once."""
        return not (self.writes or self.heavy)

    @property
    def is_repeatable(self) -> bool:
        """Whether calling again with the same key cannot do anything twice."""
        return self.idempotent or not self.writes

    @property
    def scheme(self) -> str:
        """Which kind of endpoint it has: python, function, https, http."""
        return self.endpoint.partition(":")[0]

    @property
    def max_wait_seconds(self) -> int:
        """How long its result is awaited in all, in seconds."""
        return self.timeout_seconds or (DEFAULT_HEAVY_SECONDS if self.heavy else DEFAULT_LIGHT_SECONDS)

    def to_definition(self) -> JsonObject:
        """Return the tool as a model reads it: without the parts of its schema that only calls are checked by."""
        hidden = {ARGUMENT_ORDER, *(_CHECKED_KEYWORDS if self.scheme == "python" else ())}
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": _readable_schema(self.schema, hidden),
        }


def _readable_schema(schema: JsonObject, hidden: Set[str]) -> JsonObject:
    """Return a schema without the hidden keywords, `additionalProperties: false` and an empty `required`."""
    shown: JsonObject = {}
    for keyword, value in schema.items():
        if keyword in hidden or (keyword, value) in (("additionalProperties", False), ("required", [])):
            continue
        match keyword, value:
            case "properties", dict():
                shown[keyword] = {
                    name: _readable_schema(part, hidden) if isinstance(part, dict) else part
                    for name, part in value.items()
                }
            case "items", dict():
                shown[keyword] = _readable_schema(value, hidden)
            case _:
                shown[keyword] = value
    return shown


def find_problems(tool: Tool) -> list[tuple[str, str]]:
    """Everything that keeps the tool from being used, as (field, what to do); empty when it is sound."""
    found: list[tuple[str, str]] = []
    found += [("needs_approval", problem) for problem in find_policy_problems(tool.needs_approval)]
    if not _NAME.fullmatch(tool.name):
        found.append(("name", "use lower-case letters, digits and underscores, at most 64, beginning with a letter"))
    if not tool.description.strip():
        found.append(("description", "describe what the tool does and when to use it; the model reads this"))
    found += _address_problems("endpoint", tool.endpoint, tool)
    if tool.lookup is not None:
        found += _lookup_problems(tool)
    longest = MAX_HEAVY_SECONDS if tool.heavy else MAX_LIGHT_SECONDS
    if not 0 < tool.max_wait_seconds <= longest:
        kind = "a heavy tool" if tool.heavy else "a tool that a turn waits for; set heavy: true for more"
        found.append(("timeout_seconds", f"use 1 to {longest}: {kind}"))
    return found + [("schema", problem) for problem in _schema_problems(tool.schema)]


def find_policy_problems(policy: Json) -> list[str]:
    """Return what is wrong with an approval policy; empty when it is sound."""
    if isinstance(policy, dict):
        return list(_schema_problems(policy))
    known = policy in {"never", "writes", "always"}
    return [] if known else ["use never, writes, always, or a JSON Schema of the arguments that ask"]


def host_of(url: str) -> str:
    """Return the host of a tool's URL as `tool_hosts` lists it: lower case, with the port unless it is the default."""
    parts = urlsplit(url)
    name = (parts.hostname or "").rstrip(".")
    shown = f"[{name}]" if ":" in name else name
    return shown if parts.port in {None, _PORTS.get(parts.scheme)} else f"{shown}:{parts.port}"


def _lookup_problems(tool: Tool) -> list[tuple[str, str]]:
    if tool.endpoint.startswith(BUILTIN_SCHEME):
        known = tool.lookup is not None and tool.lookup.startswith(BUILTIN_SCHEME)
        return [] if known else [("lookup", f"begin with {BUILTIN_SCHEME}: the endpoint is built in")]
    found = _address_problems("lookup", tool.lookup or "", tool)
    if tool.endpoint.startswith(FUNCTION_SCHEME):
        same = tool.lookup == tool.endpoint
        return [] if same else [("lookup", "repeat the endpoint: the function has the lookup")]
    if KEY_PLACEHOLDER not in (tool.lookup or ""):
        found.append(("lookup", f"put {KEY_PLACEHOLDER} where the call's key belongs"))
    return found


def _address_problems(field: str, address: str, tool: Tool) -> list[tuple[str, str]]:
    """Return what is wrong with an address, apart from what only the deployment knows: which names are private."""
    if address.startswith((BUILTIN_SCHEME, FUNCTION_SCHEME)):
        is_named = address.startswith(BUILTIN_SCHEME) or _FUNCTION_NAME.fullmatch(address.removeprefix(FUNCTION_SCHEME))
        return [] if is_named else [(field, "name the function as function:module.name")]
    if not address.startswith(("https://", "http://")):
        return [(field, f"begin with {BUILTIN_SCHEME}, {FUNCTION_SCHEME} or https://")]
    try:
        parts, host = urlsplit(address), host_of(address)
    except ValueError:
        return [(field, "is not a URL")]
    if (
        not host
        or parts.username is not None
        or parts.fragment
        or not address.isascii()
        or _INVALID_URL_CHARS.search(address)
    ):
        return [(field, "use a plain URL: a host, no user or password, no fragment, no spaces")]
    if host not in tool.allowed_hosts:
        return [(field, f"the host {host} is not in tenant.yaml's tool_hosts: add it there, or use one that is")]
    return []


def _schema_problems(schema: JsonObject) -> Iterator[str]:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield f"is not a JSON Schema (draft 2020-12) at {error.json_path}"
        return
    if schema.get("type") != "object":
        yield 'must describe an object: add "type": "object"'
    for reference in _references(schema):
        if not reference.startswith("#"):
            yield f"may refer to itself only, not to {reference}"


def _references(part: Json) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (target for name in _REFERENCE_KEYWORDS if isinstance(target := part.get(name), str))
    children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for child in children:
        yield from _references(child)
