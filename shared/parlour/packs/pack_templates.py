"""New packs from templates: real packs in `templates/`, with the names of an example business in place of yours."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parlour.infra.errors import InvalidPack, InvalidRequest
from parlour.packs import field_formats, folder, json_schema
from parlour.packs.field_formats import TextPattern
from parlour.packs.validate import validate

#: What each template is for, by the name of its folder.
TEMPLATES: Mapping[str, str] = {
    "reception": "appointments, prices and opening hours of a practice",
    "shop": "products, delivery and returns of a shop",
    "support": "a help desk that answers from a handbook",
    "blank": "one agent and one document",
}

#: A number from the range that Ofcom keeps for drama; on a laptop the simulated phone reaches it.
EXAMPLE_NUMBER = "447700900150"

_FOLDER = Path(__file__).with_name("templates")
_SLUG, _NAME, _DOMAIN = "my-business", "My Business", "localhost"
_PRINTED_NAME = re.compile(r"\S(?:.{0,98}\S)?")


@dataclass(frozen=True, slots=True)
class NewPack:
    """What a new pack is made from.

    template  a key of TEMPLATES.
    slug      the tenant's slug.
    name      the tenant's name, as people read it.
    host      host of the web chat.
    whatsapp  the WhatsApp number, digits with country code; empty: no WhatsApp.
    """

    template: str
    slug: str
    name: str
    host: str
    whatsapp: str


def default_host(slug: str) -> str:
    """Return a host that opens on this machine."""
    return f"{slug}.{_DOMAIN}"


def default_name(slug: str) -> str:
    """Return a name made from the slug: Bright Smile for bright-smile."""
    return slug.replace("-", " ").title()


def render_pack(wanted: NewPack) -> dict[str, str]:
    """Return the files of a valid pack by path: YAML, documents and the schemas for editors.

    Raises InvalidRequest if a value cannot be part of a pack.
    """
    check_slug(wanted.slug)
    _check_value("host", field_formats.host, wanted.host)
    _check_value("WhatsApp number", field_formats.phone_number, wanted.whatsapp or EXAMPLE_NUMBER)
    if not _PRINTED_NAME.fullmatch(wanted.name) or not wanted.name.isprintable():
        raise InvalidRequest("the display name must be one line of 1 to 100 characters")
    if wanted.template not in TEMPLATES:
        raise InvalidRequest(f"there is no template '{wanted.template}'; choose one of {', '.join(TEMPLATES)}")
    files = {path: _fill_in(text, wanted) for path, text in folder.read_folder(_FOLDER / wanted.template).items()}
    try:
        validate(files)
    except InvalidPack as error:
        first = error.problems[0]
        raise InvalidRequest(f"these values make no valid pack: {first.file}: {first.field}: {first.message}") from None
    commented = {
        path: (json_schema.schema_comment(path) if path.endswith(".yaml") else "") + text
        for path, text in files.items()
    }
    return {**commented, **json_schema.schema_files()}


def check_slug(slug: str) -> None:
    """Check the name of a tenant. Raises InvalidRequest with what it must be."""
    _check_value("name", field_formats.slug, slug)


def _check_value(field: str, check: TextPattern, value: str) -> None:
    try:
        check(value)
    except ValueError as error:
        raise InvalidRequest(f"the {field} {error}") from None


def _fill_in(text: str, wanted: NewPack) -> str:
    """Return a template's text with the values. A name in quotes is a YAML text of its own, else it is within prose."""
    values = {
        f'"{_NAME}"': json.dumps(wanted.name, ensure_ascii=False),
        f"{_SLUG}.{_DOMAIN}": wanted.host,
        EXAMPLE_NUMBER: wanted.whatsapp or EXAMPLE_NUMBER,
        _SLUG: wanted.slug,
        _NAME: wanted.name,
    }
    places = re.compile("|".join(map(re.escape, values)))
    filled = places.sub(lambda match: values[match[0]], text)
    if wanted.whatsapp:
        return filled
    return _comment_out(_comment_out(filled, "secrets:"), "  whatsapp:")


def _comment_out(text: str, first: str) -> str:
    """Return the text with a block of YAML as a comment: the line `first` and the deeper ones after it."""
    indent = len(first) - len(first.lstrip())
    pattern = rf"^{re.escape(first)}\n(?: {{{indent + 1},}}.*\n)*"
    shift = " " * indent
    return re.sub(
        pattern,
        lambda match: "".join(f"{shift}# {line[indent:]}\n" for line in match[0].splitlines()),
        text,
        flags=re.MULTILINE,
    )
