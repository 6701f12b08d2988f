"""The site desk on WhatsApp: short questions of the example pack, with searches and what comes of them."""

from bench.oracle.play import Play, search, use


def crack(play: Play) -> None:
    talk = play.phone()
    talk.say(
        "How wide is the crack at C4, and may we backfill?", search("crack width C4"), "0.45 mm; the stop stays [1]."
    )
    talk.say(
        "What happens if it moves?",
        search("crack moves underpinning"),
        "Underpinning, twelve working days [2].",
        after=75,
    )
    talk.say("Thanks.", "You are welcome.", after=20)


def greeting(play: Play) -> None:
    talk = play.phone("+447700900502")
    talk.say("Good morning.", "Good morning. What do you need to know?")
    talk.say("When does the crane come?", [search("crane dates"), search("crane hire agreement")], "7 to 10 April [1].")
    talk.say("Up to which wind may we lift?", ["Let me look.", search("wind limit lifting")], "9.8 m/s [3].", after=400)
