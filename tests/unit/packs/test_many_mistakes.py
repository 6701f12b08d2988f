"""A pack with twenty mistakes: each is listed once, in the order of files and lines, with what to write instead."""

import pytest

from parlour.infra.errors import InvalidPack
from parlour.packs.validate import validate
from tests.unit.packs.sample_pack import SMALL_PACK

#: File, what is there, what is put in its place, a part of the message.
MISTAKES = [
    ("agents/helper.yaml", "display_name:", "display_nam:", "did you mean 'display_name'?"),
    ("agents/helper.yaml", "strategy: rule", "strategy: rul", "did you mean 'rule'?"),
    ("bindings/front.yaml", "human: mira", "human: mia", "did you mean 'mira'?"),
    ("bindings/front.yaml", "team: gate", "team: gat", "did you mean 'gate'?"),
    ("bindings/front.yaml", "agent: helper", "agent: helpr", "did you mean 'helper'?"),
    ("bindings/front.yaml", "api_key: gupshup_key", "api_key: gupshup_ky", "did you mean 'gupshup_key'?"),
    (
        "documents/notes/keys.txt",
        "classification: restricted",
        "classification: restrictd",
        "did you mean 'restricted'?",
    ),
    ("documents/rules.md", "kind: rules", "knd: rules", "did you mean 'kind'?"),
    ("entities/site.yaml", "to: site/S-2", "to: site/S-22", "did you mean 'site/S-1'?"),
    ("entities/site.yaml", "key: S-2\n", "key: S-1\n", "is used twice; first on line 1"),
    ("entity_types/site.yaml", "choices: [open, closed]", "choises: [open, closed]", "did you mean 'choices'?"),
    ("entity_types/site.yaml", "type: date", "type: dat", "did you mean 'date'?"),
    ("humans/mira.yaml", "identity:", "identty:", "did you mean 'identity'?"),
    ("humans/mira.yaml", "  tone:", "  tne:", "did you mean 'tone'?"),
    ("humans/mira.yaml", "    text:", "    txt:", "did you mean 'text'?"),
    ("teams/gate.yaml", "role:", "rle:", "did you mean 'role'?"),
    ("teams/gate.yaml", "sops:", "sps:", "did you mean 'sops'?"),
    ("teams/office.yaml", "display_name: Office", "display_name:", "is empty"),
    (
        "tools/look_up.yaml",
        "python:search_knowledge",
        "python:search_knowlege",
        "did you mean 'python:search_knowledge'?",
    ),
    ("tools/look_up.yaml", "auth: search_key", "auth: serch_key", "did you mean 'search_key'?"),
]


def test_twenty_mistakes_are_listed_once_each_in_order_with_a_suggestion() -> None:
    files = dict(SMALL_PACK)
    for path, right, wrong, _ in MISTAKES:
        assert files[path].count(right) == 1, right
        files[path] = files[path].replace(right, wrong)

    with pytest.raises(InvalidPack) as caught:
        validate(files)

    found = caught.value.problems
    assert [one.file for one in found] == [path for path, *_ in MISTAKES]
    assert [(one.file, one.line) for one in found] == sorted((one.file, one.line) for one in found)
    for problem, (_, _, _, message) in zip(found, MISTAKES, strict=True):
        assert message in problem.message


def test_one_typo_in_a_type_that_hides_a_built_in_one_is_one_mistake() -> None:
    kind = "display_name: Risk\nproperties:\n  exposure: {type: choice, choises: [low, high]}\n"
    records = "- key: R-1\n  name: Wind\n  properties: {exposure: high}\n"
    files = {**SMALL_PACK, "entity_types/risk.yaml": kind, "entities/risk.yaml": records}

    with pytest.raises(InvalidPack) as caught:
        validate(files)

    assert [(one.file, one.line) for one in caught.value.problems] == [("entity_types/risk.yaml", 3)]


def test_a_misspelt_key_of_a_record_accuses_no_link_to_it() -> None:
    records = SMALL_PACK["entities/site.yaml"].replace("- key: S-2\n", "- kee: S-2\n")

    with pytest.raises(InvalidPack) as caught:
        validate({**SMALL_PACK, "entities/site.yaml": records})

    (problem,) = caught.value.problems
    assert "did you mean 'key'?" in problem.message


def test_a_wrong_tenant_file_accuses_no_tool_of_its_host() -> None:
    tool = SMALL_PACK["tools/look_up.yaml"].replace("python:search_knowledge", "https://erp.acme.example/search")
    tenant = SMALL_PACK["tenant.yaml"].replace("display_name", "displayname") + "tool_hosts: [erp.acme.example]\n"

    with pytest.raises(InvalidPack) as caught:
        validate({**SMALL_PACK, "tools/look_up.yaml": tool, "tenant.yaml": tenant})

    assert [one.file for one in caught.value.problems] == ["tenant.yaml"]


def test_aliases_that_expand_a_thousandfold_are_one_mistake() -> None:
    levels = "".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 10)}]\n" for n in range(1, 10))

    with pytest.raises(InvalidPack) as caught:
        validate({**SMALL_PACK, "humans/mira.yaml": f"b0: &b0 [lol]\n{levels}"})

    (problem,) = caught.value.problems
    assert "grows too large through aliases" in problem.message
