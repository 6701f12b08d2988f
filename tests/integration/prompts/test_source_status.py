"""A prompt's record, looked at later: what was closed or deleted meanwhile, and what a turn that was begun anew has."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.conversations import failed_turns
from parlour.infra.errors import NotFound
from parlour.principal import Principal
from parlour.prompts.ledger.explanation import explain_turn, read_texts
from parlour.prompts.ledger.prompt_diff import compare_turn_prompts
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from parlour.prompts.ledger.source_status import WITHHELD_PLACEHOLDER
from tests.conversation_harness import ConversationHarness, search_call, text_answer


@pytest.fixture
def turns(conversation: ConversationHarness) -> list[UUID]:
    """Three turns about a project: the second searches and cites, the third has it in its history."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    about = "(SELECT id FROM entities WHERE key = 'NRS')"
    conversation.query(f"UPDATE sessions SET entity_id = {about} WHERE id = '{session}' RETURNING id")
    numbers = " ".join(f"[{n}]" for n in range(1, 9))
    scripts = [
        [text_answer("Well.")],
        [search_call("crack width C4"), text_answer(f"0.35 mm wide {numbers}.")],
        [text_answer("Monday.")],
    ]
    for text, script in zip(("How are things?", "How wide is the crack?", "And the crane?"), scripts, strict=True):
        conversation.clock.now += timedelta(seconds=30)
        conversation.send_web(visitor, session, text)
        conversation.model.script = [*script]
        conversation.run_turn()
    return [
        UUID(str(one))
        for (one,) in conversation.query(f"SELECT id FROM turns WHERE session_id = '{session}' ORDER BY number")
    ]


def viewer(conversation: ConversationHarness, clearance: int = 3) -> Principal:
    return Principal(conversation.tenant_id, "key", clearance=clearance, roles=frozenset({"viewer"}))


def asked(conversation: ConversationHarness, ask: Any, *given: Any, by: Principal | None = None, **more: Any) -> Any:
    principal = by or conversation.admin
    with conversation.database.transaction(principal) as tx:
        return ask(principal, tx, *given, **more)


def read(conversation: ConversationHarness, turn: UUID, by: Principal | None = None, layer: str = "") -> str:
    """All words of a turn's prompts, and the titles of their candidates."""
    told: list[str] = []
    for step in asked(conversation, explain_turn, turn, by=by)["steps"]:
        blocks = [block for one in step["segments"] if layer in ("", one["layer"]) for block in one["blocks"]]
        chosen = [one for one in step["candidates"] if layer in ("", one["layer"])]
        hashes = sorted(
            {*(word for block in blocks for word in block["text_hashes"]), *(one["text_hash"] for one in chosen)}
        )
        told += [one["title"] for one in chosen]
        for first in range(0, len(hashes), 100):
            told += map(str, asked(conversation, read_texts, turn, hashes[first : first + 100], by=by).values())
    return "\n".join(told)


def document(conversation: ConversationHarness) -> tuple[str, str]:
    """The document that the reply cites first, and its title."""
    ((one, title),) = conversation.query(
        "SELECT c.document_id, c.title FROM citations c JOIN context_rows r ON r.id = c.row_id"
        " WHERE c.document_id IS NOT NULL ORDER BY c.number LIMIT 1"
    )
    return str(one), str(title)


@pytest.mark.parametrize("place", ["calls", "history"])
def test_words_of_a_document_that_was_lifted_above_the_viewer_are_not_shown(
    conversation: ConversationHarness, turns: list[UUID], place: str
) -> None:
    one, title = document(conversation)
    turn, told = (turns[1], title) if place == "calls" else (turns[2], "0.35 mm wide")
    modest = viewer(conversation, clearance=2)
    assert told in read(conversation, turn, modest)
    conversation.query(f"UPDATE documents SET classification = 3 WHERE id = '{one}' RETURNING 1")
    conversation.query(f"UPDATE context_rows SET classification = 3 WHERE document_id = '{one}' RETURNING 1")
    shown = read(conversation, turn, modest, place)
    assert told not in shown
    assert WITHHELD_PLACEHOLDER in shown
    assert told in read(conversation, turn), "an operator may see it"
    made = asked(conversation, rebuild_turn_prompt, turn, by=modest)
    assert (made["text"], made["hash"], made["is_identical"], made["erased"]) == (None, None, False, [])
    assert {each["layer"] for each in made["withheld"]} == {place, "briefing"}, "near the record"
    assert asked(conversation, rebuild_turn_prompt, turn)["is_identical"] is True
    with pytest.raises(NotFound):
        asked(conversation, rebuild_turn_prompt, turn, by=modest, budget=6_000)


