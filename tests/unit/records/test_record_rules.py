"""How records are named, what their kinds allow, how links read, where a listing reads on."""

import base64
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.infra import page_cursor
from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import JsonObject
from parlour.packs.built_in_types import list_built_in_types
from parlour.packs.serialization import to_row
from parlour.principal import Principal
from parlour.records import relations
from parlour.records.built_in_types import BUILT_IN_TYPES
from parlour.records.deltas import delta_row, diff_records
from parlour.records.properties import merge_properties
from parlour.records.record import Record, RecordKey, generate_keys, parse_reference, slug, validate_name
from parlour.records.record_type import DEFAULT_LINK, RecordType, RecordTypeSettings, is_backfill_needed

ID = UUID("019cade2-11c0-7d11-9ecf-9852e9d2ed30")
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
RISK = BUILT_IN_TYPES["risk"]


def entity(name: str = "Crane", properties: JsonObject | None = None, classification: int = 0) -> Record:
    return Record(
        ID,
        "risk",
        "Risk",
        "R-1",
        name,
        properties or {},
        classification,
        None,
        None,
        1,
        NOW,
        NOW,
        "",
        "",
        None,
        [],
        None,
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Crane not free", "crane-not-free"),
        ("  Überprüfung §8.1!  ", "uberprufung-8-1"),
        ("खतरा", "record"),
        ("a" * 200, "a" * 48),
        ("x" * 47 + " y", "x" * 47),
    ],
)
def test_a_key_is_made_of_the_names_words(name: str, words: str) -> None:
    assert slug(name) == words
    assert generate_keys(name, ID) == [f"{words}-ed30", f"{words}-e9d2ed30", f"{words}-{ID.hex}"]


@given(st.text(max_size=400))
def test_every_key_that_is_made_can_be_named(name: str) -> None:
    for key in generate_keys(name, ID):
        assert parse_reference(f"risk/{key}") == RecordKey("risk", key)


@given(st.text(max_size=60))
def test_no_text_breaks_a_reference(text: str) -> None:
    found = parse_reference(text)
    assert found is None or isinstance(found, UUID) or str(found) == text.strip()


def test_a_name_is_one_line() -> None:
    assert validate_name(" Crane\n not\tfree\0 \ud800") == "Crane not free"
    for name in ("", " \n", "x" * 301, "\ud800"):
        with pytest.raises(InvalidRequest, match="1 to 300"):
            validate_name(name)


def test_every_problem_of_a_record_is_told_at_once() -> None:
    with pytest.raises(InvalidRequest) as refused:
        merge_properties(RISK.properties, {}, {"severty": "high", "due": "soon", "stale_since": "now", "id": "x"})
    assert str(refused.value).count(";") >= 3
    for word in (
        "did you mean 'severity'",
        "due: must be an ISO date",
        "stale_since: is reserved by Parlour",
        "id: is",
    ):
        assert word in str(refused.value)


def test_what_is_required_cannot_be_taken_away() -> None:
    defined: JsonObject = {"state": {"type": "text", "required": True}}
    with pytest.raises(InvalidRequest, match="state: is missing; a permit requires it"):
        merge_properties(defined, {"state": "open"}, {"state": None}, "permit")
    assert merge_properties(defined, {"state": "open", "old": 1}, {}) == {"state": "open", "old": 1}


@pytest.mark.parametrize("value", [True, float("nan"), float("inf"), 10**40, "3", [1], {"a": 1}])
def test_a_number_is_a_number(value: object) -> None:
    with pytest.raises(InvalidRequest, match="amount: must be a number"):
        merge_properties(BUILT_IN_TYPES["contract"].properties, {}, {"amount": value})  # type: ignore[dict-item]


def test_properties_together_have_a_limit() -> None:
    defined: JsonObject = {f"p{number}": {"type": "text"} for number in range(5)}
    with pytest.raises(InvalidRequest, match="put long text into a document"):
        merge_properties(defined, {}, dict.fromkeys(defined, "x" * 19000))


