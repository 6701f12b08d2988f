"""What is remembered stands in the prompts of its own user's sessions, and what became of it there is written down."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.json_values import Json, canonical_json
from parlour.principal import Principal
from parlour.prompts.ledger import retention
from parlour.prompts.ledger.explanation import explain_turn
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import ConversationHarness, text_answer, tool_call
from tests.integration.memory.memory_rows import add_episode, add_fact, add_session, count_embedder_calls, find_visitor

PERMIT = "Priya asked for the crane permit KX-4471 and was promised it by Friday."
ASKED = "What about the crane permit?"


def ask(conversation: ConversationHarness, visitor: Principal, session: UUID, text: str, *script: Any) -> str:
    """The tail of the turn's first prompt, as text."""
    conversation.send_web(visitor, session, text)
    before = len(conversation.model.requests)
    conversation.model.script = [*script] or [text_answer("Very well.")]
    conversation.run_turn()
    return canonical_json(list(conversation.model.requests[before].messages))


def latest(conversation: ConversationHarness) -> UUID:
    ((turn,),) = conversation.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
    return UUID(str(turn))


def explained(conversation: ConversationHarness, lot: str) -> list[dict[str, Json]]:
    """The candidates of one kind of the newest turn's first prompt."""
    turn = latest(conversation)
    with conversation.database.transaction(conversation.admin) as tx:
        step: Any = explain_turn(conversation.admin, tx, turn)["steps"]
    return [one for one in step[0]["candidates"] if one["kind"] == lot]


def recalls(conversation: ConversationHarness) -> list[tuple[object, ...]]:
    return conversation.query(
        "SELECT COALESCE(fact_id, episode_id), is_used FROM recalls ORDER BY recalled_at, position"
    )


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> tuple[Principal, UUID]:
    return find_visitor(conversation)


def test_what_is_known_of_the_user_stands_in_the_prompt_and_is_explained(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    known = add_fact(conversation, web_conversation[1], "preference.food", "vegetarian")
    assert "- preference.food: vegetarian" in ask(conversation, *web_conversation, "What is for lunch?")
    (candidate,) = explained(conversation, "facts")
    assert candidate["source"] == {"table": "facts", "id": str(known), "version": 0}
    assert (candidate["is_included"], candidate["title"], candidate["layer"]) == (True, "preference.food", "memory")
    turn = latest(conversation)
    with conversation.database.transaction(conversation.admin) as tx:
        assert rebuild_turn_prompt(conversation.admin, tx, turn)["is_identical"]


def test_what_is_known_of_the_persona_and_its_team_is_told_to_everybody_they_talk_to(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "catalogue", "tower cranes", scope="human")
    add_fact(conversation, web_conversation[1], "hours", "from seven to four", scope="team")
    told = ask(conversation, *find_visitor(conversation), "When are you there?")
    assert "- (you) catalogue: tower cranes" in told
    assert "- (team) hours: from seven to four" in told


def test_nobody_elses_facts_are_told(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "city", "Madurai")
    elsewhere = add_session(conversation, web_conversation[1], binding="contract-desk")
    add_fact(conversation, elsewhere, "budget", "4,00,000")
    add_fact(conversation, elsewhere, "hours", "never", scope="team")
    add_fact(conversation, elsewhere, "catalogue", "clauses", scope="human")
    assert "Madurai" not in ask(conversation, *find_visitor(conversation), "Which city, which budget, which hours?")
    told = ask(conversation, *web_conversation, "Which city, which budget, which hours, which catalogue?")
    assert "Madurai" in told
    assert not [one for one in ("4,00,000", "never", "clauses") if f": {one}" in told]


def test_a_fact_that_ended_is_not_told(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "city", "Madurai")
    conversation.query("UPDATE facts SET valid_until = now(), end_reason = 'contradicted' RETURNING id")
    assert "Madurai" not in ask(conversation, *web_conversation, "Which city am I in?")


def test_in_a_session_that_others_may_read_nothing_is_told_that_was_said_in_confidence(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "city", "Madurai")
    add_fact(conversation, web_conversation[1], "hours", "from seven to four", scope="team")
    add_episode(conversation, web_conversation[1], PERMIT)
    told = ask(conversation, web_conversation[0], add_session(conversation, web_conversation[1], "shared"), ASKED)
    assert "from seven to four" in told
    assert "Madurai" not in told
    assert PERMIT not in told


@pytest.mark.parametrize(
    ("policy", "told"), [('{"facts": 1}', ["city"]), ('{"facts": 0}', []), ("{}", ["city", "diet"])]
)
def test_the_policy_says_how_many_and_the_question_which(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID], policy: str, told: list[str]
) -> None:
    add_fact(conversation, web_conversation[1], "diet", "vegetarian", confidence=1.0)
    add_fact(conversation, web_conversation[1], "city", "Madurai", confidence=0.7)
    conversation.query(f"UPDATE agents SET memory_policy = '{policy}' RETURNING id")
    ask(conversation, *web_conversation, "Which city is mine?")
    assert [one["title"] for one in explained(conversation, "facts")] == told


