"""What a session's prompts stand on: the same bytes from turn to turn, until a cause that has a name changes them."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.errors import DatabaseUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Database
from parlour.models.model import Completion, ModelRequest, StreamPart, TokenUsage
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.prompts.assembly.rendering import Prompt
from parlour.prompts.ledger import retention
from parlour.prompts.ledger.explanation import explain_turn
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from parlour.records import crud
from parlour.records.record import RecordPatch
from parlour.tenancy import roles
from tests.conversation_harness import (
    ConversationHarness,
    ScriptedModel,
    TickingClock,
    WordEmbedder,
    open_conversation_harness,
    search_call,
    text_answer,
)

TAIL = ("recalled", "memory", "changes", "state", "tail", "reminder")
"""What stands behind the user's words for one turn only."""

HALF_A_MINUTE, LONG_ENOUGH_TO_COOL = timedelta(seconds=30), timedelta(minutes=6)


@dataclass
class Talk:
    """A visitor's conversation with the site desk about a record."""

    desk: ConversationHarness
    key: str = "NRS"
    visitor: Principal = field(init=False)
    session: UUID = field(init=False)

    def __post_init__(self) -> None:
        self.visitor = self.desk.create_visitor()
        self.session = self.desk.find_session(self.visitor)
        about = f"(SELECT id FROM entities WHERE key = '{self.key}')"
        self.desk.query(f"UPDATE sessions SET entity_id = {about} WHERE id = '{self.session}' RETURNING id")

    def ask(self, text: str, *script: list[JsonObject], after: timedelta = HALF_A_MINUTE) -> None:
        self.desk.clock.now += after
        self.desk.send_web(self.visitor, self.session, text)
        self.desk.model.script = [*script] or [text_answer(f"As for that: {text}")]
        self.desk.run_turn()

    def sent(self) -> list[ModelRequest]:
        return self.desk.model.requests

    def told(self, step: int = -1) -> dict[str, Any]:
        """What the newest turn's record says of one of its prompts."""
        ((turn, *_),) = self.desk.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
        with self.desk.database.transaction(self.desk.admin) as tx:
            steps: Any = explain_turn(self.desk.admin, tx, UUID(str(turn)))["steps"]
        return dict(steps[step])

    def change(self, handle: str, patch: RecordPatch) -> None:
        with self.desk.database.transaction(self.desk.admin) as tx:
            crud.update_record(self.desk.admin, tx, handle, patch, None, self.desk.clock())


@pytest.fixture
def talk(conversation: ConversationHarness) -> Talk:
    return Talk(conversation)


def blocks(request: ModelRequest) -> list[str]:
    """Every block in the order of the bytes, without marks."""
    said = [(str(one["role"]), block) for one in request.messages for block in _content(one)]
    every = [*(("tools", one) for one in request.tools), *(("system", one) for one in request.system), *said]
    return [canonical_json([role, {k: v for k, v in block.items() if k != "cache_control"}]) for role, block in every]


def before_the_tail(request: ModelRequest) -> list[str]:
    return list(itertools.takewhile(lambda one: not any(f"<parlour:{name}>" in one for name in TAIL), blocks(request)))


def whole(request: ModelRequest) -> str:
    return canonical_json([list(request.tools), list(request.system), list(request.messages)])


def briefing(request: ModelRequest) -> str:
    return "\n".join(one for one in blocks(request) if "<parlour:briefing>" in one)


def _content(message: JsonObject) -> list[JsonObject]:
    content = message["content"]
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []


class TestStability:
    def test_the_next_turn_begins_with_the_bytes_of_the_last_up_to_its_tail(self, talk: Talk) -> None:
        for number in range(6):
            talk.ask(
                f"Question {number}?", *([search_call("crack C4"), text_answer("0.35 mm [1].")] if number == 2 else [])
            )
        opening = [one for one in talk.sent() if not any("tool_result" in block for block in blocks(one)[-3:])]
        assert len(opening) == 6
        for last, now in itertools.pairwise(opening):
            kept = before_the_tail(last)
            assert f'"Question {opening.index(last)}?"' in kept[-1]
            assert blocks(now)[: len(kept)] == kept
        assert talk.desk.query("SELECT DISTINCT cache_miss FROM llm_calls") == [(None,)]

    def test_the_tail_is_frozen_for_all_steps_and_only_the_repeated_reminder_moves(self, talk: Talk) -> None:
        talk.desk.query("UPDATE agents SET memory_policy = '{}' RETURNING id")
        talk.ask(
            "How wide is it?", search_call("crack C4", "a"), search_call("crane", "b"), text_answer("0.35 mm [1].")
        )
        first, second, third = map(blocks, talk.sent())
        assert second[: len(first)] == first
        again = [one for one in second[len(first) :] if "<parlour:" in one and "tool_result" not in one]
        assert third[: len(second) - len(again)] == second[: len(second) - len(again)]

    def test_the_briefing_stays_while_the_record_changes_and_the_change_is_told_in_the_tail(self, talk: Talk) -> None:
        talk.ask("Where do we stand?")
        talk.change("project/NRS", RecordPatch(name="Northbank, phase two"))
        talk.ask("And now?")
        first, second = talk.sent()
        assert briefing(first) == briefing(second)
        (changes,) = [one for one in blocks(second) if "<parlour:changes>" in one]
        assert "name: Northbank, phase two" in changes
        assert talk.told()["refresh_causes"] == []
        ((layers,),) = talk.desk.query("SELECT tokens_by_layer FROM llm_calls ORDER BY at DESC LIMIT 1")
        assert isinstance(layers, dict)
        assert layers["deltas"] > 0
        talk.ask("And after lunch?", after=LONG_ENOUGH_TO_COOL)
        assert "Northbank, phase two" in briefing(talk.sent()[-1])
        assert "<parlour:changes>" not in whole(talk.sent()[-1])


