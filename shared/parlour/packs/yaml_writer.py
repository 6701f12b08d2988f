"""Values to YAML in one fixed spelling, so that the same pack always exports to the same bytes."""

from typing import Any

import yaml

from parlour.infra.json_values import Json

_WIDTH = 110
_ESCAPED_LINE_BREAKS = frozenset("\x85\u2028\u2029")


def to_yaml(value: Json) -> str:
    """`value` as YAML: fields in the given order, lists indented, texts of several lines as blocks."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False)


class _Dumper(yaml.SafeDumper):
    """No anchors: what is the same twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Line separators that YAML would turn into plain line breaks are escaped in quotes."""
    style = '"' if _ESCAPED_LINE_BREAKS & set(value) else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


_Dumper.add_representer(str, _represent_text)
