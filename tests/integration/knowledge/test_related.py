"""What the results of a search are linked to: few records, each once, with the links to it, in one statement."""

from parlour.infra.jsonable import canonical
from parlour.knowledge.cards.cards import related
from parlour.knowledge.documents.documents import DocumentDraft
from parlour.knowledge.records.drafts import EntityDraft
from parlour.knowledge.records.edges import EdgeDraft
from parlour.knowledge.records.record import EntityKey
from parlour.knowledge.search.search import search
from tests.integration.knowledge.conftest import Library


def test_each_neighbour_comes_once_with_every_link_to_what_was_found(library: Library) -> None:
    tower, pour, cure, far = (EntityKey("task", key) for key in ("tower", "pour", "cure", "far"))
    library.put_entities(*(EntityDraft(key, f"{key.key} it") for key in (tower, pour, cure, far)))
    library.link(EdgeDraft(pour, tower, "depends_on"), EdgeDraft(tower, cure, "requires"), EdgeDraft(tower, far, "has"))
    library.put(*(DocumentDraft(key.key, "Note", f"Crane and {key.key}.", entity=key) for key in (pour, cure)))
    with library.database.transaction(library.principal) as tx:
        found = search(library.principal, tx, query="crane", vector=None)
        (one,) = related(library.principal, tx, found)
    assert {row.entity_key for row in found} == {"pour", "cure"}
    assert one.handle == "task/tower"
    assert sorted(canonical(link) for link in one.relations) == sorted(
        canonical({"of": of, "relation": relation, "direction": direction})
        for of, relation, direction in (
            ("task/pour", "depends_on", "outgoing"), ("task/cure", "requires", "incoming")
        )
    )  # fmt: skip
