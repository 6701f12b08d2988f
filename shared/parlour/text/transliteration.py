"""Comparison of words across scripts by their consonants: Chennai, चेन्नई and சென்னை sound alike. Pure."""

import functools
import unicodedata
from difflib import SequenceMatcher

#: Consonants that scripts and spellings exchange, as one sound each. Vowels, h and y are left out.
_SOUNDS = {
    letter: sound
    for sound, letters in {"p": "bpfvw", "s": "cjsxz", "k": "gkq", "t": "dt", "l": "l", "n": "mn", "r": "r"}.items()
    for letter in letters
}

#: Signs whose Unicode names have no letter.
_SIGN_SOUNDS = {"ANUSVARA": "n", "CANDRABINDU": "n", "VIRAMA": "", "NUKTA": ""}

_MIN_SOUNDS = 2
_MIN_SIMILARITY = 0.75


def sounds_like(word: str, other: str) -> bool:
    """Return whether two words of different scripts are one word; words of one script never are by their sound."""
    if word.isascii() == other.isascii():
        return False
    first, second = sound_key(word), sound_key(other)
    if min(len(first), len(second)) < _MIN_SOUNDS:
        return False
    return SequenceMatcher(None, first, second).ratio() >= _MIN_SIMILARITY


@functools.lru_cache(maxsize=8_192)
def sound_key(word: str) -> str:
    """Return the consonants of a word in any alphabet, doubled ones once."""
    sounds: list[str] = []
    for letter in unicodedata.normalize("NFKD", word.casefold()):
        for part in _latin_name(letter):
            sound = _SOUNDS.get(part, "")
            if sound and sounds[-1:] != [sound]:
                sounds.append(sound)
    return "".join(sounds)


def without_accents(text: str) -> str:
    """Return Latin text without accents; signs of other scripts stay."""
    return "".join(mark for mark in unicodedata.normalize("NFKD", text) if not "\u0300" <= mark <= "\u036f")


def _latin_name(letter: str) -> str:
    """Return a letter's name in Latin letters: KA for क and க."""
    if letter.isascii():
        return letter
    name = unicodedata.name(letter, "").rpartition(" ")[2]
    return _SIGN_SOUNDS.get(name, name.lower())
