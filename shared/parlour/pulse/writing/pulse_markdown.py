"""A Pulse as it is shown: its statements, each with the numbers of what it rests on, counted anew from 1. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parlour.pulse.material.numbered_sources import COUNTS_TABLE, NumberedSource
from parlour.pulse.pulse import Citation, Statement


@dataclass(frozen=True, slots=True)
class RenderedPulse:
    """The text, its statements with the numbers that stand in the text, and what these stand for."""

    markdown: str
    statements: tuple[Statement, ...]
    citations: tuple[Citation, ...]


def render_pulse(
    statements: Sequence[Statement], documents: Mapping[int, NumberedSource], note: str = ""
) -> RenderedPulse:
    """Render the statements as a list, each with its `[n]`, in the order of first use; `note` comes first."""
    used = dict.fromkeys(number for one in statements for number in one.sources)
    numbers = {number: place for place, number in enumerate(used, start=1)}
    told = tuple(Statement(one.text, tuple(numbers[number] for number in one.sources)) for one in statements)
    lines = [f"- {one.text} {''.join(f'[{number}]' for number in one.sources)}" for one in told]
    citations = tuple(_citation(place, documents[number]) for number, place in numbers.items())
    return RenderedPulse("\n".join([*([f"*{note}*\n"] if note else []), *lines]), told, citations)


def _citation(number: int, document: NumberedSource) -> Citation:
    """Return the citation; counts and lists have no row of their own and cite the record that they are about."""
    table = "" if document.source.table in {COUNTS_TABLE, "edges"} else document.source.table
    return Citation(
        number, document.title, document.locator, table, document.source.id if table else "", document.level
    )
