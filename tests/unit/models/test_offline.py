import json

import pytest

from parlour.infra.errors import StillUnderWay
from parlour.infra.json_values import Json, JsonObject
from parlour.models.model import Completion, ModelRequest, TextDelta
from parlour.models.offline import NOTE, OfflineModel
from parlour.tools.result import error_result

SEARCH: JsonObject = {"name": "search_knowledge", "description": "Search.", "input_schema": {"type": "object"}}
TAIL: JsonObject = {
    "type": "text",
    "text": "<parlour:tail>\nMonday, 2 March 2026. Remember the arbitrator.\n</parlour:tail>",
}
DOCUMENTS: list[Json] = [
    {
        "n": 4,
        "title": "Works contract",
        "metadata": "contract · Payment",
        "contents": "Retention of 5% is deducted from bills, up to Rs. 2,50,000. Mr. K. Nair is the arbitrator.",
    },
    {"n": 2, "title": "Site report", "metadata": "", "contents": "The crane was idle for 2 days."},
]
FOUND: JsonObject = {"documents": DOCUMENTS}


def user(text: str) -> JsonObject:
    return {"role": "user", "content": [{"type": "text", "text": text}, TAIL]}


def assistant(text: str) -> JsonObject:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def result(content: object, **more: bool) -> JsonObject:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text, **more}, TAIL]}


def ask(*messages: JsonObject, tools: tuple[JsonObject, ...] = (SEARCH,)) -> Completion:
    request = ModelRequest("extractive", 500, tools, (), messages)
    *deltas, last = OfflineModel().stream(request, seconds_left=30)
    assert isinstance(last, Completion)
    streamed = "".join(part.text for part in deltas if isinstance(part, TextDelta))
    assert streamed == "".join(str(block["text"]) for block in last.blocks if block["type"] == "text")
    return last


def query(*messages: JsonObject) -> str:
    answer = ask(*messages)
    assert answer.stop_reason == "tool_use"
    (block,) = answer.blocks
    assert block["name"] == "search_knowledge"
    arguments = block["input"]
    assert isinstance(arguments, dict)
    return str(arguments["query"])


def reply(*messages: JsonObject, tools: tuple[JsonObject, ...] = (SEARCH,)) -> str:
    answer = ask(*messages, tools=tools)
    assert answer.stop_reason == "end_turn"
    (block,) = answer.blocks
    return str(block["text"])


def after_search(question: str, content: object = FOUND, **more: bool) -> str:
    call = ask(user(question)).blocks
    return reply(user(question), {"role": "assistant", "content": list(call)}, result(content, **more))


def test_a_question_is_searched_in_the_users_own_words() -> None:
    assert query(user("What is the retention on bill RA-07?")) == "What is the retention on bill RA-07?"


def test_several_messages_at_once_are_one_question() -> None:
    texts: list[Json] = [{"type": "text", "text": "what is the retention"}, {"type": "text", "text": "on bill 7"}, TAIL]
    assert query({"role": "user", "content": texts}) == "what is the retention\non bill 7"


def test_a_long_question_makes_a_query_that_the_tool_accepts() -> None:
    assert len(query(user(" ".join(f"word{number}" for number in range(2_000))))) <= 1_000


def test_the_answer_quotes_cites_and_says_that_it_is_the_offline_model() -> None:
    note, quoted = after_search("How much retention is deducted?").split("\n\n")
    assert note == NOTE
    assert quoted == "- Retention of 5% is deducted from bills, up to Rs. 2,50,000. [4]"


def test_at_most_three_passages_are_quoted_those_with_the_rarer_words_first() -> None:
    contents = "The pump hums. The pump runs. The pump stops. The pump leaks oil. The pump waits."
    found: JsonObject = {"documents": [{"n": 1, "title": "Log", "metadata": "", "contents": contents}]}
    assert after_search("Does the pump leak oil?", found).splitlines()[2:] == ["- The pump leaks oil. [1]"]
    lines = after_search("What about the pump?", found).splitlines()[2:]
    assert lines == ["- The pump hums. [1]", "- The pump runs. [1]", "- The pump stops. [1]"]


def test_what_stands_beside_a_document_says_what_its_sentences_are_about() -> None:
    documents: list[Json] = [
        {"n": 1, "title": "Log", "metadata": "minutes · Roof", "contents": "Work stopped for nine days."},
        {"n": 2, "title": "Log", "metadata": "minutes · Crane", "contents": "Work stopped for five days."},
    ]
    answer = after_search("How long did crane work stop?", {"documents": documents})
    assert answer.splitlines()[2] == "- Work stopped for five days. [2]"


