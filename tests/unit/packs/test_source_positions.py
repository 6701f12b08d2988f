import time

import pytest

from parlour.infra.errors import InvalidPack
from parlour.infra.json_values import Json
from parlour.packs.source_positions import format_path, parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-12", -12),
        ("007", "007"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("9999999999999999", "9999999999999999"),
        ("1.50", 1.5),
        ("-0.0", 0.0),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("true", True),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("~", None),
        ("2026-02-17", "2026-02-17"),
        ("12:30:45", "12:30:45"),
        ("'true'", "true"),
        ("!!str 5", "5"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_only_what_looks_like_json_is_more_than_text(text: str, value: Json) -> None:
    found = parse_yaml("x.yaml", f"a: {text}\n").value

    assert isinstance(found, dict)
    assert found["a"] == value
    assert type(found["a"]) is type(value)


def test_every_value_has_its_line() -> None:
    located = parse_yaml("x.yaml", "a:\n  - b: 1\n    c: 2\n\nd: |\n  x\n  y\n", first_line=10)

    assert located.line_of(("a",)) == 10
    assert located.line_of(("a", 0, "c")) == 12
    assert located.line_of(("d",)) == 14
    assert located.line_of(("a", 0, "missing")) == 11


def test_a_place_is_spelt_as_people_write_it() -> None:
    assert format_path(("guardrails", 0, "id")) == "guardrails[0].id"
    assert format_path((2, "links")) == "[2].links"
    assert format_path(()) == "-"


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "a: &a [*a]\n",
        "[" * 5_000,
        "- " * 5_000,
        "{a: " * 5_000,
        "a: b: c\n",
        "a: 1\n---\nb: 2\n",
        "a: *missing\n",
        "? [1]\n: 2\n",
        "1: x\n",
        "a: !!set {x}\n",
        "a: !!int abc\n",
        "a: !!str [1]\n",
        "a: !!null {b: 1}\n",
        "a: !!int [1]\n",
        "a: !<json> [1]\n",
        "a: !<json> abc\n",
        "a: !!timestamp 2026-01-01\n",
        "%YAML 9.9\n---\na: 1\n",
        "a: \x07\n",
        "\t- a\n",
    ],
)
def test_what_cannot_be_read_safely_is_a_problem_soon(text: str) -> None:
    began = time.monotonic()

    try:
        problems = parse_yaml("x.yaml", text).problems
    except InvalidPack as error:
        problems = error.problems

    assert problems[0].file == "x.yaml"
    assert time.monotonic() - began < 5


def test_a_few_aliases_are_fine() -> None:
    assert parse_yaml("x.yaml", "a: &one {x: 1}\nb: *one\n").value == {"a": {"x": 1}, "b": {"x": 1}}
