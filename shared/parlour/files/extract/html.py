"""HTML: its headings, paragraphs, lists and tables as Markdown; nothing that a browser would run or hide."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lxml.html
from lxml import etree

from parlour.files.extract.parts import Part, escape_markdown, markdown_heading, markdown_table
from parlour.files.problems import unreadable_file

#: What a browser runs, hides or does not show as text.
_HIDDEN = ("script", "style", "noscript", "template", "svg", "head", "iframe", "object", "select", "button")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = (
    {*_HEADINGS, "address", "article", "aside", "blockquote", "body", "details", "div", "fieldset", "figcaption"}
    | {"figure", "footer", "form", "header", "html", "main", "nav", "p", "pre", "section", "summary"}
    | {"dd", "dl", "dt", "li", "ol", "table", "td", "th", "tr", "ul"}
)
_DEEPEST = 200
_SPACES = re.compile(r"\s+")
_BREAKS = re.compile(r"\n{3,}")


def extract(path: Path) -> list[Part]:
    """Return the page as one part, headed by its title when it has no first heading of its own."""
    return [Part(html_to_markdown(path.read_bytes()))]


def html_to_markdown(data: bytes | str) -> str:
    """Return a page's Markdown.

    Raises:
        UnreadableFile: there is no markup in it at all, or it is nested too deeply.
    """
    parser = lxml.html.HTMLParser(no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        root = lxml.html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise unreadable_file("broken") from error
    title = markdown_heading(1, root.findtext(".//title") or "") if root.find(".//h1") is None else ""
    etree.strip_elements(root, *_HIDDEN, with_tail=False)
    for line_break in root.iter("br"):
        line_break.tail = f"\n{line_break.tail or ''}"
    return _BREAKS.sub("\n\n", "\n".join([title, *_blocks(root, 0)])).strip()


def _blocks(element: Any, depth: int) -> Iterator[str]:
    """Yield the blocks under an element; text between them is a paragraph of its own."""
    if depth > _DEEPEST:
        raise unreadable_file("broken")
    inline: list[str] = [element.text or ""]
    for child in element:
        if any(node.tag in _BLOCKS for node in child.iter()):
            yield _paragraph(inline)
            yield from _block(child, depth + 1)
            inline = [child.tail or ""]
        else:
            inline += [_SPACES.sub(" ", child.text_content()), child.tail or ""]
    yield _paragraph(inline)


def _block(element: Any, depth: int) -> Iterator[str]:
    if element.tag in _HEADINGS:
        yield f"\n{markdown_heading(_HEADINGS[element.tag], element.text_content())}\n"
    elif element.tag == "table" and element.find(".//table") is None:
        rows = [[cell.text_content().strip() for cell in row if cell.tag in {"td", "th"}] for row in element.iter("tr")]
        yield f"\n{markdown_table([row for row in rows if any(row)])}\n"
    elif element.tag == "pre":
        yield f"\n```\n{element.text_content()}\n```\n"
    elif element.tag == "li":
        if lines := [text.strip() for text in _blocks(element, depth) if text.strip()]:
            yield "- " + "\n  ".join(lines)
    else:
        yield from _blocks(element, depth)
        yield ""


def _paragraph(inline: list[str]) -> str:
    lines = (escape_markdown(line) for line in "".join(inline).split("\n\n"))
    return "\n".join(filter(None, lines))
