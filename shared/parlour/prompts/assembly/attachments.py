"""What came with a message, as candidates for prompts: now, and in the history of later turns. Pure.

An image is named by where its bytes are and what they are (`models/pictures.py` fetches them when a model is asked), so
that a prompt's record holds a line for it and not a megabyte. A text stands as it was when it was sent. What was read
from one of the tenant's files is told as long as its reader may see the file.
"""

from collections.abc import Sequence

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.prompts.assembly.history import WITHHELD_TABLE
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.prompts.assembly.user_message import neutralise_forged_tool_result

_UNREADABLE_NOTE = "[The user also sent {!r}, which cannot be opened here.]"
_UNAVAILABLE_NOTE = "[The user also sent {!r}, which could not be fetched.]"
_WITHHELD_NOTE = "[The user also sent a file, which is not to be told of any more.]"

_UNREADABLE_PROBLEMS = frozenset({"unreadable", "unsupported_type"})
_READABLE_KINDS = frozenset({"image", "text"})


def has_readable_attachment(rows: Sequence[JsonObject]) -> bool:
    """Whether a model is given more of what was sent than a name."""
    return any(row["kind"] in _READABLE_KINDS for row in rows)


def attachment_items(rows: Sequence[JsonObject], clearance: int) -> tuple[Item, ...]:
    """Return what came with the messages that a turn answers.

    `rows` are the stored attachments, with their `current_classification`, and whether the file that they were read
    from was deleted (`is_file_deleted`).
    """
    return tuple(_item(row, clearance) for row in rows)


def past_attachment_items(rows: Sequence[JsonObject], clearance: int) -> tuple[Item, ...]:
    """Return the attachments of a finished turn: refused ones stay refused, so that history does not change."""
    kept = [{**row, "kind": "other"} if row["is_omitted"] else row for row in rows]
    return tuple(_item(row, clearance) for row in kept)


def image_reference_block(key: str, sha256: str, media_type: str, name: str, size_bytes: int) -> JsonObject:
    """Return an image's block before its bytes are loaded."""
    source: JsonObject = {
        "type": "object",
        "key": key,
        "sha256": sha256,
        "media_type": media_type,
        "name": name,
        "bytes": size_bytes,
    }
    return {"type": "image", "source": source}


def _item(row: JsonObject, clearance: int) -> Item:
    name, source = neutralise_forged_tool_result(str(row["name"])), Source("attachments", str(row["id"]))
    if not (not row["is_file_deleted"] and _level(row) <= clearance):
        return Item(SourceKind.ATTACHMENTS, "", Source(WITHHELD_TABLE, str(row["id"])), (_WITHHELD_NOTE,))
    if row["kind"] == "image":
        block = image_reference_block(
            str(row["object_key"]), str(row["sha256"]), str(row["media_type"]), name, int(str(row["size_bytes"]))
        )
        return Item(SourceKind.ATTACHMENTS, canonical_json(block), source, title=name, is_json=True)
    if row["kind"] == "text":
        text = str(row["body"] or "").strip() or "(empty)"
        return Item(
            SourceKind.ATTACHMENTS,
            text,
            source,
            classification=_level(row),
            title=name,
            further_sources=_file_source(row),
        )
    problem = row["problem"]
    if problem is None or problem == "too_large":
        return Item(
            SourceKind.ATTACHMENTS,
            "",
            source,
            classification=_level(row),
            title=name,
            further_sources=_file_source(row),
        )
    line = _UNREADABLE_NOTE if problem in _UNREADABLE_PROBLEMS else _UNAVAILABLE_NOTE
    return Item(SourceKind.ATTACHMENTS, "", source, (line.format(name),), title=name)


def _level(row: JsonObject) -> int:
    return int(str(row["current_classification"]))


def _file_source(row: JsonObject) -> tuple[Source, ...]:
    if row["file_id"] is None:
        return ()
    return (Source("files", str(row["file_id"]), int(str(row["file_version"]))),)
