"""A Pulse as a conversation begins with it, and the messages that have one written."""

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from parlour.infra.errors import MalformedPayload
from parlour.pulse.briefing_text import MAX_TOKENS, render_for_briefing
from parlour.pulse.pulse import Citation, Pulse, PulseJob, Statement
from parlour.text import token_counter

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
ONE, OTHER = UUID(int=1), UUID(int=2)


def pulse(*statements: Statement) -> Pulse:
    citations = (Citation(3, "Report 19.pdf", "page 12", "context_rows", str(ONE), 0),)
    return Pulse(ONE, 0, 1, "", statements, citations, (), "f", "m", Decimal(), NOW, NOW, NOW)


def test_statements_name_their_sources_and_no_number_of_the_pulses_own() -> None:
    text = render_for_briefing(
        pulse(Statement("The crack is 0.45 mm wide.", (3,)), Statement("Nobody cites this.", (9,))), len
    )
    assert text.splitlines() == [
        "As of 2026-03-02 09:30 UTC:",
        "- The crack is 0.45 mm wide. (Report 19.pdf, page 12)",
        "- Nobody cites this.",
    ]


def test_sources_go_first_where_there_is_little_room_then_the_last_statements() -> None:
    many = [
        Statement(f"Statement {number} says a little about the works on the river bank.", (3,)) for number in range(60)
    ]
    text = render_for_briefing(pulse(*many), token_counter.count_tokens)
    assert token_counter.count_tokens(text) <= MAX_TOKENS
    assert "Statement 0 " in text
    assert "Report 19" not in text


def test_an_order_is_read_as_it_was_sent() -> None:
    for order in (PulseJob(ONE, OTHER), PulseJob(ONE, OTHER, UUID(int=3))):
        assert PulseJob.from_json(order.to_json()) == order
    for body in ({}, {"tenant_id": "x", "entity_id": str(OTHER)}, {"tenant_id": str(ONE)}):
        with pytest.raises(MalformedPayload):
            PulseJob.from_json({**body})


def test_statements_and_citations_are_read_as_they_are_kept() -> None:
    statement = Statement("One.", (1, 2))
    citation = Citation(1, "Report", "page 2", "context_rows", str(ONE), 2)
    assert Statement.from_json(statement.to_json()) == statement
    assert Citation.from_json(citation.to_json()) == citation
