"""The shape of everything that travels as JSON: queue bodies, content blocks, jsonb columns."""

import hashlib
import json
from json.encoder import encode_basestring

type Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
type JsonObject = dict[str, Json]

_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def canonical(value: object) -> str:
    """One text per value: sorted keys, no spaces, no escapes; what hashes and byte comparisons are made of."""
    return _CANONICAL.encode(value)


def digest(value: object) -> str:
    """The hex SHA-256 of a value's canonical text."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def digest_of(texts: tuple[str, ...]) -> str:
    """The digest of a list of texts."""
    return hashlib.sha256(f"[{','.join(map(encode_basestring, texts))}]".encode()).hexdigest()
