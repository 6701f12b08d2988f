"""The shape of everything that travels as JSON: queue bodies, content blocks, jsonb columns."""

import hashlib
import json

type Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
type JsonObject = dict[str, Json]

_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def canonical(value: object) -> str:
    """One text per value: sorted keys, no spaces, no escapes; what hashes and byte comparisons are made of."""
    return _CANONICAL.encode(value)


def digest(value: object) -> str:
    """The hex SHA-256 of a value's canonical text."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()