@pytest.mark.parametrize(
    "sources",
    ["page 3", [{"locator": "3"}], [{"title": "A", "url": "x"}], [{"title": "A", "page": [1]}], [{"title": "A"}] * 21],
)
def test_sources_have_one_shape(sources: object) -> None:
    with pytest.raises(InvalidRequest, match="sources: must be a list"):
        merge_properties(RISK.properties, {}, {"sources": sources})  # type: ignore[dict-item]


def test_sources_are_kept_on_every_kind() -> None:
    given: JsonObject = {"sources": [{"title": "Contract", "locator": "12.3", "page": 9}]}
    assert merge_properties(RISK.properties, {}, given) == given


def test_a_setting_that_is_not_said_has_its_default() -> None:
    settings = RecordTypeSettings.parse({})
    assert (
        settings.is_searchable,
        settings.is_stale_with_children,
        settings.has_pulses,
        settings.coalesce_seconds,
    ) == (True, False, False, 30)
    assert (settings.classification, settings.link, settings.budget) == (0, DEFAULT_LINK, None)
    said = RecordTypeSettings.parse(
        {"context": "off", "children": "auto", "classification": "confidential", "budget": 9000}
    )
    assert (said.is_searchable, said.is_stale_with_children, said.classification, said.budget) == (
        False,
        True,
        2,
        {"tokens": 9000},
    )
    strange = RecordTypeSettings.parse(
        {"coalesce_seconds": True, "classification": "secret", "tracked_properties": "state"}
    )
    assert (strange.coalesce_seconds, strange.classification, strange.tracked_properties) == (30, 0, ())


def test_a_record_is_looked_at_where_its_kind_says() -> None:
    assert RecordType("order", "Order", {}, {"link": "https://erp.example/o/{{key}}"}).link_to_record("7") == (
        "https://erp.example/o/7"
    )
    assert RISK.link_to_record("R-1") == "/console/#/records/risk/R-1"


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ({"display_name": "Danger"}, True),
        ({"rag": {"semantic": "{{name}}"}}, True),
        ({"rag": {"context": "off"}}, True),
        ({"rag": {"pulse": "auto"}}, True),
        ({"rag": {"pulse_prompt": "What holds it up."}}, False),
        ({"rag": {"status_properties": ["state"]}}, False),
        ({"properties": {"a": {"type": "text", "label": "A!"}}}, True),
        ({"rag": {"icon": "x", "coalesce_seconds": 60}}, False),
        ({"properties": {"a": {"type": "text", "description": "more"}}}, False),
    ],
)
def test_only_what_is_read_has_records_described_anew(change: JsonObject, anew: bool) -> None:
    before: JsonObject = {"display_name": "Risk", "properties": {"a": {"type": "text"}}, "rag": {}}
    assert is_backfill_needed(before, {**before, **change}) is anew


@pytest.mark.parametrize("change", [{"pulse_prompt": "What holds it up."}, {"status_properties": ["state"]}])
def test_how_pulses_are_written_is_read_where_there_are_some(change: JsonObject) -> None:
    before: JsonObject = {"display_name": "Risk", "properties": {}, "rag": {"pulse": "auto"}}
    assert is_backfill_needed(before, {**before, "rag": {"pulse": "auto", **change}})


@pytest.mark.parametrize("key", BUILT_IN_TYPES)
def test_everybodys_kinds_are_written_as_a_pack_would_have_them_stored(key: str) -> None:
    kind = BUILT_IN_TYPES[key]
    assert to_row(list_built_in_types()[key]) == {
        "display_name": kind.display_name,
        "properties": kind.properties,
        "rag": kind.rag,
    }


