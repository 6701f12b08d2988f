"""The web channel: a visitor's session, its numbered events, and who may not read it."""

import json
import re
from collections.abc import Callable

import pytest

from tests.stories import packs, words
from tests.stories.clients import HTTP, Api, Command, Visitor, cited_titles
from tests.stories.stack import Stack, until

_DAMAGES = "What do we owe per day if we finish late?"


def test_visitor_gets_a_cited_reply_as_events_that_end_with_done(operator: Api, visit: Callable[..., Visitor]) -> None:
    visitor = visit(words.CONTRACT_DESK)
    reply = visitor.ask(_DAMAGES)
    events = visitor.events()
    assert "3,500" in reply["text"]
    assert any("Main works contract" in title for title in cited_titles(reply))
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["kind"] == "done"
    assert events[-1]["payload"]["message_id"] == reply["id"]
    assert "".join(event["payload"]["text"] for event in events if event["kind"] == "text_delta") == reply["text"]
    (turn,) = operator.turns(visitor.session_id)
    assert (turn["state"], turn["reply"]["text"]) == (words.ANSWERED, reply["text"])
    assert sum(turn["tokens_by_layer"].values()) > 0
    assert turn["cost_usd"] is not None
    assert turn["stage_ms"]


def test_reader_resumes_after_the_last_event_it_saw(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.ask("When does the crane come?")
    seen = visitor.events()
    visitor.ask("Up to which wind may we lift?")
    newer = visitor.events(after=seen[-1]["number"])
    assert seen + newer == visitor.events()
    assert newer[0]["number"] == seen[-1]["number"] + 1
    assert newer[-1]["kind"] == "done"
    assert visitor.events(after=newer[-1]["number"]) == []


def test_stream_sends_events_as_they_come_and_resumes(running_stack: Stack, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    address = f"{running_stack.url}{visitor.path}/stream"
    headers = {"Authorization": f"Bearer {visitor.token}"}
    with HTTP.stream("GET", address, headers=headers) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        visitor.say("When does the crane come?")
        streamed = _events("".join(answer.iter_text()))
    assert _without_progress(streamed) == _without_progress(visitor.events())
    last = streamed[-2]["number"]
    again = HTTP.get(address, headers={**headers, "Last-Event-ID": str(last)})
    assert _events(again.text) == streamed[-1:]


def _without_progress(events: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return all events but those of which a follower that falls behind gets only the newest."""
    return [event for event in events if event["kind"] not in {"agent_state", "context_usage"}]


def _events(text: str) -> list[dict[str, object]]:
    return [json.loads(data) for data in re.findall(r"^data: (.+)$", text, re.MULTILINE)]


def test_same_client_id_twice_makes_one_message(operator: Api, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    first = visitor.say("When does the crane come?", client_message_id="once")
    assert visitor.say("When does the crane come?", client_message_id="once") == first
    until(lambda: visitor.turns_done() == 1, "the reply")
    visitor.ask("Up to which wind may we lift?")
    assert [len(turn["input_messages"]) for turn in operator.turns(visitor.session_id)] == [1, 1]


def test_session_is_closed_to_strangers(visit: Callable[..., Visitor]) -> None:
    visitor, stranger = visit(), visit()
    for path in ("messages", "events"):
        assert visitor.send("GET", f"{visitor.path}/{path}").status_code == 200
        assert visitor.send("GET", f"{visitor.path}/{path}", with_token="").status_code == 401
        assert visitor.send("GET", f"{visitor.path}/{path}", with_token="e30.e30.").status_code == 401
        assert stranger.send("GET", f"{visitor.path}/{path}").status_code in {403, 404}
    written = stranger.send("POST", f"{visitor.path}/messages", {"text": "hello"})
    assert written.status_code in {403, 404}
    assert visitor.messages() == []


@pytest.mark.parametrize("text", ["", "x" * 10_000, "\x00"], ids=["empty", "too long", "NUL"])
def test_message_that_cannot_be_read_is_refused_by_the_api(visit: Callable[..., Visitor], text: str) -> None:
    visitor = visit()
    answer = visitor.send("POST", f"{visitor.path}/messages", {"text": text})
    assert answer.status_code == 422
    assert answer.json()["error"]["problems"][0]["field"] == "text"
    assert visitor.messages() == []


def test_archived_session_returns_to_the_list_with_a_new_message(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.ask("When does the crane come?")
    assert visitor.send("PATCH", visitor.path, {"archived": True}).json()["archived"] is True
    assert _listed(visitor) == []
    assert _listed(visitor, archived="true") == [visitor.session_id]
    visitor.ask("Up to which wind may we lift?")
    assert _listed(visitor) == [visitor.session_id]
    assert _listed(visitor, archived="true") == []


def _listed(visitor: Visitor, **params: str) -> list[str]:
    return [session["id"] for session in visitor.get("/v1/sessions", **params)["sessions"]]


def test_session_takes_the_title_that_its_visitor_gives_it(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.ask("When does the crane come?")
    assert visitor.send("PATCH", visitor.path, {"title": "The crane", "pinned": True}).status_code == 200
    (session,) = visitor.get("/v1/sessions")["sessions"]
    assert (session["title"], session["pinned"]) == ("The crane", True)


def test_deleted_document_is_quoted_no_more(operator: Api, visit: Callable[..., Visitor]) -> None:
    question = "What does the guillemot winch weigh?"
    handle = operator.document("Guillemot winch data", "The guillemot winch weighs 918 kilograms.")
    before = visit().ask(question)
    assert "918" in before["text"]
    assert "Guillemot winch data" in cited_titles(before)
    assert operator.status("DELETE", f"/v1/documents/{handle}") == 204
    after = visit().ask(question)
    assert "918" not in after["text"]
    assert "Guillemot winch data" not in [citation["title"] for citation in after["citations"]]


def test_binding_switched_off_says_so_and_opens_no_session(
    own_tenant: Api, visit: Callable[..., Visitor], running_stack: Stack
) -> None:
    visitor = visit(packs.BINDING, own_tenant.tenant)
    assert packs.FERRY_TITLE in cited_titles(visitor.ask(packs.FERRY_QUESTION))
    without = packs.pack(own_tenant.tenant)
    del without[packs.BINDING_FILE]
    own_tenant.ask("PUT", "/v1/pack", {"files": without})
    assert re.search(words.CLOSED_LINE, visitor.ask(packs.FERRY_QUESTION)["text"], re.IGNORECASE)
    place = {"tenant": own_tenant.tenant, "binding": packs.BINDING}
    assert HTTP.post(f"{running_stack.url}/v1/sessions", json=place).status_code == 404
    own_tenant.ask("PUT", "/v1/pack", {"files": packs.pack(own_tenant.tenant)})
    assert packs.FERRY_TITLE in cited_titles(visitor.ask(packs.FERRY_QUESTION))


def test_paused_tenant_answers_politely_until_it_is_resumed(
    own_tenant: Api, visit: Callable[..., Visitor], command: Command
) -> None:
    visitor = visit(packs.BINDING, own_tenant.tenant)
    assert "paused" in command.print("tenant", "pause", tenant=own_tenant.tenant)
    assert re.search(words.CLOSED_LINE, visitor.ask(packs.FERRY_QUESTION)["text"], re.IGNORECASE)
    assert "active" in command.print("tenant", "resume", tenant=own_tenant.tenant)
    assert packs.FERRY_TITLE in cited_titles(visitor.ask(packs.FERRY_QUESTION))


def test_chat_command_prints_the_reply_with_its_sources(command: Command) -> None:
    printed = command.print("chat", words.CONTRACT_DESK, "--message", _DAMAGES)
    reply, _, sources = printed.rpartition("\n\n")
    assert "3,500" in reply
    assert "Main works contract" in sources
