"""A reply is what the model said in all steps of its turn, on every channel, in history and in stored prompts."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import pytest

from parlour.api.agui_events import AguiRun
from parlour.approvals.approvals import Answer
from parlour.channels.outgoing_message import OutgoingMessage
from parlour.channels.send import send_reply
from parlour.conversations import canned_replies
from parlour.conversations.answer_follower import AnswerFollower
from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.principal import Principal
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import (
    ConversationHarness,
    ScriptedAnswer,
    cut_answer,
    search_call,
    text_answer,
    tool_call,
)

ANALYSIS = "The crack at C4 is 0.45 mm wide, above the limit of 0.3 mm, and it grows [1]. Do not backfill yet, please."
ASKED = "How wide is the crack at C4?"


def saying(text: str, call: list[JsonObject]) -> list[JsonObject]:
    """The model says something beside a call."""
    return [*text_answer(text), *call]


@dataclass(frozen=True)
class Case:
    """What the model answers in a turn, the paragraphs of its reply, and how the reply ends.

    blocks  the steps whose text is streamed.
    """

    script: tuple[ScriptedAnswer, ...]
    paragraphs: tuple[str, ...]
    closing_line: str = ""
    blocks: tuple[int, ...] = (1, 2)

    @property
    def body(self) -> str:
        return "\n\n".join(filter(None, (*self.paragraphs, self.closing_line)))


CASES: Mapping[str, Case] = {
    "text, call, text": Case(
        (saying("I look into the survey.", search_call("crack C4")), text_answer("0.45 mm [1].")),
        ("I look into the survey.", "0.45 mm [1]."),
    ),
    "text, call, nothing": Case((saying(ANALYSIS, search_call("crack C4")), [], []), (ANALYSIS,), blocks=(1,)),
    "text, call, nothing, text": Case(
        (saying("Let me look.", search_call("crack C4")), [], text_answer("0.45 mm [1].")),
        ("Let me look.", "0.45 mm [1]."),
        blocks=(1, 3),
    ),
    "an announcement, call, nothing": Case(
        (saying("Let me look.", search_call("crack C4")), [], []),
        ("Let me look.",),
        canned_replies.NO_ANSWER_REPLY,
        blocks=(1,),
    ),
    "text, call over the cap, text": Case(
        (
            saying("I look.", search_call("crack C4")),
            saying("And again.", search_call("crack", "call_2")),
            text_answer("0.45 mm [1]."),
        ),
        ("I look.", "And again.", "0.45 mm [1]."),
        blocks=(1, 2, 3),
    ),
    "text, two calls over the cap": Case(
        (
            saying("I look.", search_call("crack C4")),
            search_call("crack", "call_2"),
            search_call("crack", "call_3"),
        ),
        ("I look.",),
        canned_replies.NO_ANSWER_REPLY,
        blocks=(1,),
    ),
    "text, call, table cut in a row, the rest": Case(
        (
            saying("I look.", search_call("crack C4")),
            cut_answer("It grows [1].\n\n| at | mm |\n|---|---|\n| C3 | 0.3 |\n| C4 | 0.4"),
            text_answer("\n| C4 | 0.45 |\n\nDo not backfill."),
        ),
        ("I look.", "It grows [1].\n\n| at | mm |\n|---|---|\n| C3 | 0.3 |\n| C4 | 0.45 |\n\nDo not backfill."),
    ),
    "text cut twice": Case(
        (cut_answer("It is dry. It gro"), cut_answer("It grows. Do no")),
        ("It is dry. It grows.",),
        canned_replies.CannedTexts().find("reply_cut"),
        blocks=(1,),
    ),
    "two calls with text between": Case(
        (search_call("crack C4"), saying("Now the crane.", search_call("crane", "call_2")), text_answer("7 April.")),
        ("Now the crane.", "7 April."),
        blocks=(2, 3),
    ),
    "text of white space": Case(
        (saying(" \n\n", search_call("crack C4")), text_answer("0.45 mm [1].\n")), ("0.45 mm [1].",), blocks=(1, 2)
    ),
    "the same number in two steps": Case(
        (
            search_call("crack C4"),
            saying("0.45 mm [1].", search_call("crack", "call_2")),
            text_answer("It grows [1]. Ask Tobias [99]."),
        ),
        ("0.45 mm [1].", "It grows [1]. Ask Tobias."),
        blocks=(2, 3),
    ),
}


@pytest.fixture(params=CASES.values(), ids=[*CASES])
def case(request: pytest.FixtureRequest, conversation: ConversationHarness) -> Case:
    found: Case = request.param
    if "over the cap" in request.node.callspec.id:
        conversation.query("UPDATE agents SET max_tool_iterations = 1 RETURNING id")
    conversation.model.script = [*found.script]
    return found


class Phone:
    """A provider that takes everything."""

    def __init__(self) -> None:
        self.received: list[str] = []

    def deliver(self, outgoing: OutgoingMessage, /) -> str:
        self.received.append(outgoing.text)
        return f"gs-{len(self.received)}"


def send_newest(conversation: ConversationHarness) -> list[str]:
    """Send the newest reply on WhatsApp; return its parts."""
    ((row,),) = conversation.query("SELECT id FROM outbox ORDER BY created_at DESC, id DESC LIMIT 1")
    assert isinstance(row, UUID)
    phone, now = Phone(), conversation.clock()
    send_reply(conversation.admin, conversation.database, {"gupshup": phone}, row, uuid7(now), now, lambda: 60.0)
    return phone.received


def bodies(conversation: ConversationHarness) -> list[str]:
    found = conversation.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")
    return [str(body) for (body,) in found]


def run_web(conversation: ConversationHarness) -> tuple[Principal, UUID, UUID]:
    """Ask on the web; return the visitor, the session and the message."""
    visitor = conversation.create_visitor()
    session_id = conversation.find_session(visitor)
    message_id = conversation.send_web(visitor, session_id, ASKED)
    conversation.run_turn()
    return visitor, session_id, message_id


def streamed_texts(conversation: ConversationHarness) -> dict[int, str]:
    """What the web has of the reply before it is stored, by block."""
    texts: dict[int, str] = {}
    for kind, payload in conversation.query("SELECT kind, payload FROM events ORDER BY number"):
        assert isinstance(payload, dict)
        if kind == "text_delta":
            texts[payload["block"]] = texts.get(payload["block"], "") + payload["text"]
        if kind == "text_reset":
            texts.pop(payload["step"], None)
    return texts


def agui_texts(conversation: ConversationHarness, visitor: Principal, session_id: UUID, message_id: UUID) -> list[str]:
    """The texts that a client of AG-UI has when the run is over."""
    run, follower, texts = AguiRun("t", "r", []), AnswerFollower(session_id, message_id), dict[str, str]()
    is_over = False
    while not is_over:
        with conversation.database.transaction(visitor) as tx:
            progress = follower.read_new(visitor, tx)
        is_over = progress.is_over
        for event in progress.events:
            for sent in run.translate(event, progress.replies):
                wire = sent.model_dump(by_alias=True, mode="json")
                if wire["type"] == "TEXT_MESSAGE_CONTENT":
                    texts[wire["messageId"]] = texts.get(wire["messageId"], "") + wire["delta"]
                if wire["type"] == "MESSAGES_SNAPSHOT":
                    texts = {one["id"]: texts[one["id"]] for one in wire["messages"] if one["id"] in texts}
    return [*texts.values()]


def ask_once_more(conversation: ConversationHarness) -> str:
    """Run another turn on WhatsApp; return the text of its prompt as `parlour explain` shows it."""
    conversation.send_whatsapp("Thanks.", "m9")
    conversation.model.script = [text_answer("You are welcome.")]
    conversation.run_turn()
    ((turn_id,),) = conversation.query("SELECT id FROM turns ORDER BY number DESC LIMIT 1")
    assert isinstance(turn_id, UUID)
    with conversation.database.transaction(conversation.admin) as tx:
        rebuilt = rebuild_turn_prompt(conversation.admin, tx, turn_id, 1)
    assert rebuilt["is_identical"]
    return str(rebuilt["text"])


def test_whatsapp_gets_one_reply_with_all_of_it(conversation: ConversationHarness, case: Case) -> None:
    conversation.send_whatsapp(ASKED)
    conversation.run_turn()
    assert bodies(conversation) == [case.body]
    assert len(conversation.query("SELECT id FROM outbox")) == 1
    parts = send_newest(conversation)
    assert len(parts) == 1
    beginnings = [paragraph.split(" [1]")[0][:60] for paragraph in case.paragraphs]
    text = "\n".join(parts)
    positions = [text.find(one) for one in filter(None, (*beginnings, case.closing_line))]
    assert positions == sorted(positions)
    assert -1 not in positions
    cited = conversation.query("SELECT DISTINCT number FROM citations")
    assert cited == ([(1,)] if "[1]" in case.body else [])


def test_the_web_streams_a_text_for_each_step_and_stores_them_together(
    conversation: ConversationHarness, case: Case
) -> None:
    visitor, session_id, message_id = run_web(conversation)
    assert bodies(conversation) == [case.body]
    streamed = streamed_texts(conversation)
    assert tuple(streamed) == case.blocks
    assert "\n\n".join(filter(None, (one.strip() for one in streamed.values()))).replace(" [99]", "") == "\n\n".join(
        case.paragraphs
    )
    is_problem = case.closing_line == canned_replies.NO_ANSWER_REPLY  # AG-UI has it as an error
    shown = "\n\n".join(case.paragraphs) if is_problem else case.body
    assert "\n\n".join(agui_texts(conversation, visitor, session_id, message_id)) == shown


def test_later_prompts_have_all_of_it_once(conversation: ConversationHarness, case: Case) -> None:
    conversation.send_whatsapp(ASKED)
    conversation.run_turn()
    prompt = ask_once_more(conversation)
    for paragraph in case.body.split("\n\n"):  # what the runtime wrote below is marked as its own
        assert prompt.count(canonical_json(paragraph)[1:-1]) == 1
    assert all(prompt.count(canonical_json(one)[1:-1]) == 1 for one in case.paragraphs)
    before = conversation.model.requests[-1]
    conversation.send_whatsapp("And now?", "m10")
    conversation.model.script = [text_answer("Nothing new.")]
    conversation.run_turn()
    after = conversation.model.requests[-1]
    count = len(before.messages) - 1
    assert text_of(after.messages[:count]) == text_of(before.messages[:count])


def text_of(messages: tuple[JsonObject, ...]) -> str:
    """The bytes of messages without the marks of the cache."""
    return canonical_json([*messages]).replace('"cache_control":{"type":"ephemeral"},', "")


def test_the_step_after_an_empty_one_may_call_nothing(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp(ASKED)
    ignored = saying("0.45 mm [1].", search_call("crack", "call_2"))
    conversation.model.script = [search_call("crack C4"), [], ignored]
    conversation.run_turn()
    assert [one.tool_choice for one in conversation.model.requests] == ["auto", "auto", "none"]
    assert conversation.model.requests[-1].tools == conversation.model.requests[0].tools
    assert "no tool can be called" in canonical_json(conversation.model.requests[-1].messages[-1])
    assert bodies(conversation) == ["0.45 mm [1]."]
    assert conversation.query("SELECT step, state FROM tool_calls") == [(1, "done")]


def test_the_request_after_the_last_round_offers_no_tools_and_says_so(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE agents SET max_tool_iterations = 1 RETURNING id")
    conversation.send_whatsapp(ASKED)
    past = saying("0.45 mm [1], I think.", search_call("crack", "call_2"))
    conversation.model.script = [search_call("crack C4"), past, cut_answer("It grows [1]. Do"), text_answer("Do not.")]
    conversation.run_turn()
    requests = conversation.model.requests
    assert "A turn has 1 rounds of calls at most" in canonical_json([*requests[0].system])
    assert [one.tool_choice for one in requests] == ["auto", "none", "none", "none"]
    assert all(one.tools == requests[0].tools for one in requests)
    ends = [canonical_json(one.messages[-1]) for one in requests]
    assert ["No more look-ups in this turn" in end for end in ends] == [False, True, True, False]
    assert "Go on with the sentence or table row" in ends[-1]
    spoken = [canonical_json(one) for one in requests[-1].messages if one["role"] == "assistant"]
    assert "0.45 mm [1], I think." in spoken[-1]
    assert "It grows [1]." in spoken[-1]
    assert "call_2" not in canonical_json([*requests[-1].messages])
    assert bodies(conversation) == ["0.45 mm [1], I think.\n\nIt grows [1]. Do not."]
    assert conversation.query("SELECT step, state FROM tool_calls") == [(1, "done")]
    assert '"call_2"' not in ask_once_more(conversation)


def test_what_was_said_with_a_question_is_not_sent_again(conversation: ConversationHarness) -> None:
    asking = ApprovalHarness(conversation)
    asking.add_tool()
    visitor = conversation.create_visitor()
    session_id = conversation.find_session(visitor)
    message_id = conversation.send_web(visitor, session_id, "Page the foreman.")
    conversation.model.script = [saying("The north side is blocked.", tool_call("page", message="clear it"))]
    conversation.run_turn()
    (question,) = bodies(conversation)
    assert question.startswith("The north side is blocked.\n\n")
    assert agui_texts(conversation, visitor, session_id, message_id) == ["The north side is blocked.", question[28:]]
    asking.answer(visitor, asking.latest(), Answer("approve"))
    asking.dispatch(asking.latest())
    asking.run_result_turn("The foreman is paged.")
    assert bodies(conversation)[1:] == ["The foreman is paged."]


def test_the_text_of_a_failed_attempt_does_not_count(conversation: ConversationHarness) -> None:
    def break_off() -> None:
        if len(conversation.model.requests) == 2:
            raise ProviderUnavailable("it broke off")

    conversation.model.script = [
        saying("I look.", search_call("crack C4")),
        text_answer("It is 0."),
        text_answer("0.45 mm [1]."),
    ]
    conversation.model.before_completion = break_off
    visitor, session_id, message_id = run_web(conversation)
    assert bodies(conversation) == ["I look.\n\n0.45 mm [1]."]
    assert streamed_texts(conversation) == {1: "I look.", 2: "0.45 mm [1]."}
    assert agui_texts(conversation, visitor, session_id, message_id) == ["I look.", "0.45 mm [1]."]


def test_what_was_said_stays_when_no_model_answers_any_more(conversation: ConversationHarness) -> None:
    conversation.model.script = [
        saying("I look.", search_call("crack C4")),
        ProviderRejected("no"),
        ProviderRejected("no"),
    ]
    visitor, session_id, message_id = run_web(conversation)
    (body,) = bodies(conversation)
    assert body.startswith("I look.\n\n")
    assert conversation.query("SELECT degraded FROM turns") == [(True,)]
    assert agui_texts(conversation, visitor, session_id, message_id) == ["I look."]


def test_a_reply_over_the_limit_of_whatsapp_is_one_message_in_parts(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp(ASKED)
    long = [f"Item {number} of the survey is dry." for number in range(200)]
    conversation.model.script = [saying("\n".join(long), search_call("crack C4")), text_answer("0.45 mm [1].")]
    conversation.run_turn()
    assert len(conversation.query("SELECT id FROM outbox")) == 1
    parts = send_newest(conversation)
    assert len(parts) > 1
    assert [line for line in "\n".join(parts).split("\n") if line in long] == long
    assert "0.45 mm" in parts[-1]


def test_a_text_that_leaves_no_room_for_a_further_step_stays(conversation: ConversationHarness) -> None:
    long = "Crack. " * 9_362 + "End."
    conversation.model.script = [saying(long, search_call("crack C4"))]
    visitor, session_id, message_id = run_web(conversation)
    line = canned_replies.overflow_reply("calls", has_written=False)
    assert bodies(conversation) == [f"{long}\n\n{line}"]
    assert agui_texts(conversation, visitor, session_id, message_id) == [long]


@pytest.mark.parametrize("kill_at", [1, 2, 3])
def test_a_turn_that_was_killed_between_steps_gives_the_same_reply_once(
    conversation: ConversationHarness, kill_at: int
) -> None:
    class Killed(BaseException):
        """The end of the process."""

    script: list[ScriptedAnswer] = [saying("I look.", search_call("crack C4")), [], text_answer("0.45 mm [1].")]
    conversation.send_whatsapp(ASKED)
    conversation.model.script = [*script]
    asked = 0

    def die() -> None:
        nonlocal asked
        asked += 1
        if asked == kill_at:
            raise Killed

    conversation.model.before_completion = die
    with pytest.raises(Killed):
        conversation.run_turn()
    conversation.model.before_completion = lambda: None
    conversation.model.script = script[kill_at - 1 :]
    conversation.query("UPDATE sessions SET lease_until = '2020-01-01' RETURNING id")
    conversation.run_turn()
    assert bodies(conversation) == ["I look.\n\n0.45 mm [1]."]
    assert [one.tool_choice for one in conversation.model.requests][-1] == "none"
    assert conversation.query("SELECT number FROM steps ORDER BY number") == [(1,), (2,), (3,)]
