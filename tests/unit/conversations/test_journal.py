"""What a turn does next follows from what is committed, and from nothing else."""

from parlour.approvals.question import ASKED
from parlour.conversations.journal import (
    STOPPED,
    AskPerson,
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


def asking(number: int, *calls: str, text: str = "Let me look.") -> ModelStep:
    blocks: tuple[JsonObject, ...] = tuple(
        {"type": "tool_use", "id": call, "name": "search_knowledge", "input": {"query": call}} for call in calls
    )
    return ModelStep(number, ({"type": "text", "text": text}, *blocks), "tool_use")


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
    assert next_step(journal(saying(1, " All is well. "))) == Reply("All is well.", is_answer=True)


def test_the_reply_is_the_text_of_all_steps_in_order() -> None:
    steps = (asking(1, "a"), asking(2, "b", text="It is wide."), saying(3, "Filed."))
    following = next_step(journal(*steps, calls=(done(1, "a"), done(2, "b"))))
    assert following == Reply("Let me look.\n\nIt is wide.\n\nFiled.", is_answer=True)


def test_text_of_white_space_only_is_no_paragraph() -> None:
    steps = (asking(1, "a", text=" \n\t"), saying(2, "Filed.\n"))
    assert next_step(journal(*steps, calls=(done(1, "a"),))) == Reply("Filed.", is_answer=True)


def test_text_before_and_after_a_call_of_one_step_is_two_paragraphs() -> None:
    words: tuple[JsonObject, ...] = ({"type": "text", "text": "Wide"}, {"type": "text", "text": " open."})
    step = ModelStep(1, (*words, *asking(1, "a", text="").blocks[1:], *words), "tool_use")  # type: ignore[index]
    assert step.text == "Wide open.\n\nWide open."


def test_a_step_that_is_not_committed_has_no_text() -> None:
    cut_short = journal(asking(1, "a"), ModelStep(2, None, None), calls=(done(1, "a"),))
    assert cut_short.text == "Let me look."
    assert next_step(cut_short) == CallModel(2, is_retry=True)


def test_an_empty_step_is_followed_by_one_without_tools_and_only_one() -> None:
    steps, calls = (asking(1, "a"), ModelStep(2, (), "end_turn")), (done(1, "a"),)
    assert next_step(journal(*steps, calls=calls)) == CallModel(3, is_retry=False, offers_tools=False)
    cut_short = (*steps, ModelStep(3, None, None))
    assert next_step(journal(*cut_short, calls=calls)) == CallModel(3, is_retry=True, offers_tools=False)
    answered = journal(*steps, saying(3, "It is wide."), calls=calls)
    assert next_step(answered) == Reply("Let me look.\n\nIt is wide.", is_answer=True)
    again_empty = journal(*steps, ModelStep(3, (), "end_turn"), calls=calls)
    assert next_step(again_empty) == Reply("Let me look.", is_answer=False)


def test_an_analysis_stands_as_the_reply_where_nothing_follows() -> None:
    analysis = "The crack is 0.35 mm wide, above the limit of 0.3 mm, and grows [1]. " * 2
    empty = (ModelStep(2, (), "end_turn"), ModelStep(3, (), "end_turn"))
    following = next_step(journal(asking(1, "a", text=analysis), *empty, calls=(done(1, "a"),)))
    assert following == Reply(analysis.strip(), is_answer=True)


def test_a_step_without_tools_that_asks_for_some_ends_the_turn() -> None:
    steps = (asking(1, "a"), ModelStep(2, (), "end_turn"), asking(3, "b", text="It is wide."))
    following = next_step(journal(*steps, calls=(done(1, "a"),)))
    assert following == Reply("Let me look.\n\nIt is wide.", is_answer=True)


def test_a_model_that_says_nothing_twice_leaves_no_answer() -> None:
    assert next_step(journal(ModelStep(1, (), "end_turn"))) == CallModel(2, is_retry=False, offers_tools=False)
    twice = journal(ModelStep(1, (), "end_turn"), ModelStep(2, (), "end_turn"))
    assert next_step(twice) == Reply("", is_answer=False)


def test_a_refusal_or_a_stop_is_not_asked_again() -> None:
    for reason in ("refusal", STOPPED):
        assert next_step(journal(ModelStep(1, (), reason))) == Reply("", is_answer=False)


def test_a_question_comes_with_the_text_of_all_steps() -> None:
    asked = FinishedCall(2, "b", {"ok": False, "code": ASKED})
    following = next_step(journal(asking(1, "a"), asking(2, "b", text="Then I order."), calls=(done(1, "a"), asked)))
    assert following == AskPerson("Let me look.\n\nThen I order.")


def test_tools_may_be_asked_for_as_often_as_allowed_and_not_once_more() -> None:
    steps = tuple(asking(number, f"c{number}") for number in range(1, 5))
    calls = tuple(done(number, f"c{number}") for number in range(1, 5))
    assert next_step(journal(*steps, calls=calls)) == CallModel(5, is_retry=False)
    following = next_step(journal(*steps, asking(5, "c5"), calls=calls))
    assert following == Reply("\n\n".join(["Let me look."] * 5), is_answer=False)


def test_arguments_that_are_no_object_become_none() -> None:
    odd: JsonObject = {"type": "tool_use", "id": "a", "name": "search_knowledge", "input": "liability"}
    step = next_step(journal(ModelStep(1, (odd,), "tool_use")))
    assert step == RunTools(1, (ToolRequest("a", "search_knowledge", {}),))
