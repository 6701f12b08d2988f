"""What a reader is told of a row."""

from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.search.results import SearchResult


def found(metadata: JsonObject, content: str = "[2026-03-02] Report\nPoured.") -> SearchResult:
    return SearchResult(UUID(int=1), None, None, "document_chunk", "Report", content, metadata, 0.3)


def test_the_text_comes_without_its_lead() -> None:
    assert found({"prefix_length": 20}).body == "Poured."
    assert found({}).body == "[2026-03-02] Report\nPoured."


@pytest.mark.parametrize(
    ("metadata", "locator", "about"),
    [
        ({}, "", ""),
        ({"kind": "site_report"}, "", "site report"),
        ({"kind": "contract", "heading": "12 > Payment", "page": 3}, "12 > Payment · page 3", None),
        ({"kind": "email", "sender": "Anita", "date": "2026-03-02"}, "Anita 2026-03-02", "email · Anita 2026-03-02"),
        ({"heading": ["odd"], "page": None}, "", ""),
    ],
)
def test_the_locator_says_what_is_known(metadata: JsonObject, locator: str, about: str | None) -> None:
    assert found(metadata).locator == locator
    assert found(metadata).source_label == (f"contract · {locator}" if about is None else about)
