"""A briefing that is rendered anew because the history was cut holds all that it would hold otherwise; and what lies
before the cut is not looked at."""

import json
import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.queries import Query
from parlour.prompts.assembly.compaction import KEY_DETAIL_KINDS
from parlour.prompts.ledger.explanation import explain_turn
from parlour.prompts.ledger.store import SQL
from tests.conversation_harness import ConversationHarness, text_answer

_AROUND = {"recent", "nearest", "file_summaries", "project_files"}


def _told(conversation: ConversationHarness) -> dict[str, Any]:
    ((turn, *_),) = conversation.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
    with conversation.database.transaction(conversation.admin) as tx:
        steps: Any = explain_turn(conversation.admin, tx, UUID(str(turn)))["steps"]
    return dict(steps[-1])


def _around(told: dict[str, Any]) -> set[str]:
    return {one["kind"] for one in told["candidates"]} & _AROUND


@pytest.mark.parametrize("profile", ["entity", "messaging"])
def test_also_when_it_was_cut_for_want_of_room(conversation: ConversationHarness, profile: str) -> None:
    """Below the most that history may have, and below twenty messages: only spending the budget tells."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    about = "(SELECT id FROM entities WHERE key = 'NRS')"
    conversation.query(f"UPDATE sessions SET entity_id = {about} WHERE id = '{session}' RETURNING 1")
    budget = f'{{"budget": {{"profile": "{profile}", "tokens": 6800}}}}'
    conversation.query(f"UPDATE entity_types SET rag = rag || '{budget}' WHERE key = 'project' RETURNING 1")

    def ask(text: str, reply: str) -> dict[str, Any]:
        conversation.clock.now += timedelta(seconds=30)
        conversation.send_web(visitor, session, text)
        conversation.model.script = [text_answer(reply)]
        conversation.run_turn()
        return _told(conversation)

    first = ask("Where do we stand?", "Fine.")
    assert _around(first)
    for number in range(8):
        told = ask(f"Question {number}?", f"Answer {number}: " + "the slab was poured on a Monday and it stands. " * 24)
        if told["refresh_causes"]:
            break
    assert told["refresh_causes"][0] == "compaction"
    assert _around(told) == _around(first)


def test_turns_before_the_cut_are_passed_over_by_an_index(conversation: ConversationHarness) -> None:
    """In a session of thousands of turns it would look at each of them otherwise, in every turn."""
    explained = Query("test.plan", "How it is found.", f"EXPLAIN (FORMAT JSON) {SQL['read_previous_prompts'].sql}")
    with conversation.database.transaction(conversation.tenant_id) as tx:
        tx.run(Query("test.index", "Whatever the size of the table.", "SET LOCAL enable_seqscan = off"))
        plan = tx.value(
            explained,
            session_id=UUID(int=1),
            before=5_000,
            most=25,
            clearance=1,
            model="anthropic/claude-sonnet-5-5",
            kinds=list(KEY_DETAIL_KINDS),
            lines=4,
            at=conversation.clock(),
            awaited=conversation.clock(),
        )
    bounded = re.findall(r"\"Index Cond\": \"[^\"]*number >= \$", json.dumps(plan))
    assert len(bounded) == 2  # of history, and of its recap
