"""What came with a message, as candidates for prompts: now, and in the history of later turns. Pure.

An image is named by where its bytes are and what they are (`models/pictures.py` fetches them when a model is asked), so
that a prompt's record holds a line for it and not a megabyte. A text stands as it was when it was sent. What was read
from one of the tenant's files is told as long as its reader may see the file.
"""

from collections.abc import Sequence

from parlour.context.history import WITHHELD
from parlour.context.segment import Item, Lot, Source
from parlour.infra.jsonable import JsonObject, canonical
from parlour.turns.own_words import own_words

_NOT_READ = "[The user also sent {!r}, which cannot be opened here.]"
_NOT_HERE = "[The user also sent {!r}, which could not be fetched.]"
_NOT_TOLD = "[The user also sent a file, which is not to be told of any more.]"

_CANNOT = frozenset({"unreadable", "type_not_taken"})
_READ = frozenset({"image", "text"})


def is_read(rows: Sequence[JsonObject]) -> bool:
    """Whether a model is given more of what was sent than a name."""
    return any(row["kind"] in _READ for row in rows)


def sent(rows: Sequence[JsonObject], clearance: int) -> tuple[Item, ...]:
    """What came with the messages that a turn answers. `rows` as the attachments are kept, with the `level` that they
    are of by now, and whether the file that they were read from `is_gone`."""
    return tuple(_item(row, clearance) for row in rows)


def told(rows: Sequence[JsonObject], clearance: int) -> tuple[Item, ...]:
    """The same once the turn is over: what had no room in it is refused for good, so that history does not change."""
    kept = [{**row, "kind": "other"} if row["refused"] else row for row in rows]
    return tuple(_item(row, clearance) for row in kept)


def image(key: str, sha256: str, media_type: str, name: str, size_bytes: int) -> JsonObject:
    """An image's block before its bytes are fetched."""
    source: JsonObject = {
        "type": "object", "key": key, "sha256": sha256, "media_type": media_type, "name": name, "bytes": size_bytes,
    }  # fmt: skip
    return {"type": "image", "source": source}


def _item(row: JsonObject, clearance: int) -> Item:
    name, source = own_words(str(row["name"])), Source("attachments", str(row["id"]))
    if not _may_see(row, clearance):
        return Item(Lot.ATTACHMENTS, "", Source(WITHHELD, str(row["id"])), (_NOT_TOLD,))
    if row["kind"] == "image":
        block = image(
            str(row["object_key"]), str(row["sha256"]), str(row["media_type"]), name, int(str(row["size_bytes"]))
        )
        return Item(Lot.ATTACHMENTS, canonical(block), source, title=name, is_json=True)
    if row["kind"] == "text":
        text = str(row["body"] or "").strip() or "(empty)"
        return Item(Lot.ATTACHMENTS, text, source, level=_level(row), title=name, also=_file(row))
    return _refused(row)


def _refused(row: JsonObject) -> Item:
    name, problem = own_words(str(row["name"])), row["problem"]
    source = Source("attachments", str(row["id"]))
    item = Item(Lot.ATTACHMENTS, "", source, level=_level(row), title=name, also=_file(row))
    if problem is None or problem == "too_large":
        return item
    line = _NOT_READ if problem in _CANNOT else _NOT_HERE
    return Item(item.lot, "", item.source, (line.format(name),), title=name)


def _may_see(row: JsonObject, clearance: int) -> bool:
    return not row["is_gone"] and _level(row) <= clearance


def _level(row: JsonObject) -> int:
    return int(str(row["level"]))


def _file(row: JsonObject) -> tuple[Source, ...]:
    if row["file_id"] is None:
        return ()
    return (Source("files", str(row["file_id"]), int(str(row["file_version"]))),)
