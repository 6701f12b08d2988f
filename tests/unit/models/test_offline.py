import json

import pytest

from parlour.infra.jsonable import Json, JsonObject
from parlour.models.offline import NOTE, OfflineModel
from parlour.models.request import Completed, ModelRequest, TextDelta, Usage

SEARCH: JsonObject = {"name": "search_knowledge", "description": "Search.", "input_schema": {"type": "object"}}
TAIL: JsonObject = {
    "type": "text",
    "text": "<parlour:tail>\nMonday, 2 March 2026. Remember the arbitrator.\n</parlour:tail>",
}
DOCUMENTS: list[Json] = [
    {
        "document": 4,
        "title": "Works contract",
        "metadata": {"heading": "Payment"},
        "contents": "Retention of 5% is deducted from bills, up to 2,50,000 INR. Mr. K. Nair is the arbitrator.",
    },
    {"document": 2, "title": "Site report", "metadata": {}, "contents": "The crane was idle for 2 days."},
]
FOUND: JsonObject = {"documents": DOCUMENTS}


def user(text: str) -> JsonObject:
    return {"role": "user", "content": [{"type": "text", "text": text}, TAIL]}


def assistant(text: str) -> JsonObject:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def result(content: object, **more: bool) -> JsonObject:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text, **more}, TAIL]}


def ask(*messages: JsonObject, tools: tuple[JsonObject, ...] = (SEARCH,)) -> Completed:
    request = ModelRequest("extractive", 500, tools, (), messages)
    *deltas, last = OfflineModel().stream(request, seconds_left=30)
    assert isinstance(last, Completed)
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


def said(*messages: JsonObject, tools: tuple[JsonObject, ...] = (SEARCH,)) -> str:
    answer = ask(*messages, tools=tools)
    assert answer.stop_reason == "end_turn"
    (block,) = answer.blocks
    return str(block["text"])


def after_search(question: str, content: object = FOUND, **more: bool) -> str:
    call = ask(user(question)).blocks
    return said(user(question), {"role": "assistant", "content": list(call)}, result(content, **more))


def test_a_question_is_searched_for_by_its_words_of_content() -> None:
    assert query(user("Please tell me: what is the retention on bill RA-07?")) == "retention bill RA-07"


def queries(*messages: JsonObject) -> list[object]:
    arguments = [block["input"] for block in ask(*messages).blocks]
    return [argument["query"] for argument in arguments if isinstance(argument, dict)]


def test_two_questions_in_one_breath_are_two_searches() -> None:
    question = "How much retention is deducted, and why was the crane idle in February?"

    assert queries(user(question)) == ["retention deducted", "crane idle February"]
    assert len({block["id"] for block in ask(user(question)).blocks}) == 2


def test_searches_that_share_the_space_for_results_ask_for_less_each() -> None:
    takes_limit: JsonObject = {**SEARCH, "input_schema": {"type": "object", "properties": {"limit": {}}}}
    both, one = user("How wide is the crack at C4, and may we backfill?"), user("How wide is the crack at C4?")

    def limits(question: JsonObject, tool: JsonObject) -> list[object]:
        inputs = [block["input"] for block in ask(question, tools=(tool,)).blocks]
        return [given.get("limit") for given in inputs if isinstance(given, dict)]

    assert limits(both, takes_limit) == [3, 3]
    assert limits(one, takes_limit) == [None]
    assert limits(both, SEARCH) == [None, None]


def test_the_second_of_two_questions_may_lean_on_the_first() -> None:
    assert queries(user("How wide is the gate, and who looks after it?"))[1] == "looks wide gate"


def test_a_code_is_all_that_a_question_with_a_subject_of_its_own_takes_from_the_first() -> None:
    assert queries(user("How wide is the crack at C4, and may we backfill?")) == ["wide crack C4", "backfill C4"]


