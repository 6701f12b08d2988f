"""The obvious facts of a message: what a user states in one of a few fixed phrases. Pure.

They are written with the turn's reply, without a model; everything else is left to whoever reads the conversation
later. Precision comes first: a phrase is a whole clause and names are capitalised. A question, a quotation, a
negation, reported speech and a text that is to be written or translated give nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from parlour.memory.facts.evidence import own_text
from parlour.memory.facts.fact import MAX_VALUE_CHARS, FactCandidate, UserMessage
from parlour.memory.facts.fact_keys import normalize_key
from parlour.text.sensitive_data import is_sensitive
from parlour.text.sentences import stripped_sentences
from parlour.text.word_matching import informative_words, is_negated
from parlour.text.words import word_list, words

#: No phrase is surer than another.
_CONFIDENCE = 0.95

_LANGUAGE = (
    r"(english|hindi|tamil|telugu|kannada|malayalam|marathi|bengali|gujarati|punjabi|urdu|odia|hinglish|french"
    r"|german|spanish|italian|portuguese|dutch|arabic|chinese|japanese|korean|russian|turkish|nepali|sinhala"
    r"|हिंदी|हिन्दी|मराठी|தமிழ்|తెలుగు|ಕನ್ನಡ|മലയാളം|বাংলা)"
)
_CHANNEL = r"(whatsapp|sms|text messages?|phone(?: calls?)?|calls?|e-?mails?|telegram|signal)"
_STYLE = r"short(?:er)?|brief|concise|crisp|simple|long(?:er)?|detailed"
_NAME = r"((?-i:[^\W\d_a-z])[\w.'\u2019-]*(?: (?-i:[^\W\d_a-z])[\w.'\u2019-]*){0,3})"
_PLAN = r"(?:plan|tier|package|subscription|membership)"
_OPENING_WORDS = (
    r"(?:(?:hi|hello|hey|namaste|vanakkam|good (?:morning|afternoon|evening)|ok|okay|yes|well|also|by the way|btw"
    r"|please|pls|kindly|from now on|and|but|so)[ ,!:]+)*"
)
_CLOSING_WORDS = (
    r"(?: (?:please|pls|now|only|always|instead|too|also|for now|if you can|if possible|from now on|by the way|btw"
    r"|thanks|thank you))*[.! \u0964]*"
)
_HOUR = r"\d[\d:.]*(?: ?[ap]\.?m)?"
_TIME = rf"(?:(?:before|after) {_HOUR}|between {_HOUR} (?:and|to) {_HOUR})"

#: How people state the obvious, by key. A group of a pattern is the value.
_PHRASES_BY_KEY: Mapping[str, Sequence[str]] = {
    "name": (
        rf"my (?:full |real |first )?name(?:'s| is|:) {_NAME}(?: from .+)?",
        rf"i(?: am|'m) called {_NAME}",
        rf"this is {_NAME} (?:speaking|this side)",
        rf"(?:me llamo|je m'appelle|ich hei(?:ß|ss)e|mi chiamo|meu nome é) {_NAME}",
        rf"mera naam {_NAME} (?:hai|h)",
        r"(?:मेरा नाम|माझे नाव) (\S+(?: \S+)?) (?:है|आहे)",
        r"(?:என் பெயர்|எனது பெயர்) (\S+(?: \S+)?)",
    ),
    "called": (
        rf"(?:you (?:can|may) )?(?:just )?(?:call|address) me (?:as )?{_NAME}",
        rf"i (?:go by|prefer to be called|like to be called) {_NAME}",
    ),
    "language": (
        rf"(?:always )?(?:reply|answer|respond|speak|talk|chat)(?: (?:to|with) me)?(?: only)? (?:in|using) {_LANGUAGE}",
        rf"(?:always )?(?:write(?: to me)?|(?:message|text) me)(?: only)? in {_LANGUAGE}",
        rf"(?:i prefer|i only speak|i speak only|my preferred language is|switch (?:back |over )?to) {_LANGUAGE}",
        rf"{_LANGUAGE} (?:mein|me|में) (?:baat|jawab|बात|जवाब|उत्तर) (?:karo|kijiye|do|dijiye|करो|करें|कीजिए|दो|दीजिए)",
        r"(தமிழில்) (?:பேசு|எழுது)(?:ங்கள்)?",
    ),
    "contact_by": (
        rf"(?:contact|reach|notify|update|write to|text|message) me(?: only)? (?:by|on|via|over|through) {_CHANNEL}",
        rf"i(?:'d| would)? prefer (?:to be (?:contacted|reached) (?:by|on|via|over) )?{_CHANNEL}",
    ),
    "contact_time": (
        rf"((?:never|don't|do not) (?:call|ring|phone|message|text|contact) me {_TIME})",
        rf"(?:call|ring|phone|message|text|contact) me only ({_TIME})",
    ),
    "preference.answers": (
        rf"keep (?:your |the |all )?(?:answers|replies|messages) ({_STYLE})",
        rf"(?:i (?:prefer|want|like)|(?:give|send)(?: me)?)(?: only)? ((?:{_STYLE}) (?:answers|replies|messages))",
    ),
    "preference.voice_notes": (
        r"((?:no|(?:don't|do not|never|stop) send(?:ing)?(?: me)?) (?:any |more )?(?:voice|audio) (?:note|message)s?)",
    ),
    "plan": (
        rf"(?:i(?: a|')m|we(?: a|')re) (?:now )?on (?:the|your) {_NAME} {_PLAN}",
        rf"(?:i|we)(?:'ve| have)? (?:just )?(?:switched|upgraded|downgraded) to (?:the|your) {_NAME} {_PLAN}",
        rf"my plan is (?:now )?(?:the )?{_NAME}",
    ),
}
_COMPILED_PHRASES = [
    (key, re.compile(f"{_OPENING_WORDS}(?:{pattern}){_CLOSING_WORDS}", re.IGNORECASE))
    for key, patterns in _PHRASES_BY_KEY.items()
    for pattern in patterns
]

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

#: A sentence that states nothing of its writer: it asks, supposes or reports.
_NOT_ASSERTED = re.compile(
    r"[?\u061f\uff1f]|\b(?:if(?! you can\b| possible\b)|suppose|supposing|unless|whether|says?|said|saying|tells?|told"
    r"|asks?|asked|writes|wrote|reads|claims?|claimed|thinks?|thought|according)\b",
    re.IGNORECASE,
)

#: A message with a text in it that is to be written, worked on or acted out, or that is a joke.
_REQUESTED_TEXT = re.compile(
    r"\b(?:translat\w+|re-?write|rephrase|reword|paraphrase|proof-?read|summari[sz]e|pretend|imagine|role-?play\w*"
    r"|act as|grammar|kidding|joking)\b|\b(?:draft|compose) (?:an?|the|me|my|this|it)\b"
    r"|\b(?:write|prepare|fill|type|send|post)\b[^.!?\n]{0,40}\b(?:e-?mail|mail|letter|message|note|text|form|post|story"
    r"|reply|speech|script|line)\b",
    re.IGNORECASE,
)
_CLAUSE_BOUNDARY = re.compile(r"[,;]\s+(?:and |but |so )?|\s+(?:and|but)\s+(?!\d)|\s[-\u2013]\s")
_FIRST_PERSON = frozenset({"i", "i'm", "i've", "my", "me", "we", "our", "us", "we're", "we've"})

#: The value of what takes back all that is known.
_ALL_FACTS = "*"

#: Capitalised words that stand where a name does and are none, and what Hindi and Tamil say there.
_NOT_A_NAME = word_list(
    "back later now today tomorrow tonight soon asap when if at on in after before once only again anytime please mr "
    "mrs ms dr monday tuesday wednesday thursday friday saturday sunday not wrong missing correct misspelled "
    "misspelt right unknown changed क्या नहीं गलत सही में पर काय என்ன தவறு சரி இல்லை"
)


def find_explicit_facts(messages: Sequence[UserMessage]) -> list[FactCandidate]:
    """Return what the messages state of their writer and what they take back, in the order of the messages."""
    return [candidate for message in messages for candidate in _facts_of_message(message)]


def _facts_of_message(message: UserMessage) -> list[FactCandidate]:
    """Of several values of one key, the last."""
    text = own_text(message.text).replace("\u2019", "'")
    if _REQUESTED_TEXT.search(text):
        return []
    found: dict[tuple[str, str], FactCandidate] = {}
    for sentence in stripped_sentences(text):
        for key, value, ends in _facts_of_sentence(sentence):
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
    return list(found.values())


def _facts_of_sentence(sentence: str) -> Iterator[tuple[str, str, bool]]:
    """Key, value, and whether the value is taken back."""
    forgotten = _FORGET_ONE_REQUEST.fullmatch(sentence)
    if _FORGET_ALL_REQUEST.fullmatch(sentence):
        yield "", _ALL_FACTS, True
    elif forgotten or _FORGET_LAST_REQUEST.fullmatch(sentence):
        yield "", forgotten[1].strip() if forgotten else "", True
    elif not _NOT_ASSERTED.search(sentence):
        asked = _REMEMBER_REQUEST.match(sentence)
        stated = list(_facts_of_clauses(asked[1] if asked else sentence))
        if asked and not stated:
            text = asked[1].rstrip(" .!")
            about = [word for word in informative_words(text) if len(word) > 1 and not any(map(str.isdigit, word))][:3]
            key = normalize_key(f"about.{' '.join(about)}")
            is_own = not _FIRST_PERSON.isdisjoint(words(text))
            stated = (
                [(key, text)] if key and is_own and len(text) <= MAX_VALUE_CHARS and not is_sensitive("", text) else []
            )
        yield from ((*one, False) for one in stated)


def _facts_of_clauses(text: str) -> Iterator[tuple[str, str]]:
    """Key and value of each clause that is one of the phrases as a whole."""
    for clause in _CLAUSE_BOUNDARY.split(text):
        for key, pattern in _COMPILED_PHRASES:
            match = pattern.fullmatch(clause.strip())
            if match is not None:
                value = match[1].strip(" .,'-")
                is_name = key in ("name", "called", "plan")
                is_none = is_name and (is_negated(value) or not _NOT_A_NAME.isdisjoint(words(value)))
                if value and not is_none and not is_sensitive(key, value):
                    yield key, value
                break
