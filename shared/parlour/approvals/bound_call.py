"""What an approval is about: everything that must be the same when the call runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from parlour.approvals import store
from parlour.approvals.rows import Approval
from parlour.infra.errors import NotFound
from parlour.infra.json_values import Json, JsonObject, canonical_digest
from parlour.infra.postgres import Transaction
from parlour.tenancy import users
from parlour.tools.tool_definition import ARGUMENT_ORDER, Tool

_MAX_NAME_CHARS = 300
"""Longer texts name no record."""

_CHANGES = {
    "tool": "The tool changed since the question was asked.",
    "arguments": "The arguments changed since the question was asked.",
    "binding": "The agent changed since the question was asked.",
    "principal": "The rights of the user changed since the question was asked.",
    "tenant": "The agent is not available any more.",
    "records": "The record changed since the question was asked.",
}
"""What people read, by the part of a bound call that differs."""


@dataclass(frozen=True, slots=True)
class CallOwner:
    """For whom a call would run: its user, through a binding, in a session."""

    user_id: UUID
    binding_id: UUID
    session_id: UUID


def load_bound_call(
    tx: Transaction, tool: Tool, code_version: str, arguments: JsonObject, owner: CallOwner
) -> JsonObject:
    """Return what a call is bound to, as it is now.

    {"tool": {"name", "definition", "code_version" (of a pack's function)}, "arguments", "argument_order": names (of a
    pack's tool), "binding": id, "principal": {...}, "tenant": {...}, "records": {handle: version}}
    """
    access = users.load_access(tx, owner.user_id, owner.binding_id, owner.session_id)
    principal = access.principal_for(tool.name)
    named = store.list_named_records(tx, sorted(_texts(arguments)))
    definition: JsonObject = {
        "description": tool.description,
        "schema": tool.schema,
        "endpoint": tool.endpoint,
        "auth": tool.auth,
        "writes": tool.writes,
        "idempotent": tool.idempotent,
        "heavy": tool.heavy,
        "lookup": tool.lookup,
    }
    version: JsonObject = {"code_version": code_version} if code_version else {}
    return {
        "tool": {"name": tool.name, "definition": canonical_digest(definition), **version},
        "arguments": arguments,
        **({"argument_order": tool.schema[ARGUMENT_ORDER]} if ARGUMENT_ORDER in tool.schema else {}),
        "binding": str(owner.binding_id),
        "principal": {
            "user": str(owner.user_id),
            "writes": principal.write_rights,
            "roles": [*sorted(principal.roles)],
            "clearance": principal.clearance,
        },
        "tenant": {
            "is_open": access.is_admitted and store.is_tool_offered(tx, owner.binding_id, tool.name),
        },
        "records": {record.handle: record.version for record in named},
    }


def code_version(approval: Approval) -> str:
    """Return the version of the tool's code when the question was asked; "" where it is unknown."""
    tool = approval.bound["tool"]
    return str(tool.get("code_version", "")) if isinstance(tool, dict) else ""


def find_change(tx: Transaction, approval: Approval, tool: Tool | None, arguments: JsonObject) -> str | None:
    """Return why a call with these arguments is not the one that was asked about; None when nothing differs."""
    if tool is None:
        return "The tool does not exist any more."
    if tool.approver != approval.approver:
        return "The tool asks somebody else by now."
    owner = CallOwner(approval.user_id, approval.binding_id, approval.session_id)
    try:
        now = load_bound_call(tx, tool, code_version(approval), arguments, owner)
    except NotFound:
        return _CHANGES["principal"]
    if canonical_digest(now) == approval.bound_hash:
        return None
    changed = [text for part, text in _CHANGES.items() if now.get(part) != approval.bound.get(part)]
    return changed[0] if changed else "The question does not match the call."


def names_records_of_others(tx: Transaction, arguments: JsonObject, principal_name: str) -> bool:
    """Return whether the arguments name a record that others see: not the principal's own while it is unverified."""
    named = store.list_named_records(tx, sorted(_texts(arguments)))
    return any(record.unverified_by != principal_name for record in named)


def _texts(value: Json) -> set[str]:
    return {text for text in _all_texts(value) if 0 < len(text) <= _MAX_NAME_CHARS}


def _all_texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        yield from _all_texts(child)
