"""The contract desk on the web: rules and cases, with several rounds of calls, and talks about a project."""

from bench.oracle.player import Play, search, use


def damages(play: Play) -> None:
    talk = play.visitor()
    talk.say("What do we owe per day if we finish late?", search("delay damages per day"), "£3,500 a day [1].")
    talk.say("And the most?", search("limit of delay damages"), "£243,000 [2].", after=44)
    talk.say(
        "Did we give notice of the permit delay in time?",
        search("notice of delay period"),
        [search("notice of delay river permit"), use("get_linked_entities", entity="risk/R-05")],
        "Clause 11.2 gives 14 days; the notice went on the thirteenth [3] [5].",
        after=95,
    )
    talk.say(
        "What is our liability limited to?", search("limit of liability"), "£2,430,000, clause 14.1 [4].", after=120
    )
    talk.say("Is that for both together?", "The clause does not say so [4].", after=310)


def documents(play: Play) -> None:
    """Documents are listed, opened by parts, and searched one by one."""
    talk = play.visitor()
    talk.say("Which documents do we have?", use("list_documents", project="project/NRS"), "Minutes, mails, a contract.")
    talk.say(
        "Open the contract.",
        use("get_document", document="document/main-works-contract"),
        use("get_document", document="document/main-works-contract", offset=3_000),
        "Here is how it begins.",
        after=60,
    )
    talk.say(
        "And where does it speak of silt?",
        use("search_documents", query="silt unforeseen ground", documents=["document/main-works-contract"]),
        use("get_document_metadata", document="document/main-works-contract"),
        "In clause 9.2 [1].",
        after=33,
    )
    talk.say("Thank you.", "You are welcome.", after=33)


def change_order(play: Play) -> None:
    talk = play.visitor()
    talk.say(
        "Where does change order 7 stand, and who has to sign?",
        search("change order 7"),
        [use("get_entity", entities=["change_order/CO-007"]), search("finance director signs change orders")],
        "Quoted £38,448; the Finance Director signs [2].",
    )
    talk.say("What is the least we would take for it?", search("least price change order 7"), "£35,000 [6].", after=51)
    talk.say("What margin do we expect?", search("margin forecast"), "The documents do not say.", after=80)
    talk.say("And in June?", "I know nothing of June.", after=61)


def morning(play: Play) -> None:
    """A talk about the project, warm, with changes of its records in between."""
    talk = play.visitor(about="project/NRS")
    talk.say("Where do we stand?", "Two weeks late, on site.")
    play.world.change("project/NRS", forecast_completion="2026-09-18")
    talk.say("Is anything new?", "The forecast moved to 18 September.", after=40)
    play.world.change("task/T-112", state="done", note="Last reading 0.46 mm.")
    play.world.change("risk/R-08", state="watched")
    talk.say("And now?", use("get_linked_entities", entity="project/NRS"), "T-112 is done.", after=40)
    play.world.create("task", "T-130", "Order the second gauge", owner="Joanna Pryce", state="open")
    play.world.link("task/T-130", "answers", "risk/R-03")
    talk.say("Who orders the gauge?", "Joanna Pryce, as T-130.", after=40)
    talk.say("And when?", "No date is set.", after=400)
    talk.say("Good.", "Good.", after=30)


def pulse(play: Play) -> None:
    """A project whose Pulse is written, overtaken, and written anew; with a question to it."""
    play.pulse("project/NRS")
    talk = play.visitor(about="project/NRS")
    talk.say("How is the project?", "It stands as its record says.")
    play.world.change("milestone/M1", forecast="2026-03-27")
    talk.say("Any news?", "The foundations slipped a week.", after=50)
    play.later(minutes=7)
    talk.say("And since this morning?", "M1 alone.", after=30)
    play.pulse("project/NRS", "What is late?")
    play.pulse("project/NRS")
    talk.say("Is the Pulse new?", "It is.", after=1900)
    talk.say("Then sum it up.", search("open decisions", scope="project"), "One decision is open [1].", after=30)


def tree(play: Play) -> None:
    """Documents are written into the project's tree, moved and taken away while one talks about it."""
    play.world.document("Method", "Method statement", "Pour in lifts of two metres. Cure for seven days.")
    play.world.document("Curing", "Curing", "Seven days under wet hessian.", parent="document/Method")
    talk = play.visitor(about="project/NRS")
    talk.say("Which method statement holds?", use("get_document", document="document/Curing"), "Seven days of curing.")
    play.world.revise("document/Curing", "Ten days under wet hessian.")
    talk.say("Still seven?", use("get_document", document="document/Curing"), "Ten by now.", after=30)
    play.world.remove("document/Method")
    talk.say("And the method?", use("list_documents", project="project/NRS"), "It is gone.", after=30)
    talk.say("A pity.", "It is.", after=30)


def files(play: Play) -> None:
    """Files of the project, one of them restricted; one is deleted in the middle."""
    log = play.file("crane-log.md", "# Crane log\n\nThe crane stood still on Tuesday for wind.\n", "project/NRS")
    play.file("margin.md", "# Margin\n\nThe margin falls to two per cent.\n", "project/NRS", 3)
    talk = play.visitor(about="project/NRS")
    talk.say("Why did the crane stand still?", search("crane stood still"), "For wind [1].")
    play.world.delete_file(log)
    talk.say("Where does that stand?", search("crane stood still"), "I do not find it any more.", after=40)
    talk.say("Odd.", "The file was taken away.", after=40)
