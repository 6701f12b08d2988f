"""What is remembered: facts and episodes that a model found, notes, other conversations, and who they belong to."""

from bench.oracle.player import Play, search


def facts(play: Play) -> None:
    """Facts that the model found, told in later turns, changed, put right by hand, and taken back."""
    talk = play.visitor("site-desk")
    talk.say("We pour with the Heron crew.", "I see.", facts={"about.crew": "the Heron crew"})
    talk.say("Our concrete comes from Tarmac at Quayside.", "I see.", facts={"about.concrete": "Tarmac at Quayside"})
    talk.say("The trench boxes are Groundforce ones.", "Good.", facts={"about.trench_boxes": "Groundforce"})
    play.later(minutes=10)
    talk.say("Who pours with us?", "The Heron crew.", after=30)
    play.world.edit_fact(talk.person, "about.concrete", "Hanson at the bridge")
    talk.say("And whose concrete is it?", "Hanson's, from the bridge.", after=30)
    talk.say("We pour with the Swift crew from Monday.", "Noted.", facts={"about.crew": "the Swift crew"})
    play.later(minutes=10)
    talk.say("Who pours now?", "The Swift crew.", after=30)


def by_rules(play: Play) -> None:
    """What people say of themselves in so many words is known at once."""
    talk = play.phone("+447700900550")
    talk.say("My name is Robin Ashby.", "Hello Robin.")
    talk.say("Please reply in English.", "I will.", after=40)
    talk.say("Who am I?", "Robin Ashby.", after=40)


def episodes(play: Play) -> None:
    """What came of earlier conversations, in new ones, and their messages where the question points there."""
    first = play.visitor("site-desk")
    first.say(
        "The outfall needs a second coat before the flood season.",
        "I see.",
        episode="The outfall needs a second coat before the flood season.",
    )
    first.say("The coat is grey epoxy, two tins.", "Two tins of grey epoxy.", after=40)
    play.later(minutes=10)
    second = first.further()
    second.say("What does the outfall need?", "A second coat.")
    second.say("What did we say last time of the tins?", "Two tins of grey epoxy [1].", after=40)
    third = first.further(about="project/NRS")
    third.say("As we discussed earlier: is the outfall coated?", search("outfall coat"), "Not yet [1].")
    third.say("Compare that with the plant room.", "The plant room is not coated either.", after=40)
    shared = first.further(shared=True)
    shared.say("What does the outfall need?", "I know nothing of it here.")
    second.say("And the flood season?", "It begins in autumn.", after=400)


def for_everybody(play: Play) -> None:
    """What a team and a persona know, besides a user's own; a narrow share of the prompt for it."""
    play.world.tell_everybody("team", "site-operations", "meeting_point", "the gate on Quayside Lane")
    play.world.tell_everybody("human", "asha", "site_radio", "channel four")
    talk = play.phone("+447700900551", app="OracleNight", desk="night-desk")
    for number, thing in enumerate(("the blue barrow", "the long ladder", "the small saw", "the red winch")):
        talk.say(f"Our own tool number {number} is {thing}.", "I see.", facts={f"about.tool_{number}": thing})
    play.later(minutes=10)
    play.world.tell_everybody("team", "site-operations", "meeting_point", "the gate on Mill Street")
    talk.say("Where do we meet, and with what?", "At the gate, with the tools.")
    talk.say("On which channel?", "On four.", after=40)


def joined(play: Play) -> None:
    """Somebody on the web says that a number is theirs: one user and one conversation from then on."""
    phone = play.phone("+447700900552")
    phone.say("The gauge at C4 is read at noon.", "At noon.", facts={"about.gauge": "at noon"})
    web = play.visitor("site-desk")
    web.say("The hoist is ours on Mondays.", "On Mondays.", facts={"about.hoist": "on Mondays"})
    play.later(minutes=10)
    web = web.join_phone(phone)
    phone.say("When is the hoist ours?", "On Mondays.")
    web.say("And when is the gauge read?", "At noon.", after=40)
    phone.say("Good.", "Good.", after=40)


def silent(play: Play) -> None:
    """A long talk falls silent and is looked through once more; its notes and episodes are told the next week."""
    talk = play.visitor("night-desk")
    play.notes = [
        {"op": "add", "item": {"kind": "question", "title": "Who has the second key", "details": "Nobody knows."}}
    ]
    things = ("hose", "ladder", "winch", "barrow", "saw", "drill", "level", "rope", "lamp", "pump", "vice")
    for thing in (*things, *(f"second {thing}" for thing in things)):
        talk.say(f"Where is the {thing} kept?", f"The {thing} is kept in the container.", after=50)
    play.later(hours=26)
    play.consolidate(talk)
    other = talk.further()
    other.say("Where was the winch kept?", "In the container.")
    talk.say("And the second key?", "Nobody knows who has it.", after=50)
