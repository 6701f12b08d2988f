"""A record's bytes are those of its JSON with hashes in the place of words, however they are written."""

import json
from typing import Any

import pytest

from parlour.context.assemble import begin
from parlour.context.budget import ENTITY
from parlour.context.forms import Basis, Made, hashes, shelved, unshelved
from parlour.context.ledger import text_hash
from parlour.context.packing import unpacked
from parlour.context.shelving import OBJECTS, WORDS, to_json, written
from parlour.context.standing import Standing
from tests.unit.context.making import MOMENT, materials
from tests.unit.context.talk import Talk, Turn, play

_MOVES = ("say", "paste", "search", "rounds", "write", "edits", "text_file", "image", "large_file", "hindi", "huge")


def looked_through(value: Any) -> Any:
    """The part with its words named, by looking through its JSON for the fields that hold them."""
    if isinstance(value, dict):
        return {key: _field(key, one) for key, one in value.items()}
    return [looked_through(one) for one in value] if isinstance(value, list) else value


def _field(key: str, value: Any) -> Any:
    if key not in WORDS | OBJECTS:
        return looked_through(value)
    if isinstance(value, list):
        return [text_hash(one if key in WORDS else _told(one)) for one in value]
    return text_hash(value) if key in WORDS and isinstance(value, str) else looked_through(value)


def _told(one: object) -> str:
    return json.dumps(one, ensure_ascii=False, separators=(",", ":"))


@pytest.fixture(scope="module")
def parts() -> list[Basis | Made]:
    """Of a session in which much happens: what its turns were made of, and what their steps added."""
    talk = Talk(tuple(Turn(move, number) for number, move in enumerate(_MOVES * 3)), floating=True)
    found: list[Basis | Made] = []
    for played in play(talk):
        if played.begun and played.assembled:
            ledger = played.assembled.ledger
            found += [
                Basis(played.materials, played.standing, played.profile, played.begun),
                Made(played.rounds, ledger.segments, ledger.entries, ledger.marked, ledger.miss),
            ]
    return found


def test_it_is_written_as_if_it_were_looked_through(parts: list[Basis | Made]) -> None:
    assert len(parts) > 40
    for part in parts:
        assert json.loads(written(part, text_hash)) == looked_through(to_json(part))


def test_it_comes_back_as_it_was(parts: list[Basis | Made]) -> None:
    for part in parts:
        packed, words = shelved(part)
        assert hashes(packed) == set(words)
        assert all(text_hash(text) == key for key, text in words.items())
        assert to_json(unshelved(type(part), packed, words)) == to_json(part)


def test_tools_that_were_kept_with_their_keys_in_another_order_are_told_in_the_same_bytes() -> None:
    """Records were kept with them as they came, before they were made canonical."""
    canonical_text = '{"description":"Look.","input_schema":{"type":"object"},"name":"look"}'
    kept = '{"name":"look","description":"Look.","input_schema":{"type":"object"}}'
    made = []
    for text in (canonical_text, kept):
        given = materials(tools=(text,))
        basis = Basis(given, Standing(), ENTITY, begin(given, Standing(), ENTITY, MOMENT))
        packed, words = shelved(basis)
        assert text in words.values()
        read = unshelved(Basis, packed, words).materials
        made.append(begin(read, Standing(), ENTITY, MOMENT).segments)
    assert made[0] == made[1]


def test_no_words_are_in_it(parts: list[Basis | Made]) -> None:
    for part in parts:
        packed, words = shelved(part)
        said = json.dumps(unpacked(packed), ensure_ascii=False)
        assert not [text for text in words.values() if len(text) > 40 and text in said]
