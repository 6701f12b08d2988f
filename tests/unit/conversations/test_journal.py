"""What a turn does next follows from what is committed, and from nothing else."""

from parlour.conversations.journal import (
    CallModel,
    FinishedCall,
    Journal,
    ModelStep,
    Reply,
    RunTools,
    ToolRequest,
    next_step,
)
from parlour.infra.json_values import JsonObject


def asking(number: int, *calls: str) -> ModelStep:
    blocks: tuple[JsonObject, ...] = tuple(
        {"type": "tool_use", "id": call, "name": "search_knowledge", "input": {"query": call}} for call in calls
    )
    return ModelStep(number, ({"type": "text", "text": "Let me look."}, *blocks), "tool_use")


def saying(number: int, text: str) -> ModelStep:
    return ModelStep(number, ({"type": "text", "text": text},), "end_turn")


def done(step: int, call_id: str) -> FinishedCall:
    return FinishedCall(step, call_id, {"documents": []})


def journal(*steps: ModelStep, calls: tuple[FinishedCall, ...] = (), most: int = 4) -> Journal:
    return Journal(steps, calls, most)


def test_a_new_turn_asks_the_model() -> None:
    assert next_step(journal()) == CallModel(1, is_retry=False)


def test_a_step_whose_answer_was_never_committed_is_asked_again() -> None:
    assert next_step(journal(ModelStep(1, None, None))) == CallModel(1, is_retry=True)


def test_requested_tools_are_run() -> None:
    request = ToolRequest("a", "search_knowledge", {"query": "a"})
    assert next_step(journal(asking(1, "a"))) == RunTools(1, (request,))


def test_a_tool_that_has_its_result_is_not_run_again() -> None:
    step = next_step(journal(asking(1, "a", "b"), calls=(done(1, "a"),)))
    assert isinstance(step, RunTools)
    assert [request.call_id for request in step.requests] == ["b"]


def test_with_all_results_the_model_is_asked_again() -> None:
    assert next_step(journal(asking(1, "a"), calls=(done(1, "a"),))) == CallModel(2, is_retry=False)


def test_the_same_call_id_in_another_step_is_another_call() -> None:
    steps = (asking(1, "a"), asking(2, "a"))
    assert isinstance(next_step(journal(*steps, calls=(done(1, "a"),))), RunTools)


def test_words_without_requests_are_the_reply() -> None:
    assert next_step(journal(saying(1, " All is well. "))) == Reply("All is well.")


def test_a_model_that_says_nothing_leaves_no_answer() -> None:
    assert next_step(journal(ModelStep(1, (), "end_turn"))) == Reply(None)


def test_tools_may_be_asked_for_as_often_as_allowed_and_not_once_more() -> None:
    steps = tuple(asking(number, f"c{number}") for number in range(1, 5))
    calls = tuple(done(number, f"c{number}") for number in range(1, 5))
    assert next_step(journal(*steps, calls=calls)) == CallModel(5, is_retry=False)
    assert next_step(journal(*steps, asking(5, "c5"), calls=calls)) == Reply(None)


def test_arguments_that_are_no_object_become_none() -> None:
    odd: JsonObject = {"type": "tool_use", "id": "a", "name": "search_knowledge", "input": "liability"}
    step = next_step(journal(ModelStep(1, (odd,), "tool_use")))
    assert step == RunTools(1, (ToolRequest("a", "search_knowledge", {}),))
