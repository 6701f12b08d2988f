"""Whether what follows "my name is" is a name: the values that rules find, checked by their kind. Pure."""

import re

from parlour.memory.facts import other_tongues
from parlour.memory.facts.keys import is_taken
from parlour.memory.facts.said_rules import LANGUAGES
from parlour.memory.facts.wording import is_negative, plain, telling, words
from parlour.models.words import vocabulary

EVERYTHING = "everything"
"""The key of what takes back all that is known."""

_MOST_WORDS = 8
_MOST_NAMES = 3
_BAD_FIRST = vocabulary(
    "not no also just still so very really going looking trying having being getting calling writing here there sure "
    "sorry afraid interested happy glad able unable about almost already in on at to from with without for of by it "
    "this that these those what who how when where why which if because and or but as is are was were be been out up "
    "down off back done ready late early fine good great ok okay well sick tired busy free stuck lost confused worried "
    "curious new only too your you his her their its some any all more most much many other another same such waiting "
    "thinking planning hoping wondering using asking facing unhappy disappointed getting working coming leaving home"
)
_NO_NAMES = vocabulary(
    "back now later tomorrow today tonight soon asap urgently when if at on in before after by between please again "
    "first once only anytime sometime immediately up out names crazy old sir madam maam mam maybe not a an the from"
)
_NO_PLACES = vocabulary(
    "a an the my our your his her their another different new bigger smaller same one hotel room house flat apartment "
    "touch contact trouble india's peace fear hope denial charge front next back other someone something plan phase "
    "step page section version option item floor tower flat block stage part chapter whatsapp zoom teams slack excel "
    "google microsoft aws azure jira telegram gmail outlook"
)
_NO_EMPLOYERS = vocabulary(
    "home myself you your me us them it him her this that these those a an my our free money fun now nights weekends "
    "remotely from day two three hours long hard late people children kids everyone anyone nobody night noon dawn "
    "height heights large risk present sea once least last first best site office school"
)
_NO_LIKES = vocabulary(
    "to it that this these those them him her you your how when what where if the way idea sound look one ones more "
    "nothing something anything everything so some any all us me my यह ये वह वो yeh ye woh wo"
)
_OF_THE_MOMENT = vocabulary(
    "one ones option options version versions tomorrow today tonight better best app button page"
)
"""What somebody may like for a moment, or among what lies before them."""

_PEOPLES = vocabulary(
    "indian american british english french german spanish italian chinese japanese korean russian tamilian punjabi "
    "bengali gujarati marathi kannadiga malayali telugu hindu muslim christian sikh jain buddhist vegetarian vegan "
    "diabetic monday tuesday wednesday thursday friday saturday sunday january february march april may june july "
    "august september october november december urgent important"
)
_WORKS = re.compile(
    r"(?:er|or|ist|ian|ant|eer|man|woman|ress|yst|ect|smith|wright)$|^(?:nurse|teacher|doctor|lawyer|student|chef|ceo|cto|cfo"
    r"|founder|co-founder|freelancer|intern|pilot|judge|priest|homemaker|housewife|entrepreneur|advocate|professor"
    r"|tutor|coach|guide|cook|clerk|driver|guard|surgeon|dentist|vet|athlete|model|artist|analyst|head|director"
    r"|partner|lead|executive|associate|trainee|apprentice|retiree|farmer|baker|tailor)$",
    re.IGNORECASE,
)
_NO_WORKS = vocabulary(
    "user customer member number matter longer reader beginner owner holder remember subscriber buyer seller caller "
    "fan bit lot person newcomer winner believer order letter minor senior other another either neighbor neighbour "
    "father mother brother sister vegetarian non-vegetarian eggetarian pescatarian smoker drinker riser lover "
    "foreigner stranger survivor tenant applicant participant client patient resident immigrant infant sleeper "
    "indian italian russian brazilian canadian australian norwegian austrian hungarian persian iranian ukrainian "
    "egyptian asian european african american mexican christian atheist feminist optimist pessimist "
    "team group pair couple unit family crew whole rule result one usual expected "
    "perfectionist introvert extrovert minimalist veteran civilian human keeper early late first second third"
)
_SUBJECTS = vocabulary("it we i they there this that he she you things everything nothing")
_OF_HERE = frozenset({"this", "that", "these", "those", "it"})
"""Words for what lies before them."""

_NO_ORDERS = vocabulary("mind been had the a an so same was were had again in seen heard")
"""What stands after always and never where nothing is wished."""

