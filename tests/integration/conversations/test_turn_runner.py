"""One turn on the real database: answered once, from what is committed, under one lease."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.channels.envelope import Media
from parlour.conversations import canned_replies, store, turn_views
from parlour.infra.errors import LeaseHeld, ProviderRejected, ProviderUnavailable, QueueUnavailable
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.tenancy import tenants, users
from parlour.tools.run import ToolContext
from tests.conversation_harness import PHONE, ConversationHarness, search_call, text_answer, tool_call


def replies(conversation: ConversationHarness) -> list[object]:
    return [
        body
        for (body,) in conversation.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")
    ]


def turns(conversation: ConversationHarness) -> list[tuple[object, ...]]:
    return conversation.query("SELECT state, attempt_count, degraded, problem FROM turns ORDER BY number")


def events(conversation: ConversationHarness) -> list[tuple[object, ...]]:
    return conversation.query("SELECT number, kind, payload FROM events ORDER BY number")


def test_a_question_is_searched_answered_cited_and_put_in_the_outbox(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack at C4?")
    conversation.model.script = [
        search_call("crack width C4"),
        text_answer("The log has its width [1]. Ask Tobias [99]."),
    ]
    conversation.run_turn()
    assert replies(conversation) == ["The log has its width [1]. Ask Tobias."]
    assert turns(conversation) == [("answered", 1, False, None)]
    assert conversation.query("SELECT state FROM messages WHERE direction = 'inbound'") == [("answered",)]
    assert conversation.query("SELECT number FROM citations") == [(1,)]
    assert conversation.query("SELECT state, recipient FROM outbox") == [("pending", PHONE)]
    assert len(conversation.outbox.sent) == 1
    assert conversation.query("SELECT metadata FROM messages WHERE direction = 'outbound'") == [
        ({"removed_citations": 1, "cited_numbers": [1]},)
    ]


def test_every_step_call_and_tool_is_in_the_journal(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack at C4?")
    conversation.model.script = [search_call("crack width C4"), text_answer("0.35 mm [1].")]
    conversation.run_turn()
    assert conversation.query("SELECT number, stop_reason, blocks IS NOT NULL FROM steps ORDER BY number") == [
        (1, "tool_use", True),
        (2, "end_turn", True),
    ]
    assert conversation.query("SELECT step, name, state, writes FROM tool_calls") == [
        (1, "search_knowledge", "done", False)
    ]
    calls = conversation.query(
        "SELECT step, provider, outcome, input_tokens, cost_usd > 0, tokens_by_layer FROM llm_calls ORDER BY 1"
    )
    assert [call[:5] for call in calls] == [(1, "anthropic", "ok", 100, True), (2, "anthropic", "ok", 100, True)]
    layers = calls[1][5]
    assert isinstance(layers, dict)
    assert layers["calls"] > 0
    assert set(layers) == {"tools", "tiers", "briefing", "heartbeat", "message", "calls", "reminder"}


def test_the_model_reads_the_persona_the_history_and_the_moment(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?", "m1")
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.run_turn()
    conversation.send_whatsapp("And since when?", "m2")
    conversation.model.script = [text_answer("Since February.")]
    conversation.run_turn()
    request = conversation.model.requests[-1]
    assert "Asha" in canonical_json(list(request.system))
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    opening = canonical_json(request.messages[-1])
    assert "And since when?" in opening
    assert "Mon 2 Mar 2026" in opening
    assert "Priya" in opening
    offered = [tool["name"] for tool in request.tools]
    assert offered == [
        "ask_a_person",
        "compile_report",
        "create_entity",
        "get_entity",
        "hand_off",
        "list_entities",
        "notify_foreman",
        "raise_rfi",
        "search_knowledge",
        "update_entity",
    ]


def test_a_burst_becomes_one_turn_and_the_later_wakes_find_nothing(conversation: ConversationHarness) -> None:
    for number in range(5):
        conversation.send_whatsapp(f"Part {number}", f"m{number}")
    conversation.model.script = [text_answer("All five read.")]
    for wake in conversation.list_wakes():
        conversation.run_turn(wake)
    assert replies(conversation) == ["All five read."]
    opening = canonical_json(conversation.model.requests[0].messages[-1])
    assert all(f"Part {number}" in opening for number in range(5))


def test_a_message_that_arrives_during_a_turn_is_answered_by_the_next(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("First", "m1")
    conversation.model.script = [text_answer("To the first."), text_answer("To the second.")]

    def write_another() -> None:
        conversation.model.before_completion = lambda: None
        conversation.send_whatsapp("Second", "m2")

    conversation.model.before_completion = write_another
    conversation.run_turn(conversation.list_wakes()[0])
    assert len(conversation.query("SELECT id FROM work_due WHERE kind = 'session'")) == 1
    conversation.run_turn()
    assert conversation.query("SELECT id FROM work_due WHERE kind = 'session'") == []
    assert replies(conversation) == ["To the first.", "To the second."]
    assert [message["role"] for message in conversation.model.requests[1].messages] == ["user", "assistant", "user"]


def test_the_web_sees_numbered_events_ended_by_done(conversation: ConversationHarness) -> None:
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "How wide is the crack?")
    conversation.model.script = [search_call("crack"), text_answer("0.35 mm [1].")]
    conversation.run_turn()
    seen = events(conversation)
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    assert [kind for _, kind, _ in seen] == [
        "agent_state",
        "session",
        "context_usage",
        "agent_state",
        "tool_call",
        "operation",
        "tool_result",
        "operation",
        "agent_state",
        "context_usage",
        "text_delta",
        "text_delta",
        "done",
    ]
    assert [payload for _, kind, payload in seen if kind == "text_delta"] == [
        {"text": "0.35 mm ", "block": 2},
        {"text": "[1].", "block": 2},
    ]
    states = [payload for _, kind, payload in seen if kind == "agent_state"]
    assert states == [{"state": "thinking"}, {"state": "executing"}, {"state": "thinking"}]
    operations = [payload for _, kind, payload in seen if kind == "operation"]
    search = {"action": "search", "entity_type": "document", "entity_name": "crack"}
    assert operations == [{**search, "status": "start"}, {**search, "status": "success"}]
    assert conversation.query("SELECT count(*) FROM outbox") == [(0,)]


def test_a_messaging_session_writes_no_events(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello")
    conversation.model.script = [text_answer("Hello!")]
    conversation.run_turn()
    assert events(conversation) == []


def test_a_crash_after_a_committed_step_goes_on_from_there(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?")
    conversation.model.script = [
        search_call("crack"),
        RuntimeError("the process died"),
        text_answer("As in the log [1]."),
    ]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.run_turn()
    assert replies(conversation) == ["As in the log [1]."]
    assert turns(conversation) == [("answered", 2, False, None)]
    assert conversation.query("SELECT count(*) FROM tool_calls") == [(1,)]
    assert [len(request.messages) for request in conversation.model.requests] == [1, 3, 3]


def test_a_restarted_step_tells_the_web_to_forget_what_it_streamed(conversation: ConversationHarness) -> None:
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Hello")
    conversation.model.script = [RuntimeError("the process died"), text_answer("Hello!")]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.run_turn()
    assert [kind for _, kind, _ in events(conversation)] == [
        "agent_state",
        "session",
        "context_usage",
        "agent_state",
        "session",
        "text_reset",
        "context_usage",
        "text_delta",
        "done",
    ]


def test_a_turn_that_always_breaks_is_failed_after_three_attempts_and_the_session_goes_on(
    conversation: ConversationHarness,
) -> None:
    conversation.send_whatsapp("Poison", "m1")
    conversation.model.script = [RuntimeError("poison")] * 3
    for _ in range(2):
        with pytest.raises(RuntimeError):
            conversation.run_turn()
    conversation.run_turn()
    assert turns(conversation) == [("failed", 3, True, "unexpected_error")]
    assert replies(conversation) == [canned_replies.FAILED_REPLY]
    assert conversation.query("SELECT state FROM messages WHERE direction = 'inbound'") == [("parked",)]
    conversation.send_whatsapp("Next", "m2")
    conversation.model.script = [text_answer("Here.")]
    conversation.run_turn()
    assert replies(conversation)[-1] == "Here."


def test_a_turn_whose_workers_were_killed_is_failed_when_it_is_begun_once_more(
    conversation: ConversationHarness,
) -> None:
    conversation.send_whatsapp("Poison")
    conversation.model.script = [RuntimeError("x")]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.query("UPDATE turns SET attempt_count = 3 RETURNING 1")
    conversation.run_turn()
    assert turns(conversation) == [("failed", 4, True, "too_many_attempts")]


@pytest.mark.parametrize(
    ("problem", "text"),
    [(ProviderUnavailable(), canned_replies.UNAVAILABLE_REPLY), (ProviderRejected(), canned_replies.FAULT_REPLY)],
)
def test_a_provider_that_does_not_answer_gets_a_polite_line_marked_degraded(
    conversation: ConversationHarness, problem: Exception, text: str
) -> None:
    conversation.send_whatsapp("Hello")
    conversation.model.script = [problem] * 4
    conversation.run_turn()
    assert replies(conversation) == [text]
    assert turns(conversation) == [("answered", 1, True, problem.code)]  # type: ignore[attr-defined]
    outcome = "unavailable" if isinstance(problem, ProviderUnavailable) else "rejected"
    assert set(conversation.query("SELECT outcome FROM llm_calls")) == {(outcome,)}


def test_a_model_that_never_stops_asking_for_tools_ends_politely(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello")
    conversation.model.script = [search_call("crack", f"call_{number}") for number in range(9)]
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.NO_ANSWER_REPLY]
    assert conversation.query("SELECT count(*) FROM tool_calls") == [(4,)]
    assert turns(conversation) == [("answered", 1, True, "no_answer")]


def test_a_mistake_with_a_tool_is_told_to_the_model(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello")
    wrong: list[JsonObject] = [{"type": "tool_use", "id": "c1", "name": "rm_rf", "input": {}}]
    conversation.model.script = [wrong, text_answer("Never mind.")]
    conversation.run_turn()
    assert '\\"ok\\": false' in canonical_json(conversation.model.requests[1].messages[-1])
    assert conversation.query("SELECT state, code FROM tool_calls") == [("failed", "unknown_tool")]


def test_a_paused_tenant_gives_a_polite_line_without_a_model(conversation: ConversationHarness) -> None:
    with conversation.database.transaction(conversation.admin) as tx:
        tenants.set_tenant_status(conversation.admin, tx, "paused", conversation.clock())
    conversation.send_whatsapp("Hello")
    conversation.run_turn()
    assert (replies(conversation), conversation.model.requests) == ([canned_replies.PAUSED_REPLY], [])


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("x" * 10_000, "text", "That is longer than I can read"),
        ("", "text", "Your message arrived without any text"),
        ("  ", "text", "Your message arrived without any text"),
        ("", "media", "I cannot open attachments"),
    ],
    ids=["long", "empty", "blank", "media"],
)
def test_what_the_model_cannot_read_is_answered_politely(
    conversation: ConversationHarness, text: str, kind: str, expected: str
) -> None:
    media = Media("location", "") if kind == "media" else None
    conversation.send_whatsapp(text, kind=kind, media=media)
    conversation.run_turn()
    (reply,) = replies(conversation)
    assert str(reply).startswith(expected)
    assert conversation.model.requests == []


def test_a_wake_of_a_held_session_is_left_to_its_worker(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello")
    until = conversation.clock() + timedelta(seconds=60)
    conversation.query(f"UPDATE sessions SET lease_until = '{until.isoformat()}' RETURNING 1")
    conversation.run_turn()
    assert conversation.query("SELECT has_pending_wake, (SELECT count(*) FROM turns) FROM sessions") == [(True, 0)]
    conversation.clock.now = until
    conversation.model.script = [text_answer("Hello!")]
    conversation.run_turn()
    assert replies(conversation) == ["Hello!"]


def test_a_holder_that_lets_go_between_two_looks_loses_no_wake(
    conversation: ConversationHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation.send_whatsapp("Hello")
    monkeypatch.setattr(store, "acquire_lease", lambda *_: None)
    with pytest.raises(LeaseHeld) as held:
        conversation.run_turn()
    assert held.value.retry_after == 1


def test_a_wake_used_up_by_an_earlier_workers_turn_still_answers_its_own_message(
    conversation: ConversationHarness,
) -> None:
    conversation.send_whatsapp("First", "m1")
    conversation.model.script = [
        RuntimeError("the process died"),
        text_answer("To the first."),
        text_answer("To the second."),
    ]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.send_whatsapp("Second", "m2")
    conversation.run_turn()
    assert replies(conversation) == ["To the first.", "To the second."]


def test_a_waiting_reply_is_not_overtaken_by_the_next(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("First", "m1")
    conversation.model.script = [text_answer("One."), text_answer("Two.")]
    conversation.outbox.error = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        conversation.run_turn()
    conversation.outbox.error = None
    conversation.send_whatsapp("Second", "m2")
    conversation.run_turn()
    bodies = {
        str(row): body
        for row, body in conversation.query("SELECT o.id, m.body FROM outbox o JOIN messages m ON m.id = o.message_id")
    }
    assert [bodies[str(message.body["outbox_id"])] for message in conversation.outbox.sent.values()] == ["One.", "Two."]


def test_empty_text_beside_a_tool_call_is_not_sent_back(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello")
    conversation.model.script = [[{"type": "text", "text": ""}, *search_call("crack")], text_answer("Hello!")]
    conversation.run_turn()
    assert '"text":""' not in canonical_json(list(conversation.model.requests[1].messages))


def test_a_turn_that_fails_is_counted(conversation: ConversationHarness, capsys: pytest.CaptureFixture[str]) -> None:
    conversation.send_whatsapp("Poison")
    conversation.model.script = [RuntimeError()]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.query("UPDATE turns SET attempt_count = 3 RETURNING 1")
    conversation.run_turn()
    assert '"FailedTurn":[1.0]' in capsys.readouterr().out


def test_a_viewer_sees_only_what_their_clearance_covers(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello")
    conversation.model.script = [text_answer("Hello!")]
    conversation.run_turn()
    (session,) = {wake.session_id for wake in conversation.list_wakes()}
    for clearance, seen in ((0, 0), (1, 1)):
        viewer = Principal(conversation.tenant_id, "member", conversation.tenant_id, frozenset({"viewer"}), clearance)
        with conversation.database.transaction(viewer) as tx:
            assert len(turn_views.list_turns(viewer, tx, 10).rows) == seen
            assert len(turn_views.read_transcript(viewer, tx, session, 10)) == 2 * seen


def test_what_was_said_to_somebody_of_more_clearance_takes_as_much_to_see(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?")
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.run_turn()
    ((session_id, clearance),) = conversation.query(
        "SELECT s.id, b.clearance FROM sessions s JOIN bindings b ON b.id = s.binding_id"
    )
    assert isinstance(session_id, UUID)
    assert isinstance(clearance, int)
    viewer = Principal(conversation.tenant_id, "member", roles=frozenset({"viewer"}), clearance=clearance)
    for more, seen in ((0, 1), (1, 0)):
        conversation.query(f"UPDATE users SET clearance = {clearance + more} RETURNING 1")
        with conversation.database.transaction(viewer) as tx:
            assert len(turn_views.list_turns(viewer, tx, 10).rows) == seen
            assert len(turn_views.read_transcript(viewer, tx, session_id, 10)) == seen * 2
            assert users.can_read_session(viewer, tx, session_id) is bool(seen)


def test_a_turn_that_is_over_keeps_the_reply_it_has(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?")
    for _ in range(2):
        conversation.model.script = [RuntimeError()]
        with pytest.raises(RuntimeError):
            conversation.run_turn()
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.outbox.error = RuntimeError("after the commit")
    with pytest.raises(RuntimeError, match="after the commit"):
        conversation.run_turn()
    assert replies(conversation) == ["0.35 mm."]
    assert turns(conversation) == [("answered", 3, False, None)]
    conversation.outbox.error = None
    conversation.run_turn()
    assert len(conversation.outbox.sent) == 1


def test_a_turn_whose_messages_are_gone_does_not_stand_before_the_next(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?")
    conversation.model.script = [RuntimeError()]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.query("DELETE FROM messages RETURNING 1")
    conversation.run_turn()
    assert turns(conversation) == [("answered", 2, False, "no_messages")]
    conversation.query("UPDATE turns SET state = 'open' RETURNING 1")
    conversation.send_whatsapp("And the crane?", "m2")
    conversation.model.script = [text_answer("On Monday.")]
    conversation.run_turn()
    assert replies(conversation) == ["On Monday."]


def test_a_stalled_worker_that_wakes_after_its_lease_writes_nothing(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    conversation.send_whatsapp("Hello")
    stalled = open_database()
    conversation.model.script = [text_answer("From the stalled worker."), text_answer("From the one that took over.")]

    def another_takes_over() -> None:
        conversation.model.before_completion = lambda: None
        conversation.clock.now += timedelta(seconds=61)
        conversation.run_turn()

    conversation.model.before_completion = another_takes_over
    conversation.run_turn(database=stalled)
    assert replies(conversation) == ["From the one that took over."]
    assert turns(conversation) == [("answered", 2, False, None)]
    assert conversation.query("SELECT count(*) FROM llm_calls") == [(1,)]


def test_two_workers_on_one_session_answer_once(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    conversation.send_whatsapp("Hello")
    conversation.model.script = [text_answer("Once."), text_answer("Twice.")]

    def work(database: Database) -> None:
        with suppress(LeaseHeld):  # the other one ended between two looks
            conversation.run_turn(database=database)

    workers = [threading.Thread(target=work, args=(open_database(),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert replies(conversation) == ["Once."]


def test_a_reply_whose_sender_was_not_woken_is_sent_by_the_next_wake(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello")
    conversation.model.script = [text_answer("Hello!")]
    conversation.outbox.error = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        conversation.run_turn()
    assert (replies(conversation), turns(conversation)) == (["Hello!"], [("answered", 1, False, None)])
    conversation.outbox.error = None
    conversation.run_turn()
    assert len(conversation.outbox.sent) == 1
    assert len(conversation.model.requests) == 1


def test_a_wake_for_a_session_that_is_gone_is_dropped(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello")
    conversation.query("DELETE FROM sessions RETURNING 1")
    conversation.run_turn()
    assert conversation.model.requests == []


def test_a_longer_conversation_takes_no_more_statements(conversation: ConversationHarness) -> None:
    """A guard against a query in a loop, not a benchmark: bench.turn reports the exact figures."""
    costs = []
    for number in range(33):
        is_measured = number % 16 == 0
        conversation.send_whatsapp(f"How wide is the crack? {number}", f"m{number}")
        conversation.model.script = (
            [search_call("crack"), text_answer("0.35 mm [1].")] if is_measured else [text_answer("Yes.")]
        )
        before = conversation.database.statements.count
        conversation.run_turn()
        if is_measured:
            costs.append(conversation.database.statements.count - before)
    assert costs[2] <= costs[1]  # a briefing that is rendered again costs a statement or two


def test_a_call_is_told_before_it_runs_and_the_beginning_before_the_prompt(conversation: ConversationHarness) -> None:
    seen: list[list[object]] = []

    def note_events(_context: ToolContext, _arguments: JsonObject) -> JsonObject:
        seen.append([kind for _, kind, _ in events(conversation)])
        return {}

    conversation.add_tool("look", note_events, writes=False)
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Look.")
    conversation.model.script = [tool_call("look"), text_answer("Seen.")]
    conversation.model.before_completion = lambda: seen.append([kind for _, kind, _ in events(conversation)])
    conversation.run_turn()
    assert seen[0] == ["agent_state", "session", "context_usage"]
    assert seen[1][3:] == ["agent_state", "tool_call"]
