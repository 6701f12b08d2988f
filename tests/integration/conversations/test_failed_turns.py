"""A message that always fails is parked, its session goes on, and a redrive answers it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.conversations import canned_replies, failed_turns
from parlour.conversations.tool_result_messages import PendingWakeup
from parlour.infra.errors import Conflict, Forbidden, StatementTooSlow
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.principal import Principal
from parlour.prompts.ledger.explanation import explain_turn
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call


@pytest.fixture
def failed(conversation: ConversationHarness) -> UUID:
    """A turn that was given up after three attempts."""
    conversation.send_whatsapp("How wide is the crack?", "poison")
    for attempt in range(3):
        conversation.model.script = [RuntimeError("broken")]
        if attempt < 2:
            with pytest.raises(RuntimeError):
                conversation.run_turn()
        else:
            conversation.run_turn()
        conversation.clock.now += timedelta(minutes=5)
    ((turn_id,),) = conversation.query("SELECT id FROM turns WHERE state = 'failed'")
    return UUID(str(turn_id))


def replies(conversation: ConversationHarness) -> list[object]:
    return [
        body
        for (body,) in conversation.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")
    ]


def reopen(conversation: ConversationHarness, turn_id: UUID, by: Principal | None = None) -> PendingWakeup:
    """Redrive the turn, and commit; nothing is woken."""
    principal, now = by or conversation.admin, conversation.clock()
    return conversation.database.run(principal, lambda tx: failed_turns.redrive_turn(principal, tx, turn_id, now))


def test_what_always_fails_is_parked_and_the_session_goes_on(conversation: ConversationHarness, failed: UUID) -> None:
    assert conversation.query("SELECT state FROM messages WHERE direction = 'inbound'") == [("parked",)]
    assert conversation.query("SELECT kind FROM work_due WHERE kind = 'session'") == []
    conversation.send_whatsapp("And the crane?", "next")
    conversation.model.script = [text_answer("On Monday.")]
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.FAILED_REPLY, "On Monday."]
    with conversation.database.transaction(conversation.admin) as tx:
        (one,) = failed_turns.list_failed_turns(conversation.admin, tx, 10)
    assert (one.id, one.message_texts, one.attempt_count, one.problem) == (
        failed,
        ["How wide is the crack?"],
        3,
        "unexpected_error",
    )


def test_a_redriven_turn_is_answered_once_and_is_not_parked_any_more(
    conversation: ConversationHarness, failed: UUID
) -> None:
    waking = reopen(conversation, failed)
    assert waking.queue_channel == "whatsapp"
    assert waking.message.body == conversation.list_wakes()[-1].to_queue_message("", 0).body
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.run_turn()
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.FAILED_REPLY, "0.35 mm."]
    with conversation.database.transaction(conversation.admin) as tx:
        assert failed_turns.list_failed_turns(conversation.admin, tx, 10) == []
    with pytest.raises(Conflict):
        reopen(conversation, failed)


def test_a_redrive_whose_wake_is_not_sent_leaves_the_session_due(
    conversation: ConversationHarness, failed: UUID
) -> None:
    reopen(conversation, failed)
    assert conversation.query("SELECT kind FROM work_due WHERE kind = 'session'") == [("session",)]
    assert conversation.query("SELECT state FROM turns") == [("open",)]


def test_a_redriven_turn_goes_on_from_what_it_did(conversation: ConversationHarness) -> None:
    done: list[str] = []

    def raise_rfi(context: ToolContext, _: JsonObject) -> JsonObject:
        done.append(context.idempotency_key)
        return {"number": 7}

    conversation.add_tool("raise_rfi", raise_rfi)
    conversation.send_whatsapp("Ask them, please.")
    conversation.model.script = [tool_call("raise_rfi"), RuntimeError(), RuntimeError(), RuntimeError()]
    for _ in range(2):
        with pytest.raises(RuntimeError):
            conversation.run_turn()
    conversation.run_turn()
    ((turn_id,),) = conversation.query("SELECT id FROM turns WHERE state = 'failed'")
    reopen(conversation, UUID(str(turn_id)))
    conversation.model.script = [text_answer("It is number 7.")]
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.FAILED_REPLY, "It is number 7."]
    assert len(done) == 1
    assert conversation.query("SELECT count(*) FROM llm_calls WHERE step = 1") == [(1,)]


def test_a_redriven_turn_that_fails_again_is_parked_again(conversation: ConversationHarness, failed: UUID) -> None:
    reopen(conversation, failed)
    for _ in range(2):
        conversation.model.script = [RuntimeError()]
        with pytest.raises(RuntimeError):
            conversation.run_turn()
    conversation.model.script = [RuntimeError()]
    conversation.run_turn()
    with conversation.database.transaction(conversation.admin) as tx:
        assert [one.id for one in failed_turns.list_failed_turns(conversation.admin, tx, 10)] == [failed]


def test_a_turn_is_not_redriven_beside_an_open_one(conversation: ConversationHarness, failed: UUID) -> None:
    conversation.send_whatsapp("And the crane?", "next")
    conversation.model.script = [RuntimeError()]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    with pytest.raises(Conflict):
        reopen(conversation, failed)
    conversation.model.script = [text_answer("On Monday.")]
    conversation.run_turn()
    reopen(conversation, failed)
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.FAILED_REPLY, "On Monday.", "0.35 mm."]


def test_a_statement_that_always_takes_too_long_is_parked_as_well(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?")
    for _ in range(3):
        conversation.model.script = [StatementTooSlow()]
        with pytest.raises(StatementTooSlow):
            conversation.run_turn()
    conversation.run_turn()
    assert replies(conversation) == [canned_replies.FAILED_REPLY]


def test_a_dismissed_turn_stays_as_it_is(conversation: ConversationHarness, failed: UUID) -> None:
    with conversation.database.transaction(conversation.admin) as tx:
        failed_turns.dismiss_turn(conversation.admin, tx, failed, conversation.clock())
        assert failed_turns.list_failed_turns(conversation.admin, tx, 10) == []
        with pytest.raises(Conflict):
            failed_turns.dismiss_turn(conversation.admin, tx, failed, conversation.clock())
    assert conversation.query("SELECT state FROM messages WHERE direction = 'inbound'") == [("parked",)]


def test_a_viewer_sees_what_is_parked_and_decides_nothing(conversation: ConversationHarness, failed: UUID) -> None:
    viewer = Principal(conversation.tenant_id, "member", roles=frozenset({"viewer"}), clearance=3)
    with conversation.database.transaction(viewer) as tx:
        assert len(failed_turns.list_failed_turns(viewer, tx, 10)) == 1
    with pytest.raises(Forbidden):
        reopen(conversation, failed, viewer)


class TestPromptsOfARedrivenTurn:
    """They are begun anew: days may have passed, and what its reader may see may have changed."""

    @pytest.fixture
    def searched(self, conversation: ConversationHarness) -> UUID:
        """A turn that failed after it had searched."""
        conversation.send_whatsapp("How wide is the crack?", "searched")
        conversation.model.script = [search_call("crack C4"), RuntimeError(), RuntimeError(), RuntimeError()]
        for _ in range(2):
            with pytest.raises(RuntimeError):
                conversation.run_turn()
        conversation.run_turn()
        ((turn_id,),) = conversation.query("SELECT id FROM turns WHERE state = 'failed'")
        return UUID(str(turn_id))

    def _again(self, conversation: ConversationHarness, turn_id: UUID) -> str:
        reopen(conversation, turn_id)
        conversation.model.script = [text_answer("0.45 mm [1].")]
        conversation.run_turn()
        sent = conversation.model.requests[-1]
        return canonical_json([list(sent.system), list(sent.messages)])

    def test_they_tell_of_this_moment_and_of_this_persona_and_of_what_was_found(
        self, conversation: ConversationHarness, searched: UUID
    ) -> None:
        before = f"{conversation.clock.now.day} {conversation.clock.now:%b %Y %H:%M} GMT"
        conversation.clock.now += timedelta(days=3)
        conversation.query("UPDATE agents SET instructions = 'Be brief.', version = version + 1 RETURNING id")
        said = self._again(conversation, searched)
        assert f"{conversation.clock.now.day} {conversation.clock.now:%b %Y %H:%M} GMT" in said
        assert before not in said
        assert "Be brief." in said
        assert '"tool_result"' in said

    def test_their_record_is_theirs_to_the_byte(self, conversation: ConversationHarness, searched: UUID) -> None:
        conversation.clock.now += timedelta(days=3)
        self._again(conversation, searched)
        with conversation.database.transaction(conversation.admin) as tx:
            told: Any = explain_turn(conversation.admin, tx, searched)
            assert rebuild_turn_prompt(conversation.admin, tx, searched)["is_identical"]
        assert told["turn"]["steps"] == [1, 2]
        assert [step["restarted"] for step in told["steps"]] == [False, True]

    def test_words_that_were_forgotten_do_not_keep_it_from_being_answered(
        self, conversation: ConversationHarness, searched: UUID
    ) -> None:
        conversation.query("UPDATE ledger_texts SET text = NULL RETURNING 1")
        self._again(conversation, searched)
        assert replies(conversation)[-1] == "0.45 mm [1]."


def test_a_turn_whose_reader_may_see_less_is_begun_anew(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?", "less")
    conversation.model.script = [search_call("crack C4"), RuntimeError()]
    with pytest.raises(RuntimeError):
        conversation.run_turn()
    conversation.query("UPDATE users SET clearance = 0 RETURNING id")
    conversation.query("UPDATE bindings SET clearance = 0 RETURNING id")
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.run_turn()
    assert conversation.query("SELECT step FROM ledgers WHERE prompt_inputs IS NOT NULL ORDER BY step") == [(1,), (2,)]
