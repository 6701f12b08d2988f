"""How names, references, hosts and dates are spelt in a pack; every message says how to put it right."""

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from parlour.models.cap import check_cap
from parlour.text.suggestions import meant

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")
_RECORD_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DOCUMENT_KEY = re.compile(
    r"(?=.{1,200}$)(?:[A-Za-z0-9][A-Za-z0-9_-]*/){0,4}[A-Za-z0-9][A-Za-z0-9._-]*\.(?:md|txt|eml)"
)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|\d{3}))?")
_APP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PHONE = re.compile(r"\d{8,15}")
_PHONE_NUMBER_ID = re.compile(r"\d{5,32}")
_TEMPLATE_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_TEMPLATE_NAME = re.compile(r"[a-z0-9_]{0,512}")
_TEMPLATE_LANGUAGE = re.compile(r"(?:[a-z]{2,3}(?:_[A-Z]{2,3})?)?")
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*")
_PORT = re.compile(r"[1-9]\d{1,4}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?")
_ICON = re.compile(r"[a-z][a-z0-9-]{0,39}")
_COLOUR = re.compile(r"[a-z]{2,20}|#[0-9a-f]{6}")
_LINK = re.compile(r"(?=.{1,500}$)(?:https://[a-z0-9.:-]+)?/(?!/)[^\s\"'<>\\]*\{\{key\}\}[^\s\"'<>\\]*")
_SECRET_PATH = re.compile(r"(?:[A-Za-z0-9_.-]{1,64}/){1,8}[A-Za-z0-9_.-]{1,64}")
_KNOWN_VALUES = re.compile(r"(?:sk-|sk_|pk_|rk_|xox[a-z]-|gh[a-z]_|github_pat_|AKIA|ASIA|AIza|eyJ|hf_|EAA|-----BEGIN)")
_LONG_RUN = re.compile(r"[A-Za-z0-9]{20,}")


def slug(value: str) -> str:
    """Lower-case letters, digits and dashes: `site-desk`."""
    return _fits(_SLUG, value, "must be lower-case letters, digits and dashes, 63 at most, like 'site-desk'")


def identifier(value: str) -> str:
    """Lower-case letters, digits and underscores: `delay_damages`."""
    return _fits(_IDENTIFIER, value, "must be lower-case letters, digits and underscores, like 'due_date'")


def record_key(value: str) -> str:
    """What a record is called in its own system: `CO-014`."""
    return _fits(_RECORD_KEY, value, "must be letters, digits, dots, dashes and underscores, like 'CO-014'")


def document_key(value: str) -> str:
    """A document's path below `documents/`, with its ending."""
    return _fits(
        _DOCUMENT_KEY,
        value,
        "must be letters, digits, dashes, dots and underscores, 200 at most, and end in .md, .txt or .eml",
    )


def reference(value: str) -> str:
    """A record, as `type/key`."""
    type_key, _, key = value.partition("/")
    if not (_IDENTIFIER.fullmatch(type_key) and _RECORD_KEY.fullmatch(key)):
        raise ValueError("must name a record as type/key, like 'contract/C-1'")
    return value


def cap(value: float) -> float:
    """What model calls may cost a day, in US dollars."""
    if problem := check_cap(Decimal(str(value))):
        raise ValueError(problem)
    return value


def language(value: str) -> str:
    """A language tag, perhaps with script and region: `en`, `hi`, `zh-Hant-TW`."""
    return _fits(_LANGUAGE, value, "must be a language tag like 'en', 'hi' or 'pt-BR'")


def app(value: str) -> str:
    """A Gupshup app name; it is part of the routing key."""
    return _fits(_APP, value, "must be the app's name: letters, digits, dashes and underscores")


def phone(value: str) -> str:
    """A phone number as Gupshup writes a source: country code and number, digits only."""
    return _fits(_PHONE, value, "must be country code and number, 8 to 15 digits in quotes, like '447700900123'")


def phone_number_id(value: str) -> str:
    """The id, not the number, that Meta gives a WhatsApp number; it is part of the routing key."""
    return _fits(_PHONE_NUMBER_ID, value, "must be the id that Meta shows for the number, digits in quotes")


