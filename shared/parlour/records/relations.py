"""The relations that links have, and how each reads from both ends. Pure.

A link leads from its source to its target. Most of the catalogue's relations are said by the part about the whole
("task belongs_to_plan plan"), some by the whole about its parts ("plan has_task task"); a pack may have more of its
own, which are taken to be said by the part.
"""

import re
from dataclasses import dataclass
from typing import Literal

from parlour.infra.errors import InvalidRequest
from parlour.text.spelling_suggestions import did_you_mean

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")

_MISSPELT = 0.8
"""How much alike two names are that one person may have meant for the same."""

type ParentEnd = Literal["source", "target", "neither"]


@dataclass(frozen=True, slots=True)
class Relation:
    """A type of connection between two records.

    outgoing    its text as read from the source.
    incoming    its text as read from the target.
    parent_end  the end that is the parent: a change of the child is a change of the parent. The view `record_parents`
                says the same in SQL.
    """

    name: str
    outgoing: str
    incoming: str
    parent_end: ParentEnd


CATALOGUE = {
    relation.name: relation
    for relation in (
        Relation("belongs_to_plan", "is part of the plan", "includes", "target"),
        Relation("supports_goal", "works toward the goal", "is supported by", "target"),
        Relation("depends_on", "needs first", "is needed first by", "neither"),
        Relation("targets_milestone", "is due for the milestone", "is the milestone of", "target"),
        Relation("references", "refers to", "is referred to by", "neither"),
        Relation("produces", "produces", "is produced by", "source"),
        Relation("has_task", "includes the task", "is a task of", "source"),
        Relation("requires", "needs", "is needed by", "source"),
        Relation("achieved_by", "is achieved by", "achieves", "source"),
        Relation("referenced_by", "is referred to by", "refers to", "neither"),
        Relation("contains", "contains", "is contained in", "source"),
        Relation("produced_by", "is produced by", "produces", "target"),
        Relation("relates_to", "relates to", "relates to", "neither"),
    )
}


_INVERSES = (
    ("about", "subject of"),
    ("answers", "answered by"),
    ("applies to", "subject to"),
    ("approves", "approved by"),
    ("assigned to", "has assigned"),
    ("based on", "basis of"),
    ("blocks", "blocked by"),
    ("causes", "caused by"),
    ("changes", "changed by"),
    ("covers", "covered by"),
    ("delivers", "delivered by"),
    ("follows", "followed by"),
    ("governs", "governed by"),
    ("manages", "managed by"),
    ("mitigates", "mitigated by"),
    ("needed for", "needs"),
    ("owns", "owned by"),
    ("replaces", "replaced by"),
    ("resolves", "resolved by"),
    ("supersedes", "superseded by"),
    ("supplies", "supplied by"),
    ("supports", "supported by"),
    ("threatens", "threatened by"),
    ("under", "has under it"),
)
"""Relations that packs name themselves, and how each reads from the other end; they hold in both directions."""

_INVERSE_OF = {name: inverse for pair in _INVERSES for name, inverse in (pair, pair[::-1])}


def get_relation(name: str) -> Relation:
    """Return the catalogue's relation of that name; an unknown one reads as it is spelt."""
    said = name.replace("_", " ")
    return CATALOGUE.get(name) or Relation(name, said, _inverse_phrase(said), "target")


def _inverse_phrase(said: str) -> str:
    """Return how a relation reads from its target: "milestone of" as "has milestone", "threatens" as "threatened by".

    English has no rule for all verbs; an unknown one is quoted: "linked from (waits upon)".
    """
    if said in _INVERSE_OF:
        return _INVERSE_OF[said]
    if said.endswith(" of"):
        return f"has {said.removesuffix(' of')}"
    return f"{said.removeprefix('has ')} of" if said.startswith("has ") else f"linked from ({said})"


def relation_phrase(name: str, *, outgoing: bool) -> str:
    """How a relation reads from one of its ends: "belongs to plan" when the catalogue does not know it."""
    found = get_relation(name)
    return found.outgoing if outgoing else found.incoming


def validate_relation(name: str, relations_in_use: frozenset[str] = frozenset()) -> str:
    """Return a relation's name; InvalidRequest when it cannot be one, or nearly is one of the catalogue's.

    `relations_in_use` are those of the tenant's links already; they are accepted as they are.
    """
    if name in CATALOGUE or name in relations_in_use:
        return name
    names = [*CATALOGUE, *relations_in_use]
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            f"relation: use lower-case letters, digits and underscores, like 'depends_on'{did_you_mean(name, names)}"
        )
    if near := did_you_mean(name, names, _MISSPELT):
        raise InvalidRequest(f"relation: unknown relation '{name}'{near} (available: {', '.join(CATALOGUE)})")
    return name
