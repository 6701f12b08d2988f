"""A model is asked about a stretch of a conversation, and once more when its answer cannot be read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from parlour.infra.errors import Misconfigured
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import prompt
from parlour.memory.extraction.model_answer import InvalidModelAnswer
from parlour.memory.leased_job import MODEL_REFUSED
from parlour.models.background_completion import CompletionRequest, CompletionResult
from parlour.models.model import Model, ModelRequest
from parlour.models.model_routing import OFFLINE_PROVIDER, ModelChoice, choose_models, filter_available
from parlour.principal import Principal
from parlour.text.token_counter import TokenCounter

MEMORY_PURPOSE = "memory"
"""What the calls are for, as the report of costs calls it."""

_MAX_ANSWER_TOKENS = 1_500
_MODEL_TIMEOUT_SECONDS = 40.0
_COMMIT_SECONDS = 20.0
"""What is left of an invocation to write down what came of it."""


@dataclass(frozen=True, slots=True)
class MemoryResponse[Answer]:
    """What came of asking. answer: None where there is none, for `problem`, or where it could not be read twice."""

    answer: Answer | None
    problem: str = ""
    cost_usd: Decimal = Decimal()


@dataclass(frozen=True, slots=True)
class MemoryRequest[Answer]:
    """A question of memory.

    purpose         the purpose in the agent's model_routing.
    parse           reads the answer; raises InvalidModelAnswer.
    offline_answer  the answer of a deployment without a model.
    """

    system_prompt: str
    user_prompt: str
    purpose: str
    parse: Callable[[str], Answer]
    offline_answer: Answer


def request_answer[Answer](
    dependencies: MemoryDependencies,
    principal: Principal,
    routing: JsonObject,
    request: MemoryRequest[Answer],
    seconds_left: SecondsLeft,
) -> MemoryResponse[Answer]:
    """Return the model's answer, asking once more when it cannot be read. Raises a RetryError only for the database."""
    models = dependencies.models()
    try:
        choices = filter_available(choose_models(routing, request.purpose), models)
    except Misconfigured as error:
        return MemoryResponse(None, error.code)
    if choices[0].provider == OFFLINE_PROVIDER:
        return MemoryResponse(request.offline_answer)
    messages: list[JsonObject] = [_message("user", request.user_prompt)]
    spent = Decimal()
    for _ in range(2):
        answer = _call_model(dependencies, principal, request.system_prompt, messages, choices, models, seconds_left)
        spent += answer.cost_usd
        problem = _problem(answer)
        if problem:
            return MemoryResponse(None, problem, spent)
        try:
            return MemoryResponse(request.parse(answer.text), cost_usd=spent)
        except InvalidModelAnswer as unusable:
            messages += [
                _message("assistant", answer.text or "..."),
                _message("user", prompt.retry_prompt(str(unusable))),
            ]
    return MemoryResponse(None, cost_usd=spent)


def _call_model(
    dependencies: MemoryDependencies,
    principal: Principal,
    system_prompt: str,
    messages: Sequence[JsonObject],
    choices: Sequence[ModelChoice],
    models: Mapping[str, Model],
    seconds_left: SecondsLeft,
) -> CompletionResult:
    request = ModelRequest(
        choices[0].model, _MAX_ANSWER_TOKENS, (), ({"type": "text", "text": system_prompt},), tuple(messages)
    )
    meter = TokenCounter()
    read = meter.count(system_prompt) + sum(meter.count(str(message["content"])) for message in messages)
    seconds = max(1.0, min(_MODEL_TIMEOUT_SECONDS, seconds_left() - _COMMIT_SECONDS))
    return dependencies.background_completion.ask(
        principal,
        CompletionRequest(request, read, choices, models, MEMORY_PURPOSE, seconds, dependencies.check_reservation),
    )


def _problem(answer: CompletionResult) -> str:
    if answer.problem is not None:
        return answer.problem.code
    if answer.completion is None:
        return "provider_unavailable"
    return MODEL_REFUSED if answer.completion.stop_reason == "refusal" else ""


def _message(role: str, text: str) -> JsonObject:
    return {"role": role, "content": [{"type": "text", "text": text}]}
