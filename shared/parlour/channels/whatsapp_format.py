"""A reply's markdown as WhatsApp shows text: its own marks, sources as a footer, in parts that it takes. Pure.

WhatsApp knows *bold*, _italic_, ~struck~, `code`, fenced code and quotes; links, headings and tables it does not.
"""

import functools
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import regex
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from parlour.text import sentences
from parlour.text.words import likely_language

MAX_MESSAGE_UNITS = 4096
"""The longest text message Gupshup and WhatsApp take, in characters; counted in UTF-16 units to be safe."""

#: The heading of the sources, by the languages that `likely_language` tells apart.
_SOURCES_LABELS = {
    "en": "Sources",
    "hi": "स्रोत",
    "de": "Quellen",
    "es": "Fuentes",
    "ta": "ஆதாரங்கள்",
    "kn": "ಮೂಲಗಳು",
}

_FENCE = "```"

_FULL_WIDTH_MARKS = {mark: chr(ord(mark) + 0xFEE0) for mark in "*_~`"}
"""What is shown of a mark that Markdown escapes: WhatsApp has no escape, and would draw the mark as formatting."""

_GRAPHEME = r"\X"


@dataclass(frozen=True, slots=True)
class Footnote:
    """What `[number]` in the text stands for; locator says where in it, and may be empty."""

    number: int
    title: str
    locator: str = ""


def format_whatsapp(text: str, citations: Sequence[Footnote], max_units: int = MAX_MESSAGE_UNITS) -> list[str]:
    """`text` (markdown) as messages of at most `limit` UTF-16 units each, the sources at the end of the last.

    Parts end between paragraphs, lines, sentences or words, in that order of liking, and never inside what
    a reader sees as one character; code that is cut is closed and opened again. The same input always gives
    the same parts, which is what lets an interrupted send go on where it stopped. Nothing to say: no parts.
    """
    try:
        body = _render_blocks(SyntaxTreeNode(_parser().parse(text)), "\n\n")
    except RecursionError:
        body = text.strip()  # nested more deeply than anybody means it
    blocks = [body, _render_footer(citations, likely_language(text))]
    return _split_parts("\n\n".join(block for block in blocks if block), max_units)


def _render_footer(citations: Sequence[Footnote], language: str) -> str:
    if not citations:
        return ""
    lines = [f"{_SOURCES_LABELS[language]}:"]
    for citation in citations:
        where = ", ".join(" ".join(words.split()) for words in (citation.title, citation.locator) if words.strip())
        lines.append(f"[{citation.number}] {where}".rstrip())
    return "\n".join(lines)


@functools.cache
def _parser() -> MarkdownIt:
    # Reference definitions would swallow lines that begin with "[1]:"; indentation in a chat is not code.
    options = {"html": False, "maxNesting": 1000}
    # Escaped characters stay nodes of their own: `text_join` would merge them with the text.
    rules = ["reference", "code", "text_join"]
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable(rules)


def _render_blocks(node: SyntaxTreeNode, separator: str) -> str:
    return separator.join(filter(None, (_render_block(child) for child in node.children)))


def _render_block(node: SyntaxTreeNode) -> str:
    render = _BLOCK_RENDERERS.get(node.type)
    return render(node) if render else _render_blocks(node, "\n\n")


def _render_paragraph(node: SyntaxTreeNode) -> str:
    return _render_inline(node, "").strip()


def _render_heading(node: SyntaxTreeNode) -> str:
    return _wrap_lines(_render_inline(node, "*").strip(), "*")


def _render_code(node: SyntaxTreeNode) -> str:
    return f"{_FENCE}\n{node.content.rstrip()}\n{_FENCE}"


def _render_quote(node: SyntaxTreeNode) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _render_blocks(node, "\n\n").split("\n"))


def _render_bullets(node: SyntaxTreeNode) -> str:
    return "\n".join(_render_item(item, "• ") for item in node.children)


def _render_numbers(node: SyntaxTreeNode) -> str:
    first = int(node.attrs.get("start", 1))
    return "\n".join(_render_item(item, f"{number}. ") for number, item in enumerate(node.children, first))


def _render_item(node: SyntaxTreeNode, marker: str) -> str:
    first, *more = _render_blocks(node, "\n").split("\n")
    return "\n".join([f"{marker}{first}".rstrip(), *(f"  {line}" for line in more)])


def _render_table(node: SyntaxTreeNode) -> str:
    """One line per row, each cell under its heading's name; a table without rows is its headings."""
    header, *rows = [
        [_render_inline(cell, "").strip() for cell in row.children] for row in node.walk() if row.type == "tr"
    ]
    lines = []
    for row in rows:
        named = (f"{name}: {cell}" if name else cell for name, cell in zip(header, row, strict=False) if cell)
        lines.append("• " + " · ".join(named))
    return "\n".join(lines) or " · ".join(filter(None, header))