def test_a_table_row_is_quoted_with_its_column_names() -> None:
    table = "| reading | width |\n|---|---|\n| 1 | 0.25 mm |\n"
    found: JsonObject = {"documents": [{"n": 7, "title": "Crack at C4", "metadata": "", "contents": table}]}
    assert after_search("How wide is the crack?", found).endswith("- reading: 1; width: 0.25 mm [7]")


def test_footnote_marks_of_a_document_do_not_become_citations() -> None:
    noted: JsonObject = {"documents": [{"n": 4, "title": "T", "contents": "Retention is 5% [12] of each bill."}]}
    assert after_search("What is the retention?", noted).endswith("- Retention is 5% (12) of each bill. [4]")


def test_a_long_passage_is_cut_after_a_word() -> None:
    found: JsonObject = {"documents": [{"n": 1, "contents": "retention " * 200}]}
    (line,) = after_search("What is the retention?", found).splitlines()[2:]
    assert line.endswith("retention … [1]")
    assert len(line) < 500


def test_results_may_come_as_blocks() -> None:
    content: list[Json] = [{"type": "text", "text": json.dumps(FOUND)}]
    blocks: list[Json] = [{"type": "tool_result", "tool_use_id": "t", "content": content}]
    assert "[2]" in reply(user("Why was the crane idle?"), assistant(""), {"role": "user", "content": blocks})


def test_results_of_an_earlier_turn_are_not_taken_for_this_one() -> None:
    earlier = [user("Who is the arbitrator?"), assistant("searching"), result(FOUND), assistant("Mr. K. Nair [4]")]
    assert query(*earlier, user("Which crane stood idle?")) == "Which crane stood idle?"


@pytest.mark.parametrize("content", [{"documents": []}, {"documents": "none"}, "not json", "[]", "", {"ok": True}])
def test_nothing_found_is_said_plainly_and_cites_nothing(content: object) -> None:
    answer = after_search("What is the capital of France?", content)
    assert answer.startswith(NOTE)
    assert "found nothing" in answer
    assert "[" not in answer


def test_documents_that_share_no_word_with_the_question_are_not_quoted() -> None:
    assert "found nothing about capital, France." in after_search("What is the capital of France?")


def test_a_failed_search_is_not_called_an_empty_one() -> None:
    assert "did not work" in after_search("What is the retention?", {"ok": False, "code": "tool_failed"}, is_error=True)


def test_without_a_search_tool_it_says_that_it_cannot_look() -> None:
    assert "no documents" in reply(user("What is the retention?"), tools=())


@pytest.mark.parametrize("text", ["Hi", "hello there!", "Good morning team", "namaste 🙏", "👍", "who are you?"])
def test_a_greeting_is_answered_without_a_search(text: str) -> None:
    assert "I am the offline model" in reply(user(text))


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!",
        "ok, thank you so much",
        "Thanks, that was helpful!",
        "Danke, das hat geholfen.",
        "Merci beaucoup, c'était parfait",
        "¡Muchas gracias!",
        "बहुत धन्यवाद, काम हो गया",
    ],
)
def test_thanks_in_a_conversation_are_answered_without_a_search(text: str) -> None:
    assert "You are welcome" in reply(user("What is the retention?"), assistant("5%"), user(text))


def test_a_follow_up_without_a_word_of_content_is_searched_for() -> None:
    assert query(user("What is the retention?"), assistant("5%"), user("and when?")) == "and when?"


def test_thanks_before_a_request_are_a_request() -> None:
    for text in ("Thanks. Now show me the crane order of March and its cost", "Thanks! And the retention?"):
        assert query(user(text))


def test_a_greeting_with_a_question_is_a_question() -> None:
    assert "retention" in query(user("Hi, thanks! What is the retention?"))


def test_the_same_request_gets_the_same_answer_and_another_one_another_id() -> None:
    first, again = ask(user("What is the retention?")), ask(user("What is the retention?"))
    other = ask(user("What is the crane doing?"))
    assert first == again
    assert first.blocks[0]["id"] != other.blocks[0]["id"]


def test_text_comes_a_few_words_at_a_time() -> None:
    request = ModelRequest("extractive", 500, (), (), (user("hello"),))
    deltas = [part.text for part in OfflineModel().stream(request, seconds_left=1) if isinstance(part, TextDelta)]
    assert len(deltas) > 3
    assert all(len(delta.split()) <= 4 for delta in deltas)


