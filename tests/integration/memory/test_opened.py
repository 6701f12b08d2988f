"""What is said while others may read along becomes nobody's private memory, also once it is private again."""

from parlour.memory.consolidating import due
from parlour.tenancy.sessions import change
from parlour.tenancy.sessions.change import Change
from tests.desk import Desk, says
from tests.integration.memory.read_through import Conversation, answer, fact
from tests.integration.memory.silent import Silent


def test_what_was_said_while_it_was_open_is_not_looked_through_later(desk: Desk) -> None:
    talk = Conversation(desk)
    talk.share()
    talk.say("We do the accounts in Tally.")
    talk.share("private")
    talk.say("We cut the planks ourselves.")
    talk.look_through(answer(fact("about.software", "Tally", 1), fact("about.planks", "cut the planks", 1)))
    assert "Tally" not in talk.asked()
    assert talk.facts() == {"about.planks": "cut the planks"}


def test_what_waits_for_its_answer_when_it_is_closed_was_said_in_the_open(desk: Desk) -> None:
    talk = Conversation(desk)
    talk.share()
    desk.write_web(talk.visitor, talk.session, "Please reply in Hindi.")
    talk.share("private")
    desk.model.script = [says("I see.")]
    desk.run()
    talk.say("My name is Meera.")
    assert talk.facts() == {"name": "Meera"}


def test_a_turn_that_is_under_way_when_it_is_closed_was_said_in_the_open(desk: Desk) -> None:
    talk = Conversation(desk)
    talk.share()
    desk.model.during = lambda: talk.share("private")
    talk.say("Please reply in Hindi.")
    desk.model.during = lambda: None
    assert talk.facts() == {}
    talk.look_through(answer(fact("language", "Hindi", 1)))
    assert (talk.facts(), talk.reader.requests) == ({}, [])


def test_what_is_opened_twice_stays_out_up_to_the_last_time(desk: Desk) -> None:
    talk = Conversation(desk)
    talk.share("role_gated")
    talk.say("Please reply in Hindi.")
    talk.share("shared")
    talk.say("My name is Meera.")
    talk.share("private")
    talk.share("private")
    talk.say("I'm on the Gold plan.")
    talk.look_through(answer(fact("language", "Hindi", 1), fact("name", "Meera", 1)))
    assert talk.facts() == {"plan": "Gold"}


def test_what_was_said_in_confidence_before_is_kept(desk: Desk) -> None:
    talk = Conversation(desk)
    talk.say("My name is Meera.")
    talk.share()
    assert talk.facts() == {"name": "Meera"}


def test_no_turn_that_was_open_is_consolidated(desk: Desk) -> None:
    talk = Silent(desk)
    whole = Change(visibility="shared")
    with desk.database.transaction(talk.visitor) as tx:
        change.change(talk.visitor, tx, talk.session, whole, desk.clock())
    for number in range(due.TURNS + 2):
        talk.say(f"Line {number} of the talk.")
    with desk.database.transaction(talk.visitor) as tx:
        change.change(talk.visitor, tx, talk.session, Change(visibility="private"), desk.clock())
    talk.say("One more.")
    with desk.database.transaction(desk.tenant_id) as tx:
        due.note(tx, talk.session)
    assert talk.due("consolidation") == []
    talk.fall_silent()
    talk.consolidate()
    assert desk.model.requests == []
