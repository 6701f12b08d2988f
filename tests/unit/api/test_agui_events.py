"""A turn's events in AG-UI's terms: whatever a turn does, the client gets a valid run and the reply."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from ag_ui.core import BaseEvent, UserMessage
from hypothesis import given
from hypothesis import strategies as st

from parlour.api.agui_events import AguiRun
from parlour.infra.json_values import JsonObject

_REPLY_ID, _TURN_ID = UUID(int=7), UUID(int=1)
_QUESTION = UserMessage(id="u1", content="When?")
_TEXT = st.sampled_from(["On ", "Friday", " \n", "  at nine. ", "\n\nSee you."])
_BLOCK = st.integers(1, 2)
_EVENTS = st.one_of(
    st.tuples(st.just("text_delta"), st.builds(lambda text, block: {"text": text, "block": block}, _TEXT, _BLOCK)),
    st.tuples(st.just("text_reset"), _BLOCK.map(lambda block: {"step": block})),
    st.tuples(st.just("reasoning_delta"), st.just({"text": "Hm.", "block": 1})),
    st.tuples(st.just("reasoning_end"), st.just({"block": 1, "milliseconds": 40})),
    st.tuples(st.just("tool_call"), st.just({"name": "search"})),
    st.tuples(st.just("tool_result"), st.just({"name": "search", "ok": True})),
    st.tuples(st.just("session"), st.just({"turn_id": str(uuid4()), "number": 1})),
    st.tuples(st.just("context_usage"), st.just({"step": 1})),
    st.tuples(st.just("operation"), st.just({"action": "create"})),
    st.tuples(st.just("something_newer"), st.just({})),
)


@dataclass(frozen=True)
class FeedEvent:
    """An event of a session's feed."""

    number: int
    kind: str
    payload: JsonObject
    turn_id: UUID = _TURN_ID
    at: datetime = datetime(2026, 3, 2, tzinfo=UTC)


