"""A message that always fails is parked, its session goes on, and a redrive answers it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.errors import Conflict, Forbidden, StatementTooSlow
from parlour.infra.jsonable import JsonObject, canonical
from parlour.principal import Principal
from parlour.tools.run import ToolContext
from parlour.turns import polite, redrive
from parlour.turns.prompts.explain import explain
from parlour.turns.prompts.rebuild import rebuild
from parlour.turns.resume import ToWake
from tests.desk import Desk, calls, says, searches


@pytest.fixture
def failed(desk: Desk) -> UUID:
    """A turn that was given up after three attempts."""
    desk.write("How wide is the crack?", "poison")
    for attempt in range(3):
        desk.model.script = [RuntimeError("broken")]
        if attempt < 2:
            with pytest.raises(RuntimeError):
                desk.run()
        else:
            desk.run()
        desk.clock.now += timedelta(minutes=5)
    ((turn_id,),) = desk.rows("SELECT id FROM turns WHERE state = 'failed'")
    return UUID(str(turn_id))


def replies(desk: Desk) -> list[object]:
    return [body for (body,) in desk.rows("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")]


def reopen(desk: Desk, turn_id: UUID, by: Principal | None = None) -> ToWake:
    """Redrive the turn, and commit; nothing is woken."""
    principal, now = by or desk.admin, desk.clock()
    return desk.database.run(principal, lambda tx: redrive.redrive(principal, tx, turn_id, now))


def test_what_always_fails_is_parked_and_the_session_goes_on(desk: Desk, failed: UUID) -> None:
    assert desk.rows("SELECT state FROM messages WHERE direction = 'inbound'") == [("parked",)]
    assert desk.rows("SELECT kind FROM work_due WHERE kind = 'session'") == []
    desk.write("And the crane?", "next")
    desk.model.script = [says("On Monday.")]
    desk.run()
    assert replies(desk) == [polite.FAILED, "On Monday."]
    with desk.database.transaction(desk.admin) as tx:
        (one,) = redrive.parked(desk.admin, tx, 10)
    assert (one.id, one.texts, one.attempts, one.problem) == (failed, ["How wide is the crack?"], 3, "broken")


def test_a_redriven_turn_is_answered_once_and_is_not_parked_any_more(desk: Desk, failed: UUID) -> None:
    waking = reopen(desk, failed)
    assert waking.channel == "whatsapp"
    assert waking.message.body == desk.wakes()[-1].message("").body
    desk.model.script = [says("0.35 mm.")]
    desk.run()
    desk.run()
    assert replies(desk) == [polite.FAILED, "0.35 mm."]
    with desk.database.transaction(desk.admin) as tx:
        assert redrive.parked(desk.admin, tx, 10) == []
    with pytest.raises(Conflict):
        reopen(desk, failed)


def test_a_redrive_whose_wake_is_not_sent_leaves_the_session_due(desk: Desk, failed: UUID) -> None:
    reopen(desk, failed)
    assert desk.rows("SELECT kind FROM work_due WHERE kind = 'session'") == [("session",)]
    assert desk.rows("SELECT state FROM turns") == [("open",)]


def test_a_redriven_turn_goes_on_from_what_it_did(desk: Desk) -> None:
    done: list[str] = []

    def raise_rfi(context: ToolContext, _: JsonObject) -> JsonObject:
        done.append(context.idempotency_key)
        return {"number": 7}

    desk.add_tool("raise_rfi", raise_rfi)
    desk.write("Ask them, please.")
    desk.model.script = [calls("raise_rfi"), RuntimeError(), RuntimeError(), RuntimeError()]
    for _ in range(2):
        with pytest.raises(RuntimeError):
            desk.run()
    desk.run()
    ((turn_id,),) = desk.rows("SELECT id FROM turns WHERE state = 'failed'")
    reopen(desk, UUID(str(turn_id)))
    desk.model.script = [says("It is number 7.")]
    desk.run()
    assert replies(desk) == [polite.FAILED, "It is number 7."]
    assert len(done) == 1
    assert desk.rows("SELECT count(*) FROM llm_calls WHERE step = 1") == [(1,)]


def test_a_redriven_turn_that_fails_again_is_parked_again(desk: Desk, failed: UUID) -> None:
    reopen(desk, failed)
    for _ in range(2):
        desk.model.script = [RuntimeError()]
        with pytest.raises(RuntimeError):
            desk.run()
    desk.model.script = [RuntimeError()]
    desk.run()
    with desk.database.transaction(desk.admin) as tx:
        assert [one.id for one in redrive.parked(desk.admin, tx, 10)] == [failed]


def test_a_turn_is_not_redriven_beside_an_open_one(desk: Desk, failed: UUID) -> None:
    desk.write("And the crane?", "next")
    desk.model.script = [RuntimeError()]
    with pytest.raises(RuntimeError):
        desk.run()
    with pytest.raises(Conflict):
        reopen(desk, failed)
    desk.model.script = [says("On Monday.")]
    desk.run()
    reopen(desk, failed)
    desk.model.script = [says("0.35 mm.")]
    desk.run()
    assert replies(desk) == [polite.FAILED, "On Monday.", "0.35 mm."]


def test_a_statement_that_always_takes_too_long_is_parked_as_well(desk: Desk) -> None:
    desk.write("How wide is the crack?")
    for _ in range(3):
        desk.model.script = [StatementTooSlow()]
        with pytest.raises(StatementTooSlow):
            desk.run()
    desk.run()
    assert replies(desk) == [polite.FAILED]


def test_a_dismissed_turn_stays_as_it_is(desk: Desk, failed: UUID) -> None:
    with desk.database.transaction(desk.admin) as tx:
        redrive.dismiss(desk.admin, tx, failed, desk.clock())
        assert redrive.parked(desk.admin, tx, 10) == []
        with pytest.raises(Conflict):
            redrive.dismiss(desk.admin, tx, failed, desk.clock())
    assert desk.rows("SELECT state FROM messages WHERE direction = 'inbound'") == [("parked",)]


def test_a_viewer_sees_what_is_parked_and_decides_nothing(desk: Desk, failed: UUID) -> None:
    viewer = Principal(desk.tenant_id, "member", roles=frozenset({"viewer"}), clearance=3)
    with desk.database.transaction(viewer) as tx:
        assert len(redrive.parked(viewer, tx, 10)) == 1
    with pytest.raises(Forbidden):
        reopen(desk, failed, viewer)


class TestPromptsOfARedrivenTurn:
    """They are begun anew: days may have passed, and what its reader may see may have changed."""

    @pytest.fixture
    def searched(self, desk: Desk) -> UUID:
        """A turn that failed after it had searched."""
        desk.write("How wide is the crack?", "searched")
        desk.model.script = [searches("crack C4"), RuntimeError(), RuntimeError(), RuntimeError()]
        for _ in range(2):
            with pytest.raises(RuntimeError):
                desk.run()
        desk.run()
        ((turn_id,),) = desk.rows("SELECT id FROM turns WHERE state = 'failed'")
        return UUID(str(turn_id))

    def _again(self, desk: Desk, turn_id: UUID) -> str:
        reopen(desk, turn_id)
        desk.model.script = [says("0.35 mm [1].")]
        desk.run()
        sent = desk.model.requests[-1]
        return canonical([list(sent.system), list(sent.messages)])

    def test_they_tell_of_this_moment_and_of_this_persona_and_of_what_was_found(
        self, desk: Desk, searched: UUID
    ) -> None:
        before = f"{desk.clock.now.day} {desk.clock.now:%b %Y %H:%M} UTC"
        desk.clock.now += timedelta(days=3)
        desk.rows("UPDATE agents SET instructions = 'Be brief.', version = version + 1 RETURNING id")
        said = self._again(desk, searched)
        assert f"{desk.clock.now.day} {desk.clock.now:%b %Y %H:%M} UTC" in said
        assert before not in said
        assert "Be brief." in said
        assert '"tool_result"' in said

    def test_their_record_is_theirs_to_the_byte(self, desk: Desk, searched: UUID) -> None:
        desk.clock.now += timedelta(days=3)
        self._again(desk, searched)
        with desk.database.transaction(desk.admin) as tx:
            told: Any = explain(desk.admin, tx, searched)
            assert rebuild(desk.admin, tx, searched)["matches"]
        assert told["turn"]["steps"] == [1, 2]
        assert [step["anew"] for step in told["steps"]] == [False, True]

    def test_words_that_were_forgotten_do_not_keep_it_from_being_answered(self, desk: Desk, searched: UUID) -> None:
        desk.rows("UPDATE ledger_blobs SET words = NULL RETURNING 1")
        self._again(desk, searched)
        assert replies(desk)[-1] == "0.35 mm [1]."


def test_a_turn_whose_reader_may_see_less_is_begun_anew(desk: Desk) -> None:
    desk.write("How wide is the crack?", "less")
    desk.model.script = [searches("crack C4"), RuntimeError()]
    with pytest.raises(RuntimeError):
        desk.run()
    desk.rows("UPDATE users SET clearance = 0 RETURNING id")
    desk.rows("UPDATE bindings SET clearance = 0 RETURNING id")
    desk.model.script = [says("0.35 mm.")]
    desk.run()
    assert desk.rows("SELECT step FROM ledgers WHERE basis IS NOT NULL ORDER BY step") == [(1,), (2,)]
