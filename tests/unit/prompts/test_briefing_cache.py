"""A briefing stays as it was rendered until a cause with a name changes that."""

from dataclasses import replace
from datetime import timedelta

import pytest

from parlour.prompts.assembly import briefing_cache
from parlour.prompts.assembly.briefing_cache import BriefingConditions, CachedBriefing
from parlour.prompts.assembly.segment import Layer, Segment
from tests.conftest import NOW

PINNED = CachedBriefing(Segment(Layer.BRIEFING, "briefing", "system", ()), (), "task/T-1", {"agent": 1}, 1, NOW)
SOON = BriefingConditions(NOW + timedelta(minutes=2), "task/T-1", {"agent": 1}, 1, NOW)


def test_it_stays_while_nothing_changes() -> None:
    assert briefing_cache.refresh_causes(PINNED, SOON) == ()


def test_there_is_none_before_the_first() -> None:
    assert briefing_cache.refresh_causes(None, SOON) == ("first",)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"record_handle": "task/T-2"}, "record_changed"),
        ({"persona_versions": {"agent": 2}}, "config"),
        ({"clearance": 0}, "clearance"),
        ({"clearance": 2}, "clearance"),
        ({"has_restricted_source": True}, "classification"),
        ({"has_erased_source": True}, "erasure"),
        ({"is_compacted": True}, "compaction"),
        ({"delta_tokens": 301}, "deltas"),
        ({"last_asked_at": None}, "cold"),
        ({"at": NOW + timedelta(minutes=5, seconds=1)}, "cold"),
    ],
)
def test_every_cause_has_it_rendered_anew(change: dict[str, object], cause: str) -> None:
    assert briefing_cache.refresh_causes(PINNED, replace(SOON, **change)) == (cause,)  # type: ignore[arg-type]


def test_after_half_an_hour_it_is_old_however_warm_the_cache() -> None:
    later = NOW + timedelta(minutes=31)
    assert briefing_cache.refresh_causes(PINNED, replace(SOON, at=later, last_asked_at=later)) == ("age",)


def test_all_causes_that_hold_are_told_the_gravest_first() -> None:
    now = replace(SOON, is_compacted=True, record_handle="task/T-2", persona_versions={"agent": 2}, last_asked_at=None)
    assert briefing_cache.refresh_causes(PINNED, now) == ("record_changed", "config", "compaction", "cold")
    told = [briefing_cache.refresh_causes(None, SOON)[0], *briefing_cache.refresh_causes(PINNED, now)]
    assert set(told) <= set(briefing_cache.REFRESH_CAUSES)
