"""Words of a text in any script, and the word lists that several rules share. Pure."""

import functools
import re
import unicodedata

import snowballstemmer

_LETTER = (
    r"[^\s!-/:-@\[-`{-~\u00a0-\u00bf\u2000-\u200b\u2010-\u206f\u0964\u0965\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]"
)
"""Vowel signs, accents and the joiners of Indic scripts are part of their word: `\\w` would cut there."""

_WORD_PART = re.compile(rf"{_LETTER}+")
_WHOLE_WORD = re.compile(rf"{_LETTER}+(?:[-@.+'\u2019_/&]{_LETTER}+)*")
_ORDINAL = re.compile(r"(?<!\d)(\d++)(?:st|nd|rd|th)")
_THOUSANDS_MARK = re.compile(r"(?<=\d)[,\u00a0\u202f](?=\d)")


def word_list(text: str) -> frozenset[str]:
    """Return the words of a list that is written with spaces between them."""
    return frozenset(text.split())


def _months(text: str) -> dict[str, int]:
    return {name: number for number, names in enumerate(text.split("|"), start=1) for name in names.split()}


#: The number of the month, 1 to 12, by each of its names, by language; casefolded. Forms that are also everyday words
#: are left out: Spanish "mar" and "ago" (5 days ago).
MONTHS = {
    "en": _months(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct"
        "|november nov|december dec"
    ),
    "de": _months("januar jänner|februar|märz|april|mai|juni|juli|august|september|oktober okt|november|dezember dez"),
    "es": _months(
        "enero ene|febrero|marzo|abril abr|mayo|junio|julio|agosto|septiembre setiembre|octubre|noviembre|diciembre dic"
    ),
    "hi": _months("जनवरी|फ़रवरी फरवरी|मार्च|अप्रैल|मई|जून|जुलाई|अगस्त|सितंबर सितम्बर|अक्टूबर अक्तूबर|नवंबर नवम्बर|दिसंबर दिसम्बर"),
    "ta": _months("ஜனவரி|பிப்ரவரி|மார்ச்|ஏப்ரல்|மே|ஜூன்|ஜூலை|ஆகஸ்ட்|செப்டம்பர்|அக்டோபர்|நவம்பர்|டிசம்பர்"),
    "kn": _months("ಜನವರಿ|ಫೆಬ್ರವರಿ|ಮಾರ್ಚ್|ಏಪ್ರಿಲ್|ಮೇ|ಜೂನ್|ಜುಲೈ|ಆಗಸ್ಟ್|ಸೆಪ್ಟೆಂಬರ್|ಅಕ್ಟೋಬರ್|ನವೆಂಬರ್|ಡಿಸೆಂಬರ್"),
}
MONTH_NUMBERS = {name: number for months in MONTHS.values() for name, number in months.items()}

#: Monday to Sunday by language; casefolded.
WEEKDAYS = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "hi": "सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार",
    "ta": "திங்கள் செவ்வாய் புதன் வியாழன் வெள்ளி சனி ஞாயிறு",
    "kn": "ಸೋಮವಾರ ಮಂಗಳವಾರ ಬುಧವಾರ ಗುರುವಾರ ಶುಕ್ರವಾರ ಶನಿವಾರ ಭಾನುವಾರ",
}
WEEKDAY_NAMES = word_list(" ".join(WEEKDAYS.values()))

