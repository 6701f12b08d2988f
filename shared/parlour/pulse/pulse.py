"""A Pulse: what is going on with a record now, in cited statements, as it was written for one classification level.
Pure; whoever writes one and whoever reads one means this.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import Json, JsonObject

MAX_QUESTION_CHARS = 1_000
"""Letters of a question that a manual refresh may carry."""


@dataclass(frozen=True, slots=True)
class PulseJob:
    """A message of the Pulse queue: write this record's Pulses anew, or answer what somebody asked about it."""

    tenant_id: UUID
    entity_id: UUID
    question_id: UUID | None = None

    def to_json(self) -> JsonObject:
        """As a queue's body."""
        told: JsonObject = {"tenant_id": str(self.tenant_id), "entity_id": str(self.entity_id)}
        return {**told, "question_id": str(self.question_id)} if self.question_id else told

    @classmethod
    def from_json(cls, body: JsonObject) -> "PulseJob":
        """Back from a queue's body; MalformedPayload when it is something else."""
        try:
            asked = body.get("question_id")
            return cls(UUID(str(body["tenant_id"])), UUID(str(body["entity_id"])), UUID(str(asked)) if asked else None)
        except (KeyError, ValueError):
            raise MalformedPayload('an order is {"tenant_id", "entity_id"} and maybe "question_id"') from None


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a Pulse says, and the numbers of the materials that say so: one at least."""

    text: str
    sources: tuple[int, ...]

    def to_json(self) -> JsonObject:
        """As it is kept."""
        return {"text": self.text, "sources": list[Json](self.sources)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> "Statement":
        """Back from what is kept."""
        sources = stored["sources"]
        return cls(str(stored["text"]), tuple(int(str(one)) for one in sources) if isinstance(sources, list) else ())


@dataclass(frozen=True, slots=True)
class Citation:
    """What `[number]` in a Pulse stands for.

    title    of the record, document or file.
    locator  where in it: headings, page, sheet; "" for the whole.
    table    the row's: context_rows, entities, files, documents; "" for what is counted, which has none.
    level    its classification when the Pulse was written.
    """

    number: int
    title: str
    locator: str
    table: str
    id: str
    level: int

    @property
    def source_id(self) -> str:
        """`table/id`."""
        return f"{self.table}/{self.id}"

    def to_json(self) -> JsonObject:
        """As it is kept."""
        return {
            "number": self.number,
            "title": self.title,
            "locator": self.locator,
            "table": self.table,
            "id": self.id,
            "level": self.level,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> "Citation":
        """Back from what is kept."""
        return cls(
            int(str(stored["number"])),
            str(stored["title"]),
            str(stored["locator"]),
            str(stored["table"]),
            str(stored["id"]),
            int(str(stored["level"])),
        )


@dataclass(frozen=True, slots=True)
class LinkedCitation(Citation):
    """A citation with the console's address of its source; None where that was deleted."""

    link: str | None


@dataclass(frozen=True, slots=True)
class Pulse:
    """The stored Pulse of one record for one classification level.

    version          counts its texts, from 1.
    markdown         the statements, each followed by its `[n]`.
    source_ids       every row that was in its prompt or was counted there, cited or not, as `table/id` (context_rows,
                     entities, documents, files, handles). The Pulse is withheld when one of them rises above `level`.
                     The file of a row is listed too, because its rows are replaced.
    fingerprint      the hash of what it was written from.
    cost_usd         the cost of writing it, all attempts together.
    sources_read_at  when its sources were read.
    generated_at     when a model wrote it.
    checked_at       when its sources were last found to be unchanged; later changes are not reflected.
    """

    entity_id: UUID
    level: int
    version: int
    markdown: str
    statements: tuple[Statement, ...]
    citations: tuple[Citation, ...]
    source_ids: tuple[str, ...]
    fingerprint: str
    model: str
    cost_usd: Decimal
    sources_read_at: datetime
    generated_at: datetime
    checked_at: datetime
