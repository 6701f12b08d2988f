"""Whether a question points to another conversation. Pure."""

import re

_BACK_REFERENCE = re.compile(
    r"\b(?:(?:last|previous|earlier|prior|past|other|another|different|old|older)"
    r"\s+(?:time|conversations?|chats?|sessions?|talks?|discussions?|threads?|calls?|week|month)"
    r"|earlier|previously|the other day|back then|(?:long|a while) ago|yesterday"
    r"|last (?:year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|(?:we|you|i)(?:'d|'ve| had| have)?\s+(?:already\s+|once\s+|also\s+)?"
    r"(?:discuss(?:ed)?|talk(?:ed)?|spoke(?:n)?|agreed|decided|mentioned|said|told|asked|promised)"
    r"|remember|remind me|recall|compar(?:e|ed|ing|ison))",
    re.IGNORECASE,
)


def refers_to_other_conversation(question: str) -> bool:
    """Whether somebody asks for what was said another time ("as we discussed", "last time", "compare"): only then are
    the user's other conversations looked into."""
    return _BACK_REFERENCE.search(question) is not None