def test_what_replies_used_comes_before_what_they_never_did(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "a", "one")
    used = add_fact(conversation, web_conversation[1], "b", "two")
    conversation.query("UPDATE facts SET recall_count = 20 RETURNING id")
    conversation.query(f"UPDATE facts SET use_count = 15 WHERE id = '{used}' RETURNING id")
    conversation.query("UPDATE agents SET memory_policy = '{\"facts\": 1}' RETURNING id")
    ask(conversation, *web_conversation, "What then?")
    assert [one["title"] for one in explained(conversation, "facts")] == ["b"]


def test_what_was_told_and_whether_the_reply_used_it_is_written_down(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    diet = add_fact(conversation, web_conversation[1], "diet", "vegetarian")
    city = add_fact(conversation, web_conversation[1], "city", "Madurai")
    ask(conversation, *web_conversation, "What is for lunch?", text_answer("A vegetarian dish."))
    assert sorted(recalls(conversation), key=str) == sorted([(city, False), (diet, True)], key=str)
    counted = conversation.query("SELECT key, recall_count, use_count, last_used_at IS NULL FROM facts ORDER BY key")
    assert counted == [("city", 1, 0, True), ("diet", 1, 1, False)]


def test_what_a_tool_was_asked_for_counts_as_use(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "diet", "vegetarian")
    ask(
        conversation,
        *web_conversation,
        "What is for lunch?",
        tool_call("search_knowledge", query="vegetarian dishes"),
        text_answer("Dal."),
    )
    assert [used for _, used in recalls(conversation)] == [True]


def test_a_turn_that_no_model_answered_used_nothing(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "diet", "vegetarian")
    conversation.query("UPDATE agents SET model_routing = '{}' RETURNING id")
    conversation.send_web(*web_conversation, "What is for lunch?")
    conversation.run_turn()
    assert recalls(conversation) == []


def test_a_turn_that_goes_on_is_told_what_it_began_with(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "diet", "vegetarian")
    add_episode(conversation, add_session(conversation, web_conversation[1]), PERMIT)
    with pytest.raises(RuntimeError):
        ask(conversation, *web_conversation, ASKED, RuntimeError("the worker dies"))
    before = canonical_json(list(conversation.model.requests[-1].messages))
    conversation.query("UPDATE facts SET value = 'carnivore' RETURNING id")
    conversation.model.script = [text_answer("A vegetarian dish.")]
    conversation.run_turn()
    assert canonical_json(list(conversation.model.requests[-1].messages)) == before
    assert [used for _, used in recalls(conversation)] == [True, False]


def test_a_turn_that_goes_on_is_not_told_a_fact_that_was_deleted_meanwhile(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "diet", "vegetarian")
    with pytest.raises(RuntimeError):
        ask(conversation, *web_conversation, "What is for lunch?", RuntimeError("the worker dies"))
    conversation.query("DELETE FROM facts RETURNING id")
    conversation.model.script = [text_answer("A dish.")]
    conversation.run_turn()
    assert "vegetarian" not in canonical_json(list(conversation.model.requests[-1].messages))
    assert recalls(conversation) == []


def test_a_fact_that_was_deleted_is_shown_to_administrators_alone(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    known = add_fact(conversation, web_conversation[1], "diet", "vegetarian")
    ask(conversation, *web_conversation, "What is for lunch?")
    conversation.query("DELETE FROM facts RETURNING id")
    viewer = Principal(conversation.tenant_id, "member", UUID(int=5), frozenset({"viewer"}), clearance=3)
    turn = latest(conversation)
    with conversation.database.transaction(viewer) as tx:
        told = explain_turn(viewer, tx, turn)
    assert {"table": "facts", "id": str(known)} in told["deleted_sources"]  # type: ignore[operator]
    assert "diet" not in canonical_json(told)


def test_an_earlier_conversation_is_told_where_the_question_is_about_it(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    known = add_episode(conversation, add_session(conversation, web_conversation[1]), PERMIT)
    asked = count_embedder_calls(conversation)
    assert PERMIT in ask(
        conversation, *web_conversation, ASKED, text_answer("The crane permit KX-4471 comes by Friday.")
    )
    assert asked.asked == 1
    assert recalls(conversation) == [(known, True)]
    (candidate,) = explained(conversation, "episodes")
    assert candidate["source"]["id"] == str(known)  # type: ignore[index,call-overload]
    assert PERMIT not in ask(conversation, *web_conversation, "Who cooks lunch?")


def test_where_nothing_is_to_be_looked_through_nothing_is_embedded(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    asked = count_embedder_calls(conversation)
    ask(conversation, *web_conversation, ASKED)
    assert asked.asked == 0


def test_nobody_elses_conversation_is_told(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_episode(conversation, add_session(conversation, web_conversation[1]), PERMIT)
    add_episode(
        conversation,
        add_session(conversation, web_conversation[1], binding="contract-desk"),
        "The crane permit costs 900.",
    )
    stranger = find_visitor(conversation)
    add_episode(conversation, add_session(conversation, stranger[1]), "The crane permit is not theirs.")
    assert PERMIT not in ask(conversation, *stranger, ASKED)
    told = ask(conversation, *web_conversation, ASKED)
    assert PERMIT in told
    assert "costs 900" not in told
    assert "not theirs" not in told


def test_what_is_told_word_for_word_is_not_told_as_an_episode(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    ask(conversation, *web_conversation, "The crane permit is KX-4471, when does it come?", text_answer("By Friday."))
    ((message,),) = conversation.query("SELECT id FROM messages WHERE direction = 'inbound'")
    add_episode(conversation, web_conversation[1], PERMIT, [UUID(str(message))])
    assert PERMIT not in ask(conversation, *web_conversation, ASKED)
    assert PERMIT in ask(conversation, web_conversation[0], add_session(conversation, web_conversation[1]), ASKED)


def test_an_episode_above_the_readers_clearance_is_not_told(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_episode(conversation, add_session(conversation, web_conversation[1]), PERMIT, level=3)
    assert PERMIT not in ask(conversation, *web_conversation, ASKED)


def test_an_episode_whose_replies_were_drawn_from_what_was_closed_is_not_told(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    ask(conversation, *web_conversation, "When does the permit come?", text_answer("By Friday."))
    ((message, reply),) = conversation.query(
        "SELECT i.id, o.id FROM messages i JOIN messages o ON o.turn_id = i.turn_id AND o.direction = 'outbound'"
        " WHERE i.direction = 'inbound'"
    )
    ((document,),) = conversation.query(
        "INSERT INTO citations (tenant_id, message_id, number, title, document_id)"
        f" SELECT d.tenant_id, '{reply}', 1, d.title, d.id FROM documents d LIMIT 1 RETURNING document_id"
    )
    add_episode(conversation, web_conversation[1], PERMIT, [UUID(str(message))])
    other = add_session(conversation, web_conversation[1])
    assert PERMIT in ask(conversation, web_conversation[0], other, ASKED)
    conversation.query(f"UPDATE documents SET classification = 3 WHERE id = '{document}' RETURNING 1")
    assert PERMIT not in ask(conversation, web_conversation[0], other, f"Again: {ASKED}")


def test_words_find_it_while_its_row_has_no_vector(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_episode(conversation, add_session(conversation, web_conversation[1]), PERMIT)
    conversation.query("DELETE FROM embeddings WHERE row_id IN (SELECT row_id FROM episodes) RETURNING row_id")
    assert PERMIT in ask(conversation, *web_conversation, ASKED)


def test_an_episode_is_no_message_of_its_conversation(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    other = add_session(conversation, web_conversation[1])
    add_episode(conversation, other, PERMIT)
    ask(conversation, *web_conversation, f"As we discussed last time: {ASKED}")
    assert explained(conversation, "other_sessions") == []
    assert len(explained(conversation, "episodes")) == 1


def test_what_was_told_goes_with_the_records_of_the_prompts_and_its_use_stays_known(
    conversation: ConversationHarness, web_conversation: tuple[Principal, UUID]
) -> None:
    add_fact(conversation, web_conversation[1], "diet", "vegetarian")
    ask(conversation, *web_conversation, "What is for lunch?", text_answer("A vegetarian dish."))
    for before, kept in ((conversation.clock(), 1), (conversation.clock() + timedelta(days=40), 0)):
        with conversation.database.transaction(conversation.tenant_id) as tx:
            retention.delete_expired_batch(tx, before)
        assert len(recalls(conversation)) == kept
    assert conversation.query("SELECT recall_count, use_count FROM facts") == [(1, 1)]
