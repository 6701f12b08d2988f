"""How records, results and links look in a terminal."""

from typing import Any

import pytest
from rich.console import Console, Group

from parlour.cli import records
from parlour.infra.errors import InvalidRequest

CARD: dict[str, Any] = {
    "kind": "file_chunk",
    "badge": "File",
    "title": "opinion.pdf",
    "handle": "risk/R-3",
    "document": None,
    "locator": "page 12",
    "preview": "the crack \x1b[31mwidens",
    "score": 0.83,
    "link": "#/records/risk/R-3",
    "type_name": "Risk",
}
RECORD: dict[str, Any] = {
    "handle": "risk/R-3",
    "name": "Crack",
    "classification": 2,
    "version": 3,
    "project": "project/NRS",
    "units": {"exposure": "GBP"},
    "properties": {"severity": "high", "sources": [{"title": "Opinion", "page": 3}], "watched": True, "note": None},
}
LINKS: dict[str, Any] = {
    "links": [
        {
            "handle": "task/T-1",
            "name": "Measure",
            "type": "task",
            "state": "open",
            "due": "2026-12-04",
            "relations": [{"relation": "depends_on", "direction": "incoming"}],
        },
        {
            "handle": "plan/P-1",
            "name": "Plan",
            "type": "plan",
            "relations": [{"relation": "x", "direction": "outgoing"}],
        },
    ]
}


def drawn(what: Any) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        console.print(what)
    return captured.get()


def test_a_result_says_how_well_it_fits_what_it_is_and_where_it_stands() -> None:
    told = drawn(records._render_cards([CARD]))
    assert told.splitlines()[0] == " 83%  opinion.pdf  file of risk/R-3"
    assert "page 12" in told
    assert "the crack [31mwidens" in told, "what others wrote cannot colour the terminal"


def test_a_record_is_shown_with_what_it_says_and_what_it_is_linked_to() -> None:
    lines = [" ".join(line.split()) for line in drawn(Group(*records._render_record(RECORD, LINKS))).splitlines()]
    assert lines[:2] == ["Crack", "risk/R-3, confidential, version 3, in project/NRS"]
    assert "sources title: Opinion; page: 3" in lines
    assert "watched yes" in lines
    assert "<- depends on Measure (open, due 2026-12-04) task/T-1" in lines
    assert "-> x Plan plan/P-1" in lines


@pytest.mark.parametrize(
    ("inside", "kind", "asked"),
    [
        ("", "", {}),
        ("project/NRS", "", {"scope": "project", "in": "project/NRS"}),
        ("task/T-1", "", {"scope": "record", "in": "task/T-1"}),
        ("", "risk", {"scope": "type", "in": "risk"}),
    ],
)
def test_where_to_search_follows_from_what_was_named(inside: str, kind: str, asked: dict[str, str]) -> None:
    assert records._scope_query(inside, kind) == asked


def test_two_places_at_once_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="one of --in and --type"):
        records._scope_query("task/T-1", "risk")


@pytest.mark.parametrize("written", ["state", "=open", "state="])
def test_a_property_without_a_name_or_a_value_is_refused(written: str) -> None:
    with pytest.raises(InvalidRequest, match="NAME=VALUE"):
        records._property_filters([written])
