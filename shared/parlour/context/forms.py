"""A prompt's parts as JSON and back: the standing of a session, and the record of a prompt. Pure.

Words are kept apart, by their hash: a text that stands in a hundred prompts is kept once, and one that is forgotten is
gone from all of them.
"""

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import cast

from parlour.context.assemble import Begun
from parlour.context.budget import Profile
from parlour.context.cache import Miss
from parlour.context.calls import Round
from parlour.context.ledger import Entry, Forgotten, text_hash
from parlour.context.materials import Materials
from parlour.context.packing import pressed, unpacked
from parlour.context.segment import Segment
from parlour.context.shelving import OBJECTS, WORDS, adapter, written
from parlour.context.standing import Standing
from parlour.infra.jsonable import Json, JsonObject

_NAMED = WORDS | OBJECTS

_BRANCHES = (list, dict)
"""Most of a record's parts are neither, and passed over where they stand."""

_NO_OBJECT: JsonObject = {"blocks": [], "results": []}
"""What stands for an object without its words; a round of calls must have these two."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a turn's prompts were made of: enough to assemble them again, also under another budget.

    standing  the session's as the turn began.
    begun     what the turn's prompts have in common.
    """

    materials: Materials
    standing: Standing
    profile: Profile
    begun: Begun


@dataclass(frozen=True, slots=True)
class Made:
    """What one prompt adds to its turn's basis: the calls so far, its marks, what was lost of the prompt before."""

    rounds: tuple[Round, ...]
    segments: tuple[Segment, ...]
    entries: tuple[Entry, ...]
    marked: tuple[int, ...]
    miss: Miss | None = None


def from_json[T](kind: type[T], given: JsonObject) -> T:
    """A part back from its JSON."""
    found: T = adapter(cast("Hashable", kind)).validate_python(given)
    return found


def shelved(value: object) -> tuple[bytes, dict[str, str]]:
    """A part as packed JSON that names its words by hash, and the words."""
    named: dict[str, str] = {}

    def put(text: str) -> str:
        if text not in named:
            named[text] = text_hash(text)
        return named[text]

    return pressed(written(value, put)), {key: text for text, key in named.items()}


def hashes(given: bytes) -> set[str]:
    """The hashes that a packed part names."""
    named: set[str] = set()

    def note(one: Json) -> Json:
        named.add(str(one))
        return one

    _walked(unpacked(given), note, note)
    return named


def unshelved[T](kind: type[T], given: bytes, words: Mapping[str, str]) -> T:
    """A packed part with its words. Forgotten names the words that are gone."""
    if missing := hashes(given) - words.keys():
        raise Forgotten(missing)
    found = _walked(unpacked(given), lambda one: words[str(one)], lambda one: json.loads(words[str(one)]))
    assert isinstance(found, dict)  # noqa: S101 - narrows a type
    return from_json(kind, found)


def named[T](kind: type[T], given: bytes) -> T:
    """A packed part whose texts are the hashes of its words, and whose JSON objects are empty: what is left of it when
    words are gone, and all that a comparison needs."""
    found = _walked(unpacked(given), lambda one: one, lambda _: dict(_NO_OBJECT))
    assert isinstance(found, dict)  # noqa: S101 - narrows a type
    return from_json(kind, found)


def _walked(value: Json, text: Callable[[Json], Json], whole: Callable[[Json], Json]) -> Json:
    if isinstance(value, dict):
        return {
            key: _field(key, one, text, whole) if key in _NAMED
            else _walked(one, text, whole) if isinstance(one, _BRANCHES) else one
            for key, one in value.items()
        }  # fmt: skip
    if isinstance(value, list):
        return [_walked(one, text, whole) if isinstance(one, _BRANCHES) else one for one in value]
    return value


def _field(key: str, value: Json, text: Callable[[Json], Json], whole: Callable[[Json], Json]) -> Json:
    if isinstance(value, str):
        return text(value) if key in WORDS else value
    if isinstance(value, list):
        return [text(one) if key in WORDS else whole(one) for one in value]
    return _walked(value, text, whole)
