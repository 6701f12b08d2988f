"""Reading a provider's JSON field by field: what is there, of the right kind, cleaned and short enough. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from parlour.channels.envelope import clean_text
from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import Json, JsonObject

_PHONE = re.compile(r"\+?([1-9][0-9]{4,14})")
"""E.164, mostly without its plus: a country code and at most 15 digits."""

_USER_ID = re.compile(r"[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")
"""What Meta calls somebody who hides their number from a business: a country and letters and digits."""

_MAX_ID_CHARS = 256
MAX_SHORT_TEXT_CHARS = 1024
"""Names, captions and reasons are notes beside the message; longer ones are cut (WhatsApp's own limit of a caption)."""

_CLOCK_SKEW = timedelta(days=1)
_EARLIEST_TIME = datetime(2009, 1, 1, tzinfo=UTC)
"""There was no WhatsApp before; a time outside of this and tomorrow is a broken clock's."""


def required_id(body: JsonObject, field: str) -> str:
    """Return a required id; MalformedPayload when it is missing, empty or longer than any provider's."""
    value = clean_text(required_text(body, field))
    if not value or len(value) > _MAX_ID_CHARS:
        raise MalformedPayload(f"{field} must be 1 to {_MAX_ID_CHARS} characters")
    return value


def parse_phone(value: Json) -> str:
    """Return a phone number as E.164 with its plus; "" for anything else."""
    digits = _PHONE.fullmatch(str(value)) if isinstance(value, str | int) else None
    return f"+{digits[1]}" if digits else ""


def parse_user_id(value: Json) -> str:
    """Return Meta's id of a person within one business, `US.13491208655302741918`; "" for anything else."""
    return value if isinstance(value, str) and _USER_ID.fullmatch(value) else ""


def parse_time(value: Json, per_second: int, default: datetime) -> datetime:
    """Return a Unix time counted `per_second`; the default for no time, or one before WhatsApp or after tomorrow."""
    try:
        found = datetime.fromtimestamp(float(cast(str, value)) / per_second, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return default
    return found if _EARLIEST_TIME < found < default + _CLOCK_SKEW else default


def required_object(value: Json, name: str) -> JsonObject:
    """`value`, which must be an object; MalformedPayload says what was `called` so."""
    if not isinstance(value, dict):
        raise MalformedPayload(f"{name} must be an object")
    return value


def optional_object(body: JsonObject, field: str) -> JsonObject:
    """Return the object in `field`, or an empty one."""
    value = body.get(field)
    return value if isinstance(value, dict) else {}


def optional_objects(body: JsonObject, field: str) -> list[JsonObject]:
    """Return the objects of the list in `field`; none when it is no list."""
    value = body.get(field)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def required_text(body: JsonObject, field: str) -> str:
    """Return a required text; MalformedPayload when it is missing."""
    value = body.get(field)
    if not isinstance(value, str) or not value:
        raise MalformedPayload(f"{field} must be text")
    return value


def optional_text(body: JsonObject, field: str) -> str:
    """Return a text as written, cleaned; "" when there is none."""
    value = body.get(field)
    return clean_text(value) if isinstance(value, str) else ""


def short_text(body: JsonObject, field: str) -> str:
    """Return a text or a number as a short text; "" when there is none."""
    value = body.get(field)
    return clean_text(str(value))[:MAX_SHORT_TEXT_CHARS] if isinstance(value, str | int | float) else ""


def without_empty(texts: Mapping[str, str]) -> JsonObject:
    """Return the texts that are not empty."""
    return {name: text for name, text in texts.items() if text}
