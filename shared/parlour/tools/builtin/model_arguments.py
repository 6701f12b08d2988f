"""What models ask of the tools for records, and what they are told when it cannot be had: words to act on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from parlour.infra import log
from parlour.infra.errors import CallerError, Conflict, Forbidden, InvalidArguments, QueueUnavailable, ToolRefused
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queues import DelayedQueue
from parlour.principal import Principal
from parlour.records import crud, type_registry
from parlour.records.crud import Record, RecordKey
from parlour.records.record import parse_reference, printable_reference
from parlour.search.index import scheduling
from parlour.text.spelling_suggestions import did_you_mean, list_options
from parlour.tools.builtin import store
from parlour.tools.run import ToolContext

_MAX_SUGGESTIONS = 8
"""Handles that a refusal names; who needs more asks for the list."""


@contextmanager
def translate_errors(type_argument: str = "kind") -> Iterator[None]:
    """Translate refusals of records for the model: arguments to correct, or something that cannot be done.

    `type_argument` is the argument by which the tool is given a type.
    """
    try:
        yield
    except (Conflict, Forbidden) as error:
        raise ToolRefused(f"{error}. Nothing was done.") from error
    except CallerError as error:
        raise InvalidArguments(argument_message(error, type_argument)) from error


def argument_message(error: CallerError, kind: str = "kind") -> str:
    """Return the refusal with the tool's argument in place of the records' own word for it."""
    said = str(error)
    return f"{kind}:{said.removeprefix('type:')}" if said.startswith("type:") else said


def text_argument(arguments: JsonObject, name: str) -> str:
    """Return a text argument, trimmed and without what a database cannot store; "" when it is missing."""
    value = arguments.get(name)
    if not isinstance(value, str):
        return ""
    return value.replace("\0", " ").encode("utf-8", "replace").decode().strip()


def full_handle(handle: str, type_key: str = "") -> str:
    """Return a handle: as given, or made from the type and a bare key; "" when none is given."""
    handle = handle.strip()
    return f"{type_key}/{handle}" if handle and type_key and "/" not in handle else handle


def require_records(principal: Principal, tx: Transaction, handles: Sequence[str], argument: str) -> list[Record]:
    """Return the records of those handles, in order and each once.

    InvalidArguments names the argument, the missing record and the existing ones.
    """
    wanted = list(dict.fromkeys(handles))
    found = {entity.handle: entity for entity in crud.find_records(principal, tx, wanted)}
    if missing := [handle for handle in wanted if handle not in found]:
        raise InvalidArguments(
            "; ".join(f"{argument}: {_missing_record_message(principal, tx, one)}" for one in missing[:3])
        )
    return [found[handle] for handle in wanted]


def request_embedding(context: ToolContext, embedder_queue: DelayedQueue) -> None:
    """Have what was just committed embedded; the sweep does it when the queue is away."""
    if context.is_rehearsal:
        return
    try:
        scheduling.wake_embedder(embedder_queue, context.principal.tenant_id)
    except QueueUnavailable as error:
        log.error("embedder_wake_failed", error, turn_id=context.turn_id)


def _missing_record_message(principal: Principal, tx: Transaction, handle: str) -> str:
    """Why there is no such record, and what there is instead."""
    if handle.startswith("document/"):
        handles = [row.handle for row in store.list_handles(tx, "document", principal.clearance)]
        return (
            f"there is no record {printable_reference(handle)}{did_you_mean(handle, handles)}; a document from a file"
            " has none and cannot be linked or changed: name its number [n] under sources"
        )
    what = parse_reference(handle)
    if not isinstance(what, RecordKey):
        return f"'{printable_reference(handle)}' is not a handle; write type/key, like risk/R-03"
    kinds = type_registry.list_record_types(tx)
    if what.type not in kinds:
        return (
            f"there is no kind '{printable_reference(what.type)}'{did_you_mean(what.type, kinds)}"
            f" (there are: {list_options(kinds, 30)})"
        )
    handles = [row.handle for row in store.list_handles(tx, what.type, principal.clearance)]
    if suggestion := did_you_mean(handle, handles):
        return f"there is no {printable_reference(handle)}{suggestion}"
    newest = ", ".join(handles[:_MAX_SUGGESTIONS]) or "none"
    return f"there is no {printable_reference(handle)} (the newest: {newest}); list_entities has all"