def test_words_of_a_record_that_was_closed_are_not_shown_nor_compared(
    conversation: ConversationHarness, turns: list[UUID]
) -> None:
    modest = viewer(conversation, clearance=2)
    assert "Northbank" in read(conversation, turns[0], modest, "briefing")
    conversation.query("UPDATE entities SET classification = 3 WHERE key = 'NRS' RETURNING 1")
    assert "Contract value" not in read(conversation, turns[0], modest, "briefing")
    (step,) = asked(conversation, explain_turn, turns[0], by=modest)["steps"]
    record = next(one for one in step["candidates"] if one["kind"] == "record")
    assert (record["title"], record["is_withheld"], record["is_erased"]) == (WITHHELD_PLACEHOLDER, True, False)
    told = asked(conversation, compare_turn_prompts, turns[2], turns[0], by=modest)
    assert all(one["title"] == WITHHELD_PLACEHOLDER for one in told["added"] if one["kind"] == "record")


def test_what_was_deleted_is_shown_to_administrators_alone_and_said_to_be_gone(
    conversation: ConversationHarness, turns: list[UUID]
) -> None:
    conversation.query("UPDATE entities SET deleted_at = now() WHERE key = 'NRS' RETURNING 1")
    ((entity,),) = conversation.query("SELECT id FROM entities WHERE key = 'NRS'")
    record = next(
        one
        for one in asked(conversation, explain_turn, turns[0], by=viewer(conversation))["steps"][0]["candidates"]
        if one["kind"] == "record"
    )
    assert record["is_withheld"] is True
    assert asked(conversation, rebuild_turn_prompt, turns[0], by=viewer(conversation))["text"] is None
    for told in (asked(conversation, explain_turn, turns[0]), asked(conversation, rebuild_turn_prompt, turns[0])):
        assert {"table": "entities", "id": str(entity)} in told["deleted_sources"]
    assert asked(conversation, rebuild_turn_prompt, turns[0])["is_identical"] is True
    assert not any(one["is_withheld"] for one in asked(conversation, explain_turn, turns[0])["steps"][0]["candidates"])


def test_what_nobody_closed_is_withheld_from_nobody(conversation: ConversationHarness, turns: list[UUID]) -> None:
    for turn in turns:
        told = asked(conversation, explain_turn, turn, by=viewer(conversation))
        assert told["deleted_sources"] == []
        assert not any(one["is_withheld"] for step in told["steps"] for one in step["candidates"])
        assert asked(conversation, rebuild_turn_prompt, turn, by=viewer(conversation))["is_identical"] is True


def test_every_turn_lists_what_its_pinned_briefing_holds(conversation: ConversationHarness, turns: list[UUID]) -> None:
    first, *later = [asked(conversation, explain_turn, turn)["steps"][0] for turn in turns]
    inside = [one for one in first["candidates"] if one["layer"] == "briefing" and one["is_included"]]
    assert {one["kind"] for one in inside} >= {"record", "linked"}
    for step in later:
        assert step["refresh_causes"] == []
        assert [one for one in step["candidates"] if one["layer"] == "briefing"] == inside
    told = asked(conversation, compare_turn_prompts, turns[1], turns[0])
    assert not [one for name in ("added", "removed") for one in told[name] if one["layer"] == "briefing"]


def test_a_turn_that_was_begun_anew_tells_of_all_its_steps(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("How wide is the crack?")
    conversation.model.script = [search_call("crack C4"), RuntimeError(), RuntimeError(), RuntimeError()]
    for _ in range(2):
        with pytest.raises(RuntimeError):
            conversation.run_turn()
    conversation.run_turn()
    ((turn,),) = conversation.query("SELECT id FROM turns WHERE state = 'failed'")
    turn_id = UUID(str(turn))
    conversation.clock.now += timedelta(days=40)
    conversation.database.run(
        conversation.admin, lambda tx: failed_turns.redrive_turn(conversation.admin, tx, turn_id, conversation.clock())
    )
    conversation.model.script = [text_answer("0.35 mm.")]
    conversation.run_turn()
    told = asked(conversation, explain_turn, turn_id)
    assert [(one["step"], one["restarted"]) for one in told["steps"]] == [(1, False), (2, True)]
    assert not any(block["is_erased"] for step in told["steps"] for one in step["segments"] for block in one["blocks"])
    for step in (1, 2):
        assert asked(conversation, rebuild_turn_prompt, turn_id, step)["is_identical"] is True
        assert asked(conversation, rebuild_turn_prompt, turn_id, step, 6_000)["reassembly"]["tokens"] > 0
    compared = asked(conversation, compare_turn_prompts, turn_id, turn_id)
    assert [(compared[side]["step"], compared[side]["restarted"]) for side in ("before", "after")] == [
        (1, False),
        (2, True),
    ]
    assert asked(conversation, compare_turn_prompts, turn_id, turn_id, 1)["first_change"] is None
