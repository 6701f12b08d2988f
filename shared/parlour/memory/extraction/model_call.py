"""A model is asked about a stretch of a conversation, and once more when its answer cannot be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from parlour.infra.errors import Misconfigured
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import model_answer, prompt
from parlour.memory.extraction.model_answer import ExtractionAnswer, InvalidModelAnswer
from parlour.memory.facts.fact import MIN_CONFIDENCE
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
class ExtractionResponse:
    """What came of asking. answered: None where there is none, for `problem`, or where it could not be read twice."""

    answer: ExtractionAnswer | None
    problem: str = ""
    cost_usd: Decimal = Decimal()


#: What is heard where nothing is asked.
EMPTY_RESPONSE = ExtractionResponse(ExtractionAnswer((), ()))


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """The system prompt, the conversation, and the purpose in the agent's model_routing."""

    system_prompt: str
    user_prompt: str
    purpose: str


def request_extraction(
    dependencies: MemoryDependencies,
    principal: Principal,
    routing: JsonObject,
    request: ExtractionRequest,
    seconds_left: SecondsLeft,
) -> ExtractionResponse:
    """Return what a model says of the stretch; NOTHING without a model. Raises a RetryError only for the database."""
    models = dependencies.models()
    try:
        choices = filter_available(choose_models(routing, request.purpose), models)
    except Misconfigured as error:
        return ExtractionResponse(None, error.code)
    if choices[0].provider == OFFLINE_PROVIDER:
        return EMPTY_RESPONSE
    messages: list[JsonObject] = [_message("user", request.user_prompt)]
    spent = Decimal()
    for _ in range(2):
        answer = _call_model(dependencies, principal, request.system_prompt, messages, choices, models, seconds_left)
        spent += answer.cost_usd
        problem = _problem(answer)
        if problem:
            return ExtractionResponse(None, problem, spent)
        try:
            return ExtractionResponse(model_answer.parse_answer(answer.text), cost_usd=spent)
        except InvalidModelAnswer as unusable:
            messages += [
                _message("assistant", answer.text or "..."),
                _message("user", prompt.retry_prompt(str(unusable))),
            ]
    return ExtractionResponse(None, cost_usd=spent)


def system_prompt(agent: str) -> str:
    """Return the system prompt, which is the same for all conversations of an agent."""
    return prompt.system_prompt(agent, MIN_CONFIDENCE)


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
