"""The keys of facts: a small vocabulary, and open rooms for what people like, have and belong to. Pure."""

import re
import unicodedata
from collections.abc import Mapping

from parlour.text.numbers import spelled_digits
from parlour.text.words import word_list

VOCABULARY: Mapping[str, str] = {
    "name": "",
    "called": "how they want to be called",
    "language": "to be answered in",
    "city": "lives in",
    "home_town": "",
    "address": "postal",
    "delivery_address": "",
    "company": "employer",
    "job": "",
    "phone": "",
    "email": "",
    "birthday": "",
    "age": "",
    "plan": "or package",
    "diet": "",
    "allergy": "",
    "budget": "",
    "pays_by": "",
    "contact_by": "channel",
    "contact_time": "when they can be reached",
    "timezone": "",
    "vehicle": "",
}
"""The vocabulary, with what a key means where its name does not say it."""

KEY_NAMESPACES: Mapping[str, str] = {
    "preference": "what they like, dislike or want done in a way; form_of_address",
    "family": "relation or animal",
    "contact": "role of somebody they deal with",
    "health": "what",
    "about": "anything else that lasts",
}
"""Open rooms of keys, with what follows the point."""

#: Keys of which a shorter value is the same said less exactly.
REFINABLE_KEYS = word_list("name city home_town address delivery_address birthday company job vehicle")

#: Keys and rooms that hold several values beside each other: another value never takes the place of one.
_ADDING_KEYS = frozenset({"allergy", "vehicle", "about.languages", "about.hobby"})
_ADDING_NAMESPACES = frozenset({"family", "health"})

#: Keys of which a person has exactly one value at a time: two in one message exclude each other.
EXCLUSIVE_KEYS = word_list("name called language city home_town birthday age timezone")

#: Identity, contact, money and health: what a model proposes under these is looked at twice.
_CRITICAL_KEYS = word_list(
    "name called birthday age phone email address delivery_address contact_by contact_time plan budget pays_by allergy"
    " about.pronouns"
)
_CRITICAL_NAMESPACES = frozenset({"health", "contact"})

#: Keys of the vocabulary that are preferences themselves: preference.diet is diet, preference.address is no address.
_PREFERENCE_KEYS = word_list("called language diet budget pays_by contact_by contact_time")

_SYNONYMS = {
    "name": "full_name first_name user_name username own_name",
    "called": "nickname nick_name preferred_name prefers_to_be_called short_name",
    "language": "preferred_language reply_language",
    "city": "lives_in home_city current_city town based_in city_of_residence",
    "home_town": "hometown comes_from native_place birthplace",
    "address": "home_address postal_address street_address",
    "delivery_address": "shipping_address ship_to deliver_to",
    "company": "employer organisation organization works_at works_for workplace current_employer",
    "job": "occupation profession job_title works_as designation",
    "phone": "mobile phone_number mobile_number telephone contact_number",
    "email": "mail e_mail email_address email_id mail_id",
    "birthday": "dob date_of_birth birth_date birthdate",
    "plan": "subscription tier package membership subscription_plan current_plan",
    "diet": "dietary diet_preference dietary_preference dietary_restriction food_restriction eating_habits",
    "budget": "max_budget maximum_budget spending_limit price_limit",
    "allergy": "allergies allergic_to food_allergy",
    "pays_by": "payment_method payment_mode preferred_payment pays_with",
    "contact_by": "preferred_channel contact_method contact_channel contact_preference preferred_contact",
    "contact_time": "contact_hours best_time_to_call",
    "timezone": "time_zone tz",
    "vehicle": "car bike drives motorbike scooter",
    "about.languages": "languages spoken_languages speaks",
    "about.hobby": "hobby hobbies",
}
_NAMESPACE_SYNONYMS = {"pet": "family", "pets": "family"}
_KEY_BY_SYNONYM = {other: key for key, others in _SYNONYMS.items() for other in others.split()}
_VALUE_PATTERNS = {
    "birthday": re.compile(r"\d|[^\W\d_]{3,}"),
    "name": re.compile(r"^[^\d@]{1,60}$"),
    "called": re.compile(r"^[^@]{1,60}$"),
    "city": re.compile(r"^[^@]{1,80}$"),
    "language": re.compile(r"^[^\d@]{2,40}$"),
}
_EMAIL = re.compile(r"\S+@\S+\.\S+")

#: Name, at, and place: what a spoken address has at least.
_MIN_DICTATED_EMAIL_WORDS = 3
_MIN_PHONE_DIGITS = 7
_PREFERENCE_PREFIX = re.compile(r"^(?:favou?rite|preferred|prefers?|likes?|dislikes?|loves?|hates?)_+")
_MAX_KEY_PART_CHARS = 40


def normalize_key(name: str) -> str | None:
    """Return the key that a person means by a name, as it is stored; None when the name has no word.

    A name without a room that is not in the vocabulary is something `about` the user.
    """
    known, whole = _resolve(name)
    return known or (f"about.{whole[:_MAX_KEY_PART_CHARS]}" if whole else None)


def proposed_key(name: str) -> str | None:
    """Return the key that a model proposes, as it is stored; None when there is no such key."""
    return _resolve(name)[0]


def has_several_values(key: str) -> bool:
    """Return whether values of the key stand beside each other."""
    return key in _ADDING_KEYS or key.partition(".")[0] in _ADDING_NAMESPACES


def is_critical(key: str) -> bool:
    """Return whether the key is of identity, contact, money or health."""
    return key in _CRITICAL_KEYS or key.partition(".")[0] in _CRITICAL_NAMESPACES


def is_valid_value(key: str, value: str) -> bool:
    """Return whether a value has the shape of what its key is about."""
    if key == "phone":
        return len(spelled_digits(value)) >= _MIN_PHONE_DIGITS
    if key == "email":
        return _EMAIL.fullmatch(value) is not None or len(value.split()) >= _MIN_DICTATED_EMAIL_WORDS
    shape = _VALUE_PATTERNS.get(key)
    return shape is None or shape.search(value) is not None


def key_words(key: str) -> frozenset[str]:
    """Return the words by which people call what the key is about."""
    names = [key.rpartition(".")[2], *_SYNONYMS.get(key, "").split()]
    return frozenset(word for name in names for word in name.split("_"))


def _resolve(name: str) -> tuple[str | None, str]:
    """Return the known key of a name, None when there is none, and the name's words without a room."""
    room, _, rest = unicodedata.normalize("NFKC", name).casefold().strip().partition(".")
    first, second = _slug(room), _slug(rest)
    first = _NAMESPACE_SYNONYMS.get(first, first) if second else first
    if first in KEY_NAMESPACES:
        return (_namespaced_key(first, second), "") if second else (None, "")
    whole = _slug(f"{first}_{second}") if second else first
    known = whole if whole in VOCABULARY else _KEY_BY_SYNONYM.get(whole)
    liked = _PREFERENCE_PREFIX.sub("", whole)
    if not known and liked and liked != whole:
        known = f"preference.{liked[:_MAX_KEY_PART_CHARS]}"
    return known, whole


def _namespaced_key(namespace: str, topic: str) -> str:
    """Return the key for a topic in a room; the vocabulary's key, if it means the same."""
    known = topic if topic in VOCABULARY else _KEY_BY_SYNONYM.get(topic)
    if known and (namespace == "about" or (namespace == "preference" and known in _PREFERENCE_KEYS)):
        return known
    return f"{namespace}.{topic[:_MAX_KEY_PART_CHARS]}"


def _slug(name: str) -> str:
    kept = "".join(letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " " for letter in name)
    return "_".join(kept.split())
