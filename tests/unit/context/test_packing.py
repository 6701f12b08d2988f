"""All of a record comes back, and what stands in it twice takes no room."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parlour.context.ledger import text_hash
from parlour.context.packing import pressed, unpacked
from parlour.infra.jsonable import Json, JsonObject

_leaf = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_value = st.recursive(
    _leaf, lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=3), one, max_size=4)
)


def packed(value: JsonObject) -> bytes:
    return pressed(json.dumps(value).encode())


@given(st.dictionaries(st.text(max_size=3), _value, max_size=5))
def test_what_was_packed_comes_back_as_it_was(value: dict[str, Any]) -> None:
    assert repr(unpacked(packed(value))) == repr(value)


def test_what_is_said_again_takes_next_to_no_room() -> None:
    hashes: list[Json] = [text_hash(str(number)) for number in range(100)]
    once = len(packed({"given": hashes}))
    assert len(packed({"given": hashes, "chosen": hashes, "told": hashes})) < 1.2 * once