class Client:
    """What a client that checks the protocol's order has of the messages: texts by id, in order."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {"u1": "When?"}
        self.open_text: str | None = None
        self.open_call: str | None = None
        self.waiting_calls: set[str] = set()
        self.open_reasoning: str | None = None
        self.ended = False

    def receive(self, event: BaseEvent) -> None:
        wire = event.model_dump(by_alias=True, mode="json")
        assert not self.ended
        self._check_reasoning(wire)
        match wire["type"]:
            case "TEXT_MESSAGE_START":
                assert self.open_text is None
                assert wire["messageId"] not in self.texts
                self.open_text = wire["messageId"]
                self.texts[wire["messageId"]] = ""
            case "TEXT_MESSAGE_CONTENT":
                assert wire["messageId"] == self.open_text
                assert wire["delta"]
                self.texts[wire["messageId"]] += wire["delta"]
            case "TEXT_MESSAGE_END":
                assert wire["messageId"] == self.open_text
                self.open_text = None
            case "TOOL_CALL_START":
                assert self.open_text is None
                self.open_call = wire["toolCallId"]
                self.waiting_calls.add(wire["toolCallId"])
            case "TOOL_CALL_RESULT":
                self.waiting_calls.remove(wire["toolCallId"])
            case "TOOL_CALL_END":
                assert wire["toolCallId"] == self.open_call
                self.open_call = None
            case "MESSAGES_SNAPSHOT":
                assert self.open_text is None
                stay = [one["id"] for one in wire["messages"] if "toolCalls" not in one and one["role"] != "tool"]
                assert {*stay} <= self.texts.keys()
                self.texts = {one: self.texts[one] for one in stay}
            case "RUN_FINISHED" | "RUN_ERROR":
                assert wire["type"] == "RUN_ERROR" or (self.open_text is None and not self.waiting_calls)
                self.ended = True

    def _check_reasoning(self, wire: JsonObject) -> None:
        if not str(wire["type"]).startswith("REASONING"):
            assert self.open_reasoning is None
            return
        if wire["type"] == "REASONING_START":
            assert self.open_reasoning is None
            self.open_reasoning = str(wire["messageId"])
        assert wire["messageId"] == self.open_reasoning
        if wire["type"] == "REASONING_END":
            self.open_reasoning = None


def _run(events: list[tuple[str, JsonObject]], reply: str) -> Iterator[BaseEvent]:
    run = AguiRun("t", "r", [_QUESTION])
    done: tuple[str, JsonObject] = ("done", {"message_id": str(_REPLY_ID), "turn_id": str(_TURN_ID)})
    yield from run.begin(restates=False)
    for number, (kind, payload) in enumerate([*events, done], start=1):
        yield from run.translate(FeedEvent(number, kind, payload), {_REPLY_ID: reply})
    yield from run.finish([])
    assert run.is_over


@given(st.lists(_EVENTS, max_size=12), st.sampled_from(["On Friday at nine.", "On\n\nFriday", "On Friday\n\nOn", ""]))
def test_a_turn_of_any_events_is_a_valid_run_whose_texts_are_the_reply(
    events: list[tuple[str, JsonObject]], reply: str
) -> None:
    client = Client()
    for event in _run(events, reply):
        client.receive(event)
    assert client.ended
    assert "\n\n".join([*client.texts.values()][1:]) == reply


_TWO_STEPS: list[tuple[str, JsonObject]] = [
    ("text_delta", {"text": "I look. ", "block": 1}),
    ("tool_call", {"name": "search"}),
    ("text_delta", {"text": "On Friday.", "block": 2}),
]


def test_the_text_of_each_step_is_a_message_and_nothing_is_sent_again() -> None:
    client, sent = Client(), [*_run(_TWO_STEPS, "I look.\n\nOn Friday.\n\nShall I page the foreman?")]
    for event in sent:
        client.receive(event)
    assert [*client.texts.values()][1:] == ["I look.", "On Friday.\n\nShall I page the foreman?"]
    assert "MESSAGES_SNAPSHOT" not in {event.model_dump()["type"].value for event in sent}


def test_a_false_citation_takes_back_the_text_of_its_step_alone() -> None:
    client = Client()
    cited: tuple[str, JsonObject] = ("text_delta", {"text": " [9]", "block": 2})
    for event in _run([*_TWO_STEPS, cited], "I look.\n\nOn Friday."):
        client.receive(event)
    assert [*client.texts.values()][1:] == ["I look.", "On Friday."]


def test_a_failed_attempt_takes_back_the_text_of_its_step_alone() -> None:
    reset: list[tuple[str, JsonObject]] = [
        ("text_reset", {"step": 2}),
        ("text_delta", {"text": "On Monday.", "block": 2}),
    ]
    client = Client()
    for event in _run([*_TWO_STEPS, *reset], "I look.\n\nOn Monday."):
        client.receive(event)
    assert [*client.texts.values()][1:] == ["I look.", "On Monday."]


def test_a_turn_that_could_not_go_on_keeps_its_texts_and_tells_why_once() -> None:
    error: tuple[str, JsonObject] = ("error", {"code": "no_answer", "message": "Please ask again."})
    client, sent = Client(), [*_run([*_TWO_STEPS, error], "I look.\n\nOn Friday.\n\nPlease ask again.")]
    for event in sent:
        client.receive(event)
    assert [*client.texts.values()][1:] == ["I look.", "On Friday."]
    assert sent[-1].model_dump()["message"] == "Please ask again."


def test_streamed_text_that_is_the_reply_is_not_sent_again() -> None:
    streamed: list[tuple[str, JsonObject]] = [("text_delta", {"text": text}) for text in ("On ", "Friday", ".\n")]
    client, sent = Client(), [*_run(streamed, "On Friday.\n\nShall I page the foreman?")]
    for event in sent:
        client.receive(event)
    assert [*client.texts.values()] == ["When?", "On Friday.\n\nShall I page the foreman?"]
    assert "MESSAGES_SNAPSHOT" not in {event.model_dump()["type"].value for event in sent}


def test_an_error_ends_the_run_alone() -> None:
    events: list[tuple[str, JsonObject]] = [
        ("text_delta", {"text": "On Fri"}),
        ("error", {"code": "provider_unavailable", "message": "Please ask again later."}),
    ]
    last = [*_run(events, "Please ask again later.")][-1].model_dump(by_alias=True, mode="json")
    assert last == {
        "type": "RUN_ERROR",
        "code": "provider_unavailable",
        "message": "Please ask again later.",
    }


def test_reasoning_is_told_apart_from_messages() -> None:
    events: list[tuple[str, JsonObject]] = [
        ("reasoning_delta", {"text": "The crane ", "block": 1}),
        ("reasoning_delta", {"text": "is a record.", "block": 1}),
        ("reasoning_end", {"block": 1, "milliseconds": 1_200}),
        ("text_delta", {"text": "On Friday."}),
    ]
    sent = [event.model_dump(by_alias=True, mode="json") for event in _run(events, "On Friday.")]
    assert [one["type"] for one in sent if one["type"].startswith("REASONING")] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    ]
    assert {one["messageId"] for one in sent if one["type"].startswith("REASONING")} == {"reasoning-1"}