def test_the_kinds_that_the_sources_name_are_there() -> None:
    assert set(BUILT_IN_TYPES) == {
        "project",
        "document",
        "task",
        "goal",
        "plan",
        "milestone",
        "risk",
        "requirement",
        "output",
        "finding",
        "contract",
        "conversation",
    }
    assert {"kind", "severity", "status"} <= BUILT_IN_TYPES["finding"].properties.keys()


def test_the_catalogue_has_every_relation_with_both_its_readings() -> None:
    assert set(relations.CATALOGUE) == {
        "belongs_to_plan",
        "supports_goal",
        "depends_on",
        "targets_milestone",
        "references",
        "produces",
        "has_task",
        "requires",
        "achieved_by",
        "referenced_by",
        "contains",
        "produced_by",
        "relates_to",
    }
    assert relations.relation_phrase("depends_on", outgoing=True) == "needs first"
    assert relations.relation_phrase("depends_on", outgoing=False) == "is needed first by"
    assert relations.relation_phrase("stands_on", outgoing=True) == "stands on"


@pytest.mark.parametrize(
    ("name", "inverse"),
    [
        ("threatens", "threatened by"),
        ("threatened_by", "threatens"),
        ("milestone_of", "has milestone"),
        ("has_milestone", "milestone of"),
        ("needed_for", "needs"),
        ("waits_upon", "linked from (waits upon)"),
    ],
)
def test_a_relation_of_ones_own_has_an_inverse_name(name: str, inverse: str) -> None:
    assert relations.relation_phrase(name, outgoing=False) == inverse


def test_a_relation_of_ones_own_is_taken_unless_it_looks_misspelt() -> None:
    assert relations.validate_relation("threatens") == "threatens"
    assert relations.validate_relation("belongs_to", frozenset({"belongs_to"})) == "belongs_to"
    for name, message in (("depends", "did you mean 'depends_on'"), ("Depends On", "lower-case"), ("", "lower-case")):
        with pytest.raises(InvalidRequest, match=message):
            relations.validate_relation(name)


def test_a_cursor_leads_behind_its_row() -> None:
    text = page_cursor.encode_cursor(NOW, "risk/R-1")
    assert page_cursor.decode_cursor(text) == (NOW, "risk/R-1")


def test_a_cursor_of_another_list_is_refused_where_an_id_is_expected() -> None:
    assert page_cursor.decode_id_cursor(page_cursor.encode_cursor(NOW, ID)) == (NOW, ID)
    with pytest.raises(InvalidRequest, match="next_cursor"):
        page_cursor.decode_id_cursor(page_cursor.encode_cursor(NOW, "risk/R-1"))


def test_a_cursor_of_half_a_character_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="cursor"):
        page_cursor.decode_cursor(base64.urlsafe_b64encode(b'["2026-03-02T09:30:00", "\\ud800"]').decode().rstrip("="))


@given(st.text(max_size=500))
def test_a_made_up_cursor_is_refused_or_only_a_place(text: str) -> None:
    try:
        at, handle = page_cursor.decode_cursor(text)
    except InvalidRequest:
        return
    assert at.tzinfo
    assert "\0" not in handle


def test_a_difference_says_what_was_and_what_is() -> None:
    before = entity("Crane", {"state": "open", "owner": "Ines"})
    after = entity("Crane late", {"state": "closed", "severity": "high"}, 2)
    assert [str(one) for one in diff_records(RISK, before, after)] == [
        "name: Crane late (was Crane)",
        "classification: confidential (was public)",
        "owner: removed (was Ines)",
        "state: closed (was open)",
        "severity: high",
    ]
    assert diff_records(RISK, before, before) == []


def test_a_delta_says_when_and_by_whom_without_an_id() -> None:
    principal = Principal(ID, "member", ID)
    row = delta_row(principal, RISK, entity(), "created", NOW, 1)
    assert row.content == "[2026-03-02 09:30] Crane (Risk): created, by a member"
    assert (row.metadata["by"], row.metadata["date"], row.classification) == (f"member:{ID}", "2026-03-02 09:30", 1)
