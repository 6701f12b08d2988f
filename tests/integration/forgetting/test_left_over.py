"""What forgetting used to leave lying, or to take along though it was needed."""

from uuid import UUID

import pytest

from parlour.forgetting import erase
from parlour.infra.jsonable import canonical
from tests.desk import PHONE, says
from tests.integration.forgetting.aviary import Aviary, tables
from tests.integration.memory.silent import Silent
from tests.integration.talking import Talk
from tests.integration.turns.linked import CODE, asked, on_the_phone, on_the_web, with_template

BIRD = "CANARY-41X"
STRANGER = "+919800000077"


def saying(aviary: Aviary, words: str) -> list[str]:
    """The tables that say it."""
    return [name for name, text in tables(aviary.cluster, aviary.name).items() if words in text]


def test_a_number_that_a_visitor_asked_a_code_for_goes_with_them_and_so_does_the_code(aviary: Aviary) -> None:
    with_template(aviary.desk)
    visitor, session = on_the_web(aviary.desk)
    asked(aviary.desk, visitor, session, STRANGER, "482915")
    assert visitor.id
    aviary.forget("user", visitor.id)
    assert saying(aviary, STRANGER.lstrip("+")) == []
    assert saying(aviary, "482915") == []


@pytest.mark.parametrize("why", ["asked for too", "wrote", "is somebody"])
def test_whoever_was_made_for_a_code_stays_where_somebody_else_has_to_do_with_them(aviary: Aviary, why: str) -> None:
    desk = aviary.desk
    with_template(desk)
    visitor, session = on_the_web(desk)
    asked(desk, visitor, session, STRANGER, "482915")
    other, its = on_the_web(desk)
    if why == "asked for too":
        asked(desk, other, its, STRANGER, "700313")
    elif why == "wrote":
        on_the_phone(desk, "Who is this?", "stranger", STRANGER)
    else:
        who = f"SELECT id FROM users WHERE phone = '{STRANGER}'"
        desk.rows(f"UPDATE users SET merged_into = ({who}) WHERE id = '{other.id}' RETURNING 1")
    assert visitor.id
    aviary.forget("user", visitor.id)
    assert desk.rows(f"SELECT count(*) FROM users WHERE phone = '{STRANGER}'") == [(1,)]
    assert desk.rows(f"SELECT count(*) FROM users WHERE id = '{other.id}'") == [(1,)]
    assert saying(aviary, "482915") == []
    assert (saying(aviary, "700313") == []) == (why != "asked for too")


def test_a_person_who_was_known_before_keeps_all_but_the_code(aviary: Aviary) -> None:
    desk = aviary.desk
    known = on_the_phone(desk)
    visitor, session = on_the_web(desk)
    asked(desk, visitor, session)
    assert visitor.id
    assert "messages" in saying(aviary, CODE)
    aviary.forget("user", visitor.id)
    assert saying(aviary, CODE) == []
    assert desk.rows(f"SELECT phone FROM users WHERE phone = '{PHONE}'") == [(PHONE,)]
    assert desk.rows(f"SELECT body FROM messages WHERE session_id = '{known}' AND direction = 'inbound'") == [
        ("My name is Priya.",)
    ]


def test_a_title_that_says_the_forgotten_words_goes_whoever_gave_it(aviary: Aviary) -> None:
    desk, talk = aviary.desk, Talk(aviary.desk)
    told = talk.say(f"My gate code is {BIRD}.", says("Good."))
    other = desk.session_of(talk.visitor)
    desk.rows(f"UPDATE sessions SET title = 'The {BIRD} matter', titled_by = 'user' RETURNING 1")
    report = aviary.forget("message", told)
    assert aviary.seen() == {}
    assert f"{other}/title" in canonical(report)


def test_a_title_that_a_user_gave_and_that_says_nothing_of_it_stays(aviary: Aviary) -> None:
    talk = Talk(aviary.desk)
    told = talk.say(f"My gate code is {BIRD}.", says("Good."))
    aviary.desk.rows("UPDATE sessions SET title = 'The gate', titled_by = 'user' RETURNING 1")
    aviary.forget("message", told)
    assert aviary.desk.rows("SELECT title FROM sessions") == [("The gate",)]


def test_that_a_fact_was_forgotten_is_known_as_long_as_another_message_says_it(aviary: Aviary) -> None:
    desk, talk = aviary.desk, Talk(aviary.desk)
    first, second = talk.say("Pune, as it were.", says("Nice.")), talk.say("In Pune it rains.", says("Yes."))
    aviary.forget("fact", talk.fact("Pune", first, second, key="preference.town"))
    aviary.forget("message", first)
    noted = desk.rows("SELECT key FROM fact_decisions WHERE decision = 'forgotten'")
    assert noted == [("preference.town",)]
    aviary.forget("message", second)
    assert desk.rows("SELECT key FROM fact_decisions WHERE decision = 'forgotten'") == []


def test_only_the_stretch_that_a_message_was_in_and_later_ones_are_consolidated_again(aviary: Aviary) -> None:
    desk, talk = aviary.desk, Silent(aviary.desk)
    said = [talk.say(f"Line {number} of the talk.") for number in range(6)]
    episodes = [talk.episode(f"Stretch {at}.", *said[at : at + 2]) for at in (0, 2, 4)]
    desk.rows("UPDATE episodes SET origin = 'consolidated' RETURNING 1")
    desk.rows("UPDATE sessions SET consolidated_turn = 6, consolidated_at = now() RETURNING 1")
    aviary.forget("message", said[3])
    assert desk.rows("SELECT id FROM episodes") == [(episodes[0],)]
    assert desk.rows("SELECT consolidated_turn FROM sessions") == [(2,)]
    assert talk.due("consolidation") != []


def test_of_a_long_message_its_telling_words_are_looked_for_wherever_they_stand_and_it_is_told_what_was_not(
    aviary: Aviary,
) -> None:
    talk = Talk(aviary.desk)
    lines = "\n".join(f"This is line number {n} of what I have to say." for n in range(100))
    told = talk.say(f"{lines}\nThe account is {BIRD}.", says("Good."))
    talk.say("And now?", says(f"It is {BIRD}."))
    report = aviary.forget("message", told)
    assert aviary.seen() == {}
    assert "a long message" in canonical(report["out_of_reach"])


def test_a_list_of_reports_is_read_without_them(aviary: Aviary) -> None:
    desk, talk = aviary.desk, Talk(aviary.desk)
    talk.say("Hello.", says("Good morning."))
    report = aviary.forget("user", talk.user)
    with desk.database.transaction(desk.admin) as tx:
        (listed,) = erase.reports(desk.admin, tx)
        assert erase.one_report(desk.admin, tx, UUID(str(report["id"])))["rows"]
    assert listed.counts == report["counts"]
    assert not hasattr(listed, "report")
