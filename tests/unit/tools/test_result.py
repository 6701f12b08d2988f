"""A result fits what a prompt can take, and says so when it had to be cut."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from parlour.infra.errors import InvalidArguments, ToolFailed
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.tools.result import MAX_RESULT_CHARS, error_result, shorten_to, success_result


def test_a_short_answer_is_told_as_it_is() -> None:
    result = success_result({"documents": [{"n": 1}]})
    assert result.ok
    assert result.text == '{"documents":[{"n":1}]}'


def test_a_mistake_is_told_with_its_code() -> None:
    result = error_result(InvalidArguments("limit: too high."))
    assert (result.ok, result.code, result.retryable) == (False, "invalid_arguments", False)
    told = {"ok": False, "code": "invalid_arguments", "retryable": False, "message": "limit: too high."}
    assert json.loads(result.text) == told


def test_a_failure_may_be_tried_again() -> None:
    assert error_result(ToolFailed()).retryable


def test_a_long_text_is_cut_first() -> None:
    content = shorten_to({"text": "x" * 20_000, "name": "Slab"}, 10_000)
    assert content["name"] == "Slab"
    assert str(content["text"]).endswith("... [12000 more characters]")
    assert "shortened from 20025 characters" in str(content["note"])


def test_a_long_list_is_cut_too() -> None:
    content = shorten_to({"rows": [{"id": number} for number in range(5_000)]}, 2_000)
    rows = content["rows"]
    assert isinstance(rows, list)
    assert rows[-1] == "... [4900 more]"
    assert rows[0] == {"id": 0}


def test_what_is_nested_too_deeply_is_left_out() -> None:
    deep: Json = "bottom"
    for _ in range(5_000):
        deep = [deep]

    assert "nested too deeply" in success_result({"rows": deep, "count": 1}).text
    assert success_result({"rows": [[[{"id": 1}]]]}).content == {"rows": [[[{"id": 1}]]]}


VALUES: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=300)),
    lambda inner: st.one_of(st.lists(inner, max_size=30), st.dictionaries(st.text(max_size=300), inner, max_size=5)),
    max_leaves=20,
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(), VALUES, max_size=5), st.integers(400, 1_000))
def test_whatever_a_tool_answers_fits(content: JsonObject, most: int) -> None:
    assert len(canonical_json(shorten_to(content, most))) <= most


def test_an_answer_of_many_names_fits_too() -> None:
    content: JsonObject = {f'"{number}"\\': number for number in range(10_000)}
    assert len(canonical_json(shorten_to(content, MAX_RESULT_CHARS))) <= MAX_RESULT_CHARS
