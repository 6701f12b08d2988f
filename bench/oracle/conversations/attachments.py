"""What comes with messages: pictures, texts, what has no room and what cannot be opened."""

from bench.oracle.fakes import Breakage
from bench.oracle.player import Play, search

_PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(48))
_TEXT = "Crane log\nTuesday: stood still for wind.\nWednesday: 14 lifts.\n"


def pictures(play: Play) -> None:
    talk = play.phone("+447700900530")
    talk.say("Is this wide?", "Wider than before.", file=("image", "crack.png", _PNG))
    talk.say("How wide exactly?", search("crack width C4"), "0.45 mm [1].", after=40)
    talk.say("", "The same crack, from the side.", after=40, file=("image", "side.png", _PNG + b"side"))
    talk.say(
        "And this one?",
        Breakage.REJECTED,
        Breakage.REJECTED,
        "I cannot open it.",
        after=40,
        file=("image", "broken.png", _PNG + b"broken"),
    )
    talk.say("Never mind.", "Good.", after=400)


def texts(play: Play) -> None:
    talk = play.phone("+447700900531")
    talk.say("What is in it?", "A log of two days.", file=("document", "log.txt", _TEXT.encode()))
    long = ("The crane stood still again. " * 3_000).encode()
    talk.say("And in this?", "That is too long for me.", after=40, file=("document", "all.txt", long))
    talk.say("Listen.", "I cannot hear it.", after=40, file=("audio", "voice.ogg", b"OggS" + bytes(40)))
    talk.say("What did the log say of Tuesday?", "The crane stood still.", after=40)


def uploads(play: Play) -> None:
    """On the web: uploads, a file of the tenant's, and a message of nothing else."""
    plan = play.file("plan.md", "# Plan\n\nPour on Thursday at six.\n", "project/NRS")
    talk = play.visitor(about="project/NRS")
    sent = [talk.upload("list.csv", b"bar;length\n1;3 m\n2;4 m\n"), talk.upload("c4.png", _PNG)]
    talk.say("Count the bars.", "Two bars.", attached=sent)
    talk.say("When do we pour?", "On Thursday at six.", attached=[play.world.send_file(plan)], after=40)
    talk.say("", "The same list.", attached=[talk.upload("again.csv", b"bar;length\n1;3 m\n")], after=40)
    play.world.delete_file(plan)
    talk.say("At six?", "The plan was taken away.", after=40)
