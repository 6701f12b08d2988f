"""Conversations past twenty messages, and past what a history may take: summaries, cuts, recaps, recall."""

from collections.abc import Sequence

from bench.oracle.player import Play, Talk, search, use

_TALK: Sequence[tuple[str, str]] = (
    ("Is the pour on level 1 still on schedule?", "It is planned for Thursday at six in the morning."),
    ("Which mix do they bring?", "C32/40, with a retarder, in nine trucks."),
    ("Who checks the slump?", "The laboratory sends somebody for the first truck."),
    ("The pump stood badly last time.", "It stands behind grid C this time, on the timber mats."),
    ("Has the permit for sector 37 been approved?", "Not yet; the authority wants a second calculation."),
    ("Who writes that calculation?", "Imre Halasz, by the fourth of March."),
    ("Which defects are still open in the north tower?", "Two doors and a cracked sill."),
    ("The sill is mine.", "Then one of the three is yours to close."),
    ("When is the next inspection of the scaffold?", "Within seven days of the last one."),
    ("The tag at the west stair was torn.", "A torn tag counts as none: nobody goes up until there is a new one."),
    ("Who hands out new tags?", "The scaffolders' foreman does, after a look."),
    ("How much of the drainage is laid?", "All of it up to the plant room."),
    ("And behind that?", "Nothing: the rock begins there."),
    ("What did the survey of beam 7 find?", "A hairline crack at the lower edge, no movement."),
    ("Please note that delivery 30 came late.", "It came two hours late, with the note of the driver."),
    ("Is the crane free on the day of the pour?", "It is not on site before April."),
    ("How do the bars get up then?", "By the telehandler, in bundles of a tonne."),
    ("Who drives it?", "Two of the groundworkers have the card."),
    ("Was the card checked?", "Both cards were seen at the gate in January."),
    ("What is left before we strike the forms?", "The cubes of seven days, and the engineer's word."),
    ("What did the cubes give?", "Nothing yet: they are tested on the seventh day."),
    ("Where are the cubes kept?", "In the tank beside the site office."),
    ("Is the tank heated?", "It is, since the frost of January."),
    ("What does the method statement say of frost?", "No pour below five degrees without blankets."),
    ("How many blankets are there?", "Forty, in the container at the gate."),
    ("And who lays them?", "The night team, when the thermometer says so."),
    ("Which thermometer?", "The one at grid A, read at ten in the evening."),
    ("Good, that is all for now.", "Then good luck with the pour."),
    ("One more thing: the hoarding.", "It stands on the line of the lane, as it was agreed."),
    ("Did the school say anything?", "They ask for quiet until noon on exam days."),
    ("Which days are those?", "They send the list by the end of the month."),
    ("Who keeps it?", "It will hang beside the lifting plan."),
    ("And the neighbours?", "They were told of the pour by letter."),
    ("Fine.", "Good."),
)
"""Questions and answers; from `bench/scripts/site-day.json`, with words of their own."""

_GAPS = (45, 98, 59, 116, 21, 112, 66, 184, 123, 30)


def _chat(talk: Talk, first: int, last: int, gap: float = 0) -> None:
    for number in range(first, last):
        question, reply = _TALK[number % len(_TALK)]
        talk.say(question, reply, after=gap or _GAPS[number % len(_GAPS)])


def site_day(play: Play) -> None:
    """A summary is there before the cut; what was cut is recalled, and the next cut takes the summary further."""
    talk = play.phone("+447700900540")
    _chat(talk, 0, 13)
    talk.say("What did you say of the mix at the beginning?", "C32/40 with a retarder [1].", after=40)
    talk.say("Who checks it, remember?", search("slump laboratory"), "The laboratory [2].", after=40)
    play.notes = [
        {"op": "add", "item": {"kind": "task", "title": "Get a new tag for the west stair", "details": "Torn."}}
    ]
    _chat(talk, 13, 26)
    talk.say("Where did we want the pump?", "Behind grid C [3].", after=30)
    talk.say("And what of the torn tag?", "A new one is due [4].", after=700)
    talk.say("Thank you for all that.", "You are welcome.", after=30)


