"""Approved WhatsApp templates of a number: their placeholders, and the messages made from them. Pure.

    channels.whatsapp.templates   [{"name", "id", "language", "text", "purpose"}]

Outside the customer service window WhatsApp takes only a template that Meta has approved. `purpose` says who fills it:

    inbox     people of the tenant, who choose it in the inbox
    reply     Parlour, with a reply or a notice, and people, too; it has one placeholder
    question  Parlour, with a question; it has one placeholder and two quick-reply buttons, for yes and no
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import JsonObject

MAX_BODY_UNITS = 1024
"""The longest text of a template with its values, in characters; counted in UTF-16 units to be safe."""

QUESTION_BUTTONS = 2
"""How many quick-reply buttons a question template has. It has their titles; the message gives their ids."""

_PLACEHOLDER = re.compile(r"\{\{ ?([a-z0-9_]+) ?\}\}")

type TemplatePurpose = Literal["inbox", "reply", "question"]


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """The template that a person chose, and what they wrote for its placeholders, in the template's order."""

    name: str
    language: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class FilledTemplate:
    """A template with its values, as a provider sends it.

    name        its id at Gupshup, its name at Meta
    parameters  (placeholder, value), in the template's order
    """

    name: str
    language: str
    text: str
    parameters: Sequence[tuple[str, str]]

    @classmethod
    def from_json(cls, stored: JsonObject, text: str) -> "FilledTemplate":
        """Return the template of a message with this text, as the message's metadata has it."""
        pairs = stored["parameters"]
        parameters = (
            [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list)]
            if isinstance(pairs, list)
            else []
        )
        return cls(str(stored["name"]), str(stored["language"]), text, parameters)

    def to_json(self) -> JsonObject:
        """Return what a message's metadata stores of it: {"name", "language", "parameters": [[placeholder, value]]}."""
        return {"name": self.name, "language": self.language, "parameters": [[*pair] for pair in self.parameters]}


@dataclass(frozen=True, slots=True)
class Template:
    """An approved message. provider_name: its id at Gupshup, its name at Meta; language may be empty at Gupshup."""

    name: str
    provider_name: str
    language: str
    text: str
    purpose: str

    @property
    def placeholders(self) -> Sequence[str]:
        """The names of the values: numbers by their size, other names by their first place in the text."""
        return find_placeholders(self.text)

    def fill(self, values: Sequence[str]) -> FilledTemplate:
        """Return the message with these values. A value is one line, as WhatsApp takes no line break in it.

        InvalidRequest for a wrong number of values, an empty one, or a text that is too long.
        """
        names = self.placeholders
        if len(values) != len(names):
            listed = ", ".join(f"{{{{{name}}}}}" for name in names) or "none"
            raise InvalidRequest(
                f"values: the template {self.name} has {len(names)} placeholders ({listed}); {len(values)} values came"
            )
        lines = [" ".join(value.split()) for value in values]
        for name, line in zip(names, lines, strict=True):
            if not line:
                raise InvalidRequest(f"values: write a value for {{{{{name}}}}} of the template {self.name}")
        parameters = list(zip(names, lines, strict=True))
        by_name = dict(parameters)
        text = _PLACEHOLDER.sub(lambda found: by_name[found[1]], self.text)
        if len(text.encode("utf-16-le")) // 2 > MAX_BODY_UNITS:
            raise InvalidRequest(f"values: shorten them; the message has more than {MAX_BODY_UNITS:,} characters")
        return FilledTemplate(self.provider_name, self.language, text, parameters)


def parse_templates(channel_settings: JsonObject | None) -> list[Template]:
    """Return the templates of a binding's channel, as its pack has them."""
    given = (channel_settings or {}).get("templates")
    return [_parse_template(one) for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def list_choices(channel_settings: JsonObject | None) -> list[Template]:
    """Return the templates that people may choose. A question's buttons need an approval, so its template is none."""
    return [template for template in parse_templates(channel_settings) if template.purpose != "question"]


def find_template(channel_settings: JsonObject | None, purpose: TemplatePurpose) -> Template | None:
    """Return the template that Parlour fills for a purpose, when there is one."""
    return next((one for one in parse_templates(channel_settings) if one.purpose == purpose), None)


def fill_choice(channel_settings: JsonObject | None, choice: TemplateChoice) -> FilledTemplate:
    """Return the message that a person chose; InvalidRequest for an unknown template, or as `Template.fill` says."""
    choices = list_choices(channel_settings)
    for template in choices:
        if (template.name, template.language) == (choice.name, choice.language):
            return template.fill(choice.values)
    listed = ", ".join(f"{one.name} ({one.language or 'no language'})" for one in choices) or "none"
    raise InvalidRequest(f"template: unknown name and language; this conversation's channel has {listed}")


def find_placeholders(text: str) -> list[str]:
    """Return the names in a template's text, each once: numbers by their size, other names in the text's order."""
    names = list(dict.fromkeys(_PLACEHOLDER.findall(text)))
    return sorted(names, key=int) if all(name.isdecimal() for name in names) else names


def find_text_problem(text: str, purpose: TemplatePurpose) -> str | None:
    """Return what is wrong with a template's text, as a clause; None for a good one."""
    names = find_placeholders(text)
    if any(name.isdecimal() for name in names) and names != [str(number) for number in range(1, len(names) + 1)]:
        return "number its placeholders {{1}}, {{2}} and so on without a gap, or name them all"
    if "{{" in _PLACEHOLDER.sub("", text):
        return "write a placeholder as {{1}}, or with lower-case letters, digits and underscores, as {{day}}"
    if purpose != "inbox" and len(names) != 1:
        return f"a template with the purpose {purpose} has exactly one placeholder, which Parlour fills"
    return None


def _parse_template(given: JsonObject) -> Template:
    name = str(given["name"])
    return Template(
        name,
        str(given.get("id") or name),
        str(given.get("language") or ""),
        str(given["text"]),
        str(given.get("purpose") or "inbox"),
    )
