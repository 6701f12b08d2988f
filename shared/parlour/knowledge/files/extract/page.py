"""HTML: its headings, paragraphs, lists and tables as Markdown; nothing that a browser would run or hide."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lxml.html
from lxml import etree

from parlour.knowledge.files.extract.parts import Part, heading, plain, table
from parlour.knowledge.files.problems import unreadable

_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "select", "button"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(_HEADINGS) | {
    "address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "header", "html", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table",
    "td", "th", "tr", "ul",
}  # fmt: skip
_DEEPEST = 200
_BREAKS = re.compile(r"\n{3,}")


def extract(path: Path) -> list[Part]:
    """The page as one part, headed by its title when it has no first heading of its own."""
    return [Part(markdown(path.read_bytes()))]


def markdown(data: bytes | str) -> str:
    """A page's Markdown. UnreadableFile when there is no markup in it at all."""
    parser = lxml.html.HTMLParser(no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        root = lxml.html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise unreadable("broken") from error
    title = heading(1, root.findtext(".//title") or "") if root.find(".//h1") is None else ""
    return _BREAKS.sub("\n\n", "\n".join([title, *_blocks(root, 0)])).strip()


def _blocks(element: Any, depth: int) -> Iterator[str]:
    """The blocks under an element; text between them is a paragraph of its own."""
    if depth > _DEEPEST:
        raise unreadable("broken")
    inline: list[str] = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str) or child.tag in _HIDDEN:
            inline.append(child.tail or "")
        elif child.tag in _BLOCKS or _has_block(child):
            yield _paragraph(inline)
            yield from _block(child, depth + 1)
            inline = [child.tail or ""]
        else:
            inline += ["\n" if child.tag == "br" else _words(child), child.tail or ""]
    yield _paragraph(inline)


def _block(element: Any, depth: int) -> Iterator[str]:
    if element.tag in _HEADINGS:
        yield f"\n{heading(_HEADINGS[element.tag], _words(element))}\n"
    elif element.tag == "table" and element.find(".//table") is None:
        rows = [[_words(cell) for cell in row if cell.tag in {"td", "th"}] for row in element.iter("tr")]
        yield f"\n{table([row for row in rows if any(row)])}\n"
    elif element.tag == "pre":
        yield f"\n```\n{_raw(element)}\n```\n"
    elif element.tag == "li":
        yield from _item(element, depth)
    else:
        yield from _blocks(element, depth)
        yield ""


def _item(element: Any, depth: int) -> Iterator[str]:
    """A list's item: its first line is marked, what is inside it follows."""
    said = [text for text in _blocks(element, depth) if text.strip()]
    if said:
        yield f"- {said[0].strip()}"
        yield from (f"  {text.strip()}" for text in said[1:])


def _paragraph(inline: list[str]) -> str:
    lines = (plain(line) for line in "".join(inline).split("\n\n"))
    return "\n".join(filter(None, lines))


def _has_block(element: Any) -> bool:
    return any(isinstance(node.tag, str) and node.tag in _BLOCKS for node in element.iter())


def _words(element: Any) -> str:
    return " ".join(_raw(element).split())


def _raw(element: Any) -> str:
    said = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and child.tag not in _HIDDEN:
            said.append(" " if child.tag == "br" else _raw(child))
        said.append(child.tail or "")
    return "".join(said)