#: Words that say nothing about what a text deals with, by language.
STOP_WORDS = {
    "en": word_list(
        "a about after again all also am an and any anybody anyone anything are as at be been being but by can can't "
        "cant come comes coming could did didn't didnt do does doesn't doesnt doing done don't dont find for from get "
        "give go going got had happen happened happening happens has have having he her here hers him his how i i'm if "
        "im in into is it it's its ive just kindly know let like look make many may me might mine more much must my "
        "need no not now of off on one only or our ours out over own per please say says shall she should show so some "
        "somebody someone something still tell than that the their theirs them then there these they thing this those "
        "time to too under until up us very want was we were what what's whats when where whether which while who whom "
        "whose why will with within would yes yet you your yours"
    ),
    "hi": word_list(
        "है हैं था थी थे हो होगा होगी का के की को से में पर और या तो क्या कब कौन कहाँ कितना कितनी कितने कैसे क्यों यह "
        "वह ये वे मैं हम आप मुझे हमें कर करे करें करना करनी"
    ),
    "de": word_list(
        "aber als am an auch auf aus bei bis bist das dass dem den der des doch ein eine einem einen einer er "
        "es für ich ihr im in ist ja kann mein mit nach nicht noch nur oder sich sie sind so und uns von was "
        "wann wenn wer wie wir wird wo zu zum zur"
    ),
    "es": word_list(
        "al como cuando cuál cuánto de del dónde el ella en es esta este está hay la las le lo los más me mi muy "
        "no nos o para pero por que qué quién se si sí su sus también un una y ya yo"
    ),
    "ta": word_list("ஒரு என் என்ன எப்போது எங்கே எப்படி யார் இது அது நான் நீங்கள் மற்றும் உள்ளது"),
    "kn": word_list("ಒಂದು ನನ್ನ ಏನು ಯಾವಾಗ ಎಲ್ಲಿ ಹೇಗೆ ಯಾರು ಇದು ಅದು ನಾನು ನೀವು ಮತ್ತು ಇದೆ"),
}
DEFAULT_LANGUAGE = "en"
_STOP_WORDS = frozenset[str]().union(*STOP_WORDS.values())

#: The stemmer of a script. Latin text is taken for English: what is compared is stemmed the same way on both sides.
_STEMMERS = (
    (re.compile(r"[\u0900-\u097f]"), "hindi"),
    (re.compile(r"[\u0b80-\u0bff]"), "tamil"),
    (re.compile(r"[a-z]"), "english"),
)


def normalize(text: str) -> str:
    """Return the text in one spelling: NFKC, casefolded, single spaces, digits without group marks."""
    spelled = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    return _THOUSANDS_MARK.sub("", " ".join(spelled.split()))


def words(text: str) -> list[str]:
    """Return the words in one spelling, in order. Codes, amounts and dates (RA-07, 1.5, 2026-03-02) stay whole; "3rd"
    becomes "3"."""
    return [_ORDINAL.sub(r"\1", word) for word in _WHOLE_WORD.findall(normalize(text))]


def word_parts(text: str) -> list[str]:
    """Return the words as written, cut at every mark: RA-07 has two. Text without spaces is cut at its marks only."""
    return _WORD_PART.findall(text)


def key_terms(text: str, min_letters: int = 4) -> frozenset[str]:
    """Return the casefolded word parts that tell texts apart: those with so many letters or more, or with a digit."""
    parts = (part.casefold() for part in word_parts(text))
    return frozenset(part for part in parts if len(part) >= min_letters or any(map(str.isdigit, part)))


def content_words(text: str) -> list[str]:
    """Return the words in one spelling without stop words, each once, in order."""
    return list(dict.fromkeys(word for word in words(text) if word not in _STOP_WORDS))


def likely_language(text: str) -> str:
    """Return the language, of those with stop words here, that most of a text's stop words are of; English in doubt."""
    return known_language(text) or DEFAULT_LANGUAGE


def known_language(text: str) -> str | None:
    """Return the language as `likely_language` does; None for a text without stop words."""
    found = words(text)
    counts = {language: sum(word in stop_words for word in found) for language, stop_words in STOP_WORDS.items()}
    best = max(counts, key=lambda language: (counts[language], language == DEFAULT_LANGUAGE))
    return best if counts[best] else None


def stems(text: str) -> frozenset[str]:
    """Return what the content words are compared by: English, Hindi and Tamil endings are taken off, and a code such as
    RA-07 counts as a whole and by its parts."""
    found = content_words(text)
    parts = [part for word in found if any(map(str.isalpha, word)) for part in word_parts(word)]
    return frozenset(_stem(word) for word in (*found, *parts) if word not in _STOP_WORDS)


@functools.lru_cache(maxsize=8_192)
def _stem(word: str) -> str:
    language = next((name for script, name in _STEMMERS if script.search(word)), None)
    if language is None or any(map(str.isdigit, word)):
        return word
    return str(snowballstemmer.stemmer(language).stemWord(word))
