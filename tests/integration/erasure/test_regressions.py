"""What forgetting used to leave lying, or to take along though it was needed."""

from uuid import UUID

import pytest

from parlour.erasure import execution
from parlour.infra.json_values import canonical_json
from tests.conversation_harness import PHONE, text_answer
from tests.integration.conversations.phone_link_steps import (
    CODE,
    configure_template,
    request_phone_code,
    start_phone_session,
    start_web_session,
)
from tests.integration.erasure.erasure_fixture import ErasureFixture, tables
from tests.integration.memory.silent_conversation import SilentConversation
from tests.integration.web_conversation import WebConversation

BIRD = "CANARY-41X"
STRANGER = "+919800000077"


def saying(erasure_fixture: ErasureFixture, words: str) -> list[str]:
    """The tables that say it."""
    return [name for name, text in tables(erasure_fixture.cluster, erasure_fixture.name).items() if words in text]


def test_a_number_that_a_visitor_asked_a_code_for_goes_with_them_and_so_does_the_code(
    erasure_fixture: ErasureFixture,
) -> None:
    configure_template(erasure_fixture.desk)
    visitor, session = start_web_session(erasure_fixture.desk)
    request_phone_code(erasure_fixture.desk, visitor, session, STRANGER, "482915")
    assert visitor.id
    erasure_fixture.forget("user", visitor.id)
    assert saying(erasure_fixture, STRANGER.lstrip("+")) == []
    assert saying(erasure_fixture, "482915") == []


@pytest.mark.parametrize("why", ["asked for too", "wrote", "is somebody"])
def test_whoever_was_made_for_a_code_stays_where_somebody_else_has_to_do_with_them(
    erasure_fixture: ErasureFixture, why: str
) -> None:
    desk = erasure_fixture.desk
    configure_template(desk)
    visitor, session = start_web_session(desk)
    request_phone_code(desk, visitor, session, STRANGER, "482915")
    other, its = start_web_session(desk)
    if why == "asked for too":
        request_phone_code(desk, other, its, STRANGER, "700313")
    elif why == "wrote":
        start_phone_session(desk, "Who is this?", "stranger", STRANGER)
    else:
        who = f"SELECT id FROM users WHERE phone = '{STRANGER}'"
        desk.query(f"UPDATE users SET merged_into = ({who}) WHERE id = '{other.id}' RETURNING 1")
    assert visitor.id
    erasure_fixture.forget("user", visitor.id)
    assert desk.query(f"SELECT count(*) FROM users WHERE phone = '{STRANGER}'") == [(1,)]
    assert desk.query(f"SELECT count(*) FROM users WHERE id = '{other.id}'") == [(1,)]
    assert saying(erasure_fixture, "482915") == []
    assert (saying(erasure_fixture, "700313") == []) == (why != "asked for too")


def test_a_person_who_was_known_before_keeps_all_but_the_code(erasure_fixture: ErasureFixture) -> None:
    desk = erasure_fixture.desk
    known = start_phone_session(desk)
    visitor, session = start_web_session(desk)
    request_phone_code(desk, visitor, session)
    assert visitor.id
    assert "messages" in saying(erasure_fixture, CODE)
    erasure_fixture.forget("user", visitor.id)
    assert saying(erasure_fixture, CODE) == []
    assert desk.query(f"SELECT phone FROM users WHERE phone = '{PHONE}'") == [(PHONE,)]
    assert desk.query(f"SELECT body FROM messages WHERE session_id = '{known}' AND direction = 'inbound'") == [
        ("My name is Priya.",)
    ]


def test_a_title_that_says_the_forgotten_words_goes_whoever_gave_it(erasure_fixture: ErasureFixture) -> None:
    desk, talk = erasure_fixture.desk, WebConversation(erasure_fixture.desk)
    told = talk.say(f"My gate code is {BIRD}.", text_answer("Good."))
    other = desk.find_session(talk.visitor)
    desk.query(f"UPDATE sessions SET title = 'The {BIRD} matter', titled_by = 'user' RETURNING 1")
    report = erasure_fixture.forget("message", told)
    assert erasure_fixture.canaries_by_table() == {}
    assert f"{other}/title" in canonical_json(report)


def test_a_title_that_a_user_gave_and_that_says_nothing_of_it_stays(erasure_fixture: ErasureFixture) -> None:
    talk = WebConversation(erasure_fixture.desk)
    told = talk.say(f"My gate code is {BIRD}.", text_answer("Good."))
    erasure_fixture.desk.query("UPDATE sessions SET title = 'The gate', titled_by = 'user' RETURNING 1")
    erasure_fixture.forget("message", told)
    assert erasure_fixture.desk.query("SELECT title FROM sessions") == [("The gate",)]


def test_that_a_fact_was_forgotten_is_known_as_long_as_another_message_says_it(erasure_fixture: ErasureFixture) -> None:
    desk, talk = erasure_fixture.desk, WebConversation(erasure_fixture.desk)
    first, second = (
        talk.say("Pune, as it were.", text_answer("Nice.")),
        talk.say("In Pune it rains.", text_answer("Yes.")),
    )
    erasure_fixture.forget("fact", talk.add_fact("Pune", first, second, key="preference.town"))
    erasure_fixture.forget("message", first)
    noted = desk.query("SELECT key FROM fact_decisions WHERE decision = 'erased'")
    assert noted == [("preference.town",)]
    erasure_fixture.forget("message", second)
    assert desk.query("SELECT key FROM fact_decisions WHERE decision = 'erased'") == []


def test_only_the_stretch_that_a_message_was_in_and_later_ones_are_consolidated_again(
    erasure_fixture: ErasureFixture,
) -> None:
    desk, talk = erasure_fixture.desk, SilentConversation(erasure_fixture.desk)
    said = [talk.say(f"Line {number} of the talk.") for number in range(6)]
    episodes = [talk.add_episode(f"Stretch {at}.", *said[at : at + 2]) for at in (0, 2, 4)]
    desk.query("UPDATE episodes SET origin = 'consolidated' RETURNING 1")
    desk.query("UPDATE sessions SET consolidated_turn = 6, consolidated_at = now() RETURNING 1")
    erasure_fixture.forget("message", said[3])
    assert desk.query("SELECT id FROM episodes") == [(episodes[0],)]
    assert desk.query("SELECT consolidated_turn FROM sessions") == [(2,)]
    assert talk.due_rows("consolidation") != []


def test_of_a_long_message_its_telling_words_are_looked_for_wherever_they_stand_and_it_is_told_what_was_not(
    erasure_fixture: ErasureFixture,
) -> None:
    talk = WebConversation(erasure_fixture.desk)
    lines = "\n".join(f"This is line number {n} of what I have to say." for n in range(100))
    told = talk.say(f"{lines}\nThe account is {BIRD}.", text_answer("Good."))
    talk.say("And now?", text_answer(f"It is {BIRD}."))
    report = erasure_fixture.forget("message", told)
    assert erasure_fixture.canaries_by_table() == {}
    assert "a long message" in canonical_json(report["out_of_reach"])


def test_a_list_of_reports_is_read_without_them(erasure_fixture: ErasureFixture) -> None:
    desk, talk = erasure_fixture.desk, WebConversation(erasure_fixture.desk)
    talk.say("Hello.", text_answer("Good morning."))
    report = erasure_fixture.forget("user", talk.user)
    with desk.database.transaction(desk.admin) as tx:
        (listed,) = execution.list_erasures(desk.admin, tx).rows
        assert execution.get_report(desk.admin, tx, UUID(str(report["id"])))["rows"]
    assert listed.counts == report["counts"]
    assert not hasattr(listed, "report")
