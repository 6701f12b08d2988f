"""The obvious facts of a message: what a user states in one of a few fixed phrases at its beginning. Pure.

They are written with the turn's reply, without a model, so that the next turn knows them; everything else is left to
the model that reads the conversation minutes later, and whose reading of the same words counts more. Sentences count
up to the first that is none of the phrases: people introduce themselves first, and a text that they have written for
somebody comes after the request for it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from parlour.memory.facts.fact import MAX_VALUE_CHARS, FactCandidate, UserMessage
from parlour.memory.facts.fact_keys import normalize_key
from parlour.memory.facts.own_text import own_text
from parlour.text.sensitive_data import is_sensitive
from parlour.text.sentences import stripped_sentences
from parlour.text.word_matching import informative_words
from parlour.text.words import MONTH_NUMBERS, WEEKDAY_NAMES, words

#: No phrase is surer than another.
_CONFIDENCE = 0.95

_NAME = r"((?-i:[^\W\d_a-z])[\w.'\u2019-]*+(?: (?-i:[^\W\d_a-z])[\w.'\u2019-]*+){0,3})"
_PLAN = r"(?:plan|tier|package|subscription|membership)"
_OPENING_WORDS = (
    r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|ok|okay|yes|well|also|by the way|btw"
    r"|please|pls|kindly|from now on|and|but|so|no|sorry|actually)[ ,!:]+)*"
)
_CLOSING_WORDS = r"(?: (?:please|pls|now|only|too|also|from now on|by the way|btw|thanks|thank you))*"

#: What sentences end with; taken off before a phrase is looked for.
_STOPS = ".! \u0964"

#: How people state the obvious, by key. The group of a pattern is the value.
_PHRASES_BY_KEY: Mapping[str, Sequence[str]] = {
    "name": (rf"my (?:full |real |first )?name(?:'s| is|:) {_NAME}",),
    "called": (rf"(?:you (?:can|may) )?(?:just )?call me {_NAME}", rf"i (?:prefer|like) to be called {_NAME}"),
    "language": (rf"(?:always )?(?:reply|answer|respond|write)(?: to me)?(?: only)? in {_NAME}",),
    "contact_by": (r"(?:contact|reach) me(?: only)? (?:by|on|via) (whatsapp|sms|phone|e-?mail|telegram|signal)",),
    "plan": (
        rf"(?:i(?: a|')m|we(?: a|')re) (?:now )?on (?:the|your) {_NAME} {_PLAN}",
        rf"(?:i|we)(?:'ve| have)? (?:just )?(?:switched|upgraded|downgraded) to (?:the|your) {_NAME} {_PLAN}",
    ),
}
_COMPILED_PHRASES = [
    (key, re.compile(f"{_OPENING_WORDS}(?:{pattern}){_CLOSING_WORDS}", re.IGNORECASE))
    for key, patterns in _PHRASES_BY_KEY.items()
    for pattern in patterns
]
_GREETING = re.compile(_OPENING_WORDS, re.IGNORECASE)

_REMEMBER_REQUEST = re.compile(
    _OPENING_WORDS + r"(?:remember|keep in mind|make a note|don't forget|do not forget)(?: that|:) (.+)", re.IGNORECASE
)
_FORGET_VERB = rf"{_OPENING_WORDS}(?:forget|erase|delete|stop remembering) "
_FORGET_ALL_REQUEST = re.compile(
    rf"{_FORGET_VERB}(?:everything|all)(?: (?:that )?(?:you (?:know|remember)|i (?:said|told you)))?(?: about me)?"
    rf"{_CLOSING_WORDS}",
    re.IGNORECASE,
)
_FORGET_LAST_REQUEST = re.compile(
    rf"{_FORGET_VERB}(?:that|this|what i (?:just )?(?:said|told you)){_CLOSING_WORDS}", re.IGNORECASE
)
_FORGET_ONE_REQUEST = re.compile(
    rf"{_FORGET_VERB}"
    r"(?:what i (?:said|told you) about (?:my |our |the )?|(?:about |that )?(?:my|our) |that i(?: a|')m )"
    rf"([^,;:?]+?){_CLOSING_WORDS}",
    re.IGNORECASE,
)

_CLAUSE_BOUNDARY = re.compile(r"[,;]\s+(?:and |but |so )?|\s+(?:and|but)\s+(?!\d)|\s[-\u2013]\s")
_FIRST_PERSON = frozenset({"i", "i'm", "i've", "my", "me", "we", "our", "us", "we're", "we've"})

#: The value of what takes back all that is known.
_ALL_FACTS = "*"

_QUESTION_MARKS = ("?", "\u061f", "\uff1f")
_CALENDAR_WORDS = WEEKDAY_NAMES | MONTH_NUMBERS.keys()


def find_explicit_facts(messages: Sequence[UserMessage]) -> list[FactCandidate]:
    """Return what the messages state of their writer and what they take back, in the order of the messages.

    Of several values that a message states of one key, the last counts.
    """
    candidates: list[FactCandidate] = []
    for message in messages:
        found: dict[tuple[str, str], FactCandidate] = {}
        for key, value, ends in _leading_statements(own_text(message.text).replace("\u2019", "'")):
            everything = ends and value == _ALL_FACTS
            found[key, value if ends else ""] = FactCandidate(
                key,
                "" if everything else value,
                _CONFIDENCE,
                "stated",
                message.received_at,
                (message.id,),
                ends,
                everything,
            )
        candidates += found.values()
    return candidates


def _leading_statements(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield key, value, and whether the value is taken back, of each fixed phrase up to the first other sentence."""
    for sentence in stripped_sentences(text):
        if _GREETING.fullmatch(f"{sentence} "):
            continue
        stated = _retraction_request(sentence) or _statements(sentence)
        if not stated:
            return
        yield from stated


def _retraction_request(sentence: str) -> list[tuple[str, str, bool]]:
    request = sentence.rstrip(_STOPS)
    forgotten = _FORGET_ONE_REQUEST.fullmatch(request)
    if _FORGET_ALL_REQUEST.fullmatch(request):
        return [("", _ALL_FACTS, True)]
    if forgotten or _FORGET_LAST_REQUEST.fullmatch(request):
        return [("", forgotten[1].strip() if forgotten else "", True)]
    return []


def _statements(sentence: str) -> list[tuple[str, str, bool]]:
    if sentence.rstrip().endswith(_QUESTION_MARKS):
        return []
    request = _REMEMBER_REQUEST.match(sentence)
    stated = list(_facts_of_clauses(request[1] if request else sentence))
    if request and not stated:
        text = request[1].rstrip(" .!")
        about = [word for word in informative_words(text) if len(word) > 1 and not any(map(str.isdigit, word))][:3]
        key = normalize_key(f"about.{' '.join(about)}")
        is_own = not _FIRST_PERSON.isdisjoint(words(text)) and len(text) <= MAX_VALUE_CHARS
        stated = [(key, text)] if key and is_own and not is_sensitive("", text) else []
    return [(key, value, False) for key, value in stated]


def _facts_of_clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and value of the clauses from the first on, as long as each is one of the phrases as a whole."""
    for clause in _CLAUSE_BOUNDARY.split(text):
        if _GREETING.fullmatch(f"{clause.strip()} "):
            continue
        found = next(
            (
                (key, match[1].strip(" .,'-"))
                for key, pattern in _COMPILED_PHRASES
                if (match := pattern.fullmatch(clause.strip().rstrip(_STOPS)))
            ),
            None,
        )
        if found is None or not found[1] or not _CALENDAR_WORDS.isdisjoint(words(found[1])) or is_sensitive(*found):
            return
        yield found