def awaited(play: Play) -> None:
    """The summary is under way for long: the cut waits, and then waits no more."""
    talk = play.phone("+447700900541")
    play.holds = {"summary"}
    _chat(talk, 0, 17)
    play.holds = set()
    _chat(talk, 17, 20)
    talk.say("What stood first in our talk?", "The pour on level 1 [1].", after=30)


def unsummarised(play: Play) -> None:
    """No summary comes to hold: the recap of the cut turns stands alone."""
    play.is_summary_broken = True
    talk = play.phone("+447700900542")
    _chat(talk, 5, 18)
    talk.say("Which sill was that?", search("cracked sill"), "The one of the north tower [1].", after=30)
    play.is_summary_broken = False
    play.later(hours=3)
    _chat(talk, 18, 21)


def pasted(play: Play) -> None:
    """A long text that the talk is about, and the cut that takes it away."""
    talk = play.phone("+447700900543")
    statement = " ".join(
        f"Step {number}: lay the bars of row {number} and tie every second crossing." for number in range(90)
    )
    talk.say(f"Here is the method statement. {statement}", "Ninety steps; I have read them.")
    _chat(talk, 9, 14)
    talk.say("Is step 40 in order?", "It says what the others say.", after=40)
    _chat(talk, 14, 21)
    talk.say("And what was row 7 about?", search("step 7 row 7 bars"), "Tie every second crossing [1].", after=40)


def narrow(play: Play) -> None:
    """A history with little room: it is cut by tokens, again and again."""
    talk = play.phone("+447700900544", app="OracleNight", desk="night-desk")
    for number in range(14):
        question, reply = _TALK[number]
        more = "That was said by the foreman and written into the log of the day, with the hour. " * 3
        talk.say(question, f"{reply} {more}", after=_GAPS[number % len(_GAPS)])
    talk.say("What did the foreman write first?", search("log of the day pour", limit=2), "The pour [1].", after=30)


def kept_lines(play: Play) -> None:
    """Numbers, dates, amounts and promises that a summary leaves out, and that stand beside it."""
    talk = play.phone("+447700900545")
    talk.say("The booking of the pump is HB-2291-C.", "Noted: HB-2291-C.")
    talk.say("The hire is £38,448, due on 17 April 2026.", "I see: £38,448 by 17 April 2026.", after=40)
    talk.say("We decided to take the mats and not the slabs.", "The mats, then.", after=40)
    talk.say("Joanna approved layout K-3 yesterday.", "K-3 is approved.", after=40)
    talk.say("I promised the school a quiet Friday.", "I will say so by Thursday.", after=40)
    _chat(talk, 0, 9)
    talk.say("Which booking was that?", "HB-2291-C [1].", after=40)
    talk.say("And what does the hire come to?", "£38,448 [2].", after=40)


def about_the_project(play: Play) -> None:
    """Past a cut with a record to talk about, which changes meanwhile, an hour's pause, and searches on the way."""
    play.pulse("project/NRS")
    talk = play.visitor(about="project/NRS")
    _chat(talk, 0, 6)
    play.world.change("milestone/M3", forecast="2026-07-03")
    talk.say("Is M3 later by now?", use("get_entity", entities=["milestone/M3"]), "By a week.", after=30)
    _chat(talk, 7, 12)
    play.world.change("change_order/CO-007", state="agreed")
    _chat(talk, 12, 15)
    talk.say("Was change order 7 agreed in the meantime?", "It was.", after=3_700)
    _chat(talk, 16, 19)
    talk.say(
        "What did we say of the pump?", search("pump grid C", scope="conversation"), "Behind grid C [1].", after=30
    )
