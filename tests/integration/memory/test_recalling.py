"""What is remembered stands in the prompts of its own user's sessions, and what became of it there is written down."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.infra.jsonable import Json, canonical
from parlour.principal import Principal
from parlour.turns.prompts import retention
from parlour.turns.prompts.explain import explain
from parlour.turns.prompts.rebuild import rebuild
from tests.desk import Desk, calls, says
from tests.integration.memory.planted import another, episode, fact, visitor_of, watched

PERMIT = "Priya asked for the crane permit KX-4471 and was promised it by Friday."
ASKED = "What about the crane permit?"


def ask(desk: Desk, visitor: Principal, session: UUID, text: str, *script: Any) -> str:
    """The tail of the turn's first prompt, as text."""
    desk.write_web(visitor, session, text)
    before = len(desk.model.requests)
    desk.model.script = [*script] or [says("Very well.")]
    desk.run()
    return canonical(list(desk.model.requests[before].messages))


def latest(desk: Desk) -> UUID:
    ((turn,),) = desk.rows("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
    return UUID(str(turn))


def explained(desk: Desk, lot: str) -> list[dict[str, Json]]:
    """The candidates of one kind of the newest turn's first prompt."""
    turn = latest(desk)
    with desk.database.transaction(desk.admin) as tx:
        step: Any = explain(desk.admin, tx, turn)["steps"]
    return [one for one in step[0]["candidates"] if one["lot"] == lot]


def recalls(desk: Desk) -> list[tuple[object, ...]]:
    return desk.rows("SELECT COALESCE(fact_id, episode_id), used FROM recalls ORDER BY at, place")


@pytest.fixture
def talk(desk: Desk) -> tuple[Principal, UUID]:
    return visitor_of(desk)


def test_what_is_known_of_the_user_stands_in_the_prompt_and_is_explained(
    desk: Desk, talk: tuple[Principal, UUID]
) -> None:
    known = fact(desk, talk[1], "preference.food", "vegetarian")
    assert "- preference.food: vegetarian" in ask(desk, *talk, "What is for lunch?")
    (candidate,) = explained(desk, "facts")
    assert candidate["source"] == {"table": "facts", "id": str(known), "version": 0}
    assert (candidate["in"], candidate["title"], candidate["layer"]) == (True, "preference.food", "memory")
    turn = latest(desk)
    with desk.database.transaction(desk.admin) as tx:
        assert rebuild(desk.admin, tx, turn)["matches"]


def test_what_is_known_of_the_persona_and_its_team_is_told_to_everybody_they_talk_to(
    desk: Desk, talk: tuple[Principal, UUID]
) -> None:
    fact(desk, talk[1], "catalogue", "tower cranes", scope="human")
    fact(desk, talk[1], "hours", "from seven to four", scope="team")
    told = ask(desk, *visitor_of(desk), "When are you there?")
    assert "- (you) catalogue: tower cranes" in told
    assert "- (team) hours: from seven to four" in told


def test_nobody_elses_facts_are_told(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    fact(desk, talk[1], "city", "Madurai")
    elsewhere = another(desk, talk[1], binding="contract-desk")
    fact(desk, elsewhere, "budget", "4,00,000")
    fact(desk, elsewhere, "hours", "never", scope="team")
    fact(desk, elsewhere, "catalogue", "clauses", scope="human")
    assert "Madurai" not in ask(desk, *visitor_of(desk), "Which city, which budget, which hours?")
    told = ask(desk, *talk, "Which city, which budget, which hours, which catalogue?")
    assert "Madurai" in told
    assert not [one for one in ("4,00,000", "never", "clauses") if f": {one}" in told]


def test_a_fact_that_ended_is_not_told(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    fact(desk, talk[1], "city", "Madurai")
    desk.rows("UPDATE facts SET valid_until = now(), ended = 'contradicted' RETURNING id")
    assert "Madurai" not in ask(desk, *talk, "Which city am I in?")


def test_in_a_session_that_others_may_read_nothing_is_told_that_was_said_in_confidence(
    desk: Desk, talk: tuple[Principal, UUID]
) -> None:
    fact(desk, talk[1], "city", "Madurai")
    fact(desk, talk[1], "hours", "from seven to four", scope="team")
    episode(desk, talk[1], PERMIT)
    told = ask(desk, talk[0], another(desk, talk[1], "shared"), ASKED)
    assert "from seven to four" in told
    assert "Madurai" not in told
    assert PERMIT not in told


@pytest.mark.parametrize(
    ("policy", "told"), [('{"facts": 1}', ["city"]), ('{"facts": 0}', []), ("{}", ["city", "diet"])]
)
def test_the_policy_says_how_many_and_the_question_which(
    desk: Desk, talk: tuple[Principal, UUID], policy: str, told: list[str]
) -> None:
    fact(desk, talk[1], "diet", "vegetarian", confidence=1.0)
    fact(desk, talk[1], "city", "Madurai", confidence=0.7)
    desk.rows(f"UPDATE agents SET memory_policy = '{policy}' RETURNING id")
    ask(desk, *talk, "Which city is mine?")
    assert [one["title"] for one in explained(desk, "facts")] == told


def test_what_replies_used_comes_before_what_they_never_did(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    fact(desk, talk[1], "a", "one")
    used = fact(desk, talk[1], "b", "two")
    desk.rows("UPDATE facts SET recalled = 20 RETURNING id")
    desk.rows(f"UPDATE facts SET used = 15 WHERE id = '{used}' RETURNING id")
    desk.rows("UPDATE agents SET memory_policy = '{\"facts\": 1}' RETURNING id")
    ask(desk, *talk, "What then?")
    assert [one["title"] for one in explained(desk, "facts")] == ["b"]


def test_what_was_told_and_whether_the_reply_used_it_is_written_down(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    diet = fact(desk, talk[1], "diet", "vegetarian")
    city = fact(desk, talk[1], "city", "Madurai")
    ask(desk, *talk, "What is for lunch?", says("A vegetarian dish."))
    assert sorted(recalls(desk), key=str) == sorted([(city, False), (diet, True)], key=str)
    counted = desk.rows("SELECT key, recalled, used, last_used_at IS NULL FROM facts ORDER BY key")
    assert counted == [("city", 1, 0, True), ("diet", 1, 1, False)]


def test_what_a_tool_was_asked_for_counts_as_use(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    fact(desk, talk[1], "diet", "vegetarian")
    ask(desk, *talk, "What is for lunch?", calls("search_knowledge", query="vegetarian dishes"), says("Dal."))
    assert [used for _, used in recalls(desk)] == [True]


def test_a_turn_that_no_model_answered_used_nothing(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    fact(desk, talk[1], "diet", "vegetarian")
    desk.rows("UPDATE agents SET model_routing = '{}' RETURNING id")
    desk.write_web(*talk, "What is for lunch?")
    desk.run()
    assert recalls(desk) == []


def test_a_turn_that_goes_on_is_told_what_it_began_with(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    fact(desk, talk[1], "diet", "vegetarian")
    episode(desk, another(desk, talk[1]), PERMIT)
    with pytest.raises(RuntimeError):
        ask(desk, *talk, ASKED, RuntimeError("the worker dies"))
    before = canonical(list(desk.model.requests[-1].messages))
    desk.rows("UPDATE facts SET value = 'carnivore' RETURNING id")
    desk.model.script = [says("A vegetarian dish.")]
    desk.run()
    assert canonical(list(desk.model.requests[-1].messages)) == before
    assert [used for _, used in recalls(desk)] == [True, False]


def test_a_turn_that_goes_on_is_not_told_a_fact_that_was_deleted_meanwhile(
    desk: Desk, talk: tuple[Principal, UUID]
) -> None:
    fact(desk, talk[1], "diet", "vegetarian")
    with pytest.raises(RuntimeError):
        ask(desk, *talk, "What is for lunch?", RuntimeError("the worker dies"))
    desk.rows("DELETE FROM facts RETURNING id")
    desk.model.script = [says("A dish.")]
    desk.run()
    assert "vegetarian" not in canonical(list(desk.model.requests[-1].messages))
    assert recalls(desk) == []


def test_a_fact_that_was_deleted_is_shown_to_administrators_alone(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    known = fact(desk, talk[1], "diet", "vegetarian")
    ask(desk, *talk, "What is for lunch?")
    desk.rows("DELETE FROM facts RETURNING id")
    viewer = Principal(desk.tenant_id, "member", UUID(int=5), frozenset({"viewer"}), clearance=3)
    turn = latest(desk)
    with desk.database.transaction(viewer) as tx:
        told = explain(viewer, tx, turn)
    assert {"table": "facts", "id": str(known)} in told["gone"]  # type: ignore[operator]
    assert "diet" not in canonical(told)


def test_an_earlier_conversation_is_told_where_the_question_is_about_it(
    desk: Desk, talk: tuple[Principal, UUID]
) -> None:
    known = episode(desk, another(desk, talk[1]), PERMIT)
    asked = watched(desk)
    assert PERMIT in ask(desk, *talk, ASKED, says("The crane permit KX-4471 comes by Friday."))
    assert asked.asked == 1
    assert recalls(desk) == [(known, True)]
    (candidate,) = explained(desk, "episodes")
    assert candidate["source"]["id"] == str(known)  # type: ignore[index,call-overload]
    assert PERMIT not in ask(desk, *talk, "Who cooks lunch?")


def test_where_nothing_is_to_be_looked_through_nothing_is_embedded(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    asked = watched(desk)
    ask(desk, *talk, ASKED)
    assert asked.asked == 0


def test_nobody_elses_conversation_is_told(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    episode(desk, another(desk, talk[1]), PERMIT)
    episode(desk, another(desk, talk[1], binding="contract-desk"), "The crane permit costs 900.")
    stranger = visitor_of(desk)
    episode(desk, another(desk, stranger[1]), "The crane permit is not theirs.")
    assert PERMIT not in ask(desk, *stranger, ASKED)
    told = ask(desk, *talk, ASKED)
    assert PERMIT in told
    assert "costs 900" not in told
    assert "not theirs" not in told


def test_what_is_told_word_for_word_is_not_told_as_an_episode(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    ask(desk, *talk, "The crane permit is KX-4471, when does it come?", says("By Friday."))
    ((message,),) = desk.rows("SELECT id FROM messages WHERE direction = 'inbound'")
    episode(desk, talk[1], PERMIT, [UUID(str(message))])
    assert PERMIT not in ask(desk, *talk, ASKED)
    assert PERMIT in ask(desk, talk[0], another(desk, talk[1]), ASKED)


def test_an_episode_above_the_readers_clearance_is_not_told(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    episode(desk, another(desk, talk[1]), PERMIT, level=3)
    assert PERMIT not in ask(desk, *talk, ASKED)


def test_an_episode_whose_replies_were_drawn_from_what_was_closed_is_not_told(
    desk: Desk, talk: tuple[Principal, UUID]
) -> None:
    ask(desk, *talk, "When does the permit come?", says("By Friday."))
    ((message, reply),) = desk.rows(
        "SELECT i.id, o.id FROM messages i JOIN messages o ON o.turn_id = i.turn_id AND o.direction = 'outbound'"
        " WHERE i.direction = 'inbound'"
    )
    ((document,),) = desk.rows(
        "INSERT INTO citations (tenant_id, message_id, number, title, document_id)"
        f" SELECT d.tenant_id, '{reply}', 1, d.title, d.id FROM documents d LIMIT 1 RETURNING document_id"
    )
    episode(desk, talk[1], PERMIT, [UUID(str(message))])
    other = another(desk, talk[1])
    assert PERMIT in ask(desk, talk[0], other, ASKED)
    desk.rows(f"UPDATE documents SET classification = 3 WHERE id = '{document}' RETURNING 1")
    assert PERMIT not in ask(desk, talk[0], other, f"Again: {ASKED}")


def test_words_find_it_while_its_row_has_no_vector(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    episode(desk, another(desk, talk[1]), PERMIT)
    desk.rows("DELETE FROM embeddings WHERE row_id IN (SELECT row_id FROM episodes) RETURNING row_id")
    assert PERMIT in ask(desk, *talk, ASKED)


def test_an_episode_is_no_message_of_its_conversation(desk: Desk, talk: tuple[Principal, UUID]) -> None:
    other = another(desk, talk[1])
    episode(desk, other, PERMIT)
    ask(desk, *talk, f"As we discussed last time: {ASKED}")
    assert explained(desk, "other_sessions") == []
    assert len(explained(desk, "episodes")) == 1


def test_what_was_told_goes_with_the_records_of_the_prompts_and_its_use_stays_known(
    desk: Desk, talk: tuple[Principal, UUID]
) -> None:
    fact(desk, talk[1], "diet", "vegetarian")
    ask(desk, *talk, "What is for lunch?", says("A vegetarian dish."))
    for before, kept in ((desk.clock(), 1), (desk.clock() + timedelta(days=40), 0)):
        with desk.database.transaction(desk.tenant_id) as tx:
            retention.drop(tx, before)
        assert len(recalls(desk)) == kept
    assert desk.rows("SELECT recalled, used FROM facts") == [(1, 1)]
