"""One splitter: no sentence ends inside an abbreviation, an amount or a date, and nothing is lost."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.text.sentences import complete_part, split_sentences, stripped_sentences

INSEPARABLE = {
    "en": "Rs. 26|Rs. 4.6 lakh|Dr. Rao|Mr. K. Nair|No. 5|No. INV-2041|e.g. cement|i.e. Monday|1.5 t|1,00,000|26.02.2026"
    "|Jan. 5|5 p.m. Monday|approx. 12 bags|cl. 4|U.S. dollars|Pvt. Ltd. of Pune|Prof. Iyer|at Rs. 1.25 cr. net",
    "hi": "रु. 45,000|डॉ. राव|श्री. शर्मा|क्र. 12|नं. 7|१.५ लाख|१,२३,४५६|२६.१२.२१२६|रू. ५९१",
    "ta": "ரூ. 5,000|டாக். ராவ்|திரு. குமார்|எண். 7|1.5 லட்சம்|1,00,000|26.02.2026",
    "kn": "ರೂ. 5,000|ರು. 500|ಡಾ. ರಾವ್|ಶ್ರೀ. ಗೌಡ|ನಂ. 7|1.5 ಲಕ್ಷ|1,00,000|26.02.2026",
    "es": "El Sr. Pérez|la Sra. López|núm. 5|Ud. Paga|p. ej. Cemento|EE. UU. paga|pág. 12|1.500,50 €|26.02.2026"
    "|aprox. 12 sacos",
    "de": "z. B. Zement|z.B. Zement|Nr. 5|bzw. Sand|Hr. Müller|ca. 12 Sack|4,6 Mio. Euro|1.500,50 €|26.02.2026"
    "|26. 02. 2026|am 26. Februar 2026|d. h. Montag|Dr. Weiß|Abs. 2",
}
WORDS = {
    "en": ("The work", "is done"),
    "hi": ("काम", "पूरा हुआ"),
    "ta": ("வேலை", "முடிந்தது"),
    "kn": ("ಕೆಲಸ", "ಮುಗಿದಿದೆ"),
    "es": ("La obra", "está lista"),
    "de": ("Die Arbeit", "ist fertig"),
}
STOPS = {"hi": [" है।", "?", "!", "…", '।"']}
LATIN_STOPS = [" ok.", "?", "!", "…", "...", ' ok."', " ok.)", " ok.\u201d", "?!"]


@st.composite
def texts(draw: st.DrawFn) -> list[str]:
    """Sentences of one language, each with things in it that must not be cut."""
    language = draw(st.sampled_from(sorted(INSEPARABLE)))
    begin, end = WORDS[language]
    count = draw(st.integers(1, 5))
    found = []
    for number in range(1, count + 1):
        inner = draw(st.lists(st.sampled_from(INSEPARABLE[language].split("|")), min_size=1, max_size=3))
        stop = draw(st.sampled_from(STOPS.get(language, LATIN_STOPS)))
        listed = draw(st.sampled_from(["", f"{number}. "])) if number == 1 else ""
        found.append(f"{listed}{begin} {' / '.join(inner)} {end}{stop}")
    return found


@given(texts(), st.sampled_from([" ", "  ", "\n", " \n "]))
def test_sentences_of_six_languages_are_cut_at_their_ends_only(said: list[str], between: str) -> None:
    assert [piece.strip() for piece in split_sentences(between.join(said))] == said


@pytest.mark.parametrize("inseparable", "|".join(INSEPARABLE.values()).split("|"))
@pytest.mark.parametrize("after", ["", " ok.", "\nok"])
def test_nothing_that_belongs_together_is_cut(inseparable: str, after: str) -> None:
    assert stripped_sentences(inseparable + after)[0].startswith(inseparable)


@given(st.lists(st.sampled_from([*"aB1ß.,!?…।。\"')] \n\tक़ள", "Rs", "Dr", "e.g", "रु"]), max_size=80).map("".join))
def test_rejoining_loses_nothing(text: str) -> None:
    assert "".join(split_sentences(text)) == text
    assert "".join("".join(stripped_sentences(text)).split()) == "".join(text.split())


@given(st.text(max_size=400))
def test_any_text_is_cut_without_loss(text: str) -> None:
    assert "".join(split_sentences(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The price is Rs. 26. They greet.", ["The price is Rs. 26.", "They greet."]),
        ("See No. 5. Then go. No. I will not.", ["See No. 5.", "Then go.", "No.", "I will not."]),
        ("my name is ravi. i live in pune", ["my name is ravi.", "i live in pune"]),
        ('He said "Stop." Then he left. "Go!" she said.', ['He said "Stop."', "Then he left.", '"Go!" she said.']),
        ("1. Buy 5 bags. 2. Call Rao.", ["1. Buy 5 bags.", "2. Call Rao."]),
        (
            "Steel, sand etc. were sent. Sand etc. Then more.",
            ["Steel, sand etc. were sent.", "Sand etc.", "Then more."],
        ),
        ("काम पूरा हुआ। कल मिलेंगे।ठीक है", ["काम पूरा हुआ।", "कल मिलेंगे।", "ठीक है"]),
        ("你好\uff01合同什么时候到期\uff1f谢谢", ["你好\uff01", "合同什么时候到期\uff1f", "谢谢"]),
        ("Wait ... I come. Well… yes", ["Wait ...", "I come.", "Well… yes"]),
        ("Weather: dry\n\nLabour: 42\r\n", ["Weather: dry", "Labour: 42"]),
        ("Hello . How are you", ["Hello .", "How are you"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_end_where_readers_end_them(text: str, expected: list[str]) -> None:
    assert stripped_sentences(text) == expected


@pytest.mark.parametrize("part", [".", ". ", "Dr. ", "a.'", '..."', "1. "])
def test_a_long_text_without_sentences_takes_no_long_time(part: str) -> None:
    begin = time.perf_counter()
    split_sentences(part * 50_000)
    assert time.perf_counter() - begin < 3


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("It is wide. It gro", "It is wide. "),
        ("It is 3. It is 3.", "It is 3. "),
        ("It is wide. ", "It is wide. "),
        ("He was told by e-ma", "He was told by "),
        ("Wide", "Wide"),
        ("यह चौड़ा है। यह बढ़", "यह चौड़ा है। "),
        ("# Crack\n\nIt is wi", "# Crack\n\n"),
        ("| a | b |\n|---|---|\n| 1. One | tw", "| a | b |\n|---|---|\n"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("", ""),
    ],
)
def test_of_a_cut_text_complete_sentences_and_rows_stay(text: str, complete: str) -> None:
    assert complete_part(text) == complete
