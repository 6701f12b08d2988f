"""The words of a text in any script, and which of them tell something. Pure."""

import re

from parlour.text.words import normalize, word_list, words

_UNSPACED_SCRIPTS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
"""Scripts that write no spaces: Thai, Japanese, Chinese."""

_UNINFORMATIVE_WORDS = word_list(
    "a an the and or of to in on at by for from with is am are was were be been my our your his her their its i we me "
    "us you it this that these those mr mrs ms dr please now just also too very really as do does did have has had "
    "plan tier package subscription membership city town called named name user likes prefers always loves enjoys "
    "hai hain mein mera meri mujhe main hoon hu ka ki ke ko se है हूँ हूं में मेरा मेरी का की के को से என் நான்"
)
"""Words that say nothing by themselves about which value it is."""

_NEGATIONS = word_list(
    "not no never none nor dislikes dislike hates hate avoids avoid without cannot don't doesn't didn't isn't aren't "
    "wasn't can't won't wouldn't nahi nahin mat नहीं मत இல்லை பிடிக்காது"
)
"""Words that turn a value round."""

_FIRST_PERSON = word_list(
    "i i'm im i've ive i'd i'll me my mine myself we we're we've us our ours "
    "ich mich mir mein meine meinen meinem meiner meins wir uns unser unsere "
    "yo me mi mis mí mío mía nosotros nos nuestro nuestra je moi mon ma mes nous notre "
    "main mai mera meri mere mujhe mujhko hum hamara hamari "
    "मैं मैंने मुझे मुझको मुझसे मेरा मेरी मेरे हम हमारा हमारी हमारे हमें मी मला माझा माझी माझे माझ्या आम्ही आम्हाला आमचा आमची "
    "நான் என் எனக்கு என்னுடைய எங்கள் நாங்கள்"
)
"""Words for oneself, alone or with others."""

_CLAUSE_END = re.compile(r"[,;:!?\u0964\u2013\u2014\n]|\.(?!\S)")

_LONG_NUMBER_DIGITS = 7
"""Digits from which on a figure is a number to be dialled or a date."""

_THOUSANDS_POINT = re.compile(r"(?<=\d)\.(?=\d{3}(?:\.\d{3})+$)|(?<=\d\.\d{3})\.(?=\d{3}$)")
_MIN_SHARED_LETTERS = 3
"""Letters that two forms of one word share at least."""


def informative_words(text: str) -> list[str]:
    """Return the words without filler words and negations; all words when nothing else is left."""
    found = words(text)
    return [word for word in found if word not in _UNINFORMATIVE_WORDS and word not in _NEGATIONS] or found


def is_negated(text: str) -> bool:
    """Return whether the words contain a negation."""
    return any(word in _NEGATIONS for word in words(text))


def speaks_of_oneself(quote: str, text: str) -> bool:
    """Return whether the clauses of the text that the quote stands in have a word for the writer. Languages that leave
    the pronoun out have none in most of their clauses."""
    wanted, clauses = normalize(quote), [normalize(clause) for clause in _CLAUSE_END.split(text)]
    around = [clause for clause in clauses if wanted and wanted in clause] or [quote]
    return any(word in _FIRST_PERSON or word.partition("'")[0] == "j" for clause in around for word in words(clause))


def contains_word(text_words: frozenset[str], word: str) -> bool:
    """Whether a word stands among others, as it is or in another form of itself; one with a digit only as it is."""
    if word in text_words:
        return True
    if any(letter.isdigit() for letter in word):
        return any(
            _normalize_number(word) == _normalize_number(other) for other in text_words if any(map(str.isdigit, other))
        )
    return any(_is_inflection(word, other) for other in text_words)


def contains_value(text: str, value: str) -> bool:
    """Return whether the text contains every informative word of the value."""
    if _UNSPACED_SCRIPTS.search(value):
        return normalize(value).replace(" ", "") in normalize(text).replace(" ", "")
    there = frozenset(words(text))
    wanted = informative_words(value)
    return bool(wanted) and all(contains_word(there, word) for word in wanted)


def singular(word: str) -> str:
    """Return the word without a plural ending; enough to compare values."""
    return word[:-1] if len(word) > _MIN_SHARED_LETTERS and word.endswith("s") and not word.endswith("ss") else word


def _is_inflection(word: str, other: str) -> bool:
    """Whether one is the other with a short ending: vegetarian and vegetarians. Endings of scripts that write many
    letters for a sound are longer: Chennai, and in Chennai, in Tamil."""
    short, long = sorted((word, other), key=len)
    ending = max(2, len(short) // 3) if short.isascii() else max(4, len(short) // 2)
    return len(short) >= _MIN_SHARED_LETTERS and long.startswith(short) and len(long) - len(short) <= ending


def _normalize_number(word: str) -> str:
    """Return a figure without surrounding marks.

    In a phone number or a date all marks are dropped; in a shorter figure they are part of the value.
    """
    if sum(map(str.isdigit, word)) >= _LONG_NUMBER_DIGITS:
        return "".join(letter for letter in word if letter.isalnum())
    return _THOUSANDS_POINT.sub("", word.strip("+-./\u20b9$\u20ac\u00a3#'"))
