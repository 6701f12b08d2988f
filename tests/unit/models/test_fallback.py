"""Retries and fallback, played on scripted models and a clock that only moves when told to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from parlour.infra.errors import ProviderRejected, ProviderUnavailable, SpendRefused
from parlour.infra.json_values import Json, JsonObject
from parlour.models.fallback import MIN_ATTEMPT_SECONDS, RetryTiming, ask_with_fallback
from parlour.models.model import (
    Completion,
    FallbackStreamPart,
    ModelAttempt,
    ModelRequest,
    StreamPart,
    StreamReset,
    TextDelta,
    TokenUsage,
)
from parlour.models.model_routing import ModelChoice

REQUEST = ModelRequest("unset", 100, (), (), ({"role": "user", "content": "hello"},))
DONE = Completion(({"type": "text", "text": "hi"},), "end_turn", TokenUsage(1, 1))
BIG, SMALL, OTHER = ModelChoice("claude", "big"), ModelChoice("claude", "small"), ModelChoice("gemini", "flash")


@dataclass
class Clock:
    at: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds


@dataclass
class Scripted:
    """Plays one script per call: parts are yielded, errors raised, numbers are seconds that pass."""

    provider: str
    clock: Clock
    scripts: list[list[StreamPart | Exception | float]]
    asked: list[tuple[str, float]] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        self.requests.append(request)
        self.asked.append((request.model, seconds_left))
        for step in self.scripts.pop(0):
            if isinstance(step, Exception):
                raise step
            if isinstance(step, float):
                self.clock.at += step
            else:
                yield step


def anything(_: ModelChoice) -> None:
    """Every try is admitted."""


def play(
    *choices: ModelChoice,
    clock: Clock,
    seconds: float = 60.0,
    admit: Callable[[ModelChoice], None] = anything,
    request: ModelRequest = REQUEST,
    **models: Scripted,
) -> Iterator[FallbackStreamPart]:
    def middle(low: float, high: float) -> float:
        return (low + high) / 2

    return ask_with_fallback(
        choices,
        models,
        request,
        timing=RetryTiming(seconds_left=seconds, sleep=clock.sleep, jitter=middle, clock=clock),
        before_attempt=admit,
    )


def test_an_answer_streams_through_and_says_who_gave_it() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[0.25, TextDelta("h"), 0.5, TextDelta("i"), DONE]])

    parts = list(play(BIG, SMALL, clock=clock, claude=claude))

    assert parts == [TextDelta("h"), TextDelta("i"), ModelAttempt("claude", "big", "ok", 750, 250), DONE]
    assert claude.asked == [("big", 60.0)]


_CALL: JsonObject = {"type": "tool_use", "id": "call_1", "name": "search", "input": {}}
_THOUGHT: JsonObject = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


@pytest.mark.parametrize(
    ("thinking", "blocks", "thinks"),
    [
        (2_000, [_CALL], False),
        (2_000, [{"type": "text", "text": "Let me look."}, _CALL], False),
        (2_000, [_THOUGHT, _CALL], True),
        (2_000, [{"type": "redacted_thinking", "data": "b3BhcXVl"}, _CALL], True),
        (2_000, [{"type": "text", "text": "hi"}], True),
        ("adaptive", [_CALL], True),
    ],
)
def test_a_call_that_a_model_made_without_thinking_is_continued_without_a_number_of_tokens_to_think(
    thinking: str | int, blocks: list[Json], thinks: bool
) -> None:
    loop: tuple[JsonObject, ...] = (
        *REQUEST.messages,
        {"role": "assistant", "content": [_THOUGHT, _CALL]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "found"}]},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "found"}]},
    )
    clock, choice = Clock(), ModelChoice("claude", "big", thinking)
    claude = Scripted("claude", clock, [[DONE]])

    list(play(choice, clock=clock, request=replace(REQUEST, messages=loop), claude=claude))

    (asked,) = claude.requests
    assert asked.thinking == (choice.thinking_setting if thinks else None)
    assert asked.max_tokens == REQUEST.max_tokens + (choice.thinking_tokens if thinks else 0)


def test_an_unavailable_model_is_asked_once_more_after_a_pause() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[8.0, ProviderUnavailable("busy")], [DONE]])

    parts = list(play(BIG, clock=clock, claude=claude))

    assert parts == [
        ModelAttempt("claude", "big", "unavailable", 8000, None, "busy"),
        ModelAttempt("claude", "big", "ok", 0),
        DONE,
    ]
    assert clock.slept == [pytest.approx(0.55)]
    assert claude.asked[1][1] == pytest.approx(60 - 8 - 0.55)


def test_the_next_model_then_the_next_provider_are_asked() -> None:
    clock = Clock()
    busy = ProviderUnavailable("busy")
    claude = Scripted("claude", clock, [[busy], [busy], [busy], [busy]])
    gemini = Scripted("gemini", clock, [[DONE]])

    parts = list(play(BIG, SMALL, OTHER, clock=clock, claude=claude, gemini=gemini))

    assert [(part.model, part.outcome) for part in parts if isinstance(part, ModelAttempt)] == [
        ("big", "unavailable"),
        ("big", "unavailable"),
        ("small", "unavailable"),
        ("small", "unavailable"),
        ("flash", "ok"),
    ]
    assert parts[-1] == DONE
    assert len(clock.slept) == 2


def test_text_of_a_broken_stream_is_taken_back() -> None:
    clock = Clock()
    claude = Scripted(
        "claude", clock, [[TextDelta("The answ"), ProviderUnavailable("cut")], [TextDelta("The answer"), DONE]]
    )

    parts = list(play(BIG, clock=clock, claude=claude))

    assert parts == [
        TextDelta("The answ"),
        ModelAttempt("claude", "big", "unavailable", 0, 0, "cut"),
        StreamReset(),
        TextDelta("The answer"),
        ModelAttempt("claude", "big", "ok", 0, 0),
        DONE,
    ]


def test_a_stream_that_ends_without_an_answer_counts_as_broken() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[TextDelta("The")], [DONE]])

    outcomes = [part.outcome for part in play(BIG, clock=clock, claude=claude) if isinstance(part, ModelAttempt)]

    assert outcomes == ["unavailable", "ok"]


def test_a_rejected_request_goes_to_the_next_choice_without_a_retry() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[ProviderRejected("400")], [DONE]])

    parts = list(play(BIG, SMALL, clock=clock, claude=claude))

    assert [asked for asked, _ in claude.asked] == ["big", "small"]
    assert parts[0] == ModelAttempt("claude", "big", "rejected", 0, None, "400")
    assert clock.slept == []


def test_a_provider_that_is_not_configured_is_journalled_and_passed_over() -> None:
    clock = Clock()
    gemini = Scripted("gemini", clock, [[DONE]])

    parts = list(play(BIG, OTHER, clock=clock, gemini=gemini))

    assert isinstance(parts[0], ModelAttempt)
    assert parts[0].outcome == "rejected"
    assert "claude" in parts[0].problem
    assert parts[-1] == DONE


def test_when_nobody_answers_the_last_outage_is_raised() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[ProviderRejected("401")]])
    gemini = Scripted("gemini", clock, [[ProviderUnavailable("first")], [ProviderUnavailable("second")]])

    with pytest.raises(ProviderUnavailable, match="second"):
        list(play(BIG, OTHER, clock=clock, claude=claude, gemini=gemini))


def test_when_everybody_refuses_the_first_refusal_is_raised() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[ProviderRejected("401")], [ProviderRejected("404")]])

    with pytest.raises(ProviderRejected, match="401"):
        list(play(BIG, SMALL, clock=clock, claude=claude))


def test_no_try_is_begun_that_could_not_finish() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[6.0, ProviderUnavailable("slow")], [DONE]])

    parts = play(BIG, clock=clock, seconds=6.0 + MIN_ATTEMPT_SECONDS, claude=claude)

    assert next(parts) == ModelAttempt("claude", "big", "unavailable", 6000, None, "slow")
    with pytest.raises(ProviderUnavailable, match="too little time"):
        next(parts)
    assert len(claude.asked) == 1


def test_no_choice_at_all_is_a_refusal() -> None:
    with pytest.raises(ProviderRejected, match="model_routing"):
        list(play(clock=Clock()))


def test_other_errors_are_not_swallowed() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[ValueError("a mistake of ours")]])

    with pytest.raises(ValueError, match="ours"):
        list(play(BIG, clock=clock, claude=claude))


def test_every_try_is_admitted_before_it_is_made() -> None:
    clock = Clock()
    admitted: list[ModelChoice] = []
    claude = Scripted("claude", clock, [[ProviderUnavailable("busy")], [ProviderRejected("no")], [DONE]])

    def admit(choice: ModelChoice) -> None:
        assert len(claude.asked) == len(admitted)
        admitted.append(choice)

    list(play(BIG, SMALL, clock=clock, admit=admit, claude=claude))

    assert admitted == [BIG, BIG, SMALL]


def test_a_try_that_is_not_admitted_ends_the_asking() -> None:
    clock = Clock()
    claude = Scripted("claude", clock, [[ProviderUnavailable("busy")]])

    def once(_: ModelChoice) -> None:
        if claude.asked:
            raise SpendRefused

    parts = play(BIG, SMALL, clock=clock, admit=once, claude=claude)

    assert next(parts) == ModelAttempt("claude", "big", "unavailable", 0, None, "busy")
    with pytest.raises(SpendRefused):
        next(parts)
    assert len(claude.asked) == 1