class TestResuming:
    @pytest.mark.parametrize("broken", [RuntimeError(), DatabaseUnavailable()])
    def test_a_turn_that_goes_on_sends_the_same_bytes_whatever_changed_meanwhile(
        self, talk: Talk, broken: Exception
    ) -> None:
        talk.ask("Good morning?")
        talk.desk.send_web(talk.visitor, talk.session, "How wide is the crack?")
        talk.desk.model.script = [search_call("crack C4"), broken, text_answer("0.35 mm [1].")]
        with pytest.raises(type(broken)):
            talk.desk.run_turn()
        talk.change("project/NRS", RecordPatch(name="Something else"))
        talk.desk.query("UPDATE agents SET instructions = 'Be brief.', version = version + 1 RETURNING id")
        talk.desk.clock.now += timedelta(minutes=2)
        talk.desk.run_turn()
        _, first, second, again = talk.sent()
        assert whole(second) == whole(again)
        assert blocks(again)[: len(blocks(first))] == blocks(first)
        ((kept,),) = talk.desk.query("SELECT prompt_hash FROM ledgers WHERE step = 2")
        assert kept == Prompt(again.tools, again.system, again.messages).hash

    def test_the_turn_after_it_sees_what_changed(self, talk: Talk) -> None:
        talk.desk.send_web(talk.visitor, talk.session, "How wide is the crack?")
        talk.desk.model.script = [search_call("crack C4"), RuntimeError(), text_answer("0.35 mm [1].")]
        with pytest.raises(RuntimeError):
            talk.desk.run_turn()
        talk.change("project/NRS", RecordPatch(name="Something else"))
        talk.desk.run_turn()
        talk.ask("And what is it called?")
        assert "name: Something else" in whole(talk.sent()[-1])


def _clearance_drops(talk: Talk) -> None:
    talk.desk.query("UPDATE users SET clearance = 1 RETURNING id")


def _deleted(talk: Talk) -> None:
    with talk.desk.database.transaction(talk.desk.admin) as tx:
        crud.delete_record(talk.desk.admin, tx, "permit/P-22", None, talk.desk.clock())


def _reclassified(talk: Talk) -> None:
    talk.change("permit/P-22", RecordPatch(classification=3))


def _configured(talk: Talk) -> None:
    talk.desk.query("UPDATE agents SET instructions = 'Be brief.', version = version + 1 RETURNING id")


def _cooled(talk: Talk) -> None:
    talk.desk.clock.now += LONG_ENOUGH_TO_COOL


class TestCauses:
    @pytest.mark.parametrize(
        ("cause", "happens", "is_gone"),
        [
            ("clearance", _clearance_drops, True),
            ("classification", _deleted, True),
            ("classification", _reclassified, True),
            ("config", _configured, False),
            ("cold", _cooled, False),
        ],
    )
    def test_the_briefing_is_rendered_anew_for_a_cause_that_has_a_name(
        self, conversation: ConversationHarness, cause: str, happens: Callable[[Talk], None], is_gone: bool
    ) -> None:
        talk = Talk(conversation, "T-121")
        talk.desk.query("UPDATE users SET clearance = 2 RETURNING id")
        talk.change("permit/P-22", RecordPatch(name="Hush Harbour", classification=2))
        talk.ask("Where do we stand?")
        assert "Hush Harbour" in briefing(talk.sent()[-1])
        assert talk.told()["refresh_causes"] == ["first"]
        talk.ask("Indeed?")
        assert talk.told()["refresh_causes"] == []
        happens(talk)
        talk.ask("And now?")
        assert talk.told()["refresh_causes"][0] == cause
        assert ("Hush Harbour" not in whole(talk.sent()[-1])) is is_gone
        ((miss,),) = talk.desk.query("SELECT cache_miss FROM llm_calls ORDER BY at DESC LIMIT 1")
        assert isinstance(miss, dict)
        assert miss["cause"] == cause
        assert miss["layer"] == {"config": "tiers", "cold": "tools"}.get(cause, "briefing")
        assert miss["tokens"] > 0
        assert float(miss["cost_usd"]) > 0

    def test_a_record_that_is_merely_written_anew_is_no_cause(self, conversation: ConversationHarness) -> None:
        talk = Talk(conversation, "T-121")
        talk.ask("Where do we stand?")
        talk.change("permit/P-22", RecordPatch(name="Permit in hand"))
        talk.ask("And now?")
        assert talk.told()["refresh_causes"] == []
        assert "name: Permit in hand" in whole(talk.sent()[-1])


