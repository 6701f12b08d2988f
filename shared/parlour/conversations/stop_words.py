"""Words with which a user on messaging stops the reply that is under way. Pure."""

from collections.abc import Collection, Mapping

from parlour.infra.json_values import JsonObject

DEFAULT_STOP_WORDS: Mapping[str, Collection[str]] = {
    "de": ("stopp", "stop", "halt", "hör auf", "aufhören", "bitte aufhören"),
    "en": ("stop", "stop it", "stop that", "stop please", "please stop", "never mind"),
    "es": ("para", "para ya", "detente", "basta"),
    "fr": ("arrête", "arrêtez", "stop"),
    "hi": ("रुको", "रुकिए", "बस करो", "ruko", "rukiye"),
    "mr": ("थांब", "थांबा", "thamba"),
}
"""By language. A message must be exactly one of them; a binding may name its own for a language, or none."""


def is_stop_word(text: str, queue: JsonObject) -> bool:
    """Whether a message is a stop word of any language; `queue` is the binding's setting."""
    own = queue.get("stop_words")
    words: dict[str, object] = {**DEFAULT_STOP_WORDS, **(own if isinstance(own, dict) else {})}
    said = _normalise(text)
    return any(
        said == _normalise(str(word))
        for listed in words.values()
        if isinstance(listed, list | tuple)
        for word in listed
    )


def _normalise(text: str) -> str:
    return " ".join(text.casefold().replace("\u2019", "'").strip(" .!,\t\n").split())
