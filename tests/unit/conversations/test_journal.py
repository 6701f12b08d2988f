"""What a turn does next follows from what is committed, and from nothing else."""

from dataclasses import replace

import pytest

from parlour.conversations.journal import (
    MAX_ANNOUNCEMENT_CHARS,
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
from parlour.prompts.assembly.tool_rounds import ASKED


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
    assert next_step(journal(*steps, calls=calls)) == CallModel(3, is_retry=False, closing="answer")
    cut_short = (*steps, ModelStep(3, None, None))
    assert next_step(journal(*cut_short, calls=calls)) == CallModel(3, is_retry=True, closing="answer")
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
    assert next_step(journal(ModelStep(1, (), "end_turn"))) == CallModel(2, is_retry=False, closing="answer")
    twice = journal(ModelStep(1, (), "end_turn"), ModelStep(2, (), "end_turn"))
    assert next_step(twice) == Reply("", is_answer=False)


def test_a_refusal_or_a_stop_is_not_asked_again() -> None:
    for reason in ("refusal", STOPPED):
        assert next_step(journal(ModelStep(1, (), reason))) == Reply("", is_answer=False)


def test_a_question_comes_with_the_text_of_all_steps() -> None:
    asked = FinishedCall(2, "b", {"ok": False, "code": ASKED})
    following = next_step(journal(asking(1, "a"), asking(2, "b", text="Then I order."), calls=(done(1, "a"), asked)))
    assert following == AskPerson("Let me look.\n\nThen I order.")


ASKED_CALL = FinishedCall(1, "a", {"ok": False, "code": ASKED})


def test_results_beside_a_question_are_answered_once_before_the_turn_ends() -> None:
    step, calls = asking(1, "a", "b", text="I look."), (ASKED_CALL, done(1, "b"))
    assert next_step(journal(step, calls=calls)) == CallModel(2, is_retry=False, closing="question")
    assert next_step(journal(step, saying(2, "It is wide."), calls=calls)) == AskPerson("I look.\n\nIt is wide.")
    for nothing in (ModelStep(2, (), "end_turn"), asking(2, "c", text=""), ModelStep(2, (), STOPPED)):
        assert next_step(journal(step, nothing, calls=calls)) == AskPerson("I look.")
    long = journal(step, cut(2, "It is wide. It gro"), calls=calls)
    assert next_step(long) == CallModel(3, is_retry=False, closing="continue")
    ended = replace(long, steps=(*long.steps, cut(3, "It grows. And")))
    assert next_step(ended) == AskPerson("I look.\n\nIt is wide. It grows.", is_cut=True)


def test_what_the_runtime_tells_of_is_not_read_beside_a_question_unless_it_failed() -> None:
    step, failed = asking(1, "a", "b"), FinishedCall(1, "b", {"ok": False, "code": "not_found"})
    write = replace(journal(step, calls=(ASKED_CALL, done(1, "b"))), unread_tools=frozenset({"search_knowledge"}))
    assert next_step(write) == AskPerson("Let me look.")
    assert isinstance(next_step(replace(write, finished_calls=(ASKED_CALL, failed))), CallModel)


@pytest.mark.parametrize("tool", ["hand_off", "ask_a_person"])
def test_words_beside_a_call_that_passes_the_conversation_on_are_the_reply(tool: str) -> None:
    call: JsonObject = {"type": "tool_use", "id": "a", "name": tool, "input": {}}
    words: JsonObject = {"type": "text", "text": "They take over."}
    passed, refused = FinishedCall(1, "a", {"handed_to": "Desk"}), FinishedCall(1, "a", {"ok": False})
    step = ModelStep(1, (words, call), "tool_use")
    assert next_step(journal(step, calls=(passed,))) == Reply("They take over.", is_answer=True)
    assert isinstance(next_step(journal(step, calls=(refused,))), CallModel)
    assert isinstance(next_step(journal(ModelStep(1, (call,), "tool_use"), calls=(passed,))), CallModel)
    search = asking(1, "b").blocks or ()
    with_search = ModelStep(1, (words, call, *search[1:]), "tool_use")
    assert isinstance(next_step(journal(with_search, calls=(passed, done(1, "b")))), CallModel)


LOOKED = tuple(asking(number, f"c{number}") for number in range(1, 5))
LOOKED_UP = tuple(done(number, f"c{number}") for number in range(1, 5))


def test_the_step_after_the_last_round_of_calls_is_asked_without_tools() -> None:
    assert next_step(journal(*LOOKED[:3], calls=LOOKED_UP[:3])) == CallModel(4, is_retry=False)
    assert next_step(journal(*LOOKED, calls=LOOKED_UP)) == CallModel(5, is_retry=False, closing="limit")
    cut_short = journal(*LOOKED, ModelStep(5, None, None), calls=LOOKED_UP)
    assert next_step(cut_short) == CallModel(5, is_retry=True, closing="limit")
    assert next_step(journal(most=0)) == CallModel(1, is_retry=False, closing="limit")


@pytest.mark.parametrize("text", ["", "It is wide. I look once more."])
def test_a_call_past_the_limit_is_answered_by_one_more_step(text: str) -> None:
    past = journal(*LOOKED, asking(5, "c5", text=text), calls=LOOKED_UP)
    assert next_step(past) == CallModel(6, is_retry=False, closing="limit")
    answered = replace(past, steps=(*past.steps, saying(6, "0.45 mm.")))
    texts = ["Let me look."] * 4 + ([text] if text else [])
    assert next_step(answered) == Reply("\n\n".join([*texts, "0.45 mm."]), is_answer=True)
    empty = next_step(replace(past, steps=(*past.steps, ModelStep(6, (), "end_turn"))))
    assert empty == Reply("\n\n".join(texts), is_answer=len("\n\n".join(texts)) > MAX_ANNOUNCEMENT_CHARS)
    again = replace(past, steps=(*past.steps, asking(6, "c6", text="")))
    assert isinstance(next_step(again), Reply)


def cut(number: int, text: str) -> ModelStep:
    return ModelStep(number, ({"type": "text", "text": text},), "max_tokens")


@pytest.mark.parametrize(
    ("first", "second", "reply"),
    [
        ("It is wide. It gro", "It grows, too.", "It is wide. It grows, too."),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | fo", "| 3 | four |", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | four |"),
        ("- dry\n- we", "\n- wet", "- dry\n- wet"),
    ],
)
def test_a_reply_that_was_cut_goes_on_once(first: str, second: str, reply: str) -> None:
    assert next_step(journal(cut(1, first))) == CallModel(2, is_retry=False, closing="continue")
    cut_short = journal(cut(1, first), ModelStep(2, None, None))
    assert next_step(cut_short) == CallModel(2, is_retry=True, closing="continue")
    assert next_step(journal(cut(1, first), saying(2, second))) == Reply(reply, is_answer=True)
    twice = journal(cut(1, first), cut(2, f"{second}\nAnd mo"))
    assert next_step(twice) == Reply(reply, is_answer=True, is_cut=True)
    for nothing in (ModelStep(2, (), "end_turn"), asking(2, "a", text="")):
        following = next_step(journal(cut(1, first), nothing))
        assert isinstance(following, Reply)
        assert following.is_cut
        assert reply.startswith(following.text)


def test_a_reply_that_is_cut_after_the_last_round_goes_on() -> None:
    following = next_step(journal(*LOOKED, cut(5, "It is wide. It gro"), calls=LOOKED_UP))
    assert following == CallModel(6, is_retry=False, closing="continue")


def test_arguments_that_are_no_object_become_none() -> None:
    odd: JsonObject = {"type": "tool_use", "id": "a", "name": "search_knowledge", "input": "liability"}
    step = next_step(journal(ModelStep(1, (odd,), "tool_use")))
    assert step == RunTools(1, (ToolRequest("a", "search_knowledge", {}),))
