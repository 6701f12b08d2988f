"""The words that a stranger stops at can only become fewer: in each file, at most as many as `wording.json` has.

`python -m tests.conventions.test_wording` lowers the numbers to what is there.
"""

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from bench import wording

BASELINE = Path(__file__).with_name("wording.json")

UNUSED = {"told": frozenset({"ToldError"})}


def count(root: Path) -> dict[str, dict[wording.Kind, int]]:
    """Return how many findings of each kind each file has; files without any are left out."""
    return {
        path: dict(Counter(finding.kind for finding in findings)) for path, findings in wording.find_all(root).items()
    }


def test_no_file_gets_more_words_that_a_stranger_stops_at() -> None:
    allowed = json.loads(BASELINE.read_text("utf-8"))
    problems = []
    for path, findings in wording.find_all(Path()).items():
        for kind, number in Counter(finding.kind for finding in findings).items():
            limit = allowed.get(path, {}).get(kind, 0)
            if number > limit:
                found = ", ".join(
                    f"{finding.word} (line {finding.line})" for finding in findings if finding.kind == kind
                )
                problems.append(f"{path}: {number} of kind {kind!r}, {limit} allowed: {found}")
    assert problems == []


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def read(told_rows): ...", "told_rows (told)"),
        ("def read():\n    told = 1", "told"),
        ("import pulse as told", "told"),
        ("for one in rows: ...", "one"),
        ("rows = [one for one in rows]", "one"),
        ("class ToldError: ...\nit: int = 1", "it"),
        ('"""Return what whoever asked for."""', "whoever"),
        ("rows = ()  # nobody reads it", "nobody"),
        ('"""Return what `gone_name` returns."""', "gone_name (gone_name)"),
    ],
)
def test_a_planted_word_in_python_is_found(source: str, word: str) -> None:
    found = wording.find_in_python(source, ast.parse(source), UNUSED, frozenset({"rows"}))
    assert word in [finding.word for finding in found]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("WITH gone AS (SELECT 1) SELECT * FROM gone;", "gone"),
        ("WITH a AS (SELECT 1), told_rows AS (SELECT 1) SELECT 1;", "told_rows (told)"),
        ("SELECT * FROM (SELECT 1) wanted WHERE true;", "wanted"),
        ("SELECT * FROM a JOIN unnest(%(ids)s) AS near(id) ON true;", "near"),
        ("SELECT %(told)s;", "told"),
        ("-- Rows of whoever.\nSELECT 1;", "whoever"),
    ],
)
def test_a_planted_word_in_sql_is_found(source: str, word: str) -> None:
    assert word in [finding.word for finding in wording.find_in_sql(source, UNUSED, frozenset())]


def test_a_mapping_over_a_literal_is_keyed_by_it() -> None:
    literals = wording.literal_types([ast.parse('type State = Literal["open", "closed"]')])
    loose = 'LABELS = {"open": "Open", "closed": "Closed"}'
    keyed = 'LABELS: Mapping[State, str] = {"open": "Open", "closed": "Closed"}'
    assert [finding.word for finding in wording.find_loose_mappings(ast.parse(loose), literals)] == [
        "LABELS: keys are State"
    ]
    assert not list(wording.find_loose_mappings(ast.parse(keyed), literals))


def lower_baseline() -> None:
    """Write the numbers that are there now; none of a file becomes higher than it was."""
    before = json.loads(BASELINE.read_text("utf-8"))
    lines = []
    for path, kinds in sorted(count(Path()).items()):
        allowed = before.get(path, {})
        numbers = {kind: min(number, allowed.get(kind, 0)) for kind, number in kinds.items() if kind in allowed}
        if numbers:
            lines.append(f" {json.dumps(path)}: {json.dumps(numbers)}")
    BASELINE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    lower_baseline()
