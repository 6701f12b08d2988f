"""The shape of everything that travels as JSON: queue bodies, content blocks, jsonb columns."""

import functools
import hashlib
import json
from collections.abc import Hashable
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import TypeAdapter

type Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
type JsonObject = dict[str, Json]

_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
_ORDERED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


def canonical_json(value: object) -> str:
    """One text per value: sorted keys, no spaces, no escapes; what hashes and byte comparisons are made of."""
    return _CANONICAL.encode(value)


def ordered_json(value: object) -> str:
    """Return a value's text with the keys of objects in their own order."""
    return _ORDERED.encode(value)


def canonical_digest(value: object) -> str:
    """Return the hex SHA-256 of a value's canonical text."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def digest_of_texts(texts: tuple[str, ...]) -> str:
    """Return the digest of a list of texts."""
    return hashlib.sha256(f"[{','.join(map(encode_basestring, texts))}]".encode()).hexdigest()


def type_adapter(kind: type[Any]) -> "TypeAdapter[Any]":
    """Return what reads and writes values of a dataclass as JSON."""
    return _cached_adapter(cast("Hashable", kind))


@functools.cache
def _cached_adapter(kind: Hashable) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # noqa: PLC0415 - heavy; the settings have it loaded by then

    return TypeAdapter(cast("type[Any]", kind))


def to_json(value: object) -> JsonObject:
    """Return a dataclass as a JSON object by its fields' names; fields that have their defaults are left out."""
    found: JsonObject = type_adapter(type(value)).dump_python(value, mode="json", exclude_defaults=True)
    return found


def from_json[T](kind: type[T], given: JsonObject) -> T:
    """Return the dataclass that `to_json` wrote."""
    found: T = type_adapter(kind).validate_python(given)
    return found
