"""One call that creates several records: what it asks for, and what of it cannot be."""

import pytest

from parlour.infra.errors import InvalidArguments
from parlour.infra.json_values import JsonObject
from parlour.tools.builtin.create_requests import CreateRequest, LinkRequest, parse_create_requests

RISK: JsonObject = {"kind": "risk", "name": "Late permit"}


def test_one_record() -> None:
    assert parse_create_requests({**RISK, "properties": {"state": "open"}, "sources": [2, 2, 1]}) == [
        CreateRequest("risk", "Late permit", {"state": "open"}, sources=(2, 1))
    ]


def test_what_is_created_along_takes_kind_and_project_over_and_may_say_otherwise() -> None:
    more: list[JsonObject] = [{"name": "No crane"}, {"kind": "task", "name": "Book it", "project": "project/B"}]
    _, crane, task = parse_create_requests({**RISK, "project": "project/A", "sources": [1], "more": [*more]})
    assert crane == CreateRequest("risk", "No crane", project="project/A")
    assert task == CreateRequest("task", "Book it", project="project/B")


def test_links_lead_to_handles_and_to_others_of_the_call() -> None:
    links: list[JsonObject] = [
        {"relation": "references", "to": "contract/C-1"},
        {"relation": "depends_on", "to": "#2"},
    ]
    first, _ = parse_create_requests({**RISK, "links": [*links], "more": [{"name": "Other"}]})
    assert first.links == (LinkRequest("references", "contract/C-1"), LinkRequest("depends_on", 1))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"kind": " "}, "kind: missing"),
        ({"name": " "}, "name: must be a short title"),
        ({"text": "# A"}, "text: a risk has none; put it into properties"),
        ({"parent": "document/a"}, "parent: a risk has none"),
        ({"kind": "project", "parent": "document/a"}, "parent: a project has none"),
        ({"properties": {"sources": []}}, "properties.sources: give the numbers"),
        ({"links": [{"relation": "depends_on", "to": "#1"}]}, "links[0].to: #1 is none of the other records"),
        ({"links": [{"relation": "depends_on", "to": "#7"}]}, "links[0].to: #7 is none of the other records"),
        ({"links": [{"relation": "depends_on", "to": "#x"}]}, "links[0].to: #x is none of the other records"),
        ({"links": [{"to": "task/T-1"}]}, "links[0]: must be {relation, to}"),
        ({"more": [{}]}, "more[0].name: must be a short title"),
        ({"more": [{"name": "A", "propertys": {}}]}, "more[0].propertys: unknown; did you mean 'properties'?"),
        ({"more": [{"name": "A", "properties": []}]}, "more[0].properties: must be an object"),
        ({"more": [{"name": "A", "sources": ["1"]}]}, "more[0].sources: must be a list of numbers"),
        ({"more": [{"name": "A", "sources": [True]}]}, "more[0].sources: must be a list of numbers"),
        ({"more": [{"name": "A", "links": {}}]}, "more[0].links: must be a list"),
        ({"more": [{"name": "A", "project": 7}]}, "more[0].project: must be text"),
        ({"more": [{"name": 7}]}, "more[0].name: must be a short title"),
        ({"more": [{"name": "A", "more": []}]}, "more[0].more: unknown"),
    ],
)
def test_what_cannot_be_is_told_with_its_place(wrong: JsonObject, told: str) -> None:
    with pytest.raises(InvalidArguments) as refusal:
        parse_create_requests({**RISK, **wrong})
    assert told in str(refusal.value)


def test_a_document_has_text_and_a_place_and_a_project_has_words() -> None:
    (document,) = parse_create_requests(
        {"kind": "document", "name": "Plan", "text": "# Plan", "parent": "document/top"}
    )
    assert (document.text, document.parent) == ("# Plan", "document/top")
    assert parse_create_requests({"kind": "project", "name": "Wharf", "text": "A new wharf."})[0].text == "A new wharf."
