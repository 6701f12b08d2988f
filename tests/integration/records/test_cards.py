"""What the results of a search are linked to: few records, each once, with the links to it, in one statement."""

from parlour.documents.pack_import import DocumentDraft
from parlour.infra.json_values import canonical_json
from parlour.records.cards.search_cards import find_related_records
from parlour.records.pack_import import RecordDraft
from parlour.records.record import RecordKey
from parlour.records.record_links import LinkDraft
from parlour.search.hybrid_search import Question, search
from tests.integration.knowledge_tenant import KnowledgeTenant


def test_each_neighbour_comes_once_with_every_link_to_what_was_found(library: KnowledgeTenant) -> None:
    tower, pour, cure, far = (RecordKey("task", key) for key in ("tower", "pour", "cure", "far"))
    library.import_records(*(RecordDraft(key, f"{key.key} it") for key in (tower, pour, cure, far)))
    library.import_links(
        LinkDraft(pour, tower, "depends_on"), LinkDraft(tower, cure, "requires"), LinkDraft(tower, far, "has")
    )
    library.import_documents(
        *(DocumentDraft(key.key, "Note", f"Crane and {key.key}.", record_key=key) for key in (pour, cure))
    )
    with library.database.transaction(library.principal) as tx:
        found = search(library.principal, tx, Question(text="crane", vector=None))
        (one,) = find_related_records(library.principal, tx, found)
    assert {row.entity_key for row in found} == {"pour", "cure"}
    assert one.handle == "task/tower"
    assert sorted(canonical_json(link) for link in one.relations) == sorted(
        canonical_json({"record": of, "relation": relation, "direction": direction})
        for of, relation, direction in (("task/pour", "depends_on", "outgoing"), ("task/cure", "requires", "incoming"))
    )
