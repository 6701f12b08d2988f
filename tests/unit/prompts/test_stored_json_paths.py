"""Queries name fields of what a session's prompts stand on; those fields exist."""

import re
from pathlib import Path
from typing import Any

import pytest

from parlour.prompts.assembly.briefing_cache import CachedBriefing
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.compaction import CompactedHistory, Summary
from parlour.prompts.assembly.compaction import KeyDetailLine as Line
from parlour.prompts.assembly.segment import Block, Layer, Segment, Source
from parlour.prompts.ledger.store import StoredCacheState
from tests.conftest import NOW

SQL = Path("shared/parlour/prompts/ledger/queries.sql").read_text("utf-8")
SOURCE = Source("messages", "m1")
SUMMARY = Summary(7, 4, "They met.", (Line("- you: at nine", 2, SOURCE, from_agent=True),))
BRIEFING = Segment(Layer.BRIEFING, "briefing", "system", (Block(("# T-1",), 3),))
PINNED = CachedBriefing(BRIEFING, (SOURCE,), "task/T-1", {}, 1, NOW)
STORED = StoredCacheState.from_cache_state(
    PromptCacheState(PINNED, CompactedHistory(5, ("- user: when?",), (3,), summary=SUMMARY))
)


def at(value: Any, path: str) -> Any:
    for name in re.split(r"[,.]", path):
        value = value[int(name)] if name.isdigit() else value[name]
    return value


@pytest.mark.parametrize("path", sorted(set(re.findall(r"cache_state #>>? '\{([\w,]+)\}'", SQL))))
def test_a_path_into_a_standing_leads_to_a_field(path: str) -> None:
    assert at(STORED.cache_state, path)


def test_the_lines_beside_a_summary_lead_to_their_turns() -> None:
    assert (
        "jsonb_path_query(cache_state, '$.compacted_history.summary.key_details[*]?(@.from_agent==true).turn_number')"
        in SQL
    )
    assert at(STORED.cache_state, "compacted_history,summary,key_details,0,from_agent") is True
    assert at(STORED.cache_state, "compacted_history,summary,key_details,0,turn_number") == 2


def test_a_briefing_names_its_sources_by_table_and_id() -> None:
    assert "jsonb_array_elements(p.briefing -> 'sources') s" in SQL
    assert "(s ->> 'table') || '/' || (s ->> 'id')" in SQL
    assert STORED.briefing is not None
    assert f"{at(STORED.briefing, 'sources,0,table')}/{at(STORED.briefing, 'sources,0,id')}" == "messages/m1"


def test_a_standing_comes_back_with_its_briefing() -> None:
    assert STORED.to_cache_state().cached_briefing == PINNED
    assert StoredCacheState.from_cache_state(STORED.to_cache_state()) == STORED


def test_an_erased_standing_keeps_no_words_of_its_briefing() -> None:
    left = STORED.to_cache_state().without_text(is_history_erased=False)
    assert left.cached_briefing == PINNED.tombstone()
    assert left.cached_briefing.is_erased
    assert (left.cached_briefing.entries, left.cached_briefing.sources, left.cached_briefing.segment.blocks) == (
        (),
        (),
        (),
    )
    assert left.compacted_history.recap == ("- user: when?",)
    assert STORED.to_cache_state().without_text(is_history_erased=True).compacted_history == CompactedHistory()
