"""The model that plays scripts: what it says hangs on the request alone, and it counts."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx2
import pytest

from local.scripted_model import Script, ScriptedModel, ToolUse
from parlour.models.anthropic import AnthropicModel
from parlour.models.model import Completion, ModelRequest

SCRIPTS = {
    "plain": Script(reply="Noted."),
    "acts": Script(
        tool_uses=(ToolUse("raise_rfi", {"subject": "Crack TAG"}),), reply="Raised.", later_reply="It came."
    ),
    "reads": Script(background_reply='{"facts": []}'),
}
OPENING: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "chaos acts r1: the crack"}]}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    server = ScriptedModel(SCRIPTS)
    yield server
    server.close()


def ask(model: ScriptedModel, *messages: dict[str, Any]) -> Completion:
    request = ModelRequest("claude-sonnet-5-5", 1_500, (), (), messages)
    with closing(AnthropicModel("key", model.url)) as claude:
        *_, completed = claude.stream(request, seconds_left=20)
    assert isinstance(completed, Completion)
    return completed


def test_it_calls_its_tools_first_and_signs_their_arguments(model: ScriptedModel) -> None:
    completed = ask(model, OPENING)
    assert completed.stop_reason == "tool_use"
    assert [(block["name"], block["input"]) for block in completed.blocks] == [("raise_rfi", {"subject": "Crack r1"})]


def test_it_goes_on_from_what_the_request_shows(model: ScriptedModel) -> None:
    asked = ask(model, OPENING).blocks
    result = {"type": "tool_result", "tool_use_id": asked[0]["id"], "content": "{}"}
    after = ask(model, OPENING, {"role": "assistant", "content": [*asked]}, {"role": "user", "content": [result]})
    later = ask(model, OPENING, {"role": "assistant", "content": "On it."}, {"role": "user", "content": "And now?"})
    assert [block["text"] for block in (*after.blocks, *later.blocks)] == ["Raised. (r1)", "It came. (r1)"]


def test_every_request_of_a_signature_is_counted(model: ScriptedModel) -> None:
    ask(model, OPENING)
    ask(model, OPENING)
    assert (model.count_requests("r1"), model.count_requests("r2")) == (2, 0)


def test_a_request_that_nobody_signed_is_refused(model: ScriptedModel) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    assert httpx2.post(f"{model.url}/v1/messages", json=body).status_code == 400


def test_what_is_asked_without_tools_may_be_answered_aside(model: ScriptedModel) -> None:
    tool = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}
    asking = {"model": "m", "messages": [{"role": "user", "content": "chaos reads r3: hello"}]}
    for given in (asking, {**asking, "tools": [tool]}):
        httpx2.post(f"{model.url}/v1/messages", json=given).raise_for_status()
    assert (model.count_requests("r3", is_background=True), model.count_requests("r3")) == (1, 1)
