"""Calls that change something: records, requests to the site office, and long ones whose result comes later."""

from bench.oracle.fakes import Breakage
from bench.oracle.player import Play, search, use

_RISK = {"severity": "high", "state": "open", "owner": "Joanna Pryce"}


def record_made(play: Play) -> None:
    """A risk is noted with its source, changed, and found again."""
    talk = play.phone("+447700900520")
    talk.say(
        "Note the crack at C4 as a risk.",
        search("crack width C4"),
        use("create_entity", kind="risk", name="Crack at C4", properties=_RISK, sources=[1], project="project/NRS"),
        "It is noted.",
    )
    talk.say("Is it high?", use("list_entities", kind="risk", text="Crack at C4"), "It is.", after=40)
    talk.say(
        "Make R-08 high as well.",
        use("update_entity", entity="risk/R-08", properties={"severity": "severe"}),
        use("update_entity", entity="risk/R-08", properties={"severity": "high"}),
        "Done.",
        after=40,
    )
    talk.say("What did you change today?", "One risk made, one changed.", after=40)


def linked(play: Play) -> None:
    """Several records at once, linked with each other and with one that was there."""
    talk = play.visitor(about="project/NRS")
    talk.say(
        "Plan the pump: a task to order, a task to fit it.",
        use(
            "create_entity",
            kind="task",
            name="Order the pump",
            properties={"owner": "Imre Halasz", "state": "open"},
            project="project/NRS",
            links=[{"relation": "about", "to": "change_order/CO-007"}],
            more=[{"name": "Fit the pump", "properties": {"owner": "Imre Halasz", "state": "open"}}],
        ),
        "Two tasks are there.",
    )
    talk.say(
        "Link the crane task to the milestone.",
        use("link_entities", source="task/T-118", relation="needed_for", target="milestone/M2"),
        "Linked.",
        after=45,
    )
    talk.say("What hangs on M2?", use("get_linked_entities", entity="milestone/M2"), "The crane task.", after=45)


def office(play: Play) -> None:
    """Effects at the site office: done, failed, and one that nobody knows of."""
    talk = play.phone("+447700900521")
    ask = {"subject": "Crack at footing C4", "question": "May we backfill behind grid C?"}
    talk.say("Ask the engineer whether we may backfill.", use("raise_rfi", **ask), "It is asked as RAI-101.")
    page = use("notify_foreman", message="Hold the backfill at C4.")
    talk.say("Tell the foreman to wait.", page, "He knows.", after=60)
    play.world.office.breaks = [Breakage.FAILED] * 3
    talk.say("And tell him to fence it.", use("notify_foreman", message="Fence C4."), "That failed.", after=60)
    play.world.office.breaks = [Breakage.UNKNOWN]
    talk.say("Again.", use("notify_foreman", message="Fence C4 now."), "Nobody knows whether it came.", after=60)
    talk.say("Both at once now.", [use("raise_rfi", **ask), page], "Both are done.", after=60)


def reports(play: Play) -> None:
    """A long call's result comes as a message of its own; another one while somebody writes."""
    talk = play.phone("+447700900522")
    talk.say("Compile the report.", use("compile_report", title="Open requests"), "I report back.")
    talk.say("Meanwhile: who signs it?", "Joanna Pryce.", after=20)
    play.world.run_long_calls()
    play.answer("The report is there.")
    talk.say("Another one.", use("compile_report", title="Second"), "I report back again.", after=60)
    talk.write("And a third thing.", after=10)
    play.world.run_long_calls()
    play.answer("Both are here.")


def survey(play: Play) -> None:
    """A long call that changes something, about a record, with an agent of two rounds of calls."""
    talk = play.visitor("records-desk", about="risk/R-03")
    talk.say("Order a survey of grid C.", use("order_survey", subject="Survey of grid C"), "Ordered.")
    play.world.run_long_calls()
    play.answer("The survey is taken.")
    talk.say(
        "And of grid D.", use("order_survey", subject=7), use("order_survey", subject="Grid D"), "Ordered.", after=60
    )
    play.world.run_long_calls()
    play.answer(use("get_entity", entities=["risk/R-03"]), "Both surveys are taken.")
