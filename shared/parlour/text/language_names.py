"""The English names of languages, by their ISO 639-1 codes. Pure."""

_CODES_AND_NAMES = """
af Afrikaans  ar Arabic  as Assamese  bg Bulgarian  bn Bengali  ca Catalan  cs Czech  cy Welsh  da Danish  de German
el Greek  en English  es Spanish  et Estonian  eu Basque  fa Persian  fi Finnish  fr French  ga Irish  gl Galician
gu Gujarati  he Hebrew  hi Hindi  hr Croatian  hu Hungarian  hy Armenian  id Indonesian  is Icelandic  it Italian
ja Japanese  ka Georgian  kn Kannada  ko Korean  lt Lithuanian  lv Latvian  mk Macedonian  ml Malayalam  mr Marathi
ms Malay  mt Maltese  my Burmese  nb Norwegian  ne Nepali  nl Dutch  no Norwegian  or Odia  pa Punjabi  pl Polish
pt Portuguese  ro Romanian  ru Russian  si Sinhala  sk Slovak  sl Slovenian  sq Albanian  sr Serbian  sv Swedish
sw Swahili  ta Tamil  te Telugu  th Thai  tl Tagalog  tr Turkish  uk Ukrainian  ur Urdu  uz Uzbek  vi Vietnamese
zh Chinese  zu Zulu
"""
_WORDS = _CODES_AND_NAMES.split()
_NAMES = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))


def language_name(code: str) -> str:
    """Return the name of a language: "Hindi" for `hi`, "English (en-IN)" for `en-IN`, the code if it is unknown."""
    base, _, region = code.replace("_", "-").partition("-")
    name = _NAMES.get(base.lower())
    if name is None:
        return code
    return f"{name} ({code})" if region else name
