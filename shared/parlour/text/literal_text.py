"""Texts of others that people read as they are: nothing in them is Markdown, and nothing is invisible. Pure."""

import re

import regex

_MARKUP = re.compile(r"[\\`*_\[\]<>!|~&]|/(?=/)|^\s*(?:[#+=-]|\d{1,9}[.)])")
"""What Markdown, HTML and mentions read in a line; at its beginning also headings, rules and lists."""

_INVISIBLE = regex.compile(r"[^\n\P{C}]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]")
"""Control, format and other characters that show nothing or change what stands beside them."""


def escape_markdown(line: str) -> str:
    """Return a line that Markdown shows as it is."""
    return _MARKUP.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)


def show_invisible(text: str) -> str:
    """Return the text with each invisible character but the line feed as its number: `<U+202E>`."""
    return str(_INVISIBLE.sub(lambda found: f"<U+{ord(found[0]):04X}>", text))