def test_each_of_two_questions_is_answered_from_its_own_search() -> None:
    question = user("How much retention is deducted, and how long was the crane idle?")
    searches: JsonObject = {"role": "assistant", "content": list(ask(question).blocks)}
    found: list[Json] = [
        {"type": "tool_result", "tool_use_id": str(place), "content": json.dumps({"documents": [document]})}
        for place, document in enumerate(DOCUMENTS)
    ]

    answer = said(question, searches, {"role": "user", "content": found})

    assert answer.split("\n\n")[1].splitlines() == [
        "- Retention of 5% is deducted from bills, up to 2,50,000 INR. [4]",
        "- Site report: The crane was idle for 2 days. [2]",
    ]


def test_a_greeting_before_a_question_is_not_searched_for() -> None:
    assert query(user("Hello dear team, how long was the crane idle?")) == "long crane idle"


def test_what_stands_beside_a_document_says_what_its_sentences_are_about() -> None:
    content: JsonObject = {
        "documents": [
            {"document": 1, "title": "Log", "metadata": "minutes · Roof", "contents": "Work stopped for nine days."},
            {"document": 2, "title": "Log", "metadata": "minutes · Crane", "contents": "Work stopped for five days."},
        ]
    }

    assert after_search("How long did crane work stop?", content).endswith("five days. [2]")


def test_a_new_question_that_names_its_subject_does_not_lean() -> None:
    talk = user("What is the retention?"), assistant("5%"), user("When does the crane come?")

    assert query(*talk) == "When does the crane come?"


def test_the_tail_is_not_something_the_user_said() -> None:
    assert "arbitrator" not in query(user("What is the retention on the second bill?"))


def test_several_messages_at_once_are_one_question() -> None:
    burst: JsonObject = {
        "role": "user",
        "content": [{"type": "text", "text": "what is the retention"}, {"type": "text", "text": "on the crane"}, TAIL],
    }

    assert query(burst) == "retention crane"


@pytest.mark.parametrize("question", ["And when is it released by the bank again?", "Released when?", "tell me more"])
def test_a_vague_question_takes_words_from_the_one_before(question: str) -> None:
    assert "retention" in query(user("What is the retention?"), assistant("5% [4]"), user(question))


def test_a_clear_question_stands_alone() -> None:
    words = query(user("What is the retention?"), assistant("5% [4]"), user("Which crane stood idle in February?"))

    assert words == "crane stood idle February"


def test_the_answer_quotes_and_cites_what_was_found_and_says_who_it_is() -> None:
    note, quoted = after_search("How much retention is deducted?").split("\n\n")

    assert note == NOTE
    assert quoted == "- Retention of 5% is deducted from bills, up to 2,50,000 INR. [4]"


def test_footnote_marks_of_a_document_do_not_become_citations() -> None:
    noted: JsonObject = {"documents": [{"document": 4, "title": "T", "contents": "Retention is 5% [12] of each bill."}]}

    assert after_search("What is the retention?", noted).endswith("- Retention is 5% (12) of each bill. [4]")


def test_a_long_question_makes_a_short_query() -> None:
    assert len(query(user(" ".join(f"word{number}" for number in range(2_000))))) <= 300


def test_thanks_in_between_are_not_what_a_vague_question_leans_on() -> None:
    talk = (user("What is the retention?"), assistant("5%"), user("thanks"), assistant("You are welcome!"))

    assert query(*talk, user("and when?")) == "retention"


def test_results_may_come_as_blocks() -> None:
    blocks: JsonObject = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": json.dumps(FOUND)}]}
        ],
    }

    assert "[2]" in said(user("Why was the crane idle?"), assistant(""), blocks)


def test_results_of_an_earlier_turn_are_not_taken_for_this_one() -> None:
    earlier = [user("Who is the arbitrator?"), assistant("searching"), result(FOUND), assistant("Mr. K. Nair [4]")]

    assert query(*earlier, user("Which crane stood idle in February?")) == "crane stood idle February"


