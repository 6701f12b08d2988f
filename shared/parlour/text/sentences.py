"""One sentence splitter for English, Indian and European text. Pure.

Own code, not pysbd: pysbd has had no release since 2021, cuts Spanish "El Sr. Pérez" in two, knows neither Tamil nor
Kannada, and must be told the language, which a mixed message does not have.

A stop ends no sentence inside an abbreviation, an amount or a date. In doubt the text stays in one piece: a sentence
that is too long costs a reader nothing, one that begins with half an amount says something else.
"""

import re

from parlour.text.words import MONTH_NUMBERS, WEEKDAY_NAMES, word_list

_SENTENCE_MARKS = ".!?…\u0964\u0965\u3002\uff01\uff1f"
_SENTENCE_END = re.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'\u2019\u201d»)\]*_]*+\s+|[\u0964\u0965\u3002\uff01\uff1f]++[\"'\u2019\u201d»)\]*_]*+\s*)"
)

#: Abbreviations that are followed by what they belong to. Titles first, then other words.
_NEVER_FINAL_ABBREVIATIONS = word_list(
    "mr mrs ms dr prof st vs messrs m/s smt shri adv capt col gen lt sgt hon rev "  # English, India
    "e.g i.e eg ie viz approx c/o pvt "
    "z.b u.a d.h i.d.r hr hrn fr frl dipl ing bzw ca evtl ggf inkl exkl zzgl vgl sog bspw mio mrd tsd str "  # German
    "sr sra srta sres dña ud uds p.ej ej av avda ee aprox "  # Spanish
    "डॉ श्री श्रीमती प्रो सुश्री कु "  # Hindi, Marathi
    "டாக் டாக்டர் திரு திருமதி செல்வி எ.கா பேரா "  # Tamil
    "ಡಾ ಶ್ರೀ ಶ್ರೀಮತಿ ಕು ಪ್ರೊ ಉದಾ "  # Kannada
    "డా శ్రీ ഡോ ശ്രീ ডা ড "  # Telugu, Malayalam, Bengali
)

#: Abbreviations that belong to a figure behind them: No. 5, Rs. 26.
_ABBREVIATIONS_BEFORE_FIGURES = word_list(
    "rs re inr no nos nr nrn núm num nº cl fig sec art arts para p pp pg ref vol ch cap rev max min tel ext abs bd kap "
    "s pág págs ver lot qty sq apt flat wt "
    "रु रू रुपये क्र क्रम सं नं पृ धा ₹ ரூ எண் பக் ரூபாய் ರೂ ರು ನಂ ಸಂ ಪು రూ నం രൂ নং টা "
)

#: Abbreviations that end a sentence only before a capital letter or a script without capitals.
_POSSIBLY_FINAL_ABBREVIATIONS = word_list(
    "etc usw ltd inc corp co cr jr bros dept govt est hrs hr min mins kg km cm mm ft sq a.m p.m uu"
)

_DATE_WORDS = MONTH_NUMBERS.keys() | WEEKDAY_NAMES
_FIGURE = re.compile(r"(?:[\u20a0-\u20bf$£¥]\s)?\S{0,20}?\d")
_LAST_TOKEN = re.compile(r"[(\[\"'\u2018\u201c«*_-]*+(\S+)$")
_DOTTED_ABBREVIATION = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_LIST_NUMBER = re.compile(r"\s*[(\[]?\d{1,3}")
_DAY_OR_HOUR = re.compile(r"(?<![\d.,])\d{1,2}$|\b[ap]\.?m$", re.IGNORECASE)
_DAY_AND_MONTH = re.compile(r"(?<![\d.,])\d{1,2}\.\s*\d{1,2}$")
_MONTH_AND_YEAR = re.compile(r"\d{1,2}\.\s*\d{4}(?!\d)")
_YEAR = re.compile(r"\d{4}(?!\d)")
_NEXT_WORD = re.compile(r"[^\W\d_][^\s.,;:!?()\u0964]*")

#: Characters that are looked at on both sides of a stop.
_CONTEXT_CHARS = 24


def split_sentences(text: str) -> list[str]:
    """Return the sentences with the white space behind each: joined they are the text. A line break is white space."""
    pieces: list[str] = []
    begin = 0
    for stop in _SENTENCE_END.finditer(text):
        if _is_sentence_end(text, begin, stop):
            pieces.append(text[begin : stop.end()])
            begin = stop.end()
    return [*pieces, text[begin:]] if begin < len(text) else pieces


def stripped_sentences(text: str) -> list[str]:
    """Return the sentences of every line, stripped, without empty ones: where people write, a line break ends one."""
    return [piece.strip() for line in text.split("\n") for piece in split_sentences(line) if piece.strip()]


def complete_part(text: str) -> str:
    """Return the complete sentences, lines and table rows of a text that was cut, with the white space behind them.

    Without any it is the complete words; a text of one word stays as it is.
    """
    line_start = text.rfind("\n") + 1
    last_line = text[line_start:]
    if last_line.lstrip().startswith("|"):
        return text if last_line.rstrip().endswith("|") and last_line.count("|") > 1 else text[:line_start] or text
    pieces = split_sentences(last_line)
    # Only white space behind a stop shows that the sentence ends there: "3." may be the first half of 3.5.
    length = line_start + sum(map(len, pieces if last_line[-1:].isspace() else pieces[:-1]))
    return text[: length or text.rfind(" ") + 1] or text


def _is_sentence_end(text: str, begin: int, stop: re.Match[str]) -> bool:
    after = text[stop.end() : stop.end() + _CONTEXT_CHARS]
    marks = stop[0].rstrip()
    is_ellipsis = marks.startswith(("..", "…"))
    if after[:1].islower() and (is_ellipsis or marks[-1] not in _SENTENCE_MARKS):
        return False  # "Stop!" he said; until ... then
    if not after or is_ellipsis or marks[0] != ".":
        return True
    before = text[max(begin, stop.start() - _CONTEXT_CHARS) : stop.start()]
    is_list_number = stop.start() - begin < _CONTEXT_CHARS and _LIST_NUMBER.fullmatch(before)
    return not (is_list_number or _is_abbreviation(before, after) or _is_in_date(before, after))


def _is_abbreviation(before: str, after: str) -> bool:
    found = _LAST_TOKEN.search(before)
    token = found[1].casefold() if found else ""
    if token in _NEVER_FINAL_ABBREVIATIONS or (len(token) == 1 and token.isalpha()):
        return True
    if token in _ABBREVIATIONS_BEFORE_FIGURES or token in MONTH_NUMBERS:
        return _FIGURE.match(after) is not None
    if token in _POSSIBLY_FINAL_ABBREVIATIONS or _DOTTED_ABBREVIATION.fullmatch(token):
        return after[0].islower() or after[0].isdigit()
    return False


def _is_in_date(before: str, after: str) -> bool:
    """Whether the stop stands in 26. Februar, 26. 02. 2026 or 5 p.m. Monday."""
    if _DAY_AND_MONTH.search(before) and _YEAR.match(after):
        return True
    word = _NEXT_WORD.match(after)
    is_date_word = word is not None and word[0].casefold() in _DATE_WORDS
    return _DAY_OR_HOUR.search(before) is not None and (is_date_word or _MONTH_AND_YEAR.match(after) is not None)
