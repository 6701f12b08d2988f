"""E-mail headers are recognised, and what only looks like one is not."""

import pytest

from parlour.text.email_headers import EmailOrigin, count_header_lines, parse_header, to_iso_day


def test_a_header_ends_where_its_fields_end() -> None:
    assert count_header_lines(["From: A", "To: B", "Subject: C", "", "Dear B"]) == 3
    assert count_header_lines(["Subject: C", "From: A"]) == 2


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["Dear Ravi,"],
        ["From: the crane to the hoist"],
        ["From: 1 March", "To: 30 March"],
        ["Subject: the slab", "Date: Monday"],
        ["From:", "Subject: C"],
    ],
)
def test_prose_and_tables_of_facts_are_no_header(lines: list[str]) -> None:
    assert count_header_lines(lines) == 0


def test_name_and_day_are_read() -> None:
    mail = parse_header(["From: Anita Rao <anita@example.com>", "Date: Mon, 2 Mar 2026 09:30:00 +0530"])
    assert mail == EmailOrigin("Anita Rao", "2026-03-02")


def test_without_a_name_the_address_stands_for_it() -> None:
    assert parse_header(["From: anita@example.com", "Subject: x"]) == EmailOrigin("anita@example.com", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-02", "2026-03-02"),
        ("2026-03-02T09:30:00Z", "2026-03-02"),
        ("Mon, 02 Mar 2026 09:30:00 +0530", "2026-03-02"),
        ("next Tuesday", "next Tuesday"),
        ("", ""),
        ("x" * 100, "x" * 40),
    ],
)
def test_a_day_is_read_from_what_people_write(text: str, expected: str) -> None:
    assert to_iso_day(text) == expected
