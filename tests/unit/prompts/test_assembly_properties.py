"""Random sessions of any kind keep every promise of the assembly, and between them see everything that can happen.

500 in `make test`, 10,000 longer ones in `make nightly`, in eight parts that run side by side.
"""

from collections import Counter

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from parlour.prompts.assembly import briefing_cache, budget, cache_hits, compaction, history, ledger_entries
from parlour.prompts.assembly.compaction import CompactedHistory
from parlour.prompts.assembly.ledger_entries import PromptLedger
from tests.unit.prompts.assembly_invariants import INVARIANTS
from tests.unit.prompts.simulated_session import (
    MOVE_KINDS,
    PROFILES,
    SessionScript,
    SimulatedTurn,
    Turn,
    long_session,
    simulate,
)
from tests.unit.prompts.simulated_summariser import SUMMARY_TIMINGS

_LEADS = 7
IS_NIGHT = settings.get_current_profile_name() == "nightly"
PARTS, SESSIONS = (8, 1_250) if IS_NIGHT else (1, 500)
"""How many times random sessions are played, and how many each time."""


TURNS = st.builds(Turn, st.sampled_from(MOVE_KINDS), st.integers(0, 999))


def lengths() -> st.SearchStrategy[tuple[Turn, ...]]:
    """Mostly short: what goes wrong, goes wrong within a few turns; a nightly run plays up to 200."""
    lists = [st.lists(TURNS, min_size=1, max_size=6), st.lists(TURNS, min_size=1, max_size=12)]
    night = [st.lists(TURNS, min_size=20, max_size=60), st.lists(TURNS, min_size=100, max_size=200)] if IS_NIGHT else []
    return st.one_of(*lists, *lists, *night).map(tuple)


TALKS = st.builds(
    SessionScript,
    lengths(),
    st.sampled_from(sorted(PROFILES)),
    st.booleans(),
    st.integers(0, 3),
    summaries=st.sampled_from(SUMMARY_TIMINGS),
)


def moves(*names: str, seed: int = 1, **talk: object) -> SessionScript:
    """A session of these moves."""
    return SessionScript(tuple(Turn(name, seed + place) for place, name in enumerate(names)), **talk)  # type: ignore[arg-type]


RARE = (
    moves("big_record", "big_tools", "big_tiers", "big_heartbeat", "big_reminder", tools=3),
    moves(*["say"] * 24, "shrunk", tools=0, config_words=40),
    moves("huge_call", "huge_call", "huge_call", profile="small"),
    moves("say", "many_edits", "say", profile="messaging"),
    moves("paste", *["ask"] * 12, "long", "large_file", profile="messaging"),
    moves("say", "grown", "say", *["long"] * 4, profile="small"),
    moves(*["say"] * 12, "close", "say"),
    moves(
        *["say"] * 12, "cold", "model", "focus", "config", "more_clearance", "reclassify", "forget", "less_clearance"
    ),
    moves("long", profile="tiny"),
    moves(*["steady"] * 9),
    moves("grown", *["paste"] * 9, seed=60, profile="small"),
    moves("grown", *["say"] * 9, seed=0, profile="small"),
    moves("say", *["flood"] * 4, "large_file", "image", "many_rounds", "huge"),
    *(
        moves(*["say"] * 14, "close", *["say"] * 14, "shrunk", summaries=way, tools=0, config_words=40)
        for way in SUMMARY_TIMINGS
    ),
    moves(*["say"] * 18, "shrunk", summaries="prompt", tools=0, config_words=40),
    moves(*["say"] * 28, "shrunk", summaries="prompt", tools=0, config_words=30),
    moves(*["burst"] * 30, summaries="late"),
    moves(*["say"] * 40, summaries="lost"),
    SessionScript(
        (*[Turn("say", 0)] * 2, *[Turn("burst", 1)] * 2, Turn("say", 166)), "tiny", tools=1, summaries="late"
    ),
)
"""Sessions in which things happen that are rare."""


class Seen:
    """What happened in all sessions together."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.causes: Counter[str] = Counter()
        self.culprits: Counter[str] = Counter()
        self.overflows: Counter[str] = Counter()
        self.leads: Counter[str] = Counter()
        self.sessions = 0

    def note(self, played: SimulatedTurn) -> None:
        if played.overflow:
            self.overflows[played.overflow.layer] += 1
        if played.assembled:
            told = played.assembled.ledger
            self.reasons.update(str(one.reason) for one in told.entries if one.reason)
            self.causes.update([told.refresh_cause] if told.refresh_cause else [])
            self.culprits.update([told.cache_miss.cause] if told.cache_miss else [])
            self.leads.update(_led(played, told, played.assembled.cache_state.compacted_history))


def _led(played: SimulatedTurn, told: PromptLedger, led: CompactedHistory) -> set[str]:
    """What there is to be said of a prompt's lead."""
    messages = sum(one.message_count for one in played.materials.past_turns if one.number >= led.since_turn)
    gave_way = any(one.reason for one in told.entries if one.item.source.table == "summaries")
    found = {
        "recapped": bool(led.recap),
        "pasted": led.pasted_text is not None,
        "waited": messages > history.MAX_MESSAGES,
        "withdrawn": compaction.is_summary_withheld(led),
        "summarised": compaction.summary_item(led) is not None,
        "kept": led.summary is not None and bool(led.summary.key_details),
        "gave way": gave_way,
    }
    return {name for name, holds in found.items() if holds}


@pytest.mark.parametrize("part", range(PARTS))
def test_random_sessions_keep_every_promise_and_see_everything_that_can_happen(part: int) -> None:
    seen = Seen()

    @settings(
        max_examples=SESSIONS,
        deadline=None,
        derandomize=not IS_NIGHT,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(TALKS)
    def sessions(talk: SessionScript) -> None:
        seen.sessions += 1
        keeps_its_promises(talk, seen)

    for talk in RARE:
        sessions = example(talk)(sessions)
    sessions()
    assert seen.sessions >= SESSIONS
    assert set(seen.reasons) == set(ledger_entries.OMISSION_REASONS), "every reason for a drop"
    assert set(seen.causes) == set(briefing_cache.REFRESH_CAUSES), "every cause of a new briefing"
    assert set(seen.culprits) == set(cache_hits.CACHE_MISS_CAUSES), "every culprit of a miss"
    assert len(seen.leads) == _LEADS, "everything that may lead a history"
    assert set(seen.overflows) == {layer.name.lower() for layer in budget.OVERFLOW_LAYERS}, (
        "every layer that may overflow"
    )


@pytest.mark.parametrize(("profile", "way"), [("entity", "late"), ("messaging", "prompt"), ("tight", "never")])
def test_a_session_of_two_hundred_turns_keeps_every_promise(profile: str, way: str) -> None:
    talk = long_session(200, seed=len(profile), moves=MOVE_KINDS[:30])
    keeps_its_promises(SessionScript(talk.turns, profile, summaries=way), Seen())


def keeps_its_promises(talk: SessionScript, seen: Seen) -> None:
    for played in simulate(talk):
        seen.note(played)
        for promise in INVARIANTS:
            if played.assembled:
                promise(played, played.assembled)
