"""How names, references, hosts and dates are spelt in a pack; every message says how to put it right."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import available_timezones

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from parlour.models.daily_cap import cap_problem
from parlour.text.spelling_suggestions import did_you_mean

_IDENTIFIER = r"[a-z][a-z0-9_]{0,62}"
_RECORD_KEY = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_HOST = r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
_SECRET_PATH = re.compile(r"(?:[A-Za-z0-9_.-]{1,64}/){1,8}[A-Za-z0-9_.-]{1,64}")
_SECRET_PREFIXES = re.compile(
    r"(?:sk-|sk_|pk_|rk_|xox[a-z]-|gh[a-z]_|github_pat_|AKIA|ASIA|AIza|eyJ|hf_|EAA|-----BEGIN)"
)
_LONG_RUN = re.compile(r"[A-Za-z0-9]{20,}")


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A check of a text, as a function and as metadata of a pydantic field; its ValueError tells `problem`."""

    pattern: str
    problem: str

    def __call__(self, value: str) -> str:
        """Return the text if it has the pattern. Raises ValueError if it does not."""
        if re.fullmatch(self.pattern, value) is None:
            raise ValueError(self.problem)
        return value

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the field's schema with this check after it."""
        return core_schema.no_info_after_validator_function(self, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON Schema with the pattern, and the message that editors show."""
        message = self.problem[0].upper() + self.problem[1:]
        return {**handler(schema), "pattern": f"^(?:{self.pattern})$", "patternErrorMessage": message}


slug = TextPattern(
    r"[a-z0-9][a-z0-9-]{0,62}", "must be lower-case letters, digits and dashes, 63 at most, like 'site-desk'"
)
identifier = TextPattern(_IDENTIFIER, "must be lower-case letters, digits and underscores, like 'due_date'")
#: Opening hours of a day.
opening_span = TextPattern(
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]-(?:[01][0-9]|2[0-3]):[0-5][0-9]", "must be two local times, like '09:00-18:00'"
)
#: What a record is called in its own system.
record_key = TextPattern(_RECORD_KEY, "must be letters, digits, dots, dashes and underscores, like 'CO-014'")
#: A document's path below `documents/`, with its ending.
document_key = TextPattern(
    r"(?=.{1,200}$)(?:[A-Za-z0-9][A-Za-z0-9_-]*/){0,4}[A-Za-z0-9][A-Za-z0-9._-]*\.(?:md|txt|eml)",
    "must be letters, digits, dashes, dots and underscores, 200 at most, and end in .md, .txt or .eml",
)
#: A record, as `type/key`.
record_reference = TextPattern(f"{_IDENTIFIER}/{_RECORD_KEY}", "must name a record as type/key, like 'contract/C-1'")
#: A language tag, perhaps with script and region.
language = TextPattern(
    r"[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|\d{3}))?", "must be a language tag like 'en', 'hi' or 'pt-BR'"
)
#: A Gupshup app name; it is part of the routing key.
gupshup_app = TextPattern(
    r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", "must be the app's name: letters, digits, dashes and underscores"
)
#: A phone number as Gupshup writes a source.
phone_number = TextPattern(
    r"\d{8,15}", "must be country code and number, 8 to 15 digits in quotes, like '447700900123'"
)
#: A phone number as people are known by it.
international_phone = TextPattern(
    r"\+[1-9]\d{7,14}", "must be a phone number with + and country code, in quotes, like '+447700900123'"
)
#: The id, not the number, that Meta gives a WhatsApp number; it is part of the routing key.
phone_number_id = TextPattern(r"[0-9]{5,32}", "must be the id that Meta shows for the number, digits in quotes")
#: A template's id at Gupshup.
template_id = TextPattern(r"[A-Za-z0-9-]{0,64}", "must be the template's id, letters, digits and dashes")
#: A template's name at Meta.
template_name = TextPattern(
    r"[a-z0-9_]{1,512}", "must be lower-case letters, digits and underscores, like 'order_update'"
)
#: The language that a template was approved in.
template_language = TextPattern(
    r"(?:[a-z]{2,3}(?:_[A-Z]{2,3})?)?", "must be a language as Meta writes it, like 'en' or 'en_GB'"
)
host = TextPattern(_HOST, "must be a host name in lower case, without https:// and path, like 'chat.example.com'")
#: An address that notifications go to.
email_address = TextPattern(
    r"(?=.{3,254}$)[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63}",
    "must be an e-mail address, like 'desk@example.com'",
)
#: An icon's name in the console's set.
icon = TextPattern(r"(?:[a-z][a-z0-9-]{0,39})?", "must be the name of an icon: lower-case letters, digits and dashes")
colour = TextPattern(r"(?:[a-z]{2,20}|#[0-9a-f]{6})?", "must be the name of a colour in lower case, or like '#0a7f6c'")
#: A colour that a page sets as it is.
hex_colour = TextPattern(r"(?:#[0-9a-f]{6})?", "must be a colour in lower case like '#0a7f6c'")
#: Where a record is looked at: an https address or a path here.
link = TextPattern(
    r"(?:(?=.{1,500}$)(?:https://[a-z0-9.:-]+)?/(?!/)[^\s\"'<>\\]*\{\{key\}\}[^\s\"'<>\\]*)?",
    "must be an address with {{key}} in it, like 'https://erp.example.com/orders/{{key}}'",
)
_iso_text = TextPattern(r"(?:\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?)?", "is no ISO date")


def daily_cap(value: float) -> float:
    """Validate what model calls may cost a day, in US dollars."""
    if problem := cap_problem(Decimal(str(value))):
        raise ValueError(problem)
    return value


def phone_role(value: object) -> object:
    """Refuse a role that nobody has on a phone."""
    if value == "admin":
        raise ValueError(
            "admin is no role of a phone: nobody signs in there. Give viewer or editor; members answer questions to "
            "admins in the console"
        )
    return value


def tool_host(value: str) -> str:
    """Validate a host that tools may reach: a name, with a port unless it is the usual one."""
    name, colon, port = value.partition(":")
    right = re.fullmatch(_HOST, name) and (not colon or (re.fullmatch(r"[1-9]\d{1,4}", port) and int(port) < 2**16))
    if not right:
        raise ValueError("must be a host name in lower case, without https:// and path, like 'api.example.com'")
    return value


def embed_host(value: str) -> str:
    """Validate a host whose pages may embed a chat: one name, with a port unless it is the usual one."""
    try:
        return tool_host(value)
    except ValueError:
        raise ValueError(
            "must be one host name in lower case, without https://, path and *, like 'www.example.com'"
            "; list each host by itself"
        ) from None


def iso_date(value: str) -> str:
    """Return an ISO date, with a time when there is one; empty when unknown."""
    try:
        datetime.fromisoformat(_iso_text(value) or "2000-01-01")
    except ValueError:
        raise ValueError("must be an ISO date or time, like 2026-02-17 or 2026-02-17T09:30") from None
    return value


def iso_day(value: str) -> str:
    """Return an ISO date without a time; empty when there is none."""
    try:
        return value and date.fromisoformat(iso_date(value)).isoformat()
    except ValueError:
        raise ValueError("must be an ISO date, like 2026-02-17") from None


def scalar_value(value: object) -> object:
    """Text, a number, true or false: what a property of a record may be."""
    if isinstance(value, str | int | float):
        return value
    raise ValueError("must be text, a number, true or false")


def one_of(value: object, options: Sequence[str]) -> str:
    """One of a few words."""
    if isinstance(value, str) and value in options:
        return value
    raise ValueError(f"must be one of {', '.join(options)}{did_you_mean(str(value), options)}")


def secret_reference(value: str) -> str:
    """Where the secret store keeps a secret: `parlour/tenants/<tenant>/<name>`.

    What looks like the secret itself is refused without being repeated: problems end up in logs.
    """
    path = bool(_SECRET_PATH.fullmatch(value))
    if not path or any(_SECRET_PREFIXES.match(part) or _looks_random(part) for part in value.split("/")):
        raise ValueError(
            "must be a reference to the secret store, like 'parlour/tenants/acme/gupshup', never the secret"
            "; if this was a real secret, rotate it: it was stored in a file"
        )
    return value


def is_unstorable(character: str) -> bool:
    """Whether a character is none that a text may have: controls, and halves of surrogate pairs.

    Tabs, line breaks and the form feed that separates a document's pages are fine.
    """
    code = ord(character)
    return (code < 0x20 and character not in "\t\n\f\r") or code == 0x7F or 0xD800 <= code < 0xE000


def _looks_random(part: str) -> bool:
    """Whether a long run of letters and digits mixes them as keys and hashes do."""
    return any(
        sum(character.isdigit() for character in run) >= 4 and any(character.isalpha() for character in run)
        for run in _LONG_RUN.findall(part)
    )


def opening_hours(value: str) -> str:
    """Return opening hours that end after they begin. Raises ValueError for others."""
    begin, _, end = value.partition("-")
    if begin >= end:
        raise ValueError("must end after they begin; hours over midnight are two spans on two days")
    return value


def time_zone(value: str) -> str:
    """Return the name of a time zone. Raises ValueError if there is none of that name."""
    if value not in available_timezones():
        raise ValueError("must be a time zone of the IANA database, like 'Asia/Kolkata' or 'Europe/London'")
    return value
