"""Talks about single records, and what an edit, a link, a level or an hour does to their briefing."""

from bench.oracle.player import Play, search, use


def risk(play: Play) -> None:
    play.pulse("risk/R-03")
    talk = play.visitor(about="risk/R-03")
    talk.say("What is the state of this?", "Watched, since the readings rise.")
    play.world.change("risk/R-03", exposure=52_000)
    talk.say("What may it cost by now?", "52,000 pounds.", after=25)
    play.world.change("task/T-112", note="Reading 0.47 mm on 2 March.")
    talk.say("What was read last?", search("last reading CG-2", scope="record"), "0.47 mm.", after=25)
    talk.say("Who owns it?", use("get_entity", entities=["risk/R-03"]), "Joanna Pryce.", after=360)
    talk.say("Thank you.", "Good luck.", after=25)


def task(play: Play) -> None:
    talk = play.visitor(about="task/T-118")
    talk.say("Is the crane confirmed?", "It waits.")
    talk.say("For what?", use("get_linked_entities", entity="task/T-118"), "For the decision on R-08.", after=45)
    play.world.change("task/T-118", name="Confirm the crane of the steel frame", state="open")
    talk.say("And its name?", "It was renamed a moment ago.", after=45)


def contract(play: Play) -> None:
    """Old enough to be rendered anew, then cold, then both."""
    play.pulse("contract/C-2025-017")
    talk = play.visitor(about="contract/C-2025-017")
    talk.say("What is the contract sum?", "4,860,000 pounds.")
    for question in ("What changes it?", "Which of these are agreed?", "Who signs?"):
        talk.say(question, "CO-004 is agreed, CO-007 is not.", after=240)
    play.world.change("change_order/CO-007", quoted_days=5)
    for question in ("And the crane hire?", "The groundworks?", "The outfall?", "The plant room?", "The glazing?"):
        talk.say(question, "That stands beside it.", after=290)
    talk.say("Again from the start?", "The sum is 4,860,000 pounds.", after=4_000)


def milestone(play: Play) -> None:
    """So much changes that the briefing is due."""
    talk = play.visitor(about="milestone/M2")
    talk.say("When is the frame up?", "By 17 April, as forecast.")
    for day in range(18, 28):
        play.world.change(
            "milestone/M2", forecast=f"2026-04-{day}", condition=f"the crane comes on {day - 4} April" * 3
        )
    talk.say("And now?", "By 27 April.", after=30)
    play.world.change("milestone/M2", state="reached")
    talk.say("Reached?", "So it says.", after=30)


def reclassified(play: Play) -> None:
    """The record is lifted above its reader, and comes back; a linked one goes."""
    talk = play.visitor("site-desk", about="permit/P-22")
    talk.say("Is the permit there?", "Not yet.")
    play.world.change("risk/R-05", level=3)
    talk.say("What does it threaten?", "I see no risk of it.", after=30)
    play.world.change("permit/P-22", level=3)
    talk.say("Then tell me of the permit.", "I see no record here.", after=30)
    play.world.change("permit/P-22", level=0)
    talk.say("And now?", "It is delayed.", after=30)
    play.world.delete("task/T-121")
    talk.say("Is the calculation done?", search("flood storage calculation"), "I see no task of it.", after=30)


def crowded(play: Play) -> None:
    """A narrow budget, a record with much around it, and texts that have no room."""
    for number in range(8):
        play.world.create(
            "risk",
            f"R-{number + 30}",
            f"Water in the cellar, part {number}",
            severity="low",
            state="open",
            owner="Imre Halasz",
            response="Pump it out and look where it comes from. " * 6,
        )
        play.world.link(f"risk/R-{number + 30}", "threatens", "milestone/M3")
    play.file("cellar.md", "# Cellar\n\n" + "The cellar takes water from the river side. " * 30, "milestone/M3")
    play.pulse("project/NRS")
    talk = play.visitor("records-desk", about="milestone/M3")
    talk.say("What threatens this?", use("get_linked_entities", entity="milestone/M3"), "Water, for the most part.")
    talk.say(
        "All of it, please.", search("water in the cellar", limit=10), search("river side"), "Eight risks.", after=40
    )
    talk.say("And the project?", use("get_entity", entities=["project/NRS", "risk/R-30"]), "On site.", after=40)
    talk.say("The board's margin?", use("get_entity", entities=["risk/R-11"]), "Watched.", after=40)
    told = "What is open waits for a decision. The record stands as its own text says. "
    for number in range(4):
        play.file(f"open-record-{number}.md", f"# Open record\n\n{told * (number + 2)}", "project/NRS")
    other = play.visitor("records-desk", about="project/NRS")
    other.say("What is in the tree?", "Little.")
    other.say("And near it?", "The cellar.", after=400)
    long = "Read this log, and say what it means for the cellar. " + "The pump ran and the water fell by a hand. " * 170
    other.say(long, "The pump copes.", after=40)
    other.say("Thank you.", "You are welcome.", after=40)


def offered(play: Play) -> None:
    """The same record with the site desk's narrow budget, its Pulse covering what is around it."""
    play.pulse("project/NRS")
    talk = play.visitor("site-desk", about="project/NRS")
    talk.say("Where do we stand?", "On site, two weeks late.")
    talk.say("What is open?", use("list_entities", project="project/NRS", kind="task"), "Four tasks.", after=50)
    talk.say("Start to end?", search("programme start end"), "From October to September [1].", after=50)