@pytest.mark.parametrize("messages", [(), (assistant("hello"),), ({"role": "user", "content": "plain words"},)])
def test_any_request_gets_an_answer(messages: tuple[JsonObject, ...]) -> None:
    assert ask(*messages).blocks


def test_a_request_for_json_gets_text_that_no_job_takes_for_json() -> None:
    answer = reply(user('Return {"facts": []} as JSON.'), tools=())
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(answer)


def test_a_picture_without_words_is_not_taken_for_the_question_before() -> None:
    source: JsonObject = {"type": "base64", "media_type": "image/png", "data": "A" * 90_000}
    sent: JsonObject = {"role": "user", "content": [{"type": "image", "source": source}, TAIL]}
    messages = (user("Who is the arbitrator?"), assistant("Mr. Nair."), sent)
    assert "only read what you write" in reply(*messages)
    assert 0 < ask(*messages).usage.input_tokens < 5_000


def test_an_attachment_is_not_part_of_the_question() -> None:
    file: JsonObject = {"type": "text", "text": "<parlour:file>\nlog.txt\nThe hoist stood still.\n</parlour:file>"}
    film: JsonObject = {"type": "text", "text": "[The user also sent 'film.mp4', which cannot be opened here.]"}
    question: JsonObject = {"type": "text", "text": "Who is the arbitrator?"}
    other: JsonObject = {"type": "text", "text": "[The user also sent 'b.mp4', which could not be fetched.]"}
    asked = query({"role": "user", "content": [file, film, question, other, TAIL]})
    assert asked == "Who is the arbitrator?"


def test_a_tool_result_of_an_earlier_turn_is_not_taken_for_a_question() -> None:
    late: JsonObject = {
        "type": "text",
        "text": '[What became of a tool call of an earlier turn. It is data: {"ok": true, "mail": "sent"}]',
    }
    sent: JsonObject = {"role": "user", "content": [late, TAIL]}
    messages = (user("Who is the arbitrator?"), assistant("Mr. Nair."), sent)
    assert "only read what you write" in reply(*messages)


@pytest.mark.parametrize("layer", ["recalled", "memory", "changes", "state", "reminder", "instructions"])
def test_what_the_runtime_adds_is_not_part_of_the_question(layer: str) -> None:
    text = f"<parlour:{layer}>\nThe crane's deliveries: 7:30.\n</parlour:{layer}>"
    content: list[Json] = [{"type": "text", "text": "And on Monday?"}, {"type": "text", "text": text}, TAIL]
    assert query(user("Who?"), assistant("Mr. Nair."), {"role": "user", "content": content}) == "And on Monday?"


def test_asked_what_it_can_do_it_says_so_without_a_search() -> None:
    assert reply(user("What can you help me with?")).startswith("I search the documents")
    assert query(user("How can you help us with the retention on bill RA-07?"))


def test_a_question_for_records_of_a_type_searches_that_type_and_lists_them() -> None:
    def task(number: int) -> JsonObject:
        return {"n": number, "contents": f"Task T-{number}, open.", "handle": f"task/T-{number}"}

    asked, first = user("Which tasks are open?"), ask(user("Which tasks are open?")).blocks
    talk: list[JsonObject] = [
        asked,
        {"role": "assistant", "content": list(first)},
        result({"documents": [task(2), *DOCUMENTS]}),
    ]
    (call,) = ask(*talk).blocks
    assert call["input"] == {"query": "Which tasks are open?", "scope": "type", "of": "task", "limit": 10}
    talk += [{"role": "assistant", "content": [call]}, result({"documents": [task(3), task(2)]})]
    assert reply(*talk) == f"{NOTE}\n\n- Task T-2, open. [2]\n- Task T-3, open. [3]"
    assert "[2]" in reply(*talk[:-1], result("not json", is_error=True))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"ok": True}, "Done: order survey."),
        ({"ok": False}, "This was not done: order survey."),
        (
            error_result(StillUnderWay()).content,
            "It is not known whether this was done: order survey. A person finds out; please do not ask for it again.",
        ),
    ],
)
def test_a_late_result_is_told_in_a_line(told: JsonObject, said: str) -> None:
    late = json.dumps({"tool": "order_survey", "result": told})
    assert reply(user(f"[What became of a tool call of an earlier turn. It is data: {late}]")) == said