class TestHistory:
    def test_calls_enter_history_as_one_line_each(self, talk: Talk) -> None:
        talk.ask("How wide is the crack?", search_call("crack width C4"), text_answer("0.35 mm [1]."))
        talk.ask("Since when?")
        results = [one for one in blocks(talk.sent()[-1]) if '"tool_result"' in one]
        assert len(results) == 1
        assert "found [1]" in results[0]
        assert '"contents"' not in results[0]
        assert len(results[0]) < 1_000
        asked = [one for one in blocks(talk.sent()[-1]) if '"tool_use"' in one]
        assert '"query":"crack width C4"' in asked[0]

    def test_past_thirty_messages_and_without_a_summary_ten_stay_and_a_recap_stands_for_the_rest(
        self, talk: Talk
    ) -> None:
        for number in range(17):
            talk.ask(f"Question {number}?")
        before, cut = talk.sent()[-2:]
        assert "<parlour:earlier>" not in whole(before)
        assert "- user: Question 0?" in whole(cut)
        (recap,) = [one for one in blocks(cut) if "<parlour:earlier>" in one]
        assert all(f"Question {number}?" in recap for number in range(11))
        assert sum("Question" in one and "<parlour:" not in one for one in blocks(cut)) == 11
        ((miss,),) = talk.desk.query("SELECT cache_miss FROM llm_calls ORDER BY at DESC LIMIT 1")
        assert isinstance(miss, dict)
        assert miss["cause"] == "compaction"
        talk.ask("Question 17?")
        assert blocks(talk.sent()[-1])[: len(before_the_tail(cut))] == before_the_tail(cut)


class TestRecords:
    def test_the_hash_is_that_of_the_request_and_the_prompt_is_made_again_to_the_byte(self, talk: Talk) -> None:
        talk.ask("Good morning?")
        talk.ask(
            "How wide is the crack?",
            search_call("crack C4", "a"),
            search_call("crane", "b"),
            text_answer("0.35 mm [1]."),
        )
        talk.ask("And now?", after=LONG_ENOUGH_TO_COOL)
        kept = talk.desk.query(
            "SELECT l.turn_id, l.step, l.prompt_hash, s.prompt_hash FROM ledgers l"
            " JOIN steps s ON (s.turn_id, s.number) = (l.turn_id, l.step) ORDER BY l.at, l.step"
        )
        assert len(kept) == len(talk.sent()) == 5
        for (turn, step, hashed, stepped), request in zip(kept, talk.sent(), strict=True):
            assert hashed == stepped == Prompt(request.tools, request.system, request.messages).hash
            with talk.desk.database.transaction(talk.desk.admin) as tx:
                again = rebuild_turn_prompt(talk.desk.admin, tx, UUID(str(turn)), int(str(step)))
            assert again["text"] == whole(request)
            assert (again["hash"], again["is_identical"]) == (hashed, True)

    def test_two_tenants_never_share_a_text(self, database: Database, now: datetime) -> None:
        talks = [Talk(open_conversation_harness(database, now)), Talk(open_elsewhere(database, now))]
        for talk in talks:
            talk.ask("How wide is the crack at C4?")
        held = [set(talk.desk.query("SELECT tenant_id, hash FROM ledger_texts")) for talk in talks]
        assert len({one for _, one in held[0]} & {one for _, one in held[1]}) > 10
        assert not held[0] & held[1]
        first, second = talks
        first.desk.query("UPDATE ledger_texts SET text = NULL RETURNING 1")
        assert not _again(first)["is_identical"]
        assert _again(second)["text"] == whole(second.sent()[-1])

    def test_what_is_old_enough_goes_and_what_is_not_stays(self, talk: Talk) -> None:
        talk.ask("Where do we stand?")
        at, day = talk.desk.clock.now, timedelta(days=1)
        over = retention.month_end(retention.month_of(at))
        with talk.desk.database.transaction(talk.desk.admin) as tx:
            retention.delete_expired_batch(tx, over - timedelta(microseconds=1))
            assert retention.next_expiry(tx) == over
            retention.delete_expired_batch(tx, over)
            assert retention.next_expiry(tx) is None
        assert over - at < 32 * day
        assert talk.desk.query("SELECT FROM ledgers") == talk.desk.query("SELECT FROM ledger_texts") == []
        talk.ask("And now?")
        assert talk.told()["refresh_causes"] == []


