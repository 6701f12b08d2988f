"""The reading of a window by models: the proposals of one, their checks, and the second look of another.

Extraction and consolidation read alike; they differ in their prompts, their models, and in what they do after an error.
"""

from collections.abc import Sequence

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.jobs.runner import JobFailed
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import answer_check, model_answer, model_call, second_look
from parlour.memory.extraction.answer_check import CheckedAnswer
from parlour.memory.extraction.extraction_window import ExtractionWindow
from parlour.memory.extraction.model_answer import ExtractionAnswer
from parlour.memory.extraction.model_call import MemoryRequest, MemoryResponse
from parlour.memory.facts.fact import KnownFact, Origin, SecondAnswer
from parlour.memory.leased_job import MODEL_REFUSED
from parlour.principal import Principal

#: What is heard where nothing is asked.
NO_PROPOSALS = ExtractionAnswer((), ())


def extraction_request(system_prompt: str, user_prompt: str, purpose: str) -> MemoryRequest[ExtractionAnswer]:
    """Return the question for facts and episodes."""
    return MemoryRequest(system_prompt, user_prompt, purpose, model_answer.parse_answer, NO_PROPOSALS)


def check_response(
    response: MemoryResponse[ExtractionAnswer],
    window: ExtractionWindow,
    known: Sequence[KnownFact],
    origin: Origin = "extracted",
) -> CheckedAnswer:
    """Return the checked answer; a row that says so where there is none."""
    if response.answer is None:
        return CheckedAnswer((), (answer_check.rejected_window(response.problem),), ())
    return answer_check.check_answer(response.answer, window, known, origin)


def look_again(
    dependencies: MemoryDependencies,
    principal: Principal,
    routing: JsonObject,
    checked: CheckedAnswer,
    window: ExtractionWindow,
    seconds_left: SecondsLeft,
) -> CheckedAnswer:
    """Return the answer after the second look, which costs one call of the cheap model, or none.

    An answer that is unreadable twice, or that a model refuses, supports nothing. Raises JobFailed for other errors,
    and a RetryError only for the database.
    """
    if not checked.reviews:
        return checked
    count = second_look.count_notes(checked.reviews)
    unanswered: list[SecondAnswer] = ["unclear"] * count
    response = model_call.request_answer(
        dependencies,
        principal,
        routing,
        MemoryRequest(
            second_look.SYSTEM_PROMPT,
            second_look.user_prompt(checked.reviews, window),
            "cheap",
            lambda text: second_look.parse_answer(text, count),
            unanswered,
        ),
        seconds_left,
    )
    if response.problem and response.problem != MODEL_REFUSED:
        raise JobFailed(response.problem)
    return checked.with_reviews(second_look.apply_answers(checked.reviews, response.answer or unanswered))
