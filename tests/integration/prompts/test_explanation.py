"""What was in a turn's prompts, told from their records: all of it, byte for byte, or how much of it is gone."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.errors import Forbidden, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import canonical_json
from parlour.principal import Principal
from parlour.prompts.assembly.ledger_entries import OMISSION_REASONS
from parlour.prompts.assembly.stored_text import text_hash
from parlour.prompts.ledger.explanation import explain_turn, read_texts
from parlour.prompts.ledger.prompt_diff import compare_turn_prompts
from parlour.prompts.ledger.prompt_record import PromptInputs, restore_part, serialize_part
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.day_prompt_inspection import run_two_turns


@pytest.fixture
def talk(conversation: ConversationHarness) -> list[UUID]:
    """The ids of its two turns."""
    return run_two_turns(conversation)


def asked(conversation: ConversationHarness, ask: Any, *given: Any, by: Principal | None = None, **more: Any) -> Any:
    """One of the readers, in a transaction of its own."""
    principal = by or conversation.admin
    with conversation.database.transaction(principal) as tx:
        return ask(principal, tx, *given, **more)


def rewrite(conversation: ConversationHarness, change: Callable[[PromptInputs], PromptInputs]) -> None:
    """Change what the records of all turns say that their prompts were made of."""
    texts = {str(key): str(text) for key, text in conversation.query("SELECT hash, text FROM ledger_texts")}
    for turn, step, kept in conversation.query(
        "SELECT turn_id, step, prompt_inputs FROM ledgers WHERE prompt_inputs IS NOT NULL"
    ):
        assert isinstance(kept, bytes)
        changed, _ = serialize_part(change(restore_part(PromptInputs, kept, texts)))
        place = f"turn_id = '{turn}' AND step = {step}"
        conversation.query(f"UPDATE ledgers SET prompt_inputs = '\\x{changed.hex()}' WHERE {place} RETURNING 1")


def test_every_token_and_every_candidate_is_accounted_for(conversation: ConversationHarness, talk: list[UUID]) -> None:
    told = asked(conversation, explain_turn, talk[1])
    assert (told["turn"]["number"], told["turn"]["previous_turn_id"], told["turn"]["next_turn_id"]) == (
        2,
        str(talk[0]),
        None,
    )
    assert [one["step"] for one in told["steps"]] == [1, 2, 3]
    budgeted = conversation.query(f"SELECT tokens_by_layer FROM llm_calls WHERE turn_id = '{talk[1]}' ORDER BY step")
    for step, (by_layer,) in zip(told["steps"], budgeted, strict=True):
        assert {one["layer"]: one["tokens"] for one in step["layers"] if one["tokens"]} == by_layer
        assert sum(one["tokens"] for one in step["layers"]) == step["tokens"] <= told["profile"]["total"]
        assert sum(block["tokens"] for one in step["segments"] for block in one["blocks"]) == step["tokens"]
        assert sum(one["share"] for one in step["layers"]) == pytest.approx(1, abs=0.001)
        assert all(one["is_included"] is (one["reason"] is None) for one in step["candidates"])
        assert {one["reason"] for one in step["candidates"]} <= {None, *OMISSION_REASONS}
        assert not any(one["is_erased"] for one in step["candidates"])
        assert step["usage"]["input_tokens"] == 100
    history = next(one for one in told["steps"][0]["layers"] if one["layer"] == "history")
    assert (history["floor"], history["cap"]) == (800, 2_000)


def test_the_results_of_the_calls_are_candidates_of_the_step_that_was_told_of_them(
    conversation: ConversationHarness, talk: list[UUID]
) -> None:
    lots = [
        [one["source"]["id"] for one in step["candidates"] if one["kind"] == "calls"]
        for step in asked(conversation, explain_turn, talk[1])["steps"]
    ]
    assert lots == [[], ["call_1"], ["call_1", "call_2"]]
    only = asked(conversation, explain_turn, talk[1], 2)["steps"]
    assert [one["step"] for one in only] == [2]


def test_what_the_cache_was_to_serve_ends_at_a_mark_of_the_prompt_before(
    conversation: ConversationHarness, talk: list[UUID]
) -> None:
    first = asked(conversation, explain_turn, talk[0])["steps"][0]
    assert (first["cached"]["tokens"], first["refresh_causes"]) == (0, ["first"])
    second = asked(conversation, explain_turn, talk[1])["steps"][0]
    assert second["cached"]["tokens"] in {one["tokens"] for one in first["breakpoints"]}
    assert second["cached"]["tokens"] > 1_000
    blocks = [block for one in second["segments"] for block in one["blocks"]]
    assert [one["number"] for one in blocks if one["is_cached"]] == [*range(1, second["cached"]["blocks"] + 1)]
    assert second["cache_miss"] is None


def test_a_miss_is_told_with_its_cause_and_its_cost(conversation: ConversationHarness, talk: list[UUID]) -> None:
    conversation.clock.now += timedelta(minutes=20)
    conversation.send_whatsapp("And tomorrow?", "m3")
    conversation.model.script = [text_answer("The same crew.")]
    conversation.run_turn()
    ((third,),) = conversation.query("SELECT id FROM turns WHERE number = 3")
    step = asked(conversation, explain_turn, third)["steps"][0]
    assert (step["refresh_causes"][0], step["cache_miss"]["layer"], step["cache_miss"]["cause"]) == (
        "cold",
        "tools",
        "cold",
    )
    assert step["cache_miss"]["tokens"] > 1_000
    assert float(step["cache_miss"]["cost_usd"]) > 0
    assert step["cached"] == {"blocks": 0, "tokens": 0}


def test_words_are_read_by_the_hashes_that_the_turn_names(conversation: ConversationHarness, talk: list[UUID]) -> None:
    step = asked(conversation, explain_turn, talk[1])["steps"][0]
    message = next(one for one in step["segments"] if one["layer"] == "message")
    named = [one for block in message["blocks"] for one in block["text_hashes"]]
    assert "How wide is the crack at C4" in "".join(asked(conversation, read_texts, talk[1], named).values())
    assert asked(conversation, read_texts, talk[0], named) == {}
    about = text_hash("Priya")  # the record of the turn names it, no prompt or candidate does
    rewrite(conversation, lambda inputs: replace(inputs, materials=replace(inputs.materials, record_handle="Priya")))
    assert asked(conversation, read_texts, talk[1], [about]) == {}
    with pytest.raises(InvalidRequest):
        asked(conversation, read_texts, talk[1], ["x"] * 101)


def test_every_step_is_rebuilt_byte_for_byte(conversation: ConversationHarness, talk: list[UUID]) -> None:
    sent = conversation.model.requests[1:]
    for number, request in enumerate(sent, start=1):
        made = asked(conversation, rebuild_turn_prompt, talk[1], number)
        assert made["is_identical"] is True
        assert hashlib.sha256(made["text"].encode()).hexdigest() == made["hash"] == made["recorded_hash"]
        assert made["text"] == canonical_json([list(request.tools), list(request.system), list(request.messages)])
    assert asked(conversation, rebuild_turn_prompt, talk[1])["step"] == 3


def test_a_record_that_was_tampered_with_does_not_match(conversation: ConversationHarness, talk: list[UUID]) -> None:
    conversation.query("UPDATE ledger_texts SET text = 'Hello' WHERE text LIKE 'Good morning, who%' RETURNING 1")
    made = asked(conversation, rebuild_turn_prompt, talk[0])
    assert (made["is_identical"], made["erased"]) == (False, [])
    assert made["hash"] not in {None, made["recorded_hash"]}


def test_what_was_forgotten_leaves_a_tombstone(conversation: ConversationHarness, talk: list[UUID]) -> None:
    conversation.query("UPDATE ledger_texts SET text = NULL WHERE text LIKE 'Good morning, who%' RETURNING 1")
    made = asked(conversation, rebuild_turn_prompt, talk[1], 1)
    assert (made["text"], made["hash"], made["is_identical"]) == (None, None, False)
    assert [one["layer"] for one in made["erased"]] == ["history"]
    step = asked(conversation, explain_turn, talk[1], 1)["steps"][0]
    (gone,) = [block for one in step["segments"] for block in one["blocks"] if block["is_erased"]]
    (told,) = [one for one in step["candidates"] if one["is_erased"]]
    assert (told["kind"], told["title"]) == ("history", "")
    assert None in asked(conversation, read_texts, talk[1], gone["text_hashes"]).values()
    with pytest.raises(NotFound, match="texts of this prompt were erased"):
        asked(conversation, rebuild_turn_prompt, talk[1], 1, 6_000)


def test_two_turns_are_compared_by_segment_byte_and_candidate(
    conversation: ConversationHarness, talk: list[UUID]
) -> None:
    told = asked(conversation, compare_turn_prompts, talk[1], talk[0])
    changes = {one["layer"]: one["change"] for one in told["segments"]}
    assert (changes["tools"], changes["tiers"], changes["history"], changes["message"]) == (
        "same",
        "same",
        "added",
        "changed",
    )
    first = told["first_change"]
    assert first["layer"] == "history" or first["before"] != first["after"]
    assert first["byte"] > first["within"] >= 0
    assert told["is_same"] is False
    assert {one["kind"] for one in told["added"]} == {"history", "user_messages", "heartbeat"}
    assert {one["kind"] for one in told["removed"]} == {"user_messages", "heartbeat"}


def test_the_steps_of_a_turn_only_grow(conversation: ConversationHarness, talk: list[UUID]) -> None:
    told = asked(conversation, compare_turn_prompts, talk[1], talk[1])
    assert (told["before"]["step"], told["after"]["step"]) == (2, 3)
    assert {one["change"] for one in told["segments"] if one["placement"] != "last"} == {"same", "grown"}
    assert asked(conversation, compare_turn_prompts, talk[1], talk[1], 2, 2)["first_change"] is None
    with pytest.raises(NotFound, match="it has 1, 2, 3"):
        asked(conversation, compare_turn_prompts, talk[1], talk[0], 9)


def test_another_budget_fits_and_says_what_went(conversation: ConversationHarness, talk: list[UUID]) -> None:
    total = asked(conversation, explain_turn, talk[1])["profile"]["total"]
    same = asked(conversation, rebuild_turn_prompt, talk[1], 3, total)
    again = same["reassembly"]
    assert (same["is_identical"], again["dropped"], again["added"]) == (True, [], [])
    before = asked(conversation, explain_turn, talk[1], 3)["steps"][0]["tokens"]
    small = asked(conversation, rebuild_turn_prompt, talk[1], 3, before - 300)
    again = small["reassembly"]
    assert again["tokens"] <= before - 300 < again["tokens_before"] == before
    assert again["dropped"] or again["shortened"]
    assert small["is_identical"] is False
    with pytest.raises(InvalidRequest, match="500 tokens cannot hold this prompt: layer"):
        asked(conversation, rebuild_turn_prompt, talk[1], 3, 500)


def test_what_a_smaller_budget_cuts_is_named_with_its_reason(
    conversation: ConversationHarness, talk: list[UUID]
) -> None:
    for number in range(3, 7):
        conversation.send_whatsapp(f"And what of axis {number}?", f"m{number}")
        conversation.model.script = [
            text_answer(f"Axis {number} is struck. " + "The gauge reads the same as it did yesterday. " * 12)
        ]
        conversation.run_turn()
    last = UUID(str(conversation.query("SELECT id FROM turns ORDER BY number DESC LIMIT 1")[0][0]))
    sent = asked(conversation, explain_turn, last)["steps"][0]
    history = next(one["tokens"] for one in sent["layers"] if one["layer"] == "history")
    small = asked(conversation, rebuild_turn_prompt, last, 1, sent["tokens"] - history + 300)["reassembly"]
    assert small["tokens"] <= sent["tokens"] - history + 300
    dropped = {(one["kind"], one["reason"], one["title"]) for one in small["dropped"]}
    assert ("history", "compacted", "And what of axis 3?") in dropped
    calls = [one["title"] for one in small["dropped"] if one["source"]["table"] == "turns"]
    assert len(calls) == len(set(calls)) == 4
    assert {one["kind"] for one in small["added"]} == {"summary"}
    assert small["refresh_causes"] == ["compaction"]


def test_a_reader_of_less_clearance_sees_nothing_of_it(conversation: ConversationHarness, talk: list[UUID]) -> None:
    viewer = Principal(
        conversation.tenant_id, "member", id=uuid7(conversation.clock()), clearance=1, roles=frozenset({"viewer"})
    )
    asked(conversation, explain_turn, talk[1], by=viewer)
    conversation.query("UPDATE bindings SET clearance = 2 RETURNING 1")
    for ask in (explain_turn, rebuild_turn_prompt):
        with pytest.raises(NotFound):
            asked(conversation, ask, talk[1], by=viewer)
    with pytest.raises(NotFound):
        asked(conversation, compare_turn_prompts, talk[1], talk[0], by=viewer)
    with pytest.raises(NotFound):
        asked(conversation, read_texts, talk[1], ["a"], by=viewer)
    nobody = Principal(conversation.tenant_id, "member", id=uuid7(conversation.clock()), clearance=3)
    with pytest.raises(Forbidden):
        asked(conversation, explain_turn, talk[1], by=nobody)


def test_a_prompt_made_under_more_clearance_stays_hidden_when_the_binding_is_lowered(
    conversation: ConversationHarness, talk: list[UUID]
) -> None:
    viewer = Principal(
        conversation.tenant_id, "member", id=uuid7(conversation.clock()), clearance=1, roles=frozenset({"viewer"})
    )
    rewrite(
        conversation,
        lambda inputs: replace(
            inputs,
            prepared_turn=replace(inputs.prepared_turn, context=replace(inputs.prepared_turn.context, clearance=2)),
        ),
    )
    with pytest.raises(NotFound):
        asked(conversation, explain_turn, talk[1], by=viewer)
    assert asked(conversation, explain_turn, talk[1])
