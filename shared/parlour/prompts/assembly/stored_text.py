"""Texts of stored prompts: a record names each by its hash, and the text is stored once per tenant and month. Pure.

A field of a record type that holds words is declared `StoredText` or `StoredJson`. Written with a dict as pydantic's
context, its value goes into that dict under its hash, and the hash stands in the record; read with `Texts` as the
context, it comes back. Without a context the words stand in the record themselves.
"""

import hashlib
import json
from collections.abc import Iterable
from json.encoder import encode_basestring
from typing import Annotated, Any

from pydantic import (
    PlainSerializer,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
)

from parlour.infra.errors import NotFound
from parlour.infra.json_values import JsonObject

#: Keys stay in their order: a tool's result is rendered in the order of its keys.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


#: 128 bits: no two texts of a tenant and month have the same.
HASH_LENGTH = 32


class TextHash(str):
    """The hash of a text, or of a JSON object, in the place of it: the record was read without it."""

    __slots__ = ()


class TextsErased(NotFound):
    """Texts of this prompt were erased; it cannot be built again byte for byte."""

    def __init__(self, hashes: Iterable[str]) -> None:
        self.hashes = tuple(sorted(hashes))
        named = ", ".join(one[:12] for one in self.hashes[:5])
        super().__init__(f"{len(self.hashes)} texts of this prompt were erased, or their retention is over: {named}")


class TextsByHash(dict[str, str]):
    """Texts by hash, to read records with; `missing` collects the hashes that a record names and this does not have."""

    def __init__(self, known: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(known)
        self.missing: set[str] = set()

    def __missing__(self, key: str) -> str:
        self.missing.add(key)
        return TextHash(key)


def text_hash(text: str) -> str:
    """Return what a text is stored under: the first half of the hex SHA-256 of its canonical JSON.

    A record names some hundred texts, and hashes do not compress: they are most of it.
    """
    return _digest(text)[:HASH_LENGTH]


def stored_hashes(text: str) -> set[str]:
    """Return every hash that a text may be stored under: older records have the whole SHA-256."""
    digest = _digest(text)
    return {digest[:HASH_LENGTH], digest}


def _digest(text: str) -> str:
    return hashlib.sha256(encode_basestring(text).encode()).hexdigest()


def _serialize_text(value: str, info: SerializationInfo) -> str:
    if info.context is None:
        return value
    key = text_hash(value)
    info.context[key] = value
    return key


def _deserialize_text(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    return handler(value) if info.context is None else info.context[value]


def _serialize_json(value: Any, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
    if info.context is None:
        return handler(value)
    return _serialize_text(_encode(value if isinstance(value, dict) else handler(value)), info)


def _deserialize_json(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    if info.context is None:
        return handler(value)
    text = info.context[value]
    return text if isinstance(text, TextHash) else handler(json.loads(text))


#: Marks a field whose value is stored as one text of JSON: an object of the model's API, or a dataclass of such.
AS_JSON_TEXT = (WrapValidator(_deserialize_json), WrapSerializer(_serialize_json))

StoredText = Annotated[str, WrapValidator(_deserialize_text), PlainSerializer(_serialize_text)]
StoredJson = Annotated[JsonObject, *AS_JSON_TEXT]
