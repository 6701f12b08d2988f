from hypothesis import given
from hypothesis import strategies as st

from parlour.infra.json_values import Json
from parlour.packs import front_matter
from parlour.packs.source_positions import parse_yaml
from parlour.packs.yaml_writer import to_yaml

_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\x85"), max_size=200)
_NUMBERS = st.integers(-(10**14), 10**14) | st.integers(-(10**8), 10**8).map(lambda n: n / 4)
_SCALARS = _TEXT | _NUMBERS | st.booleans()
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(_TEXT, inner, min_size=1, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_what_is_written_is_read_back(value: Json) -> None:
    assert parse_yaml("x.yaml", to_yaml({"a": value})).value == {"a": value}


def test_texts_of_several_lines_are_blocks_and_long_lines_fold() -> None:
    written = to_yaml({"a": "one\ntwo", "b": ["x"], "c": "word " * 40 + "end"})

    assert "a: |-\n  one\n  two\n" in written
    assert "b:\n  - x\n" in written
    assert max(map(len, written.splitlines())) <= 120


def test_the_same_thing_twice_is_written_twice() -> None:
    same: Json = {"x": 1}

    assert to_yaml([same, same]) == "- x: 1\n- x: 1\n"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_a_text_comes_back_from_its_file_as_it_was(content: str) -> None:
    assert front_matter.split(front_matter.join("title: x\n", content)) == ("title: x\n", content)


def test_a_file_without_header_has_none() -> None:
    assert front_matter.split("title: x\n") is None
    assert front_matter.split("---\ntitle: x\n") is None
    assert front_matter.split("---\n---\n\ntext\n") == ("", "text")
