"""Texts of stored prompts: a record names each by its hash, and the text is stored once per tenant and month. Pure.

A field of a record type that holds words is declared `StoredText` or `StoredJson`. Written with a dict as pydantic's
context, its value goes into that dict under its hash, and the hash stands in the record; read with `Texts` as the
context, it comes back. Without a context the words stand in the record themselves.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
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
from parlour.infra.json_values import JsonObject, canonical_json

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


def _store_text(text: str, context: dict[str, str] | None) -> str:
    if context is None:
        return text
    key = text_hash(text)
    context[key] = text
    return key


def _serialize_text(value: str, info: SerializationInfo) -> str:
    return _store_text(value, info.context)


def _deserialize_text(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    return handler(value) if info.context is None else info.context[value]


StoredText = Annotated[str, WrapValidator(_deserialize_text), PlainSerializer(_serialize_text)]


def stored_as[T](
    to_json: Callable[[T], JsonObject], from_json: Callable[[Any], T]
) -> tuple[WrapValidator, WrapSerializer]:
    """Return what marks a field whose value is stored as the canonical text of a JSON object, made and read by these.

    A block of the model's API has the same text in a prompt, so the two are stored once.
    """

    def serialize(value: T, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
        return handler(value) if info.context is None else _store_text(canonical_json(to_json(value)), info.context)

    def deserialize(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        if info.context is None or not isinstance(value, str):
            return handler(value)
        text = info.context[value]
        return text if isinstance(text, TextHash) else from_json(json.loads(text))

    return WrapValidator(deserialize), WrapSerializer(serialize)


StoredJson = Annotated[JsonObject, *stored_as(lambda block: block, lambda block: block)]
