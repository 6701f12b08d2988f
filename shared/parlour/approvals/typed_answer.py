"""What a typed message or a button says about open questions. Pure.

A message is read word by word. Only one that consists of clear answers is taken: "ok", a thumb, a condition, an unknown
word, or two answers to one question leave every question open, and the message is the model's to answer.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.approvals.rows import Decision

_APPROVING: Mapping[str, Sequence[str]] = {
    "en": ("yes", "approve", "approved", "confirm", "confirmed", "go ahead", "do it", "do that"),
    "de": ("ja", "genehmigt", "mach es", "mach das", "tu das", "machen sie das"),
    "es": ("sí", "si", "aprobado", "hazlo", "hágalo", "adelante"),
    "fr": ("oui", "d'accord, fais-le", "fais-le", "faites-le", "vas-y", "allez-y"),
    "hi": ("हाँ", "हां", "जी हाँ", "haan", "han ji", "haan ji", "कर दो", "कर दीजिए", "kar do", "kar dijiye"),
    "mr": ("हो", "होय", "करा"),
}
"""Words that approve, by language."""

_REFUSING: Mapping[str, Sequence[str]] = {
    "en": ("no", "no thanks", "don't", "do not", "refuse", "refused", "cancel", "forget", "forget it"),
    "de": ("nein", "nein danke", "vergiss", "vergiss es"),
    "es": ("no", "no gracias", "olvida"),
    "fr": ("non", "non merci", "oublie"),
    "hi": ("नहीं", "जी नहीं", "nahi", "nahin"),
    "mr": ("नाही", "नको", "nako"),
}
"""Words that refuse, by language. A reason or a question may follow after a punctuation mark."""

_ANYWHERE_INTERROGATIVES = frozenset(
    [
        "कौन",
        "कब",
        "कहाँ",
        "किसने",
        "किसके",
        "किसको",
        "कितने",
        "कितना",
        "कितनी",
        "कैसे",
        "kaun",
        "kab",
        "kahan",
        "kitne",
        "kaise",
        "कोण",
        "कधी",
        "कुठे",
        "कोणाकडे",
        "किती",
        "कसे",
    ]
)
"""Words of Hindi and Marathi that ask for a fact, wherever they are in the question."""

_INTERROGATIVES = _ANYWHERE_INTERROGATIVES | frozenset(
    [
        "who",
        "whom",
        "whose",
        "which",
        "what",
        "when",
        "where",
        "why",
        "how",
        "wer",
        "wen",
        "wem",
        "wann",
        "wo",
        "warum",
        "wie",
        "was",
        "welche",
        "welcher",
        "welches",
        "welchen",
        "qué",
        "quién",
        "quiénes",
        "cuándo",
        "dónde",
        "cómo",
        "cuál",
        "cuánto",
        "cuántos",
        "qui",
        "que",
        "quoi",
        "quand",
        "où",
        "pourquoi",
        "comment",
        "quel",
        "quelle",
    ]
)
"""Words that ask for a fact. Those that ask for something else to be done ("can", "shall") are none of them."""

_LIMITING_WORDS = frozenset(
    [
        "but",
        "not",
        "only",
        "instead",
        "except",
        "unless",
        "until",
        "if",
        "before",
        "later",
        "first",
        "wait",
        "sooner",
        "rather",
        "about",
        "better",
        "another",
        "different",
        "change",
        "don't",
        "isn't",
        "won't",
        "aber",
        "nicht",
        "nur",
        "erst",
        "statt",
        "stattdessen",
        "sondern",
        "ausser",
        "wenn",
        "falls",
        "bevor",
        "nachdem",
        "später",
        "vorher",
        "lieber",
        "besser",
        "warten",
        "wäre",
        "doch",
        "pero",
        "no",
        "solo",
        "sólo",
        "si",
        "antes",
        "después",
        "salvo",
        "sino",
        "mejor",
        "luego",
        "tal",
        "otro",
        "otra",
        "mais",
        "pas",
        "ne",
        "seulement",
        "si",
        "avant",
        "après",
        "sauf",
        "plutôt",
        "plus",
        "autre",
        "लेकिन",
        "मगर",
        "पर",
        "नहीं",
        "मत",
        "सिर्फ",
        "सिर्फ़",
        "अगर",
        "पहले",
        "बाद",
        "बजाय",
        "lekin",
        "magar",
        "par",
        "nahi",
        "nahin",
        "mat",
        "sirf",
        "agar",
        "pehle",
        "baad",
        "पण",
        "नाही",
        "नको",
        "फक्त",
        "जर",
        "आधी",
        "नंतर",
        "ऐवजी",
    ]
)
"""Words with which a question may limit or change what was agreed to: then nothing counts as an answer."""

_AND_WORDS = frozenset(["and", "und", "y", "et", "और", "aur", "आणि"])

_ORDINALS: Mapping[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = {
    "en": (("the {}", "the {} one", "{} one"), (("first", "1st"), ("second", "2nd"), ("third", "3rd"))),
    "de": (
        ("das {}", "die {}", "der {}", "den {}"),
        (("erste", "ersten"), ("zweite", "zweiten"), ("dritte", "dritten")),
    ),
    "es": (("el {}", "la {}", "lo {}"), (("primero", "primera"), ("segundo", "segunda"), ("tercero", "tercera"))),
    "fr": (("le {}", "la {}"), (("premier", "première"), ("deuxième", "second", "seconde"), ("troisième",))),
    "hi": (
        ("{} वाला", "{} वाली", "{} wala", "{} wali"),
        (
            ("पहला", "पहली", "पहले", "pehla", "pehli"),
            ("दूसरा", "दूसरी", "दूसरे", "doosra", "dusra", "dusri"),
            ("तीसरा", "तीसरी", "तीसरे", "teesra"),
        ),
    ),
    "mr": (
        ("{} वाला", "{} वाली"),
        (("पहिला", "पहिली", "पहिले"), ("दुसरा", "दुसरी", "दुसरे"), ("तिसरा", "तिसरी", "तिसरे")),
    ),
}
"""How the first, the second and the third question are named, by language: "one second" names none."""

_BARE_ORDINALS = ("hi", "mr")
"""Languages without articles: there "yes, second" names a question."""

_ALL = ("all", "alle", "alles", "todas", "todos", "toutes", "tous", "सब", "सभी", "sab", "सर्व")
_BOTH = ("both", "beide", "beides", "ambas", "ambos", "les deux", "los dos", "las dos", "दोनों", "dono", "दोन्ही")

_FILLERS = frozenset(
    [
        "please",
        "the",
        "one",
        "to",
        "and",
        "number",
        "nr",
        "bitte",
        "das",
        "die",
        "der",
        "den",
        "und",
        "nummer",
        "por",
        "favor",
        "a",
        "la",
        "el",
        "las",
        "los",
        "y",
        "número",
        "merci",
        "s'il",
        "te",
        "vous",
        "plaît",
        "le",
        "les",
        "à",
        "et",
        "numéro",
        "s'il",
        "को",
        "और",
        "वाला",
        "वाली",
        "वाले",
        "ko",
        "aur",
        "wala",
        "wali",
        "ला",
        "आणि",
    ]
)
"""Words that change no answer."""

_QUESTION_WORDS = frozenset(
    [
        "what",
        "who",
        "whom",
        "whose",
        "which",
        "when",
        "where",
        "why",
        "how",
        "is",
        "are",
        "can",
        "could",
        "does",
        "did",
        "will",
        "was",
        "wer",
        "wann",
        "wo",
        "warum",
        "wie",
        "welche",
        "welcher",
        "welches",
        "ist",
        "sind",
        "kann",
        "qué",
        "quién",
        "cuándo",
        "dónde",
        "por",
        "cómo",
        "cuál",
        "qui",
        "que",
        "quoi",
        "quand",
        "où",
        "pourquoi",
        "comment",
        "quel",
        "quelle",
        "est-ce",
        "क्या",
        "कौन",
        "कब",
        "कहाँ",
        "क्यों",
        "कैसे",
        "कितने",
        "kya",
        "kaun",
        "kab",
        "kahan",
        "kyun",
        "काय",
        "कोण",
        "कधी",
        "कुठे",
        "का",
        "कसे",
        "किती",
    ]
)
_CONJUNCTIONS = frozenset(["and", "but", "und", "aber", "y", "pero", "et", "mais", "और", "लेकिन", "aur", "आणि", "पण"])

_BUTTON = re.compile(r"approval:([0-9a-f-]{36}):(yes|no)")
_TOKEN = re.compile(r"[^\s,.;:!?¿¡()\u0964\u2013\u2014]+|[,.;:!?¿¡\u0964\u2013\u2014]")
_SENTENCE_MARKS = frozenset(".;!\u0964")
_MARKS = _SENTENCE_MARKS | frozenset(",:\u2013\u2014¡-")
_DIGIT = re.compile(r"\d")

_CHOICES = {
    form.format(word): position
    for forms, ordinals in _ORDINALS.values()
    for position, spellings in enumerate(ordinals)
    for word in spellings
    for form in forms
}
_NAMES = _CHOICES | {
    word: position
    for language in _BARE_ORDINALS
    for position, spellings in enumerate(_ORDINALS[language][1])
    for word in spellings
}
_DECISIONS: Mapping[str, Decision] = {
    **{phrase: "refuse" for phrases in _REFUSING.values() for phrase in phrases},
    **{phrase: "approve" for phrases in _APPROVING.values() for phrase in phrases},
}
_LONGEST = max(len(phrase.split()) for phrase in (*_DECISIONS, *_NAMES, *_BOTH))
"""Words of the longest phrase."""

#: Characters of a typed answer with its reason at most; a longer text is a message of its own.
_MAX_ANSWER_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as the rules read it: a decision, the questions that it names, or a punctuation mark.

    is_choice  it names a question as one chooses: "the second one".
    """

    decision: Decision | None = None
    questions: frozenset[int] | None = None
    is_choice: bool = False

    @property
    def is_mark(self) -> bool:
        return self.decision is None and self.questions is None


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """An answer to the question at `index` of the open ones."""

    index: int
    decision: Decision
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TypedReading:
    """What a message answers, each question once. has_rest: it says more, which the model has to read."""

    answers: tuple[TypedAnswer, ...]
    has_rest: bool = False


