"""Asking models in turn until one answers: one retry, then the next model, then the next provider."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.models.request import AnyPart, Attempt, Completed, Model, ModelRequest, Outcome, Reset, TextDelta
from parlour.models.route import Choice

RETRY_PAUSE = (0.3, 0.8)
"""Seconds; a retry waits somewhere in between, so that callers who failed together do not return together."""

LEAST_SECONDS = 4.0
"""With less time than this no further try is begun: it would be cut off before it could answer."""

_TRIES = 2

type Failure = ProviderUnavailable | ProviderRejected


def ask(
    choices: Sequence[Choice],
    providers: Mapping[str, Model],
    request: ModelRequest,
    *,
    seconds_left: float,
    sleep: Callable[[float], None],
    jitter: Callable[[float, float], float],
    admit: Callable[[Choice], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[AnyPart]:
    """Stream an answer from the first of `choices` that gives one; `request.model` is replaced by the choice's.

    Every try yields an Attempt; the one that succeeds just before its Completed, which is always the last part.
    When text was streamed by a try that then failed, a Reset follows its Attempt. ProviderUnavailable is tried
    once more after a pause (`jitter` picks its length between two bounds, like `random.uniform`); ProviderRejected
    goes on to the next choice at once. `admit` is called before every try, with what is about to be asked; what it
    raises ends the asking.

    Raises ProviderUnavailable when nobody answered or the time ran out, ProviderRejected when all refused.
    """
    deadline = clock() + seconds_left
    failures: list[Failure] = []
    for choice in choices:
        for number in range(_TRIES):
            if number:
                sleep(jitter(*RETRY_PAUSE))
            if deadline - clock() < LEAST_SECONDS:
                raise ProviderUnavailable("too little time is left to ask a model; the turn will be tried again")
            admit(choice)
            failure = yield from _try(choice, providers.get(choice.provider), request, deadline, clock)
            if failure is None:
                return
            failures.append(failure)
            if isinstance(failure, ProviderRejected):
                break
    raise _verdict(failures)


def _try(
    choice: Choice, model: Model | None, request: ModelRequest, deadline: float, clock: Callable[[], float]
) -> Generator[AnyPart, None, Failure | None]:
    started = clock()
    first_token: int | None = None
    try:
        for part in _stream(choice, model, request, deadline - started):
            if isinstance(part, Completed):
                yield Attempt(choice.provider, choice.model, "ok", _since(started, clock), first_token)
                yield part
                return None
            first_token = _since(started, clock) if first_token is None else first_token
            yield part
        failure: Failure = ProviderUnavailable(f"{choice.provider} ended without an answer")
    except (ProviderUnavailable, ProviderRejected) as error:
        failure = error
    outcome: Outcome = "rejected" if isinstance(failure, ProviderRejected) else "unavailable"
    yield Attempt(choice.provider, choice.model, outcome, _since(started, clock), first_token, str(failure))
    if first_token is not None:
        yield Reset()
    return failure


def _stream(
    choice: Choice, model: Model | None, request: ModelRequest, seconds: float
) -> Iterator[TextDelta | Completed]:
    if model is None:
        raise ProviderRejected(f"provider {choice.provider} is not configured: set its key or change model_routing")
    return model.stream(replace(request, model=choice.model), seconds_left=seconds)


def _since(started: float, clock: Callable[[], float]) -> int:
    return round((clock() - started) * 1000)


def _verdict(failures: Sequence[Failure]) -> Failure:
    unavailable = [failure for failure in failures if isinstance(failure, ProviderUnavailable)]
    if unavailable:
        return unavailable[-1]
    return failures[0] if failures else ProviderRejected("no model was named: give the agent a model_routing")