@pytest.mark.parametrize("content", [{"documents": []}, {"documents": "none"}, "not json", "[]", "", {"ok": True}])
def test_nothing_found_is_said_plainly_and_cites_nothing(content: object) -> None:
    answer = after_search("What is the capital of France?", content)

    assert answer.startswith(NOTE)
    assert "found nothing" in answer
    assert "[" not in answer


def test_documents_that_do_not_answer_are_not_quoted() -> None:
    assert "found nothing" in after_search("What is the capital of France?")


def test_a_failed_search_is_not_called_an_empty_one() -> None:
    assert "did not work" in after_search("What is the retention?", {"ok": False, "code": "tool_failed"}, is_error=True)


def test_without_a_search_tool_it_says_that_it_cannot_look() -> None:
    assert "no documents" in said(user("What is the retention?"), tools=())


@pytest.mark.parametrize("text", ["Hi", "hello there!", "Good morning team", "namaste 🙏", "", "👍", "who are you?"])
def test_courtesies_need_no_search(text: str) -> None:
    assert "offline stand-in" in said(user(text))


@pytest.mark.parametrize("text", ["Thanks!", "ok, thank you so much", "धन्यवाद"])
def test_thanks_are_welcome(text: str) -> None:
    assert said(user("What is the retention?"), assistant("5%"), user(text)) == "You are welcome!"


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


def test_tokens_are_counted_by_the_given_function() -> None:
    request = ModelRequest("extractive", 500, (), (), (user("hello"),))

    *_, last = OfflineModel(count=len).stream(request, seconds_left=1)

    assert isinstance(last, Completed)
    assert last.usage.input_tokens > last.usage.output_tokens > 50
    assert last.usage == Usage(last.usage.input_tokens, last.usage.output_tokens, 0, 0)


@pytest.mark.parametrize("messages", [(), (assistant("hello"),), ({"role": "user", "content": "plain words"},)])
def test_it_never_fails(messages: tuple[JsonObject, ...]) -> None:
    assert ask(*messages).blocks


def test_a_picture_without_words_is_said_to_be_unseen_and_not_taken_for_the_question_before() -> None:
    source: JsonObject = {"type": "base64", "media_type": "image/png", "data": "A" * 90_000}
    picture: JsonObject = {"type": "image", "source": source}
    sent: JsonObject = {"role": "user", "content": [picture, TAIL]}
    talk = (user("Who is the arbitrator?"), assistant("Mr. Nair."), sent)
    assert "cannot look at" in said(*talk)
    assert ask(*talk).usage.input_tokens < 5_000


def test_what_came_along_is_not_what_was_asked() -> None:
    file: JsonObject = {"type": "text", "text": "<parlour:file>\nlog.txt\nThe hoist stood still.\n</parlour:file>"}
    film: JsonObject = {"type": "text", "text": "[The user also sent 'film.mp4', which cannot be opened here.]"}
    words: JsonObject = {"type": "text", "text": "Who is the arbitrator?"}
    assert query({"role": "user", "content": [file, film, words, TAIL]}) == query(user("Who is the arbitrator?"))


@pytest.mark.parametrize("layer", ["recalled", "memory", "changes", "state", "reminder", "instructions"])
def test_what_the_turn_was_reminded_of_is_not_what_was_asked(layer: str) -> None:
    added: JsonObject = {
        "type": "text",
        "text": f"<parlour:{layer}>\nThe crane's deliveries: 7:30.\n</parlour:{layer}>",
    }
    words: JsonObject = {"type": "text", "text": "And on Monday?"}
    sent: JsonObject = {"role": "user", "content": [words, added, TAIL]}
    before = (user("Who is the arbitrator?"), assistant("Mr. Nair."))
    assert query(*before, sent) == query(*before, user("And on Monday?"))
    picture: JsonObject = {"role": "user", "content": [added, TAIL]}
    assert "cannot look at" not in said(picture)