def read_typed_answers(text: str, open_count: int) -> TypedReading | None:
    """Return what a message answers; None when it is anything but clear answers to the open questions.

    A refusal may be followed by more: a reason, or a question or wish that is no part of the answer. An approval may be
    followed by a question for a fact, in a sentence of its own or after "and".
    """
    answer = text.strip()
    if len(answer) > _MAX_ANSWER_CHARS:
        return None
    tokens = [*_TOKEN.finditer(answer)]
    words = _read_words([token[0] for token in tokens], open_count)
    if words is not None and (decisions := _pair_words(words)):
        return TypedReading(tuple(TypedAnswer(index, decision) for index, decision in sorted(decisions.items())))
    return _read_answers_with_more(answer, tokens, open_count)


def _read_answers_with_more(answer: str, tokens: Sequence[re.Match[str]], open_count: int) -> TypedReading | None:
    """Return answers that are followed by more, which does not begin with an approval."""
    for end in range(len(tokens) - 1, 0, -1):
        mark, following_words = tokens[end - 1][0], [token[0] for token in tokens[end:]]
        if mark not in _MARKS and _normalise(following_words[0]) not in _AND_WORDS:
            continue
        words = _read_words([token[0] for token in tokens[:end]], open_count)
        decisions = _pair_words(words) if words is not None else None
        if not decisions:
            continue
        after_answers = answer[tokens[end].start() :]
        if "approve" in decisions.values():
            if not _is_separate_question(mark, following_words) or _begins_with_approval(following_words, open_count):
                continue
            reason = ""
        elif mark not in _MARKS:
            continue
        elif _begins_with_approval(following_words, open_count):
            return None
        else:
            reason = "" if _is_question(after_answers) else after_answers
        ordered = sorted(decisions.items())
        return TypedReading(tuple(TypedAnswer(index, decision, reason) for index, decision in ordered), has_rest=True)
    return None


