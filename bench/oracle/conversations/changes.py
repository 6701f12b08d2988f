"""What changes under a conversation: its reader's clearance, the pack, what was forgotten, who reads along."""

from bench.oracle.pack import OVERLAY
from bench.oracle.player import Play, search, use


def clearance(play: Play) -> None:
    """The reader sees more, then less; what was found and told before is closed to them then."""
    talk = play.visitor("site-desk", about="project/NRS")
    talk.say("What margin do we expect?", search("margin forecast"), "I do not know.")
    play.world.set_clearance(talk.person, 3)
    talk.say("And now?", search("margin forecast"), "It falls below the floor [1].", after=30)
    talk.say("Whose risk is that?", use("get_entity", entities=["risk/R-11"]), "Elspeth Moran's.", after=30)
    play.world.set_clearance(talk.person, 0)
    talk.say("What did you say of the margin?", "I cannot say.", after=30)
    play.world.set_clearance(talk.person, None)
    talk.say("And of the project?", "It is on site.", after=30)


def pack(play: Play) -> None:
    """The pack is applied again between turns: an agent's words, then its tools, then a rule of the team."""
    talk = play.phone("+447700900560", app="OracleNight", desk="night-desk")
    talk.say("Is anybody on site?", "The night team is.")
    agent = OVERLAY["agents/night-adviser.yaml"]
    play.world.apply({**OVERLAY, "agents/night-adviser.yaml": agent.replace("in one line", "in two lines")})
    talk.say("How many?", "Four of them.", after=30)
    fewer = agent.replace("tools: [get_entity, list_entities, ", "tools: [")
    play.world.apply({**OVERLAY, "agents/night-adviser.yaml": fewer})
    talk.say("Until when?", "Until six.", after=30)
    play.world.apply({**OVERLAY, "agents/night-adviser.yaml": fewer.replace("metric units", "feet and inches")})
    talk.say("How deep is the pit?", "Eight feet.", after=30)
    other = fewer.replace(
        "{provider: anthropic, model: claude-sonnet-5-5}", "{provider: anthropic, model: claude-opus-5}"
    )
    play.world.apply({**OVERLAY, "agents/night-adviser.yaml": other})
    talk.say("Sure?", "Sure.", after=30)


def message_forgotten(play: Play) -> None:
    """A message goes, with the reply that quoted it and what memory made of it."""
    talk = play.visitor("site-desk")
    talk.say("The gate code is 4711-STAYS.", "I keep it to myself.")
    talk.say(
        "The spare key lies under the blue drum.",
        "Under the blue drum.",
        after=40,
        facts={"about.spare_key": "under the blue drum"},
    )
    talk.say("Where is the spare key?", "Under the blue drum.", after=40)
    play.later(minutes=10)
    talk.say("And the ladder?", "In the container.", after=30)
    talk.forget("The spare key lies")
    talk.say("Where is the spare key now?", "I do not know.", after=40)
    talk.say("And the code?", "You told me one.", after=400)


def fact_forgotten(play: Play) -> None:
    """A fact goes while its conversation stays, and the talk about a record that was drawn from a file."""
    plan = play.file("night-plan.md", "# Night plan\n\nThe pump runs until four.\n", "project/NRS")
    talk = play.visitor("site-desk", about="project/NRS")
    talk.say("We start the pump from the east side.", "From the east.", facts={"about.pump": "from the east side"})
    play.later(minutes=10)
    talk.say("Until when does it run?", search("pump runs until"), "Until four [1].")
    (fact,) = [found for found in play.world.facts(talk.person) if found[0] == "about.pump"]
    play.world.erase("fact", fact[3])
    talk.say("From where do we start it?", "I know of no side.", after=30)
    play.world.erase("file", plan)
    talk.say("And the night plan?", "I do not have it.", after=30)


def user_forgotten(play: Play) -> None:
    """Somebody's conversations go; another's, whose briefing told of what they had made, goes on."""
    gone, stays = play.phone("+447700900561"), play.visitor("site-desk", about="project/NRS")
    stays.say("What is on today?", "Nothing new.")
    note = {"severity": "low", "state": "open", "owner": "Asha"}
    gone.say(
        "Note the loose board as a risk.",
        use("create_entity", kind="risk", name="Loose board", project="project/NRS", properties=note),
        "It is noted.",
    )
    stays.say("And now?", "A loose board was noted.", after=30)
    play.world.erase("user", gone.person.user)
    stays.say("Which board?", use("list_entities", kind="risk", text="board"), "I see none.", after=30)
    again = play.phone("+447700900561")
    again.say("Do you know me?", "Not yet.")


def shared(play: Play) -> None:
    """A conversation that others may read is told nothing that its user said in confidence."""
    talk = play.visitor("site-desk")
    talk.say("The winch is the red one.", "The red one.", facts={"about.winch": "the red one"})
    play.later(minutes=10)
    talk.say("Which winch?", "The red one.")
    play.world.share(talk.person)
    talk.say("And now, which winch?", "The one we spoke of.", after=30)
    play.world.share(talk.person, shared=False)
    talk.say("And now?", "The red one.", after=30)


def counted(play: Play) -> None:
    """What the model reports of its tokens is learned, and a new conversation reckons with it."""
    play.world.model.reports = True
    first = play.visitor()
    first.say("What do we owe per day if we finish late?", search("delay damages per day"), "£3,500 a day [1].")
    first.say("And the most?", "£243,000.", after=40)
    second = play.visitor(about="project/NRS")
    second.say("Where do we stand?", search("forecast completion"), "Two weeks late [1].")
    second.say("Since when?", "Since February.", after=40)


def archived(play: Play) -> None:
    """A conversation of last season whose words were put away is recalled by its rows."""
    talk = play.visitor("site-desk")
    talk.say("The old pump was a Selwood, hired from the yard.", "A Selwood.", facts={"about.old_pump": "a Selwood"})
    talk.say("It went back on the third.", "On the third.", after=40)
    play.later(days=92)
    play.world.archive()
    talk.say("Which pump did we have back then?", "A Selwood [1].")
    other = talk.further()
    other.say("Which pump was it last time?", search("old pump", scope="workspace"), "A Selwood [1].")
