"""A model is asked about a stretch of a conversation, and once more when its answer cannot be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from parlour.context.tokens import Meter
from parlour.infra.errors import Misconfigured
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.memory.extracting import answers, prompt
from parlour.memory.extracting.answers import Answered, Unusable
from parlour.memory.facts.fact import FLOOR
from parlour.memory.job import REFUSED
from parlour.memory.services import Services
from parlour.models.aside import Answer, Asking
from parlour.models.request import Model, ModelRequest
from parlour.models.route import OFFLINE, Choice, available, choose
from parlour.principal import Principal

PURPOSE = "memory"
"""What the calls are for, as the report of costs calls it."""

_LONGEST_ANSWER = 1_500
_SECONDS = 40.0
_SECONDS_KEPT = 20.0
"""What is left of an invocation to write down what came of it."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of asking. answered: None where there is none, for `problem`, or where it could not be read twice."""

    answered: Answered | None
    problem: str = ""
    cost_usd: Decimal = Decimal()


#: What is heard where nothing is asked.
NOTHING = Heard(Answered((), ()))


@dataclass(frozen=True, slots=True)
class Asked:
    """The system prompt, the conversation, and the purpose in the agent's model_routing."""

    instructions: str
    conversation: str
    purpose: str


def ask(
    services: Services, principal: Principal, routing: JsonObject, asked: Asked, seconds_left: SecondsLeft
) -> Heard:
    """Return what a model says of the stretch; NOTHING without a model. Raises a RetryError only for the database."""
    models = services.models()
    try:
        choices = available(choose(routing, asked.purpose), models)
    except Misconfigured as error:
        return Heard(None, error.code)
    if choices[0].provider == OFFLINE:
        return NOTHING
    messages: list[JsonObject] = [_said("user", asked.conversation)]
    spent = Decimal()
    for _ in range(2):
        answer = _ask(services, principal, asked.instructions, messages, choices, models, seconds_left)
        spent += answer.cost_usd
        problem = _problem(answer)
        if problem:
            return Heard(None, problem, spent)
        try:
            return Heard(answers.read(answer.text), cost_usd=spent)
        except Unusable as unusable:
            messages += [_said("assistant", answer.text or "..."), _said("user", prompt.again(str(unusable)))]
    return Heard(None, cost_usd=spent)


def instructions(agent: str) -> str:
    """What the model is told, the same for every conversation of an agent."""
    return prompt.instructions(agent, FLOOR)


def _ask(
    services: Services, principal: Principal, told: str, messages: Sequence[JsonObject], choices: Sequence[Choice],
    models: Mapping[str, Model], seconds_left: SecondsLeft,
) -> Answer:  # fmt: skip
    request = ModelRequest(choices[0].model, _LONGEST_ANSWER, (), ({"type": "text", "text": told},), tuple(messages))
    meter = Meter()
    read = meter.count(told) + sum(meter.count(str(message["content"])) for message in messages)
    seconds = max(1.0, min(_SECONDS, seconds_left() - _SECONDS_KEPT))
    return services.aside.ask(principal, Asking(request, read, choices, models, PURPOSE, seconds, services.admit))


def _problem(answer: Answer) -> str:
    if answer.problem is not None:
        return answer.problem.code
    if answer.completed is None:
        return "provider_unavailable"
    return REFUSED if answer.completed.stop_reason == "refusal" else ""


def _said(role: str, text: str) -> JsonObject:
    return {"role": role, "content": [{"type": "text", "text": text}]}
