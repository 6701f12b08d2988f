"""Under which key a fact stands: a small vocabulary, and open rooms for what people like, have and belong to. Pure."""

import re
import unicodedata
from collections.abc import Mapping

from parlour.memory.facts.wording import telling, words
from parlour.models.words import vocabulary

KEYS: Mapping[str, str] = {
    "name": "the user's name",
    "called": "how they want to be called",
    "language": "the language they want to be answered in",
    "city": "where they live",
    "home_town": "where they come from",
    "address": "their postal address",
    "delivery_address": "where deliveries go",
    "company": "who they work for",
    "job": "what they do",
    "phone": "their number",
    "email": "their e-mail address",
    "birthday": "when they were born",
    "age": "how old they are",
    "plan": "the plan or package that they have",
    "diet": "how they eat",
    "allergy": "what they must not have",
    "budget": "what they want to spend",
    "pays_by": "how they pay",
    "contact_by": "the channel they want to be reached on",
    "contact_time": "when they can and cannot be reached",
    "timezone": "their time zone",
    "vehicle": "what they drive",
}
"""The vocabulary, with what each key means."""

ROOMS: Mapping[str, str] = {
    "preference": "what they like, dislike or want done in a certain way: preference.<what it is about>",
    "family": "the people and animals they live with: family.<relation>",
    "contact": "people they deal with: contact.<relation>",
    "about": "anything lasting that has no key: about.<what it is>",
}
"""Open rooms of keys; what follows the point is free."""

GRADED = vocabulary("name city home_town address delivery_address birthday company job vehicle")
"""Keys of which a shorter value is the same said less exactly."""

ADDITIVE = frozenset({"allergy", "family.children", "family.pets"})
"""Keys that may hold several values at once."""

INSTEAD = {"phone": "about.landline"}
"""What a key means for those of whom nothing is known under it: who has no phone number but a landline means that."""

_OTHER_NAMES = {
    "name": "full_name first_name user_name username own_name",
    "called": "nickname nick_name preferred_name prefers_to_be_called short_name",
    "language": "preferred_language reply_language languages speaks spoken_language",
    "city": "location home lives_in residence home_city current_city place town based_in city_of_residence",
    "home_town": "hometown origin comes_from native_place birthplace",
    "address": "home_address postal_address street_address",
    "delivery_address": "shipping_address ship_to deliver_to",
    "company": "employer organisation organization works_at works_for workplace firm business current_employer",
    "job": "occupation profession role job_title title position works_as designation",
    "phone": "mobile phone_number mobile_number whatsapp_number telephone contact_number number whatsapp",
    "email": "mail e_mail email_address email_id mail_id",
    "birthday": "dob date_of_birth birth_date birthdate born",
    "plan": "subscription tier package membership subscription_plan current_plan",
    "diet": "dietary diet_preference dietary_preference dietary_restriction food_restriction eating_habits",
    "budget": "max maximum max_budget maximum_budget spending_limit price_limit",
    "allergy": "allergies allergic_to food_allergy",
    "pays_by": "payment_method payment payment_mode preferred_payment pays_with",
    "contact_by": "preferred_channel contact_method contact_channel contact_preference preferred_contact channel",
    "contact_time": "contact_hours best_time availability reachable available",
    "timezone": "time_zone tz",
    "vehicle": "car bike drives motorbike scooter",
}
_FAMILY = vocabulary(
    "wife husband spouse partner fiance fiancee son daughter child children kids kid baby mother father mom mum mummy "
    "dad daddy brother sister grandmother grandfather uncle aunt cousin girlfriend boyfriend nephew niece dog cat pet "
    "pets"
)
_SAME_RELATION = {
    "mom": "mother", "mum": "mother", "mummy": "mother", "dad": "father", "daddy": "father", "kids": "children",
    "kid": "child", "pet": "pets", "spouse": "partner",
}  # fmt: skip
_ATTRIBUTES = vocabulary(
    "size group number id code school college university nickname colour color team hobby industry field department "
    "major subject gym bank airline hotel brand handle username height weight shoe shirt flat floor apartment blood "
    "salary income religion nationality citizenship course degree class grade batch district village state country "
    "landmark supplier vendor currency units unit specialty speciality sport instrument band website domain shop store"
)
"""Last words of what people have for longer than a talk."""

_PASSING = vocabulary(
    "question problem issue order concern point guess fault bad flight train bus booking ticket meeting appointment "
    "delivery package parcel invoice refund claim case complaint visit trip stay payment bill request query idea "
    "understanding feeling hope phone laptop computer screen app internet connection card account mistake turn time "
    "day week morning evening night life opinion plan answer reply message next last first second third only main "
    "goal reason worry fear dream suggestion advice feedback thought view mood head back leg throat stomach battery "
    "car bike order status balance limit score result exam interview deadline due rent fee advance deposit exact "
    "current previous old best worst favourite favorite own whole entire"
)
"""Words for what is so today only, or is no attribute of a person."""

