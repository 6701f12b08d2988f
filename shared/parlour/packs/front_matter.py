"""A document's file: a line of ---, the header's YAML, a line of ---, an empty line, the text.

`split` and `join` undo each other, so a text comes back from an export exactly as it went in.
"""

_FENCE = "---\n"


def split(text: str) -> tuple[str, str] | None:
    """Return the header's YAML (it begins on line 2) and the text; None when the file does not begin with a header."""
    if not text.startswith(_FENCE):
        return None
    header, fence, content = text[len(_FENCE) - 1 :].partition(f"\n{_FENCE}")
    if not fence:
        return None
    return f"{header}\n".removeprefix("\n"), content.removeprefix("\n").removesuffix("\n")


def join(header: str, content: str) -> str:
    """Return the file of a header (YAML that ends with a new line) and a text."""
    return f"{_FENCE}{header}{_FENCE}\n{content}\n"