_OF_SOMETHING = re.compile(r"\bfor (?!me\b|us\b|now\b|everything\b)", re.IGNORECASE)
_DATED = re.compile(r"\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)


def cleaned(value: str, kind: str) -> str | None:
    """The value as it is kept, or None when it is none of its kind (see `said_rules.Rule`)."""
    kept = " ".join(value.split()).strip(" .,'\"-:")
    spoken = words(kept)
    if not spoken or not kept:
        return None
    if kind == "free":
        return kept
    fits = _FITS[kind]
    if kind in ("place", "capital") and re.match(r"(?:a|an|the|my|our)\s+[^\W\dA-Z]", kept):
        return None  # from a meeting; the Netherlands are capital
    if kind == "short":
        kept = re.sub(r"\s+(?:plan|tier|package|subscription|membership)$", "", kept, flags=re.IGNORECASE)
    without = re.sub(r"^(?:the|a|an|some|my|our)\s+", "", kept, flags=re.IGNORECASE) if kind in _ARTICLES else kept
    return without if without and fits(without, words(without)) else None


def topic(text: str) -> str:
    """What a sentence is about, in at most three words of its own."""
    return " ".join([word for word in telling(text) if len(word) > 1 and not any(map(str.isdigit, word))][:3])


def _is_name(value: str, spoken: list[str]) -> bool:
    return spoken[0] not in _BAD_FIRST and len(spoken) <= (4 if value[0].isupper() else 2)


def _is_proper(value: str, spoken: list[str]) -> bool:
    known = _PEOPLES | LANGUAGES | _BAD_FIRST
    return value[0].isupper() and not any(word in known for word in spoken) and len(spoken) <= 4


def _is_nickname(_value: str, spoken: list[str]) -> bool:
    return spoken[0] not in _NO_NAMES and spoken[0] not in _BAD_FIRST and len(spoken) <= 3


def _is_place(value: str, spoken: list[str]) -> bool:
    is_short = len(spoken) <= 5 and spoken[0] not in _NO_PLACES and spoken[0] not in _BAD_FIRST
    return is_short and not value[0].isdigit() and spoken[0] not in LANGUAGES


def _is_capital_place(value: str, spoken: list[str]) -> bool:
    return value[0].isupper() and _PEOPLES.isdisjoint(spoken) and _is_place(value, spoken)


def _is_elsewhere(value: str, spoken: list[str]) -> bool:
    """What other languages say where a name stands, and is none: what, who, not."""
    return len(spoken) <= _MOST_NAMES and not is_negative(value) and other_tongues.ASKED.search(plain(value)) is None


def _is_working(_value: str, spoken: list[str]) -> bool:
    return len(spoken) <= _MOST_WORDS and spoken[0] not in _BAD_FIRST and _NO_WORKS.isdisjoint(spoken)


def _is_employer(_value: str, spoken: list[str]) -> bool:
    return len(spoken) <= 6 and spoken[0] not in _NO_EMPLOYERS and spoken[0] not in _BAD_FIRST


def _is_occupation(_value: str, spoken: list[str]) -> bool:
    worked = [word for word in spoken if _WORKS.search(word)]
    return len(spoken) <= 6 and bool(worked) and not any(word in _NO_WORKS for word in spoken)


def _is_liked(_value: str, spoken: list[str]) -> bool:
    is_lasting = (
        not _OF_THE_MOMENT.intersection(spoken) and spoken[0] not in _NO_LIKES and spoken[0] not in ("and", "or", "but")
    )
    return len(spoken) <= _MOST_WORDS and is_lasting and bool(telling(" ".join(spoken)))


def _is_short(_value: str, spoken: list[str]) -> bool:
    return len(spoken) <= _MOST_WORDS and spoken[0] not in _BAD_FIRST


def _is_dated(value: str, spoken: list[str]) -> bool:
    return len(spoken) <= _MOST_WORDS and bool(_DATED.search(value))


def _is_figure(value: str, spoken: list[str]) -> bool:
    """One's own, and not what the Shah project may cost."""
    is_short = len(spoken) <= _MOST_WORDS and any(map(str.isdigit, value)) and spoken[0] not in ("not", "no")
    return is_short and not _OF_SOMETHING.search(value)


def _is_standing(_value: str, spoken: list[str]) -> bool:
    if len(spoken) < 2 or spoken[0] in _SUBJECTS or not _OF_HERE.isdisjoint(spoken):
        return False
    return spoken[0] not in ("always", "never") or spoken[1] not in _NO_ORDERS


def _is_usual(_value: str, spoken: list[str]) -> bool:
    return len(spoken) <= _MOST_WORDS and any(is_taken(word) for word in spoken)


_ARTICLES = frozenset({"short", "employer", "occupation", "liked", "preferred", "usual", "place", "capital", "working"})
_FITS = {
    "name": _is_name,
    "proper": _is_proper,
    "nickname": _is_nickname,
    "place": _is_place,
    "capital": _is_capital_place,
    "elsewhere": _is_elsewhere,
    "working": _is_working,
    "employer": _is_employer,
    "occupation": _is_occupation,
    "liked": _is_liked,
    "preferred": _is_liked,
    "usual": _is_usual,
    "short": _is_short,
    "dated": _is_dated,
    "figure": _is_figure,
    "standing": _is_standing,
}
