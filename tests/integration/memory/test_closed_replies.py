"""What a reply was drawn from may be closed later: memory does not read it then, nor tell what was noted of it."""

from uuid import UUID

import pytest

from parlour.memory.known import store
from tests.desk import Desk, says, searches
from tests.integration.memory.read_through import Conversation, answer

CITED = " ".join(f"[{n}]" for n in range(1, 9))


@pytest.fixture
def talk(desk: Desk) -> Conversation:
    """A question of the user's, and one whose reply cites the knowledge."""
    made = Conversation(desk)
    made.say("The scaffold of the tower was tied yesterday, the foreman said so to me.")
    made.say("How wide is the crack at C4?", searches("crack width C4"), says(f"It is very wide, rebar bare {CITED}."))
    return made


def close(desk: Desk) -> None:
    desk.rows("UPDATE documents SET classification = 3 RETURNING 1")
    desk.rows("UPDATE context_rows SET classification = 3 WHERE document_id IS NOT NULL RETURNING 1")


def test_a_reply_that_is_closed_is_not_read(talk: Conversation) -> None:
    close(talk.desk)
    talk.look_through(answer())
    assert "How wide is the crack" in talk.asked()
    assert "rebar" not in talk.asked()


def test_an_episode_is_of_every_turn_whose_reply_has_its_words(talk: Conversation) -> None:
    desk = talk.desk
    told = "The scaffold of the tower was tied yesterday; rebar bare."
    talk.look_through(answer(episodes=[(told, [1])]))
    assert talk.episodes() == [(told, 0)]
    assert known(desk, talk, talk.visitor.clearance) == [told]
    close(desk)
    assert known(desk, talk, talk.visitor.clearance) == []


def test_an_episode_of_a_higher_level_is_not_shown_to_its_own_user_who_lost_it(talk: Conversation) -> None:
    told = "The scaffold of the tower was tied yesterday."
    talk.look_through(answer(episodes=[(told, [1])]))
    talk.desk.rows("UPDATE context_rows SET classification = 3 WHERE kind = 'episode' RETURNING 1")
    assert known(talk.desk, talk, talk.visitor.clearance) == []
    assert known(talk.desk, talk, 3) == [told]


def known(desk: Desk, talk: Conversation, clearance: int) -> list[str]:
    """What the user is shown of what they lived through."""
    user: UUID = talk.user
    with desk.database.transaction(desk.tenant_id) as tx:
        return [one.text for one in store.episodes(tx, user, None, is_own=True, clearance=clearance, most=50)]