def template_id(value: str) -> str:
    """A template's id at Gupshup."""
    return _fits(_TEMPLATE_ID, value, "must be the template's id, letters, digits and dashes") if value else value


def template_name(value: str) -> str:
    """A template's name at Meta, or its parameter's."""
    return _fits(_TEMPLATE_NAME, value, "must be lower-case letters, digits and underscores, like 'order_update'")


def template_language(value: str) -> str:
    """The language that a template was approved in, as Meta writes it."""
    return _fits(_TEMPLATE_LANGUAGE, value, "must be a language as Meta writes it, like 'en' or 'en_GB'")


def host(value: str) -> str:
    """A host name without scheme, port or path."""
    return _fits(_HOST, value, "must be a host name in lower case, without https:// and path, like 'chat.example.com'")


def tool_host(value: str) -> str:
    """A host that tools may reach: a name, with a port when it is not the usual one."""
    name, colon, port = value.partition(":")
    right = _HOST.fullmatch(name) and (not colon or (_PORT.fullmatch(port) and int(port) < 2**16))
    if not right:
        raise ValueError("must be a host name in lower case, without https:// and path, like 'api.example.com'")
    return value


def moment(value: str) -> str:
    """An ISO date, with a time when there is one; empty when unknown."""
    problem = "must be an ISO date or time, like 2026-02-17 or 2026-02-17T09:30"
    _fits(_MOMENT, value, problem) if value else None
    try:
        datetime.fromisoformat(value or "2000-01-01")
    except ValueError:
        raise ValueError(problem) from None
    return value


def scalar(value: object) -> object:
    """Text, a number, true or false: what a property of a record may be."""
    if isinstance(value, str | int | float):
        return value
    raise ValueError("must be text, a number, true or false")


def icon(value: str) -> str:
    """An icon's name in the console's set: `folder`, `check-circle`."""
    return _fits(_ICON, value, "must be an icon's name: lower-case letters, digits and dashes") if value else value


def colour(value: str) -> str:
    """A colour's name, or its number: `teal`, `#0a7f6c`."""
    return _fits(_COLOUR, value, "must be a colour's name in lower case, or like '#0a7f6c'") if value else value


def link(value: str) -> str:
    """Where a record is looked at: an https address or a path here, with {{key}} in it."""
    problem = "must be an address with {{key}} in it, like 'https://erp.example.com/orders/{{key}}'"
    return _fits(_LINK, value, problem) if value else value


def one_of(value: object, options: Sequence[str]) -> str:
    """One of a few words."""
    if isinstance(value, str) and value in options:
        return value
    raise ValueError(f"must be one of {', '.join(options)}{meant(str(value), options)}")


def secret_reference(value: str) -> str:
    """Where the secret store keeps a secret: `parlour/tenants/<tenant>/<name>`.

    What looks like the secret itself is refused without being repeated: problems end up in logs.
    """
    path = bool(_SECRET_PATH.fullmatch(value))
    if not path or any(_KNOWN_VALUES.match(part) or _random(part) for part in value.split("/")):
        raise ValueError(
            "must say where the secret store keeps it, like 'parlour/tenants/acme/gupshup', never the value itself"
            "; if this was a real secret, replace it: it has been in a file"
        )
    return value


def unstorable(character: str) -> bool:
    """Whether a character is none that a text may have: controls, and halves of surrogate pairs.

    Tabs, line breaks and the form feed that separates a document's pages are fine.
    """
    code = ord(character)
    return (code < 0x20 and character not in "\t\n\f\r") or code == 0x7F or 0xD800 <= code < 0xE000


def _random(part: str) -> bool:
    """Whether a long run of letters and digits mixes them as keys and hashes do."""
    return any(
        sum(character.isdigit() for character in run) >= 4 and any(character.isalpha() for character in run)
        for run in _LONG_RUN.findall(part)
    )


def _fits(pattern: re.Pattern[str], value: str, problem: str) -> str:
    if pattern.fullmatch(value) is None:
        raise ValueError(problem)
    return value