def _is_separate_question(mark: str, tokens: Sequence[str]) -> bool:
    """Return whether tokens after a mark are one question for a fact, which neither limits nor changes an approval."""
    *words, end = [_normalise(part) for part in tokens if part != "¿"]
    is_new_sentence = mark in _SENTENCE_MARKS or (bool(words) and words[0] in _AND_WORDS)
    words = [word for word in words if word not in {",", *_AND_WORDS}]
    asks = [word for word in words if word in _INTERROGATIVES]
    is_limited = any(word in _LIMITING_WORDS or word in _MARKS | {"?"} or _DIGIT.search(word) for word in words)
    if end != "?" or not is_new_sentence or not asks or is_limited:
        return False
    # Hindi and Marathi have their interrogatives anywhere, the others at the front: "um wie viel", "a qué hora".
    return asks[0] in _ANYWHERE_INTERROGATIVES or words.index(asks[0]) < 2


def _begins_with_approval(tokens: Sequence[str], open_count: int) -> bool:
    """Return whether what follows a "no" takes it back, or is about another question."""
    plain = [_normalise(token) for token in tokens]
    start = next((at for at, token in enumerate(plain) if token not in _FILLERS | _CONJUNCTIONS | _MARKS), 0)
    _, word = _read_word(plain, start, open_count)
    return word is not None and (word.decision == "approve" or (word.questions is not None and open_count > 1))


def _is_question(text: str) -> bool:
    words = [_normalise(token[0]) for token in _TOKEN.finditer(text)]
    first = next((word for word in words if word not in _CONJUNCTIONS | _MARKS), "")
    return not {"?", "¿"}.isdisjoint(words) or first in _QUESTION_WORDS