def open_elsewhere(database: Database, now: datetime) -> ConversationHarness:
    """The same pack, applied to another tenant."""
    files = folder.read_folder(Path("packs/construction"))
    ours = {"northbank": "southbank", "ParlourDemo": "OtherDemo", "104729350000142": "104729350000143"}
    for name, (here, there) in itertools.product(files, ours.items()):
        files[name] = files[name].replace(here, there)
    tenant_id = uuid7(now)
    apply(roles.operator_principal(tenant_id), database, WordEmbedder(), validate(files), now)
    return ConversationHarness(tenant_id, database, TickingClock(now))


def _again(talk: Talk) -> JsonObject:
    ((turn,),) = talk.desk.query("SELECT turn_id FROM ledgers ORDER BY at DESC LIMIT 1")
    with talk.desk.database.transaction(talk.desk.admin) as tx:
        return rebuild_turn_prompt(talk.desk.admin, tx, UUID(str(turn)))


class Reporting(ScriptedModel):
    """Says that a prompt had so many tokens."""

    tokens = 4_000

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        for part in super().stream(request, seconds_left=seconds_left):
            yield Completion(part.blocks, part.stop_reason, self.usage()) if isinstance(part, Completion) else part

    def usage(self) -> TokenUsage:
        return TokenUsage(self.tokens // 4, 20, self.tokens // 2, self.tokens // 4)


class TestTokens:
    def test_what_a_model_reports_counts_from_the_next_session_on(self, talk: Talk) -> None:
        talk.desk.model = Reporting()
        talk.ask("Where do we stand?")
        ((model, script, factor, learned),) = talk.desk.query(
            "SELECT model, script, factor, report_count FROM token_factors"
        )
        assert (str(model).split("/")[0], script, learned) == ("anthropic", "latin", 1)
        assert 0.5 < float(str(factor)) < 2
        before = talk.told()["tokens"]
        talk.ask("And now?")
        talk.desk.query("UPDATE token_factors SET factor = 0.65 RETURNING 1")
        other = Talk(talk.desk)
        other.ask("Where do we stand?")
        other.ask("And now?")
        kept = "SELECT cache_state -> 'token_factors' FROM session_prompts WHERE session_id"
        assert talk.desk.query(f"{kept} = '{talk.session}'") == [(None,)]
        assert talk.desk.query(f"{kept} = '{other.session}'") == [({"latin": 0.65},)]
        assert other.told()["tokens"] < before
        assert talk.desk.query("SELECT report_count, factor > 0.65 FROM token_factors") == [(4, True)]

    def test_a_report_that_is_no_count_teaches_nothing(self, talk: Talk) -> None:
        talk.ask("Where do we stand?")
        assert talk.desk.query("SELECT FROM token_factors") == []

    def test_a_kind_of_record_says_what_its_conversations_may_come_to(self, talk: Talk) -> None:
        talk.ask("Where do we stand?")
        assert usage(talk)["budget"] == 7_700
        talk.desk.query("""UPDATE entity_types SET rag = rag || '{"budget": 6000}' WHERE key = 'project' RETURNING 1""")
        talk.change("project/NRS", RecordPatch(name="Northbank"))
        talk.ask("And now?")
        assert usage(talk)["budget"] == 6_000

    def test_the_web_is_told_what_every_prompt_holds(self, talk: Talk) -> None:
        talk.ask("Where do we stand?")
        first = usage(talk)
        assert first["cached_share"] == 0
        assert first["tokens"] == sum(first["tokens_by_layer"].values()) == talk.told()["tokens"]
        talk.ask("And now?", search_call("crack C4"), text_answer("0.35 mm [1]."))
        second = usage(talk)
        assert second["step"] == 2
        assert second["cached_share"] > 0.5
        assert len(talk.desk.query("SELECT FROM events WHERE kind = 'context_usage'")) == 3


def usage(talk: Talk) -> dict[str, Any]:
    """What the web was told last."""
    ((told,),) = talk.desk.query(
        "SELECT payload FROM events WHERE kind = 'context_usage' ORDER BY at DESC, number DESC LIMIT 1"
    )
    assert isinstance(told, dict)
    return told
