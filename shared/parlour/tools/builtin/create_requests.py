"""What one call of create_entity asks for: one record, or several at once and how they hang together. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from parlour.infra.errors import InvalidArguments
from parlour.infra.json_values import Json, JsonObject
from parlour.records.record import printable_reference
from parlour.text.spelling_suggestions import did_you_mean

_DOCUMENT, _PROJECT = "document", "project"
_SHARED = ("kind", "project")
_TEXTS = ("kind", "name", "project", "text", "parent")
_FIELDS = ("kind", "name", "properties", "project", "text", "parent", "sources", "links")
_LONGEST_NAME = 300


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """From the new record: `relation` to `to`, a handle or the place (from 0) of another record of the call."""

    relation: str
    target: str | int


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """One record to create. `text` is a document's content, or what the user said of a project; `parent` the document
    that a document goes under; `sources` the conversation's numbers of what it is taken from."""

    type: str
    name: str
    properties: JsonObject = field(default_factory=dict)
    project: str = ""
    text: str = ""
    parent: str = ""
    sources: tuple[int, ...] = ()
    links: tuple[LinkRequest, ...] = ()


def parse_create_requests(arguments: JsonObject) -> list[CreateRequest]:
    """Return the records of a call, the one that it names first.

    InvalidArguments names what is wrong, and in which record. The arguments fit the tool's schema, which does not
    describe the inside of `more`.
    """
    more = arguments.get("more")
    shared = {name: arguments[name] for name in _SHARED if name in arguments}
    first = {name: value for name, value in arguments.items() if name != "more"}
    others = [{**shared, **one} for one in more if isinstance(one, dict)] if isinstance(more, list) else []
    entries = [first, *others]
    return [_parse_request(entry, at, len(entries)) for at, entry in enumerate(entries)]


def reject_unknown_fields(link: JsonObject, known: Sequence[str], place: str) -> None:
    """Check that a link has no unknown field."""
    if unknown := [name for name in link if name not in known]:
        near = did_you_mean(unknown[0], known)
        raise InvalidArguments(f"{place}: unknown: {printable_reference(unknown[0])}{near}; known: {', '.join(known)}")


def _parse_request(entry: JsonObject, at: int, of: int) -> CreateRequest:
    place = f"more[{at - 1}]." if at else ""
    problems = [*_problems(entry)]
    if problems:
        raise InvalidArguments("; ".join(f"{place}{problem}" for problem in problems))
    kind, name, project, text, parent = (str(entry.get(field) or "").strip() for field in _TEXTS)
    properties = entry.get("properties")
    return CreateRequest(
        kind,
        name,
        properties if isinstance(properties, dict) else {},
        project,
        text,
        parent,
        sources=tuple(dict.fromkeys(int(str(number)) for number in _list(entry.get("sources")))),
        links=tuple(
            _parse_link(link, f"{place}links[{n}]", at, of) for n, link in enumerate(_list(entry.get("links")))
        ),
    )


def _problems(entry: JsonObject) -> Iterator[str]:
    for name in entry:
        if name not in _FIELDS:
            yield f"{name[:60]}: unknown{did_you_mean(name, _FIELDS)}; known: {', '.join(_FIELDS)}"
    kind, title = str(entry.get("kind") or "").strip(), entry.get("name")
    if not kind:
        yield "kind: missing: the type of record, like risk or task"
    if not isinstance(title, str) or not title.strip() or len(title) > _LONGEST_NAME:
        yield f"name: must be a short title, {_LONGEST_NAME} characters at most"
    for argument in ("text", "parent"):
        if entry.get(argument) and kind != _DOCUMENT and (argument, kind) != ("text", _PROJECT):
            yield f"{argument}: a {kind} has none; put it into properties, like description"
    yield from _type_problems(entry)


def _type_problems(entry: JsonObject) -> Iterator[str]:
    """Values of a wrong type."""
    for name in ("kind", "project", "text", "parent"):
        if not isinstance(entry.get(name, ""), str):
            yield f"{name}: must be text"
    properties = entry.get("properties", {})
    if not isinstance(properties, dict):
        yield "properties: must be an object"
    elif "sources" in properties:
        yield "properties.sources: give the numbers [n] in the argument sources instead"
    numbers = entry.get("sources", [])
    if not isinstance(numbers, list) or not all(isinstance(one, int) and not isinstance(one, bool) for one in numbers):
        yield "sources: must be a list of numbers that documents of this conversation have"
    if not isinstance(entry.get("links", []), list):
        yield "links: must be a list of {relation, to}"


def _parse_link(link: Json, place: str, at: int, of: int) -> LinkRequest:
    relation, to = (link.get("relation"), link.get("to")) if isinstance(link, dict) else (None, None)
    if not isinstance(relation, str) or not isinstance(to, str) or not to.strip():
        raise InvalidArguments(f"{place}: must be {{relation, to}}: a relation's name, and a handle or #n")
    reject_unknown_fields(link if isinstance(link, dict) else {}, ("relation", "to"), place)
    if not to.startswith("#"):
        return LinkRequest(relation.strip(), to.strip())
    number = int(to[1:]) if to[1:].isdecimal() else 0
    if not 1 <= number <= of or number == at + 1:
        raise InvalidArguments(f"{place}.to: {to[:20]} is none of the other records of this call, #1 to #{of}")
    return LinkRequest(relation.strip(), number - 1)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