_TOPICS = {
    "drink": "tea coffee chai juice water milk beer wine soda lassi buttermilk",
    "food": "biryani pizza pasta dosa idli rice sushi burgers curry sandwich sandwiches salad noodles",
    "seat": "aisle window seat seats",
    "time": "morning mornings evening evenings afternoon afternoons night nights weekday weekdays weekend weekends",
    "answers": "short brief long detailed concise answers replies bullet bullets points explanations summaries",
    "currency": "euros euro rupees rupee dollars dollar inr usd eur gbp",
    "units": "metric imperial celsius fahrenheit kilometres kilometers miles kilograms pounds",
    "room": "room rooms floor",
    "colour": "red blue green yellow black white grey gray purple pink orange brown",
    "tone": "formal informal casual friendly polite",
    "theme": "dark light mode theme",
}
_TOPIC_OF = {word: topic for topic, them in _TOPICS.items() for word in them.split()}
_KEY_WORDS = {
    "pays_by": "upi cash card cards netbanking emi paypal cheque gpay paytm",
    "contact_by": "whatsapp sms email e-mail telegram phone call calls",
    "diet": "vegetarian vegan jain halal kosher",
}
_KEY_BY_WORD = {word: key for key, them in _KEY_WORDS.items() for word in them.split()}
_KEY_OF = {other: key for key, others in _OTHER_NAMES.items() for other in others.split()}
_SHAPES = {
    "email": re.compile(r"^\S+@\S+\.\S+$"),
    "phone": re.compile(r"(?:\d[ ().-]*){7,}"),
    "age": re.compile(r"\d"),
    "birthday": re.compile(r"\d|[^\W\d_]{3,}"),
    "name": re.compile(r"^[^\d@]{1,60}$"),
    "called": re.compile(r"^[^@]{1,60}$"),
    "city": re.compile(r"^[^@]{1,80}$"),
    "language": re.compile(r"^[^\d@]{2,40}$"),
    "budget": re.compile(r"\d|\b(?:hundred|thousand|lakhs?|crores?|million|k)\b", re.IGNORECASE),
}
_LIKING = re.compile(r"^(?:favou?rite|preferred|prefers?|likes?|dislikes?|loves?|hates?)_+")
_LONGEST_PART = 40


def key_of(written: str) -> str | None:
    """The key that is meant, as it is kept; None when nothing is.

    A name without a room that is not in the vocabulary is something `about` the user; of rooms there are only two
    floors.
    """
    room, _, rest = unicodedata.normalize("NFKC", written).casefold().strip().partition(".")
    first, second = _slug(room), _slug(rest)
    if first in ROOMS:
        return _in_room(first, second)
    whole = _slug(f"{first}_{second}") if second else first
    if not whole:
        return None
    known = whole if whole in KEYS else _KEY_OF.get(whole)
    if known:
        return known
    if whole in _FAMILY:
        return f"family.{_SAME_RELATION.get(whole, whole)}"
    liked = _LIKING.sub("", whole)
    return f"preference.{liked}" if liked and liked != whole else f"about.{whole[:_LONGEST_PART]}"


def fits(key: str, value: str) -> bool:
    """Whether a value has the shape of what its key is about."""
    shape = _SHAPES.get(key)
    return shape is None or shape.search(value) is not None


def relation(word: str) -> str:
    """The key of what somebody is to the user: a wife's, a boss's."""
    slug = _slug(word)
    return f"family.{_SAME_RELATION.get(slug, slug)}" if slug in _FAMILY else f"contact.{slug}"


def preference(value: str) -> str | None:
    """The key of something liked, disliked or wanted: what is usually an alternative to something else stands under
    what both are of, so that tea takes the place of coffee; else under its own last word."""
    told = telling(value)
    for word in (*told, *words(value)):
        if word in _KEY_BY_WORD:
            return _KEY_BY_WORD[word]
    topics = [_TOPIC_OF[word] for word in words(value) if word in _TOPIC_OF]
    return key_of(f"preference.{topics[-1] if topics else told[-1]}") if told else None


def is_taken(word: str) -> bool:
    """Whether a word is something that people drink or eat."""
    return _TOPIC_OF.get(word) in ("drink", "food")


def standing(value: str) -> str | None:
    """The key of how something is always to be done."""
    topics = [_TOPIC_OF[word] for word in words(value) if word in _TOPIC_OF]
    return f"preference.{topics[0]}" if topics else liking(value, most=2)


def liking(value: str, most: int = 3) -> str | None:
    """The key of something liked or disliked: people like many things at once, so each has its own."""
    told = telling(value)
    return key_of(f"preference.{' '.join(told[:most])}") if told else None


def lasting(what: str) -> bool | None:
    """Whether somebody's so-and-so is theirs for longer than a talk: surely, perhaps (False), or not at all (None)."""
    said = words(what)
    if not said or any(word in _PASSING for word in said):
        return None
    known = key_of(what.removeprefix("new ").removeprefix("current "))
    return said[-1] in _ATTRIBUTES or said[0] in _ATTRIBUTES or (known is not None and known in KEYS)


def key_named(value: str) -> str:
    """The key that words are the name of, "" when they name none of the vocabulary."""
    slug = _slug(value)
    known = slug if slug in KEYS else _KEY_OF.get(slug, "")
    return known or (relation(slug) if slug in _FAMILY else "")


def known_names(key: str) -> frozenset[str]:
    """The words by which people call what the key is about."""
    names = [key.rpartition(".")[2], *_OTHER_NAMES.get(key, "").split()]
    return frozenset(word for name in names for word in name.split("_"))


def _in_room(room: str, what: str) -> str | None:
    """A preference or a fact about the user for which there is a key stands under that one."""
    if not what:
        return None
    known = what if what in KEYS else _KEY_OF.get(what)
    if known and room in ("preference", "about"):
        return known
    if room == "family":
        what = _SAME_RELATION.get(what, what)
    return f"{room}.{what[:_LONGEST_PART]}"


def _slug(written: str) -> str:
    kept = "".join(letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " " for letter in written)
    return "_".join(kept.split())
