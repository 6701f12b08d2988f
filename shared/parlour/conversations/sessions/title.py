"""What a session is called after what its user wrote first. Pure.

Deterministic: the first sentence that says something, without the greeting before it, as long as a list has room.
A message that only greets gives no name; the next one may.
"""

import re
import unicodedata

from parlour.text.sentences import stripped_sentences

MAX_TITLE_CHARS = 60
"""Characters of a title that code makes; one that a person gives may have 200."""

_MIN_TITLE_CHARS = 3
"""Letters and figures that say something; fewer are a smile or an answer to nothing."""

_STOPS = ".!?\u0964\u0965\u3002\uff01\uff1f"
"""What sentences end with: Latin, Devanagari, Chinese and Japanese."""

_GREETINGS = (
    "hi",
    "hello",
    "hey",
    "hiya",
    "good morning",
    "good afternoon",
    "good evening",
    "good day",
    "greetings",
    "namaste",
    "namaskar",
    "namaskaram",
    "vanakkam",
    "salaam",
    "hola",
    "buenos dias",
    "buenos días",
    "bonjour",
    "hallo",
    "guten tag",
    "guten morgen",
    "guten abend",
    "ciao",
    "olá",
    "नमस्ते",
    "नमस्कार",
    "வணக்கம்",
    "నమస్తే",
    "నమస్కారం",
    "ನಮಸ್ಕಾರ",
    "നമസ്കാരം",
    "নমস্কার",
    "你好",
    "您好",
    "こんにちは",
    "안녕하세요",
    "مرحبا",
    "السلام عليكم",
)
_ADDRESSEES = r"(?: (?:there|all|everyone|team|sir|madam|ji|again))?"
_SEPARATOR = rf"[\s,:;\-\u2013\u2014\u060c{_STOPS}]"
_GREETING = re.compile(rf"(?:{'|'.join(_GREETINGS)}){_ADDRESSEES}(?:{_SEPARATOR}+|$)", re.IGNORECASE)
_MARKUP = re.compile(r"^(?:[#>*\-\u2022]+\s+)+|[*`~]|(?<!\w)_|_(?!\w)")
_TRAILING_MARKS = " ,;:-\u2013\u2014\u060c.!\u0964\u0965\u3002\uff01"
"""What a title does not end with; a question keeps its mark."""

_ELLIPSIS = "…"
_COMBINING_CATEGORIES = frozenset({"Mn", "Mc", "Me", "Cf"})
"""Vowel signs, accents and joiners: part of the letter that they follow."""


def make_title(text: str) -> str:
    """Return the title that a message gives its session, at most 60 characters; empty when it says too little."""
    for part in stripped_sentences(text):
        readable = "".join(" " if unicodedata.category(one) in {"Cc", "Cs", "Zl", "Zp"} else one for one in part)
        said = _without_greeting(" ".join(_MARKUP.sub("", readable.strip()).split()))
        if sum(character.isalnum() for character in said) >= _MIN_TITLE_CHARS:
            title = _shortened(said.rstrip(_TRAILING_MARKS))
            return title[:1].upper() + title[1:]
    return ""


def _without_greeting(text: str) -> str:
    while shorter := _GREETING.match(text):
        text = text[shorter.end() :]
    return text


def _shortened(text: str) -> str:
    """Whole words as far as there is room, and an ellipsis; a script that writes no spaces is cut where it is full."""
    if len(text) <= MAX_TITLE_CHARS:
        return text
    room = text[: MAX_TITLE_CHARS - 1]
    if " " in room[MAX_TITLE_CHARS // 2 :]:
        words = room.rsplit(" ", 1)[0]
    else:
        end = len(room)
        while end > 1 and (  # no combining sign is cut off from its letter
            unicodedata.category(text[end]) in _COMBINING_CATEGORIES or unicodedata.category(text[end - 1]) == "Cf"
        ):
            end -= 1
        words = text[:end]
    return words.rstrip(_TRAILING_MARKS + "?") + _ELLIPSIS
