"""The keys of facts: a small vocabulary, and open rooms for what people like, have and belong to. Pure."""

import re
import unicodedata
from collections.abc import Mapping

from parlour.text.words import word_list

VOCABULARY: Mapping[str, str] = {
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

KEY_NAMESPACES: Mapping[str, str] = {
    "preference": "what they like, dislike or want done in a certain way: preference.<what it is about>",
    "family": "the people and animals they live with: family.<relation>",
    "contact": "people they deal with: contact.<relation>",
    "about": "anything lasting that has no key: about.<what it is>",
}
"""Open rooms of keys; what follows the point is free."""

#: Keys of which a shorter value is the same said less exactly.
REFINABLE_KEYS = word_list("name city home_town address delivery_address birthday company job vehicle")

#: Keys that hold several values at once: another one is added, so that no allergy is lost to the next.
MULTI_VALUE_KEYS = frozenset({"allergy"})

_SYNONYMS = {
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
_KEY_BY_SYNONYM = {other: key for key, others in _SYNONYMS.items() for other in others.split()}
_VALUE_PATTERNS = {
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
_PREFERENCE_PREFIX = re.compile(r"^(?:favou?rite|preferred|prefers?|likes?|dislikes?|loves?|hates?)_+")
_MAX_KEY_PART_CHARS = 40


def normalize_key(name: str) -> str | None:
    """Return the key that a model or a person means by a name, as it is stored; None when the name has no word.

    A name without a room that is not in the vocabulary is something `about` the user; of rooms there are only two
    floors.
    """
    room, _, rest = unicodedata.normalize("NFKC", name).casefold().strip().partition(".")
    first, second = _slug(room), _slug(rest)
    if first in KEY_NAMESPACES:
        return _namespaced_key(first, second)
    whole = _slug(f"{first}_{second}") if second else first
    if not whole:
        return None
    known = whole if whole in VOCABULARY else _KEY_BY_SYNONYM.get(whole)
    if known:
        return known
    liked = _PREFERENCE_PREFIX.sub("", whole)
    return f"preference.{liked}" if liked and liked != whole else f"about.{whole[:_MAX_KEY_PART_CHARS]}"


def is_valid_value(key: str, value: str) -> bool:
    """Return whether a value has the shape of what its key is about."""
    shape = _VALUE_PATTERNS.get(key)
    return shape is None or shape.search(value) is not None


def key_words(key: str) -> frozenset[str]:
    """Return the words by which people call what the key is about."""
    names = [key.rpartition(".")[2], *_SYNONYMS.get(key, "").split()]
    return frozenset(word for name in names for word in name.split("_"))


def _namespaced_key(namespace: str, topic: str) -> str | None:
    """Return the key for a topic in a namespace; the vocabulary's key, if it has one for the topic."""
    if not topic:
        return None
    known = topic if topic in VOCABULARY else _KEY_BY_SYNONYM.get(topic)
    if known and namespace in ("preference", "about"):
        return known
    return f"{namespace}.{topic[:_MAX_KEY_PART_CHARS]}"


def _slug(name: str) -> str:
    kept = "".join(letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " " for letter in name)
    return "_".join(kept.split())