_BLOCK_RENDERERS: dict[str, Callable[[SyntaxTreeNode], str]] = {
    "paragraph": _render_paragraph,
    "inline": _render_paragraph,
    "heading": _render_heading,
    "fence": _render_code,
    "blockquote": _render_quote,
    "bullet_list": _render_bullets,
    "ordered_list": _render_numbers,
    "table": _render_table,
    "hr": lambda _: "———",
}

_MARK_OF_NODE = {"strong": "*", "em": "_", "s": "~"}


def _render_inline(node: SyntaxTreeNode, active_marks: str) -> str:
    """Return the text of `node` with WhatsApp's marks; those in `active_marks` are open already."""
    rendered = ""
    for child, successor in zip(node.children, [*node.children[1:], None], strict=True):
        if child.type == "text_special":
            rendered += _render_literal(child.content, rendered[-1:], successor.content[:1] if successor else "")
        else:
            rendered += _render_span(child, active_marks)
    return rendered


def _render_literal(text: str, before: str, after: str) -> str:
    """Return an escaped character so that WhatsApp shows it. Inside a word it formats nothing."""
    is_inside_word = all(char.isascii() and char.isalnum() for char in (before, after))
    return text if is_inside_word else _FULL_WIDTH_MARKS.get(text, text)


def _render_span(node: SyntaxTreeNode, active_marks: str) -> str:
    if node.type in _MARK_OF_NODE:
        mark = _MARK_OF_NODE[node.type]
        inner = _render_inline(node, active_marks + mark)
        return inner if mark in active_marks else _wrap_lines(inner, mark)
    if node.type == "link":
        return _render_link(_render_inline(node, active_marks), str(node.attrs.get("href", "")))
    if node.type == "image":
        return _render_link(node.content, str(node.attrs.get("src", "")))
    if node.type in {"softbreak", "hardbreak"}:
        return "\n"
    if node.type == "code_inline":
        return f"`{node.content}`"
    return _render_inline(node, active_marks) if node.children else node.content


def _render_link(text: str, target: str) -> str:
    if not target or text in {target, target.removeprefix("mailto:")}:
        return text
    return f"{text} ({target})" if text.strip() else target


def _wrap_lines(text: str, mark: str) -> str:
    """Every line of `text` between `mark`s: WhatsApp's do not reach over a line's end, nor next to a space."""
    lines = ((line, line.strip()) for line in text.split("\n"))
    return "\n".join(line.replace(words, f"{mark}{words}{mark}", 1) if words else line for line, words in lines)


def _split_parts(text: str, limit: int) -> list[str]:
    room = limit - 2 * len(f"\n{_FENCE}")
    parts: list[str] = []
    opening = ""
    text = text.strip()
    while _utf16_length(opening + text) > limit:
        # Where the first part of `text` ends: at most `room` UTF-16 units from its beginning, at the best
        # place.
        indent = len(text) - len(text.lstrip())
        end = used = at = 0
        sentence_ends = set[int]()
        for piece in sentences.split_sentences(text[: room + 1]):
            sentence_ends.add(at + len(piece.rstrip()))
            at += len(piece)
        breaks = {"paragraph": 0, "line": 0, "sentence": 0, "word": 0}
        for found in regex.finditer(_GRAPHEME, text):
            if found[0] in {" ", "\n"} and found.start() > indent:
                breaks.update(dict.fromkeys(_break_kinds(text, found.start(), sentence_ends), found.start()))
            used += _utf16_length(found[0])
            if used > room:
                break
            end = found.end()
        liked = [breaks[kind] for kind in ("paragraph", "line", "sentence") if breaks[kind] > end // 3]
        cut = [*liked, breaks["word"] or end or room // 2][0]
        part = opening + text[:cut].rstrip()
        text = text[cut:].lstrip(" ") if text[cut] == " " else text[cut:].lstrip("\n")
        fenced = part.count(_FENCE) % 2 == 1
        parts.append(f"{part}\n{_FENCE}" if fenced else part)
        opening = f"{_FENCE}\n" if fenced else ""
        if fenced and text.startswith(_FENCE):  # the cut fell just before the end of the code
            opening, text = "", text.removeprefix(_FENCE).lstrip()
    return [*parts, opening + text] if text else parts


def _break_kinds(text: str, at: int, sentence_ends: Container[int]) -> list[str]:
    """Return the kinds of break that the white space at `at` is."""
    kinds = ["word"]
    if at in sentence_ends:
        kinds.append("sentence")
    if text[at] == "\n":
        kinds.append("line")
    if text.startswith("\n\n", at):
        kinds.append("paragraph")
    return kinds


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
