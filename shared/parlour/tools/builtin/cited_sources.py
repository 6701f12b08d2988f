"""The sources that a model names by the numbers of its conversation: what of them a record keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.errors import InvalidArguments
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.text.spelling_suggestions import list_options
from parlour.tools.builtin import store

REFERENCES_RELATION = "references"
"""How a record is linked to the record that it was read in."""


@dataclass(frozen=True, slots=True)
class SourceSet:
    """What some numbers refer to.

    citations       `{"title", "locator", "page"}` for each, as records have it under `sources`.
    handles         the records that they were read in.
    classification  the highest among them: what is made from them may not be more open.
    """

    citations: tuple[JsonObject, ...] = ()
    handles: tuple[str, ...] = ()
    classification: int = 0

    def add_to_properties(self, properties: JsonObject) -> JsonObject:
        """Properties that also say what they were taken from."""
        told: list[Json] = [*self.citations]
        return {**properties, "sources": told} if told else properties


class CitedSources:
    """The sources of one conversation that a call names, read at once."""

    def __init__(self, rows: Sequence[store.CitedSourceRow]) -> None:
        self._rows = {row.number: row for row in rows}

    def resolve(self, numbers: Sequence[int], argument: str) -> SourceSet:
        """Return what those numbers refer to; InvalidArguments for a number that the conversation never assigned."""
        if unknown := [number for number in numbers if number not in self._rows]:
            known = list_options(str(number) for number in sorted(self._rows))
            said = ", ".join(map(str, unknown[:5]))
            raise InvalidArguments(
                f"{argument}: {said}: no document of this conversation has that number; found: {known}"
            )
        rows = [self._rows[number] for number in numbers]
        return SourceSet(
            tuple(map(_citation, rows)),
            tuple(dict.fromkeys(row.handle for row in rows if row.handle)),
            max((row.classification for row in rows), default=0),
        )


def read_cited_sources(principal: Principal, tx: Transaction, session_id: UUID, numbers: Sequence[int]) -> CitedSources:
    """Return the sources that the conversation knows under these numbers, as far as the principal may see them."""
    fitting = [number for number in dict.fromkeys(numbers) if 0 < number < 2**31]
    return CitedSources(store.find_cited_sources(tx, session_id, fitting, principal.clearance) if fitting else [])


def _citation(row: store.CitedSourceRow) -> JsonObject:
    """Return the document's title, the clause and the page, as far as known."""
    page, heading = row.metadata.get("page"), row.metadata.get("heading")
    locator = heading if isinstance(heading, str) and heading else row.locator
    known: dict[str, Json] = {"title": row.title, "locator": locator, "page": page if isinstance(page, int) else None}
    return {name: value for name, value in known.items() if value}
