"""PowerPoint: a part per slide: its title, its text, its tables, and what the speaker notes say."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pptx
from pptx.exc import PackageNotFoundError

from parlour.files.extract.office_zip import check_office_zip
from parlour.files.extract.parts import Part, escape_markdown, markdown_heading, markdown_table
from parlour.files.problems import unreadable_file

_MOST_SLIDES = 2_000


def extract(path: Path) -> list[Part]:
    """Every slide. UnreadableFile when it is broken or a bomb."""
    check_office_zip(path, "ppt/")
    try:
        slides = list(pptx.Presentation(str(path)).slides)
        if len(slides) > _MOST_SLIDES:
            raise unreadable_file("too_long")
        return [_slide(slide, number) for number, slide in enumerate(slides, start=1)]
    except (PackageNotFoundError, KeyError, ValueError, AttributeError) as error:
        raise unreadable_file("broken") from error


def _slide(slide: Any, number: int) -> Part:
    title = slide.shapes.title
    name = " ".join(title.text_frame.text.split()) if title is not None and title.has_text_frame else ""
    shapes = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
    lines = [markdown_heading(1, name), "", *_lines(shapes)]
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        lines += ["", f"Speaker notes: {escape_markdown(notes)}"] if notes else []
    return Part("\n".join(lines).strip(), "slide", number, name)


def _lines(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _lines(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield f"\n{markdown_table([[cell.text for cell in row.cells] for row in shape.table.rows])}\n"
        elif shape.has_text_frame:
            yield from _paragraphs(shape.text_frame)


def _paragraphs(frame: Any) -> Iterator[str]:
    said = [(paragraph.level, words) for paragraph in frame.paragraphs if (words := escape_markdown(paragraph.text))]
    for level, words in said:
        yield f"{'  ' * level}- {words}" if len(said) > 1 else words
    yield ""
