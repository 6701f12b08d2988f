"""How names, references, hosts and dates are spelt in a pack; every message says how to put it right."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

from parlour.models.cap import check_cap
from parlour.text.suggestions import meant

_IDENTIFIER = r"[a-z][a-z0-9_]{0,62}"
_RECORD_KEY = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_HOST = r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
_SECRET_PATH = re.compile(r"(?:[A-Za-z0-9_.-]{1,64}/){1,8}[A-Za-z0-9_.-]{1,64}")
_KNOWN_VALUES = re.compile(r"(?:sk-|sk_|pk_|rk_|xox[a-z]-|gh[a-z]_|github_pat_|AKIA|ASIA|AIza|eyJ|hf_|EAA|-----BEGIN)")
_LONG_RUN = re.compile(r"[A-Za-z0-9]{20,}")


def _text(pattern: str, problem: str) -> Callable[[str], str]:
    """Return a check for pydantic that hands on a text of this pattern; its ValueError tells `problem`."""
    form = re.compile(pattern)

    def check(value: str) -> str:
        if form.fullmatch(value) is None:
            raise ValueError(problem)
        return value

    return check


slug = _text(r"[a-z0-9][a-z0-9-]{0,62}", "must be lower-case letters, digits and dashes, 63 at most, like 'site-desk'")
identifier = _text(_IDENTIFIER, "must be lower-case letters, digits and underscores, like 'due_date'")
#: What a record is called in its own system.
record_key = _text(_RECORD_KEY, "must be letters, digits, dots, dashes and underscores, like 'CO-014'")
#: A document's path below `documents/`, with its ending.
document_key = _text(
    r"(?=.{1,200}$)(?:[A-Za-z0-9][A-Za-z0-9_-]*/){0,4}[A-Za-z0-9][A-Za-z0-9._-]*\.(?:md|txt|eml)",
    "must be letters, digits, dashes, dots and underscores, 200 at most, and end in .md, .txt or .eml",
)
#: A record, as `type/key`.
reference = _text(f"{_IDENTIFIER}/{_RECORD_KEY}", "must name a record as type/key, like 'contract/C-1'")
#: A language tag, perhaps with script and region.
language = _text(
    r"[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|\d{3}))?", "must be a language tag like 'en', 'hi' or 'pt-BR'"
)
#: A Gupshup app name; it is part of the routing key.
app = _text(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", "must be the app's name: letters, digits, dashes and underscores")
#: A phone number as Gupshup writes a source.
phone = _text(r"\d{8,15}", "must be country code and number, 8 to 15 digits in quotes, like '447700900123'")
#: The id, not the number, that Meta gives a WhatsApp number; it is part of the routing key.
phone_number_id = _text(r"\d{5,32}", "must be the id that Meta shows for the number, digits in quotes")
#: A template's id at Gupshup.
template_id = _text(r"[A-Za-z0-9-]{0,64}", "must be the template's id, letters, digits and dashes")
#: A template's name at Meta, or its parameter's.
template_name = _text(r"[a-z0-9_]{0,512}", "must be lower-case letters, digits and underscores, like 'order_update'")
#: The language that a template was approved in.
template_language = _text(
    r"(?:[a-z]{2,3}(?:_[A-Z]{2,3})?)?", "must be a language as Meta writes it, like 'en' or 'en_GB'"
)
host = _text(_HOST, "must be a host name in lower case, without https:// and path, like 'chat.example.com'")
#: An icon's name in the console's set.
icon = _text(r"(?:[a-z][a-z0-9-]{0,39})?", "must be an icon's name: lower-case letters, digits and dashes")
colour = _text(r"(?:[a-z]{2,20}|#[0-9a-f]{6})?", "must be a colour's name in lower case, or like '#0a7f6c'")
#: Where a record is looked at: an https address or a path here.
link = _text(
    r"(?:(?=.{1,500}$)(?:https://[a-z0-9.:-]+)?/(?!/)[^\s\"'<>\\]*\{\{key\}\}[^\s\"'<>\\]*)?",
    "must be an address with {{key}} in it, like 'https://erp.example.com/orders/{{key}}'",
)
_iso = _text(r"(?:\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?)?", "is no ISO date")


def cap(value: float) -> float:
    """What model calls may cost a day, in US dollars."""
    if problem := check_cap(Decimal(str(value))):
        raise ValueError(problem)
    return value


def tool_host(value: str) -> str:
    """A host that tools may reach: a name, with a port when it is not the usual one."""
    name, colon, port = value.partition(":")
    right = re.fullmatch(_HOST, name) and (not colon or (re.fullmatch(r"[1-9]\d{1,4}", port) and int(port) < 2**16))
    if not right:
        raise ValueError("must be a host name in lower case, without https:// and path, like 'api.example.com'")
    return value


def moment(value: str) -> str:
    """Return an ISO date, with a time when there is one; empty when unknown."""
    try:
        datetime.fromisoformat(_iso(value) or "2000-01-01")
    except ValueError:
        raise ValueError("must be an ISO date or time, like 2026-02-17 or 2026-02-17T09:30") from None
    return value


def scalar(value: object) -> object:
    """Text, a number, true or false: what a property of a record may be."""
    if isinstance(value, str | int | float):
        return value
    raise ValueError("must be text, a number, true or false")


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
