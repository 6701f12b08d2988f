"""What a typed message or a button says about open questions. Pure.

Only a clear word is an answer. "ok" and a thumb are not: people say them about anything.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from parlour.approvals.rows import Decision

_APPROVING: Mapping[str, frozenset[str]] = {
    "en": frozenset({"yes", "yes please", "approve", "approved", "confirm", "confirmed", "go ahead", "do it"}),
    "de": frozenset({"ja", "ja bitte", "genehmigt"}),
    "es": frozenset({"sí", "si", "sí por favor", "aprobado"}),
    "fr": frozenset({"oui", "oui merci", "d'accord, fais-le"}),
    "hi": frozenset({"हाँ", "हां", "जी हाँ", "haan", "han ji", "haan ji"}),
    "mr": frozenset({"हो", "होय"}),
}
"""Words that approve, by language. A message must be exactly one of them."""

_REFUSING: Mapping[str, frozenset[str]] = {
    "en": frozenset({"no", "no thanks", "don't", "do not", "refuse", "refused", "cancel"}),
    "de": frozenset({"nein", "nein danke"}),
    "es": frozenset({"no gracias"}),
    "fr": frozenset({"non", "non merci"}),
    "hi": frozenset({"नहीं", "जी नहीं", "nahi", "nahin"}),
    "mr": frozenset({"नाही"}),
}
"""Words that refuse, by language. A reason may follow after a comma, a full stop or a colon."""

_YES = frozenset().union(*_APPROVING.values())
_NO = frozenset().union(*_REFUSING.values())
_BUTTON = re.compile(r"approval:([0-9a-f-]{36}):(yes|no)")
_NUMBER_FIRST = re.compile(r"(\d{1,2})[.):]?\s++(.+)", re.DOTALL)
_NUMBER_LAST = re.compile(r"(.*\S)\s++(\d{1,2})[.!]?", re.DOTALL)
_REASON = re.compile(r"([^,.:;]+)[,.:;]\s*+(.+)", re.DOTALL)

#: Characters of a typed answer with its reason at most; a longer text is a message of its own.
_MAX_ANSWER_CHARS = 200


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """An answer to the question at `index` of the open ones."""

    index: int
    decision: Decision
    reason: str = ""


def read_typed_answer(text: str, open_count: int) -> TypedAnswer | None:
    """Return what a message answers; None when it is no clear answer to exactly one of the open questions."""
    answer = text.strip()
    if len(answer) > _MAX_ANSWER_CHARS:
        return None
    number, words = _split_number(answer)
    index = number - 1 if number is not None else 0 if open_count == 1 else -1
    if not 0 <= index < open_count:
        return None
    plain = _normalise(words)
    if plain in _YES:
        return TypedAnswer(index, "approve")
    if plain in _NO:
        return TypedAnswer(index, "refuse")
    if (parts := _REASON.fullmatch(words)) and _normalise(parts[1]) in _NO:
        return TypedAnswer(index, "refuse", parts[2].strip())
    return None


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


def _split_number(text: str) -> tuple[int | None, str]:
    if found := _NUMBER_FIRST.fullmatch(text):
        return int(found[1]), found[2]
    if found := _NUMBER_LAST.fullmatch(text):
        return int(found[2]), found[1]
    return None, text


def _normalise(words: str) -> str:
    return " ".join(words.casefold().replace("\u2019", "'").strip(" .!,\t\n").split())