def _pair_words(words: Sequence[_Word]) -> dict[int, Decision] | None:
    """Return the decision of each question; None when the words are not complete and clear."""
    if not _has_ambiguous_no(words) and (pairs := _pair([word for word in words if not word.is_mark])):
        return pairs
    decisions: dict[int, Decision] = {}
    for clause in _clauses(words):
        part = _pair(clause) or _choice(clause)
        if part is None or decisions.keys() & part.keys():
            return None
        decisions |= part
    return decisions or None


def _has_ambiguous_no(words: Sequence[_Word]) -> bool:
    """Return whether a "no" comes first and a question follows its mark: "No, the second one" may mean: do that."""
    in_threes = zip(words, words[1:], words[2:], strict=False)
    is_split = any(word.decision == "refuse" and mark.is_mark and after.questions for word, mark, after in in_threes)
    return is_split and words[0].decision is not None


def _pair(words: Sequence[_Word]) -> dict[int, Decision] | None:
    """Return decisions of words that are all "questions, decision" or all "decision, questions"."""
    if len(words) < 2 or (words[0].decision is None) == (words[-1].decision is None):
        return None
    decisions: dict[int, Decision] = {}
    named: frozenset[int] = frozenset()
    for word in words if words[0].questions is not None else reversed(words):
        if word.questions is not None:
            if not word.questions or word.questions & (named | decisions.keys()):
                return None
            named |= word.questions
        elif not named or word.decision is None:
            return None
        else:
            decisions |= dict.fromkeys(named, word.decision)
            named = frozenset()
    return decisions


def _choice(words: Sequence[_Word]) -> dict[int, Decision] | None:
    """Return the approval of the question that is chosen: "the second one"."""
    if len(words) != 1 or not words[0].is_choice:
        return None
    return dict.fromkeys(words[0].questions or (), "approve") or None


def _clauses(words: Sequence[_Word]) -> Iterator[list[_Word]]:
    for is_mark, group in itertools.groupby(words, key=lambda word: word.is_mark):
        if not is_mark:
            yield list(group)


def _read_words(tokens: Sequence[str], open_count: int) -> list[_Word] | None:
    """Return the words of an answer; None when one of them is not known. A single question need not be named."""
    plain = [_normalise(token) for token in tokens]
    words: list[_Word] = []
    position = 0
    while position < len(plain):
        length, word = _read_word(plain, position, open_count)
        if not length:
            return None
        is_repeat = word is not None and word.decision == "approve" == _last_decision(words)
        words += [word] if word and not is_repeat else []
        position += length
    is_named = any(word.questions is not None for word in words)
    return [_Word(questions=frozenset({0})), *words] if open_count == 1 and not is_named else words


def _last_decision(words: Sequence[_Word]) -> Decision | None:
    """Return the decision that the last word but marks is: "yes, do it" is one approval."""
    return next((word.decision for word in reversed(words) if not word.is_mark), None)


def _read_word(tokens: Sequence[str], position: int, open_count: int) -> tuple[int, _Word | None]:
    """Return how many tokens the next word takes, 0 where it is unknown, and the word; None for a filler."""
    for length in range(min(_LONGEST, len(tokens) - position), 0, -1):
        phrase = " ".join(tokens[position : position + length])
        if phrase in _DECISIONS:
            return length, _Word(_DECISIONS[phrase])
        if (questions := _named_questions(phrase, open_count)) is not None:
            return length, _Word(questions=questions, is_choice=phrase in _CHOICES and open_count > 1)
    token = tokens[position] if position < len(tokens) else ""
    return (1, _Word()) if token in _MARKS else (int(token in _FILLERS), None)


def _named_questions(phrase: str, open_count: int) -> frozenset[int] | None:
    """Return the questions that a phrase names, none where there is no such question; None for other phrases."""
    every = frozenset(range(open_count))
    if phrase in _ALL:
        return every
    if phrase in _BOTH:
        return every if open_count == 2 else frozenset()
    position = int(phrase) - 1 if phrase.isdecimal() and len(phrase) <= 2 else _NAMES.get(phrase)
    return None if position is None else frozenset({position}) & every


def button_id(approval_id: UUID, decision: Decision) -> str:
    """Return the id of a button that gives this answer."""
    return f"approval:{approval_id}:{'yes' if decision == 'approve' else 'no'}"


def parse_button_id(button: str) -> tuple[UUID, Decision] | None:
    """Return the question and the answer that a button stands for; None when it is another kind of button."""
    found = _BUTTON.fullmatch(button)
    if found is None:
        return None
    try:
        return UUID(found[1]), "approve" if found[2] == "yes" else "refuse"
    except ValueError:
        return None


def _normalise(token: str) -> str:
    return token.casefold().replace("\u2019", "'")
