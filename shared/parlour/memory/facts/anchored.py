"""Whether a sentence that has a value's words says the value of its speaker: by who speaks in it, and by what is
wished, over or somebody else's there. Pure.

That words stand in a sentence is not yet that it says so: a hotel in Goa is no home there, and the mason's number is
not one's own. Texts in one spelling (`wording.plain`); of other scripts than the Latin one nobody here can tell.
"""

import re

from parlour.memory.facts import keys
from parlour.memory.facts.wording import holds, is_negative, plain, telling, words
from parlour.models.words import vocabulary

_SPEAKER = re.compile(
    r"\b(?:i|i'm|im|i've|ive|i'd|i'll|my|mine|we|we're|we've|our|ours|myself|mer[aie]|main|mai|hum|hamar[aie]|mujhe|ich"
    r"|wir|meine?|unsere?|je|nous|mon|ma|notre|yo|mi|nuestr[oa]|vivo|trabajo|soy|estoy|eu|meu|minha|io|mio|mia|sono|naan"
    r"|en|enakku)\b|\bj'|^[\w.' -]{1,40} here\b|^this is\b|\bthis side\b"
)
_LEFT_OUT = re.compile(
    r"^(?:just |recently |have |now |also |and |so )*(?:moved|shifted|relocated|switched|upgraded|downgraded|joined"
    r"|living|based|working|started|settled|changed|staying|got)\b"
)
"""I, left out at the beginning."""

_LIVES = re.compile(
    r"\b(?:live|living|stay|staying|based|resid\w+|settled|mov(?:ed|ing)|shift(?:ed|ing)|relocat\w+|home|hometown|city"
    r"|town|located|location|address|place|(?:i am|i'm|im|we are|we're)(?: now| currently| still| back| here)* in|ghar"
    r"|^still|r[ae]ht[aie]|viv(?:o|imos|iamo)|wohnen?|leben?|habit(?:e|ons)|mor(?:o|amos)|abit(?:o|iamo)|umgezogen|mud\w{1,4}"
    r")\b"
)
_REACHED = re.compile(
    r"\b(?:my|our|mine|mer[aie]|hamar[aie]|meine?|mon|ma|mi|meu|minha)\b|^(?:phone|mobile|cell|number|contact|whatsapp|ph"
    r"|tel|e-?mail|mail)\b|^(?:the |here is the |here's the |this is the )?(?:new|correct|right|current)"
    r" (?:e-?mail|mail|number|phone|address)"
    r"|\b(?:call|reach|text|ring|whatsapp|e-?mail|mail|write(?: to)?|message|contact|ping|get)(?: \w+)? (?:me|us)\b"
)
_WISHED = re.compile(
    r"\b(?:wants?|wanted|hop(?:e|es|ing)|plan(?:s|ning)?|going|trying|dream\w*|considering|think(?:ing)?"
    r"|would (?:love|like)|'d (?:love|like)|wish) (?:to|of|about|on|that)\b"
    r"|\b(?:want|need|would like|'d like|considering) (?:an?|the)\b"
    r"|\b(?:apply|applying|applied|interview\w*|might|maybe|perhaps|not yet|hardly|suing|sued)\b"
)
_OVER = re.compile(
    r"\bused to\b|\b(?:no longer|formerly|previously|left|leaving|quit|stopped|resigned|fired|gave up|given up"
    r"|cancell?ed|sold|ended|lost)\b|\bany ?more\b|\b(?:i|we) (?:lived|stayed|worked)\b"
    r"|\b(?:moved|shifted|relocated|switched|changed|upgraded|downgraded|came) (?:away )?from\b"
    r"|\b\w+t[aie] (?:tha|thi)\b|\bchh?od\w*\b|त[ाेी] (?:था|थी|थे)|छोड़"
)
_PARTS = re.compile(r"\b(?:and|then|but|so|now|instead|aur|lekin)\b|,")
_STEPS = re.compile(_PARTS.pattern + r"|(?<!used)(?<!stopped) to\b")
"""Where what is over ends, and what came after it begins: from Pune to Goa."""

_SETTLED = frozenset({"city", "home_town", "address", "company", "job", "plan", "vehicle", "age", "birthday", "diet"})
"""What is so or is not: who wishes for it has it not."""

_OF_A_PERSON = frozenset({"company", "job", "plan", "home_town", "age", "birthday", "vehicle"})
_HISTORY = frozenset({"home_town", "birthday"})
"""What was so once, and is."""

_SAYS_LITTLE = vocabulary(
    "please pls thanks thank ok okay yes yeah no sure it's its just so well still only currently right now then hi "
    "hello course only sir madam actually always mostly all here we're i'm im"
)
"""Words beside a value that is all that somebody says: Pune, please."""


def is_speakers(stated: str, clause: str, key: str, value: str) -> bool:
    """Whether the value is the speaker's by what stands around it, and neither wished for nor over.

    stated: the sentence; clause: its part that has the value.
    """
    part, step = _part(_PARTS, plain(clause), value), _part(_STEPS, plain(clause), value)
    if key not in _HISTORY and not (_OVER.search(value) or is_negative(value)) and _OVER.search(step):
        return False
    if key in _SETTLED and _WISHED.search(part):
        return False
    spoken = plain(stated)
    return not spoken.isascii() or _is_alone(stated, key, value) or _is_anchored(spoken, key)


def is_named(stated: str, value: str) -> bool:
    """Whether a name is given as the speaker's own, or is all that they say."""
    if not stated.isascii() or set(telling(stated)) == set(telling(value)):
        return True
    first = re.escape(words(value)[0]) if words(value) else ""
    return bool(
        re.search(
            r"\b(?:my (?:\w+ )?name\b|(?:i am|i'm|im|this is|myself|it's|it is|me|i go by|llamo|hei(?:ss|ß)e|chiamo"
            r"|appelle|mer[aie] naam|en peyar|en per|am called|signed|named|known as)[,:]?"
            rf" (?:called |named |as |mr |mrs |ms |dr )?{first}\b)|^(?:\w+ )?name\b"
            rf"|(?:^|[,!] ?){first}\b[\w.' -]{{0,40}} (?:here|this side)\b"
            rf"|^(?:(?:best|warm|kind|with) )*(?:regards|sincerely|yours)\W+{first}\b",
            plain(stated).replace(".", ""),
        )
    )


def _is_anchored(spoken: str, key: str) -> bool:
    if key == "city":
        return _LIVES.search(spoken) is not None
    if key in ("phone", "email"):
        return _REACHED.search(spoken) is not None
    return key not in _OF_A_PERSON or bool(_SPEAKER.search(spoken) or _LEFT_OUT.search(spoken))


def _is_alone(stated: str, key: str, value: str) -> bool:
    """Whether the value is all that is said, or what it is called stands before it."""
    there = frozenset(words(value))
    beside = {word for word in telling(stated) if not holds(there, word)}
    return beside <= _SAYS_LITTLE | keys.known_names(key)


def _part(ends: re.Pattern[str], clause: str, value: str) -> str:
    """The part of a clause that has the value; the whole where it is spread."""
    wanted = telling(value)
    parts = [one for one in ends.split(clause) if all(holds(frozenset(words(one)), word) for word in wanted)]
    return parts[-1] if parts and wanted else clause
