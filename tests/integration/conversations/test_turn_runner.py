"""One turn on the real database: answered once, from what is committed, under one lease."""

import threading
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.channels.envelope import Media
from parlour.conversations import canned_replies, store, turn_views
from parlour.infra.errors import LeaseHeld, ProviderRejected, ProviderUnavailable, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.tenancy import tenants, users
from tests.conversation_harness import PHONE, ConversationHarness, search_call, text_answer


def replies(desk: ConversationHarness) -> list[object]:
    return [body for (body,) in desk.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")]


def turns(desk: ConversationHarness) -> list[tuple[object, ...]]:
    return desk.query("SELECT state, attempts, degraded, problem FROM turns ORDER BY number")


def events(desk: ConversationHarness) -> list[tuple[object, ...]]:
    return desk.query("SELECT number, kind, payload FROM events ORDER BY number")


def test_a_question_is_searched_answered_cited_and_put_in_the_outbox(desk: ConversationHarness) -> None:
    desk.send_whatsapp("How wide is the crack at C4?")
    desk.model.script = [search_call("crack width C4"), text_answer("It is 0.35 mm wide [1]. Ask Tobias [99].")]
    desk.run_turn()
    assert replies(desk) == ["It is 0.35 mm wide [1]. Ask Tobias."]
    assert turns(desk) == [("answered", 1, False, None)]
    assert desk.query("SELECT state FROM messages WHERE direction = 'inbound'") == [("answered",)]
    assert desk.query("SELECT number FROM citations") == [(1,)]
    assert desk.query("SELECT state, recipient FROM outbox") == [("pending", PHONE)]
    assert len(desk.outbox.sent) == 1
    assert desk.query("SELECT metadata FROM messages WHERE direction = 'outbound'") == [({"removed_citations": 1},)]


def test_every_step_call_and_tool_is_in_the_journal(desk: ConversationHarness) -> None:
    desk.send_whatsapp("How wide is the crack at C4?")
    desk.model.script = [search_call("crack width C4"), text_answer("0.35 mm [1].")]
    desk.run_turn()
    assert desk.query("SELECT number, stop_reason, blocks IS NOT NULL FROM steps ORDER BY number") == [
        (1, "tool_use", True),
        (2, "end_turn", True),
    ]
    assert desk.query("SELECT step, name, state, writes FROM tool_calls") == [(1, "search_knowledge", "done", False)]
    calls = desk.query(
        "SELECT step, provider, outcome, input_tokens, cost_usd > 0, tokens_by_layer FROM llm_calls ORDER BY 1"
    )
    assert [call[:5] for call in calls] == [(1, "anthropic", "ok", 100, True), (2, "anthropic", "ok", 100, True)]
    layers = calls[1][5]
    assert isinstance(layers, dict)
    assert layers["calls"] > 0
    assert set(layers) == {"tools", "tiers", "briefing", "heartbeat", "message", "calls", "reminder"}


def test_the_model_reads_the_persona_the_history_and_the_moment(desk: ConversationHarness) -> None:
    desk.send_whatsapp("How wide is the crack?", "m1")
    desk.model.script = [text_answer("0.35 mm.")]
    desk.run_turn()
    desk.send_whatsapp("And since when?", "m2")
    desk.model.script = [text_answer("Since February.")]
    desk.run_turn()
    request = desk.model.requests[-1]
    assert "Asha" in canonical_json(list(request.system))
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    opening = canonical_json(request.messages[-1])
    assert "And since when?" in opening
    assert "Mon 2 Mar 2026" in opening
    assert "Priya" in opening
    offered = [tool["name"] for tool in request.tools]
    assert offered == [
        "compile_report", "create_entity", "get_entity", "list_entities", "notify_foreman", "raise_rfi",
        "search_knowledge", "update_entity",
    ]  # fmt: skip


def test_a_burst_becomes_one_turn_and_the_later_wakes_find_nothing(desk: ConversationHarness) -> None:
    for number in range(5):
        desk.send_whatsapp(f"Part {number}", f"m{number}")
    desk.model.script = [text_answer("All five read.")]
    for wake in desk.list_wakes():
        desk.run_turn(wake)
    assert replies(desk) == ["All five read."]
    opening = canonical_json(desk.model.requests[0].messages[-1])
    assert all(f"Part {number}" in opening for number in range(5))


def test_a_message_that_arrives_during_a_turn_is_answered_by_the_next(desk: ConversationHarness) -> None:
    desk.send_whatsapp("First", "m1")
    desk.model.script = [text_answer("To the first."), text_answer("To the second.")]

    def write_another() -> None:
        desk.model.before_completion = lambda: None
        desk.send_whatsapp("Second", "m2")

    desk.model.before_completion = write_another
    desk.run_turn(desk.list_wakes()[0])
    assert len(desk.query("SELECT id FROM work_due WHERE kind = 'session'")) == 1
    desk.run_turn()
    assert desk.query("SELECT id FROM work_due WHERE kind = 'session'") == []
    assert replies(desk) == ["To the first.", "To the second."]
    assert [message["role"] for message in desk.model.requests[1].messages] == ["user", "assistant", "user"]


def test_the_web_sees_numbered_events_ended_by_done(desk: ConversationHarness) -> None:
    visitor = desk.create_visitor()
    desk.send_web(visitor, desk.find_session(visitor), "How wide is the crack?")
    desk.model.script = [search_call("crack"), text_answer("0.35 mm [1].")]
    desk.run_turn()
    seen = events(desk)
    assert [number for number, _, _ in seen] == list(range(1, len(seen) + 1))
    assert [kind for _, kind, _ in seen] == [
        "session", "context_usage", "tool_call", "tool_result", "context_usage", "text_delta", "done"
    ]  # fmt: skip
    assert seen[5][2] == {"text": "0.35 mm [1]."}
    assert desk.query("SELECT count(*) FROM outbox") == [(0,)]


def test_a_messaging_session_writes_no_events(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    desk.model.script = [text_answer("Hello!")]
    desk.run_turn()
    assert events(desk) == []


def test_a_crash_after_a_committed_step_goes_on_from_there(desk: ConversationHarness) -> None:
    desk.send_whatsapp("How wide is the crack?")
    desk.model.script = [search_call("crack"), RuntimeError("the process died"), text_answer("0.35 mm [1].")]
    with pytest.raises(RuntimeError):
        desk.run_turn()
    desk.run_turn()
    assert replies(desk) == ["0.35 mm [1]."]
    assert turns(desk) == [("answered", 2, False, None)]
    assert desk.query("SELECT count(*) FROM tool_calls") == [(1,)]
    assert [len(request.messages) for request in desk.model.requests] == [1, 3, 3]


def test_a_restarted_step_tells_the_web_to_forget_what_it_streamed(desk: ConversationHarness) -> None:
    visitor = desk.create_visitor()
    desk.send_web(visitor, desk.find_session(visitor), "Hello")
    desk.model.script = [RuntimeError("the process died"), text_answer("Hello!")]
    with pytest.raises(RuntimeError):
        desk.run_turn()
    desk.run_turn()
    assert [kind for _, kind, _ in events(desk)] == [
        "session", "context_usage", "session", "text_reset", "context_usage", "text_delta", "done"
    ]  # fmt: skip


def test_a_turn_that_always_breaks_is_failed_after_three_attempts_and_the_session_goes_on(
    desk: ConversationHarness,
) -> None:
    desk.send_whatsapp("Poison", "m1")
    desk.model.script = [RuntimeError("poison")] * 3
    for _ in range(2):
        with pytest.raises(RuntimeError):
            desk.run_turn()
    desk.run_turn()
    assert turns(desk) == [("failed", 3, True, "broken")]
    assert replies(desk) == [canned_replies.FAILED_REPLY]
    assert desk.query("SELECT state FROM messages WHERE direction = 'inbound'") == [("parked",)]
    desk.send_whatsapp("Next", "m2")
    desk.model.script = [text_answer("Here.")]
    desk.run_turn()
    assert replies(desk)[-1] == "Here."


def test_a_turn_whose_workers_were_killed_is_failed_when_it_is_begun_once_more(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Poison")
    desk.model.script = [RuntimeError("x")]
    with pytest.raises(RuntimeError):
        desk.run_turn()
    desk.query("UPDATE turns SET attempts = 3 RETURNING 1")
    desk.run_turn()
    assert turns(desk) == [("failed", 4, True, "too_many_attempts")]


@pytest.mark.parametrize("problem", [ProviderUnavailable(), ProviderRejected()])
def test_a_provider_that_does_not_answer_gets_a_polite_line_marked_degraded(
    desk: ConversationHarness, problem: Exception
) -> None:
    desk.send_whatsapp("Hello")
    desk.model.script = [problem] * 4
    desk.run_turn()
    assert replies(desk) == [canned_replies.UNAVAILABLE_REPLY]
    assert turns(desk) == [("answered", 1, True, problem.code)]  # type: ignore[attr-defined]
    outcome = "unavailable" if isinstance(problem, ProviderUnavailable) else "rejected"
    assert set(desk.query("SELECT outcome FROM llm_calls")) == {(outcome,)}


def test_a_model_that_never_stops_asking_for_tools_ends_politely(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    desk.model.script = [search_call("crack", f"call_{number}") for number in range(9)]
    desk.run_turn()
    assert replies(desk) == [canned_replies.NO_ANSWER_REPLY]
    assert desk.query("SELECT count(*) FROM tool_calls") == [(4,)]
    assert turns(desk) == [("answered", 1, True, "no_answer")]


def test_a_mistake_with_a_tool_is_told_to_the_model(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    wrong: list[JsonObject] = [{"type": "tool_use", "id": "c1", "name": "rm_rf", "input": {}}]
    desk.model.script = [wrong, text_answer("Never mind.")]
    desk.run_turn()
    assert '\\"ok\\": false' in canonical_json(desk.model.requests[1].messages[-1])
    assert desk.query("SELECT state, code FROM tool_calls") == [("failed", "unknown_tool")]


def test_a_paused_tenant_gives_a_polite_line_without_a_model(desk: ConversationHarness) -> None:
    with desk.database.transaction(desk.admin) as tx:
        tenants.set_tenant_status(desk.admin, tx, "paused", desk.clock(), uuid7)
    desk.send_whatsapp("Hello")
    desk.run_turn()
    assert (replies(desk), desk.model.requests) == ([canned_replies.PAUSED_REPLY], [])


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
    desk: ConversationHarness, text: str, kind: str, expected: str
) -> None:
    media = Media("location", "") if kind == "media" else None
    desk.send_whatsapp(text, kind=kind, media=media)
    desk.run_turn()
    (reply,) = replies(desk)
    assert str(reply).startswith(expected)
    assert desk.model.requests == []


def test_a_session_that_another_worker_holds_is_tried_again_later(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    until = desk.clock() + timedelta(seconds=60)
    desk.query(f"UPDATE sessions SET lease_until = '{until.isoformat()}' RETURNING 1")
    with pytest.raises(LeaseHeld):
        desk.run_turn()
    desk.clock.now = until
    desk.model.script = [text_answer("Hello!")]
    desk.run_turn()
    assert replies(desk) == ["Hello!"]


def test_a_holder_that_lets_go_between_two_looks_loses_no_wake(
    desk: ConversationHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.send_whatsapp("Hello")
    monkeypatch.setattr(store, "acquire_lease", lambda *_: None)
    with pytest.raises(LeaseHeld) as held:
        desk.run_turn()
    assert held.value.retry_after == 1


def test_a_held_session_is_looked_at_again_when_its_lease_ends(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    until = desk.clock() + timedelta(seconds=90)
    desk.query(f"UPDATE sessions SET lease_until = '{until.isoformat()}' RETURNING 1")
    with pytest.raises(LeaseHeld) as held:
        desk.run_turn()
    assert held.value.retry_after == 90


def test_a_wake_used_up_by_an_earlier_workers_turn_still_answers_its_own_message(desk: ConversationHarness) -> None:
    desk.send_whatsapp("First", "m1")
    desk.model.script = [RuntimeError("the process died"), text_answer("To the first."), text_answer("To the second.")]
    with pytest.raises(RuntimeError):
        desk.run_turn()
    desk.send_whatsapp("Second", "m2")
    desk.run_turn()
    assert replies(desk) == ["To the first.", "To the second."]


def test_a_waiting_reply_is_not_overtaken_by_the_next(desk: ConversationHarness) -> None:
    desk.send_whatsapp("First", "m1")
    desk.model.script = [text_answer("One."), text_answer("Two.")]
    desk.outbox.error = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        desk.run_turn()
    desk.outbox.error = None
    desk.send_whatsapp("Second", "m2")
    desk.run_turn()
    bodies = {
        str(row): body
        for row, body in desk.query("SELECT o.id, m.body FROM outbox o JOIN messages m ON m.id = o.message_id")
    }
    assert [bodies[str(message.body["outbox_id"])] for message in desk.outbox.sent.values()] == ["One.", "Two."]


def test_empty_text_beside_a_tool_call_is_not_sent_back(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    desk.model.script = [[{"type": "text", "text": ""}, *search_call("crack")], text_answer("Hello!")]
    desk.run_turn()
    assert '"text":""' not in canonical_json(list(desk.model.requests[1].messages))


def test_a_turn_that_fails_is_counted(desk: ConversationHarness, capsys: pytest.CaptureFixture[str]) -> None:
    desk.send_whatsapp("Poison")
    desk.model.script = [RuntimeError()]
    with pytest.raises(RuntimeError):
        desk.run_turn()
    desk.query("UPDATE turns SET attempts = 3 RETURNING 1")
    desk.run_turn()
    assert '"FailedTurn":[1.0]' in capsys.readouterr().out


def test_a_viewer_sees_only_what_their_clearance_covers(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    desk.model.script = [text_answer("Hello!")]
    desk.run_turn()
    (session,) = {wake.session_id for wake in desk.list_wakes()}
    for clearance, seen in ((0, 0), (1, 1)):
        viewer = Principal(desk.tenant_id, "member", desk.tenant_id, frozenset({"viewer"}), clearance)
        with desk.database.transaction(viewer) as tx:
            assert len(turn_views.list_turns(viewer, tx, 10)) == seen
            assert len(turn_views.read_transcript(viewer, tx, session, 10)) == 2 * seen


def test_what_was_said_to_somebody_of_more_clearance_takes_as_much_to_see(desk: ConversationHarness) -> None:
    desk.send_whatsapp("How wide is the crack?")
    desk.model.script = [text_answer("0.35 mm.")]
    desk.run_turn()
    ((session_id, clearance),) = desk.query(
        "SELECT s.id, b.clearance FROM sessions s JOIN bindings b ON b.id = s.binding_id"
    )
    assert isinstance(session_id, UUID)
    assert isinstance(clearance, int)
    viewer = Principal(desk.tenant_id, "member", roles=frozenset({"viewer"}), clearance=clearance)
    for more, seen in ((0, 1), (1, 0)):
        desk.query(f"UPDATE users SET clearance = {clearance + more} RETURNING 1")
        with desk.database.transaction(viewer) as tx:
            assert len(turn_views.list_turns(viewer, tx, 10)) == seen
            assert len(turn_views.read_transcript(viewer, tx, session_id, 10)) == seen * 2
            assert users.can_read_session(viewer, tx, session_id) is bool(seen)


def test_a_turn_that_is_over_keeps_the_reply_it_has(desk: ConversationHarness) -> None:
    desk.send_whatsapp("How wide is the crack?")
    for _ in range(2):
        desk.model.script = [RuntimeError()]
        with pytest.raises(RuntimeError):
            desk.run_turn()
    desk.model.script = [text_answer("0.35 mm.")]
    desk.outbox.error = RuntimeError("after the commit")
    with pytest.raises(RuntimeError, match="after the commit"):
        desk.run_turn()
    assert replies(desk) == ["0.35 mm."]
    assert turns(desk) == [("answered", 3, False, None)]
    desk.outbox.error = None
    desk.run_turn()
    assert len(desk.outbox.sent) == 1


def test_a_turn_whose_messages_are_gone_does_not_stand_before_the_next(desk: ConversationHarness) -> None:
    desk.send_whatsapp("How wide is the crack?")
    desk.model.script = [RuntimeError()]
    with pytest.raises(RuntimeError):
        desk.run_turn()
    desk.query("DELETE FROM messages RETURNING 1")
    desk.run_turn()
    assert turns(desk) == [("answered", 2, False, "no_messages")]
    desk.query("UPDATE turns SET state = 'open' RETURNING 1")
    desk.send_whatsapp("And the crane?", "m2")
    desk.model.script = [text_answer("On Monday.")]
    desk.run_turn()
    assert replies(desk) == ["On Monday."]


def test_a_stalled_worker_that_wakes_after_its_lease_writes_nothing(
    desk: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    desk.send_whatsapp("Hello")
    stalled = open_database()
    desk.model.script = [text_answer("From the stalled worker."), text_answer("From the one that took over.")]

    def another_takes_over() -> None:
        desk.model.before_completion = lambda: None
        desk.clock.now += timedelta(seconds=61)
        desk.run_turn()

    desk.model.before_completion = another_takes_over
    desk.run_turn(database=stalled)
    assert replies(desk) == ["From the one that took over."]
    assert turns(desk) == [("answered", 2, False, None)]
    assert desk.query("SELECT count(*) FROM llm_calls") == [(1,)]


def test_two_workers_on_one_session_answer_once(
    desk: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    desk.send_whatsapp("Hello")
    desk.model.script = [text_answer("Once."), text_answer("Twice.")]
    held: list[LeaseHeld] = []

    def work(database: Database) -> None:
        try:
            desk.run_turn(database=database)
        except LeaseHeld as error:
            held.append(error)

    workers = [threading.Thread(target=work, args=(open_database(),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert replies(desk) == ["Once."]


def test_a_reply_whose_sender_was_not_woken_is_sent_by_the_next_wake(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    desk.model.script = [text_answer("Hello!")]
    desk.outbox.error = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        desk.run_turn()
    assert (replies(desk), turns(desk)) == (["Hello!"], [("answered", 1, False, None)])
    desk.outbox.error = None
    desk.run_turn()
    assert len(desk.outbox.sent) == 1
    assert len(desk.model.requests) == 1


def test_a_wake_for_a_session_that_is_gone_is_dropped(desk: ConversationHarness) -> None:
    desk.send_whatsapp("Hello")
    desk.query("DELETE FROM sessions RETURNING 1")
    desk.run_turn()
    assert desk.model.requests == []


def test_a_longer_conversation_takes_no_more_statements(desk: ConversationHarness) -> None:
    """A guard against a query in a loop, not a benchmark: bench.turn reports the exact figures."""
    costs = []
    for number in range(33):
        is_measured = number % 16 == 0
        desk.send_whatsapp(f"How wide is the crack? {number}", f"m{number}")
        desk.model.script = (
            [search_call("crack"), text_answer("0.35 mm [1].")] if is_measured else [text_answer("Yes.")]
        )
        before = desk.database.statements.count
        desk.run_turn()
        if is_measured:
            costs.append(desk.database.statements.count - before)
    assert costs[1] == costs[2]
