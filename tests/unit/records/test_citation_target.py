"""The way from a citation to where it stands."""

from uuid import UUID

import pytest

from parlour.records.citation_target import CitationTarget

FILE = UUID(int=7)


@pytest.mark.parametrize(
    ("place", "link"),
    [
        (CitationTarget("r", "risk", "R-1", None, None, None), "#/records/risk/R-1"),
        (CitationTarget("r", "project", "NRS", None, FILE, "12"), f"#/records/project/NRS?file={FILE}&page=12"),
        (CitationTarget("r", None, None, None, FILE, "12"), f"#/files/{FILE}?page=12"),
        (CitationTarget("r", "project", "NRS", "mails/a b.md", None, None), "#/records/document/mails%2Fa%20b.md"),
        (
            CitationTarget("r", "project", "NRS", "plan.md", None, "2", "Pour > Bays"),
            "#/records/document/plan.md?heading=Pour+%3E+Bays&page=2",
        ),
        (
            CitationTarget("r", None, None, None, None, session_id=FILE, message_id=UUID(int=8)),
            f"#/conversations/{FILE}?message={UUID(int=8)}",
        ),
        (CitationTarget("r", None, None, None, None, None), None),
    ],
)
def test_it_leads_to_the_page_of_the_file_the_document_or_the_record(place: CitationTarget, link: str | None) -> None:
    assert place.link == link
