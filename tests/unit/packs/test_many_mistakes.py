"""A pack with twenty mistakes: each is listed once, in the order of files and lines, with what to write instead."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.packs.validate import validate
from tests.unit.packs.sample_pack import SMALL_PACK, with_edit


def find_problems(files: dict[str, str]) -> tuple[PackProblem, ...]:
    try:
        validate(files)
    except InvalidPack as error:
        return error.problems
    return ()


#: File, what is there, what is put in its place, a part of the message. `NEW` is a file that is not there.
NEW = ""
MISTAKES = [
    ("agents/helper.yaml", "display_name:", "display_nam:", "did you mean 'display_name'?"),
    ("agents/helper.yaml", "strategy: rule", "strategy: rul", "did you mean 'rule'?"),
    ("agents/helper.yaml", "[look_up]", "[look_up, lookup]", "unknown tool 'lookup'; did you mean 'look_up'?"),
    ("bindings/front.yaml", "human: mira", "human: mia", "unknown human 'mia'; did you mean 'mira'?"),
    ("bindings/front.yaml", "clearance: internal", "clearance: internl", "did you mean 'internal'?"),
    ("bindings/front.yaml", '"447700900001"', "447700900001", "must be text; put numbers in quotes"),
    ("bindings/front.yaml", "api_key: gupshup_key", "api_key: gupshup_ky", "did you mean 'gupshup_key'?"),
    ("documents/rules.md", "entity: site/S-1", "entity: site/S-11", "did you mean 'site/S-1'?"),
    ("documents/rules.md", "2026-02-01", "1 February", "must be an ISO date or time, like 2026-02-17"),
    ("entities/site.yaml", "    area:", "    aera:", "did you mean 'area'?"),
    ("entities/site.yaml", "to: site/S-2", "to: site/S-22", "unknown record 'site/S-22'; did you mean 'site/S-2'?"),
    (
        "entities/site.yaml",
        "closed}\n",
        "closed}\n- {key: S-1, name: Yard, properties: {status: open}}\n",
        "used twice",
    ),
    ("entity_types/site.yaml", "choices: [open, closed]", "choises: [open, closed]", "did you mean 'choices'?"),
    ("entity_types/site.yaml", "since {{opened}}", "since {{opend}}", "did you mean 'opened'?"),
    ("humans/mira.yaml", "languages: [en, hi]", "languages: [en, en]", "'en' is listed twice"),
    (
        "humans/mira.yaml",
        "    text: Never guess.",
        "    text: Never.\n    text: Guess.",
        "is defined twice; first on line 8",
    ),
    ("team/desk.yaml", NEW, "display_name: Desk\n", "does not belong in a pack; did you mean 'teams'?"),
    ("teams/office.yaml", "Office", "[Office", "is not YAML"),
    ("tools/look_up.yaml", "{type: string}", "{type: strng}", "is not a JSON Schema (draft 2020-12) at"),
    ("tools/look_up.yaml", "auth: search_key", "auth: serch_key", "did you mean 'search_key'?"),
]


@given(st.sets(st.sampled_from(range(len(MISTAKES)))))
@example(set(range(len(MISTAKES))))
@settings(max_examples=150, deadline=None)
def test_mistakes_are_all_listed_once_in_order_with_a_suggestion(chosen: set[int]) -> None:
    files = dict(SMALL_PACK)
    mistakes = [MISTAKES[number] for number in sorted(chosen)]
    for path, right, wrong, _ in mistakes:
        assert files.get(path, NEW).count(right) == 1
        files[path] = files.get(path, NEW).replace(right, wrong)

    found = find_problems(files)

    assert [one.file for one in found] == [path for path, *_ in mistakes]
    assert [(one.file, one.line) for one in found] == sorted((one.file, one.line) for one in found)
    for problem, (_, _, _, message) in zip(found, mistakes, strict=True):
        assert message in problem.message


def test_half_a_pack_lists_what_is_missing_where_it_is_named() -> None:
    files = {path: text for path, text in SMALL_PACK.items() if path < "e"}

    found = find_problems(files)

    assert [(one.file, one.line, one.field) for one in found] == [
        ("agents/helper.yaml", 5, "tools[0]"),
        ("bindings/front.yaml", 2, "human"),
        ("bindings/front.yaml", 3, "team"),
        ("documents/rules.md", 4, "entity"),
        ("tenant.yaml", 1, "-"),
    ]


@pytest.mark.parametrize(
    ("path", "right", "wrong", "field"),
    [
        ("entity_types/site.yaml", "properties:\n", "properties: none\nx-old:\n", "properties"),
        ("entity_types/site.yaml", "type: number", "type: nmber", "properties.area.type"),
        ("tenant.yaml", "secrets:\n", "secrets: none\nx:\n", "secrets"),
        ("agents/helper.yaml", "tools: [look_up]", "tools: look_up", "tools"),
        ("entities/site.yaml", "status: open", "statsu: open", "[0].properties.statsu"),
        ("bindings/front.yaml", "provider: gupshup", "provider: gupsup", "channels.whatsapp.provider"),
        ("bindings/front.yaml", "human: mira", "human: mira\nwrites: {anonymus: all}", "writes.anonymus"),
        ("bindings/front.yaml", "human: mira", "human: mira\nwrites: al", "writes"),
        ("bindings/front.yaml", "human: mira", "human: mira\nneeds_approval: alwys", "needs_approval"),
        ("bindings/front.yaml", "human: mira", "human: mira\nbudget: {layers: 7}", "budget"),
        (
            "bindings/front.yaml",
            "human: mira",
            "human: mira\nnotifications: {webhook: {url: 'https://[x', secret: search_key}}",
            "notifications.webhook.url",
        ),
    ],
)
def test_a_wrong_value_accuses_nothing_that_is_compared_with_it(path: str, right: str, wrong: str, field: str) -> None:
    files = with_edit(path, right, wrong)
    files["bindings/front.yaml"] += "tool_writes: {look_up: own}\n"

    found = find_problems(files)

    assert {(one.file, one.field) for one in found} - {(path, "x"), (path, "x-old")} == {(path, field)}


def test_one_typo_in_a_type_that_hides_a_built_in_one_is_one_mistake() -> None:
    kind = "display_name: Risk\nproperties:\n  exposure: {type: choice, choises: [low, high]}\n"
    records = "- key: R-1\n  name: Wind\n  properties: {exposure: high}\n"
    files = {**SMALL_PACK, "entity_types/risk.yaml": kind, "entities/risk.yaml": records}

    found = find_problems(files)

    assert [(one.file, one.line) for one in found] == [("entity_types/risk.yaml", 3)]


def test_a_misspelt_key_of_a_record_accuses_no_link_to_it() -> None:
    records = SMALL_PACK["entities/site.yaml"].replace("- key: S-2\n", "- kee: S-2\n")

    (problem,) = find_problems({**SMALL_PACK, "entities/site.yaml": records})

    assert "did you mean 'key'?" in problem.message


def test_a_wrong_tenant_file_accuses_no_tool_of_its_host() -> None:
    tool = SMALL_PACK["tools/look_up.yaml"].replace("python:search_knowledge", "https://erp.acme.example/search")
    tenant = SMALL_PACK["tenant.yaml"].replace("display_name", "displayname") + "tool_hosts: [erp.acme.example]\n"

    found = find_problems({**SMALL_PACK, "tools/look_up.yaml": tool, "tenant.yaml": tenant})

    assert [one.file for one in found] == ["tenant.yaml"]


def test_aliases_that_expand_a_thousandfold_are_one_mistake() -> None:
    levels = "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 10)}]\n" for n in range(1, 10))

    (problem,) = find_problems({**SMALL_PACK, "humans/mira.yaml": f"b0: &b0 [lol]\n{levels}"})

    assert "grows too large through aliases" in problem.message
