"""Nothing long is kept twice, and all of it comes back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.infra.jsonable import JsonObject, canonical
from parlour.turns.prompts.packing import packed, unpacked

_leaf = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("#ab1", max_size=20)
_value = st.recursive(
    _leaf, lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text("#ab", max_size=3), one, max_size=4)
)


@given(st.dictionaries(st.text(max_size=3), _value, max_size=5))
def test_what_was_packed_comes_back_as_it_was(value: dict[str, Any]) -> None:
    assert unpacked(packed(value)) == value
    assert list(unpacked(packed(value))) == list(value)


@pytest.mark.parametrize("one", [True, 1, 1.0, "1", "#1", "##1", None, [], {}])
def test_values_that_look_alike_stay_apart(one: Any) -> None:
    others: list[Any] = [True, 1, 1.0, "1", "#1", "##1", None, [], {}]
    back = unpacked(packed({"one": [one], "all": [[other] for other in others]}))
    assert repr(back) == repr({"one": [one], "all": [[other] for other in others]})


def test_what_is_said_twice_is_kept_once() -> None:
    item: JsonObject = {"text": "f" * 64, "source": {"table": "messages", "id": "0" * 36}}
    kept = canonical(packed({"given": [item], "chosen": [{"item": item}], "hash": "f" * 64}))
    assert kept.count("f" * 64) == kept.count("0" * 36) == 1
    assert len(kept) < 2 * len(canonical(item))
