"""Asking models in turn until one answers: one retry, then the next model, then the next provider."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from parlour.infra.errors import ProviderRejected, ProviderUnavailable, TurnStopped
from parlour.models.model import (
    AttemptOutcome,
    Completion,
    FallbackStreamPart,
    Model,
    ModelAttempt,
    ModelRequest,
    StreamPart,
    StreamReset,
    Waiting,
    content_blocks,
)
from parlour.models.model_routing import ModelChoice

RETRY_PAUSE_SECONDS = (0.3, 0.8)
"""Seconds; a retry waits somewhere in between, so that callers who failed together do not return together."""

MIN_ATTEMPT_SECONDS = 4.0
"""With less time than this no further try is begun: it would be cut off before it could answer."""

_ATTEMPTS_PER_MODEL = 2

type AttemptError = ProviderUnavailable | ProviderRejected


@dataclass(frozen=True, slots=True)
class RetryTiming:
    """How long may be asked in all and how pauses are made; jitter picks between two bounds, like `random.uniform`.

    is_stopped  whether nobody wants the answer any more; looked at with every part of a stream, also its pauses.
    """

    seconds_left: float
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]
    clock: Callable[[], float] = time.monotonic
    is_stopped: Callable[[], bool] = lambda: False


def ask_with_fallback(
    choices: Sequence[ModelChoice],
    providers: Mapping[str, Model],
    request: ModelRequest,
    *,
    timing: RetryTiming,
    before_attempt: Callable[[ModelChoice], None],
) -> Iterator[FallbackStreamPart]:
    """Stream an answer from the first of `choices` that gives one; `request.model` is replaced by the choice's.

    Every attempt yields a ModelAttempt; the successful one just before its Completion, which is always the last part.
    When text was streamed by an attempt that then failed, a reset follows. ProviderUnavailable is tried once more
    after a pause; ProviderRejected goes on to the next choice at once. `before_attempt` is called before every attempt
    with the choice that is about to be asked; what it raises ends the asking.

    Raises ProviderUnavailable when nobody answered or the time ran out, ProviderRejected when all refused, TurnStopped
    after the attempt that was stopped.
    """
    clock = timing.clock
    deadline = clock() + timing.seconds_left
    failures: list[AttemptError] = []
    for choice in choices:
        for number in range(_ATTEMPTS_PER_MODEL):
            if number:
                timing.sleep(timing.jitter(*RETRY_PAUSE_SECONDS))
            if deadline - clock() < MIN_ATTEMPT_SECONDS:
                raise ProviderUnavailable("too little time is left to ask a model; the turn will be tried again")
            before_attempt(choice)
            failure = yield from _attempt(choice, providers.get(choice.provider), request, deadline, timing)
            if failure is None:
                return
            failures.append(failure)
            if isinstance(failure, ProviderRejected):
                break
    unavailable = [failure for failure in failures if isinstance(failure, ProviderUnavailable)]
    if unavailable:
        raise unavailable[-1]
    raise failures[0] if failures else ProviderRejected("no model was named: give the agent a model_routing")


def _attempt(
    choice: ModelChoice, model: Model | None, request: ModelRequest, deadline: float, timing: RetryTiming
) -> Generator[FallbackStreamPart, None, AttemptError | None]:
    clock = timing.clock
    started = clock()
    first_token: int | None = None
    try:
        with closing(_stream(choice, model, request, deadline - started)) as parts:
            for part in parts:
                if isinstance(part, Completion):
                    yield ModelAttempt(choice.provider, choice.model, "ok", _elapsed_ms(started, clock), first_token)
                    yield part
                    return None
                if timing.is_stopped():
                    took = _elapsed_ms(started, clock)
                    yield ModelAttempt(choice.provider, choice.model, "stopped", took, first_token)
                    raise TurnStopped
                if not isinstance(part, Waiting) and first_token is None:
                    first_token = _elapsed_ms(started, clock)
                yield part
        failure: AttemptError = ProviderUnavailable(f"{choice.provider} ended without an answer")
    except (ProviderUnavailable, ProviderRejected) as error:
        failure = error
    outcome: AttemptOutcome = "rejected" if isinstance(failure, ProviderRejected) else "unavailable"
    yield ModelAttempt(choice.provider, choice.model, outcome, _elapsed_ms(started, clock), first_token, str(failure))
    if first_token is not None:
        yield StreamReset()
    return failure


def _stream(choice: ModelChoice, model: Model | None, request: ModelRequest, seconds: float) -> Generator[StreamPart]:
    """Stream from the provider; closed early, it hangs up."""
    if model is None:
        raise ProviderRejected(f"provider {choice.provider} is not configured: set its key or change model_routing")
    if isinstance(choice.thinking, int) and _continues_unthought_call(request):
        choice = replace(choice, thinking=None)
    asked = replace(
        request,
        model=choice.model,
        max_tokens=request.max_tokens + choice.thinking_tokens,
        thinking=choice.thinking_setting,
    )
    yield from model.stream(asked, seconds_left=seconds)


def _continues_unthought_call(request: ModelRequest) -> bool:
    """Return whether the last message of the model has calls without thinking, as of a fallback that does not think.

    Anthropic's API refuses a number of tokens to think there; with adaptive thinking it does not.
    """
    last = next((message for message in reversed(request.messages) if message["role"] == "assistant"), {})
    kinds = {block.get("type") for block in content_blocks(last)}
    return "tool_use" in kinds and kinds.isdisjoint({"thinking", "redacted_thinking"})


def _elapsed_ms(started: float, clock: Callable[[], float]) -> int:
    return round((clock() - started) * 1000)
