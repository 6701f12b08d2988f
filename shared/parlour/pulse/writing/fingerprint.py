"""What a Pulse was written from, in one hash: equal, and nothing has to be written. Pure.

It is taken of what stands in the prompt, not of what was asked for: a relevant row of another record that is in by now
changes it, although nothing happened to this record.
"""

from collections.abc import Sequence

from parlour.infra.json_values import Json, JsonObject, canonical_digest
from parlour.pulse.material.numbered_sources import NumberedSource


def fingerprint(
    documents: Sequence[NumberedSource],
    properties: JsonObject,
    *,
    prompt_version: str,
    model: str,
    level: int,
    question: str = "",
) -> str:
    """Return the SHA-256 of everything that a Pulse is written from.

    That is the result set (which rows, and their words as in the prompt), counts included, the record's properties, the
    prompt's version, the model (provider/model), the level and the question. The numbers and the order of the documents
    are not part of it: they shift with what was left out, and with a neighbour's vector.
    """
    return canonical_digest(
        {
            "rows": source_hashes(documents),
            "properties": properties,
            "prompt": prompt_version,
            "model": model,
            "level": level,
            "question": question,
        }
    )


def source_hashes(documents: Sequence[NumberedSource]) -> list[Json]:
    """Return the hashes of the result set: two levels whose sets are equal have one Pulse."""
    hashes = [
        (str(document.source_kind), document.source.table, document.source.id, canonical_digest(document.text))
        for document in documents
    ]
    return [list[Json](row) for row in sorted(hashes)]
