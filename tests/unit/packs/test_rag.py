"""What a type's `rag` may say, and what is said instead to whoever says it otherwise."""

import pytest

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.packs.format import RagSettings
from parlour.packs.serialization import to_row
from parlour.packs.validate import validate
from tests.unit.packs.sample_pack import SMALL_PACK, with_file

EVERYTHING = """\
display_name: Site
properties:
  status: {type: choice, choices: [open, closed], required: true}
  opened: {type: date}
  area: {type: number, unit: m2}
  notes: {type: text}
rag:
  semantic: "{{name}}, {{status}}"
  context: auto
  children: auto
  pulse: auto
  pulse_model: cheap
  pulse_prompt: What holds it up.
  coalesce_seconds: 120
  status_properties: [status]
  tracked_properties: [status, opened]
  chat_visibility: role_gated
  chat_agent: helper
  budget: 9000
  classification: internal
  icon: map-pin
  colour: '#0a7f6c'
  link: https://erp.example.com/sites/{{key}}
"""


def problems(rag: str) -> list[PackProblem]:
    """What is wrong with the sample whose type says this line in its `rag`."""
    files = with_file("entity_types/site.yaml", SMALL_PACK["entity_types/site.yaml"] + f"  {rag}\n")
    with pytest.raises(InvalidPack) as refused:
        validate(files)
    return list(refused.value.problems)


def test_every_setting_is_taken() -> None:
    kind = validate(with_file("entity_types/site.yaml", EVERYTHING)).entity_types["site"]
    assert kind.rag.model_fields_set == set(RagSettings.model_fields)
    assert to_row(kind)["rag"]["classification"] == "internal"  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ("contxt: off", "rag.contxt", "'context'"),
        ("puls: auto", "rag.puls", "'pulse'"),
        ("coalesce: 30", "rag.coalesce", "coalesce_seconds"),
        ("color: teal", "rag.color", "colour"),
        ("summary_interval: 20", "rag.summary_interval", "not supported in this release"),
        ("status_property: status", "rag.status_property", "status_properties"),
        ("coalesce_seconds: 9", "rag.coalesce_seconds", "10"),
        ("coalesce_seconds: 121", "rag.coalesce_seconds", "120"),
        ("context: on", "rag.context", "auto"),
        ("classification: secret", "rag.classification", "public"),
        ("tracked_properties: [stat]", "rag.tracked_properties[0]", "did you mean 'status'"),
        ("chat_agent: helpr", "rag.chat_agent", "did you mean 'helper'"),
        ("icon: Map Pin", "rag.icon", "must be the name of an icon"),
        ("colour: '#12'", "rag.colour", "must be the name of a colour"),
        ("link: javascript:alert({{key}})", "rag.link", "must be an address"),
        ("link: //evil.example/{{key}}", "rag.link", "must be an address"),
        ("link: https://erp.example.com/orders", "rag.link", "must be an address"),
        ("budget: 10", "rag.budget", "2000"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_right_one(line: str, field: str, message: str) -> None:
    (problem,) = problems(line)
    assert (problem.file, problem.field) == ("entity_types/site.yaml", field)
    assert message in problem.message


@pytest.mark.parametrize("name", ["pulse_text", "stale_since", "version", "key", "created_by", "sources"])
def test_a_type_cannot_define_what_only_parlour_writes(name: str) -> None:
    text = SMALL_PACK["entity_types/site.yaml"].replace("notes:", f"{name}:")
    with pytest.raises(InvalidPack) as refused:
        validate(with_file("entity_types/site.yaml", text))
    assert f"properties.{name}" in {problem.field for problem in refused.value.problems}


@pytest.mark.parametrize(
    ("project", "message"),
    [("site/S-2", "must name a project"), ("project/X", "unknown record 'project/X'")],
)
def test_a_record_belongs_to_a_project_that_is_there(project: str, message: str) -> None:
    text = SMALL_PACK["entities/site.yaml"].replace(
        "  name: North yard\n", f"  name: North yard\n  project: {project}\n"
    )
    with pytest.raises(InvalidPack) as refused:
        validate(with_file("entities/site.yaml", text) | {"entities/project.yaml": "- {key: NRS, name: N}\n"})
    (problem,) = refused.value.problems
    assert problem.field == "[0].project"
    assert message in problem.message


def test_records_of_everybodys_kinds_are_checked_against_them() -> None:
    with pytest.raises(InvalidPack, match="must be one of low, medium, high, critical"):
        validate(with_file("entities/risk.yaml", "- {key: R-1, name: R, properties: {severity: huge}}\n"))
