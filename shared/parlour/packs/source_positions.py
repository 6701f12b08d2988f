"""YAML with line numbers: values as JSON has them, and the line on which each of them stands.

Only the plain part of YAML is read: text, whole and decimal numbers, true, false, null, lists, mappings.
Tags are refused, `yes` and dates stay text, a field named twice is a problem, and a file that is too
deep, too large, or grows too large through its aliases is refused before it is expanded.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml
from yaml._yaml import CParser
from yaml.composer import Composer
from yaml.resolver import BaseResolver

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.infra.json_values import Json
from parlour.packs.field_formats import is_unstorable

MAX_DEPTH = 24
"""Levels of lists and mappings inside each other."""

MAX_VALUES = 20_000
"""Values of one file, aliases counted as often as they are used."""

type FieldPath = tuple[str | int, ...]
"""The way to a value from the top of its file: names of fields and positions in lists."""

#: Text that stands for more than itself: JSON's words, and numbers so short that they are stored exactly; `~` and
#: nothing are null.
_JSON_SCALAR = re.compile(r"(?:null|~||true|false|-?(?:0|[1-9][0-9]{0,14})|-?(?:0|[1-9][0-9]{0,8})\.[0-9]{1,6})\Z")

#: The tag that we give to it; others have theirs from the file.
_JSON_TAG = "json"


@dataclass(frozen=True, slots=True)
class ParsedYaml:
    """What a file says, and where. `lines` counts from 1; `value` has null or nothing at the place of a problem."""

    file: str
    value: Json
    lines: Mapping[FieldPath, int]
    problems: tuple[PackProblem, ...] = ()

    def line_of(self, place: FieldPath) -> int:
        """Return the line of a value; of what encloses it when it is not there."""
        while place not in self.lines and place:
            place = place[:-1]
        return self.lines.get(place, 1)

    def problem_at(self, place: FieldPath, message: str) -> PackProblem:
        """Return a problem with the value at `place`."""
        return PackProblem(self.file, self.line_of(place), format_path(place), message)


def format_path(place: FieldPath) -> str:
    """Return a place as people write it: `guardrails[0].id`; `-` for the file as a whole."""
    spelt = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return spelt.removeprefix(".") or "-"


def parse_yaml(file: str, text: str, first_line: int = 1) -> ParsedYaml:
    """Parse the one YAML document in `text`, which begins on `first_line` of `file`.

    Raises InvalidPack when there is no value to go on with.
    """
    try:
        node = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        raise InvalidPack([PackProblem(file, line, "-", f"is not YAML: {error.problem or error.context}")]) from None
    except yaml.reader.ReaderError as error:
        line = first_line + text.encode()[: error.position].count(b"\n")
        raise InvalidPack([PackProblem(file, line, "-", "contains a character that YAML does not allow")]) from None
    walk = _NodeReader(file, first_line)
    value = None if node is None else walk.value(node, ())
    return ParsedYaml(file, value, walk.lines, tuple(walk.problems))


class _Loader(Composer, CParser, BaseResolver):
    """Composes nodes, never objects, from libyaml's events; refuses what is nested deeper than Python's stack likes."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            mark = getattr(self.peek_event(), "start_mark", None)
            raise yaml.MarkedYAMLError(problem=f"more than {MAX_DEPTH} levels deep", problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


_Loader.add_implicit_resolver(_JSON_TAG, _JSON_SCALAR, None)


@dataclass(slots=True)
class _NodeReader:
    """Turns nodes into values, noting lines and problems on the way."""

    file: str
    first_line: int
    lines: dict[FieldPath, int] = field(default_factory=dict)
    problems: list[PackProblem] = field(default_factory=list)

    def value(self, node: yaml.Node, place: FieldPath) -> Json:
        self.lines.setdefault(place, self.first_line + node.start_mark.line)
        if len(self.lines) > MAX_VALUES or len(place) > MAX_DEPTH:
            problem = PackProblem(self.file, self.lines[place], "-", "is too large, or grows too large through aliases")
            raise InvalidPack([*self.problems, problem])
        match node:
            case yaml.MappingNode(tag=BaseResolver.DEFAULT_MAPPING_TAG):
                return self._mapping(node, place)
            case yaml.SequenceNode(tag=BaseResolver.DEFAULT_SEQUENCE_TAG):
                return [self.value(item, (*place, number)) for number, item in enumerate(node.value)]
            case yaml.ScalarNode(tag=BaseResolver.DEFAULT_SCALAR_TAG, value=text):
                # Report a character that no database takes; escapes in quotes can make one.
                strange = next(filter(is_unstorable, text), None)
                if strange is not None:
                    message = f"contains the character U+{ord(strange):04X}, which is not text"
                    self._add_problem(place, self.lines[place], message)
                return str(text)
            case yaml.ScalarNode(tag=tag, value=text) if tag == _JSON_TAG and _JSON_SCALAR.match(text):
                # -0.0 becomes 0.0, as the database has it
                value: Json = json.loads(text.strip("~") or "null", parse_float=lambda digits: float(digits) + 0.0)
                return value
        self._add_problem(place, self.lines[place], f"has the tag {node.tag}; tags are not supported")
        return None

    def _mapping(self, node: yaml.MappingNode, place: FieldPath) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, value in node.value:
            line = self.first_line + key.start_mark.line
            is_text = isinstance(key, yaml.ScalarNode) and key.tag == BaseResolver.DEFAULT_SCALAR_TAG
            name = key.value if is_text else None
            if name is None:
                self._add_problem(place, line, "the name of a field must be text; put it in quotes")
            elif any(map(is_unstorable, name)):
                self._add_problem(place, line, "the name of a field contains a character that is not text")
            elif name in found:
                self._add_problem((*place, name), line, f"is defined twice; first on line {self.lines[(*place, name)]}")
            else:
                self.lines[(*place, name)] = line
                found[name] = self.value(value, (*place, name))
        return found

    def _add_problem(self, place: FieldPath, line: int, message: str) -> None:
        self.problems.append(PackProblem(self.file, line, format_path(place), message))
