import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.packs import pack_parser
from parlour.packs.validate import validate
from tests.unit.packs.sample_pack import SAMPLE_TOOL, SMALL_PACK, with_edit, with_file, without_files

NOT_READ = "not supported in this release"


def problems(files: dict[str, str]) -> tuple[PackProblem, ...]:
    with pytest.raises(InvalidPack) as caught:
        validate(files)
    return caught.value.problems


def test_a_valid_pack_says_what_its_files_say() -> None:
    pack = validate(SMALL_PACK)

    assert pack.tenant.slug == "acme"
    assert pack.humans["mira"].languages == ("en", "hi")
    assert pack.bindings["front"].clearance == 1
    assert pack.records["site/S-1"].properties == {"status": "open", "opened": "2026-01-05", "area": 120.5}
    assert pack.records["site/S-2"].classification == 3
    assert pack.documents["rules.md"].content == "# Gate rules\n\nThe gate closes at 18:00."
    assert pack.documents["notes/keys.txt"].header.title == "Where the keys are"


WRONG = {
    # file, what is there, what is put in its place, line, field, a part of the message
    "a field that no human has": (
        "humans/mira.yaml",
        "identity:",
        "identiy:",
        2,
        "identiy",
        "did you mean 'identity'?",
    ),
    "a field inside a field": ("humans/mira.yaml", "  tone:", "  tne:", 4, "voice.tne", "did you mean 'tone'?"),
    "a field of a list's item": ("humans/mira.yaml", "    text:", "    txt:", 8, "guardrails[0].txt", "'text'"),
    "a check on a guardrail": (
        "humans/mira.yaml",
        "    text: Never guess.",
        "    text: Never.\n    check: block",
        9,
        "guardrails[0].check",
        "not available yet",
    ),
    "a missing field": ("teams/gate.yaml", "display_name: Gate\n", "", 1, "display_name", "is missing"),
    "a number where text belongs": ("humans/mira.yaml", "tone: kind", "tone: 7", 4, "voice.tone", "in quotes"),
    "an empty field": ("humans/mira.yaml", "tone: kind", "tone:", 4, "voice.tone", "is empty"),
    "a text where a list belongs": ("humans/mira.yaml", "[en, hi]", "en", 5, "languages", "must be a list"),
    "no language": ("humans/mira.yaml", "[en, hi]", "[]", 5, "languages", "must not be empty"),
    "a language that is none": ("humans/mira.yaml", "[en, hi]", "[en, Hindi]", 5, "languages[1]", "'pt-BR'"),
    "a language twice": ("humans/mira.yaml", "[en, hi]", "[en, en]", 5, "languages[1]", "twice"),
    "a field twice": ("humans/mira.yaml", "languages:", "identity: x\nlanguages:", 5, "identity", "first on line 2"),
    "a tag": (
        "humans/mira.yaml",
        "tone: kind",
        "tone: !!python/name:os.system x",
        4,
        "voice.tone",
        "tags are not supported",
    ),
    "broken YAML": ("humans/mira.yaml", "[en, hi]", "[en, hi", 6, "-", "is not YAML"),
    "a binding without its human": ("bindings/front.yaml", "human: mira", "human: mia", 2, "human", "mean 'mira'?"),
    "a binding without its team": (
        "bindings/front.yaml",
        "team: gate",
        "team: x",
        3,
        "team",
        "(available: gate, office)",
    ),
    "a binding without its agent": ("bindings/front.yaml", "agent: helper", "agent: x", 4, "agent", "helper"),
    "a secret that the tenant has not": (
        "bindings/front.yaml",
        "api_key: gupshup_key",
        "api_key: gupshup",
        11,
        "channels.whatsapp.api_key",
        "did you mean 'gupshup_key'?",
    ),
    "a clearance that is none": ("bindings/front.yaml", "internal", "2", 5, "clearance", "public, internal"),
    "a host with a scheme": (
        "bindings/front.yaml",
        "host: acme.example",
        "host: https://acme.example/",
        13,
        "channels.web.host",
        "without https://",
    ),
    "a source that YAML takes for a number": (
        "bindings/front.yaml",
        '"447700900001"',
        "447700900001",
        10,
        "channels.whatsapp.source",
        "put numbers in quotes",
    ),
    "another messaging provider": (
        "bindings/front.yaml",
        "provider: gupshup",
        "provider: gupsup",
        8,
        "channels.whatsapp.provider",
        "must be 'gupshup' or 'whatsapp_cloud'; did you mean 'gupshup'?",
    ),
    "a number of Meta's without its id": (
        "bindings/front.yaml",
        """provider: gupshup
    app: AcmeGate
    source: "447700900001"
""",
        """provider: whatsapp_cloud
""",
        7,
        "channels.whatsapp.phone_number_id",
        "is missing: the provider whatsapp_cloud needs it",
    ),
    "a field of the other messaging provider": (
        "bindings/front.yaml",
        "app: AcmeGate",
        """app: AcmeGate
    phone_number_id: "106540352242922\"""",
        10,
        "channels.whatsapp.phone_number_id",
        "belongs to the provider whatsapp_cloud, not gupshup",
    ),
    "a template without what Gupshup knows it by": (
        "bindings/front.yaml",
        "app: AcmeGate",
        "app: AcmeGate\n    templates: [{name: news, text: We are back.}]",
        10,
        "channels.whatsapp.templates[0].id",
        "is missing: the provider gupshup needs it",
    ),
    "two templates of one name and language": (
        "bindings/front.yaml",
        "app: AcmeGate",
        "app: AcmeGate\n    templates: [{name: news, id: a, text: Hello.}, {name: news, id: b, text: Back.}]",
        10,
        "channels.whatsapp.templates[1].name",
        "already the name of a template",
    ),
    "two templates for replies": (
        "bindings/front.yaml",
        "app: AcmeGate",
        "app: AcmeGate\n    templates:\n"
        "      - {name: news, id: a, text: 'Hi {{1}}', purpose: reply}\n"
        "      - {name: more, id: b, text: 'Ho {{1}}', purpose: reply}",
        12,
        "channels.whatsapp.templates[1].purpose",
        "only one template of a channel is for `reply`",
    ),
    "a template for replies that has no place for one": (
        "bindings/front.yaml",
        "app: AcmeGate",
        "app: AcmeGate\n    templates: [{name: news, id: a, text: We are back., purpose: reply}]",
        10,
        "channels.whatsapp.templates[0].text",
        "exactly one placeholder",
    ),
    "another model provider": (
        "agents/helper.yaml",
        "provider: anthropic",
        "provider: antropic",
        4,
        "model_routing.default.provider",
        "did you mean 'anthropic'?",
    ),
    "an agent loop without a model for summaries": (
        "agents/helper.yaml",
        "{provider: anthropic, model: claude-sonnet-5-5}",
        "{provider: function, model: desk.loop}",
        2,
        "model_routing.cheap",
        "name a model that writes summaries",
    ),
    "another strategy": (
        "agents/helper.yaml",
        "strategy: rule",
        "strategy: best",
        3,
        "model_routing.strategy",
        "'rule'",
    ),
    "a tool that is not there": (
        "agents/helper.yaml",
        "[look_up]",
        "[lookup]",
        5,
        "tools[0]",
        "did you mean 'look_up'?",
    ),
    "a budget that is too small": (
        "agents/helper.yaml",
        "tools: [look_up]",
        "budget: {tokens: 10}",
        5,
        "budget.tokens",
        "at least 2000",
    ),
    "members of a team": ("teams/gate.yaml", "sops:", "members: [mira]\nsops:", 3, "members", NOT_READ),
    "handoffs to a team": (
        "teams/gate.yaml",
        "sops:",
        "allowed_handoffs: [ofice]\nsops:",
        3,
        "allowed_handoffs[0]",
        "did you mean 'office'?",
    ),
    "how much a search returns": (
        "agents/helper.yaml",
        "tools:",
        "retrieval: {limit: 6}\ntools:",
        5,
        "retrieval",
        NOT_READ,
    ),
    "an endpoint that is not there": (
        "tools/look_up.yaml",
        "search_knowledge",
        "search",
        7,
        "endpoint",
        "unknown endpoint",
    ),
    "a tool's secret": (
        "tools/look_up.yaml",
        "auth: search_key",
        "auth: key",
        8,
        "auth",
        "unknown secret in tenant.yaml",
    ),
    "a schema that is none": ("tools/look_up.yaml", "{type: string}", "{type: strng}", 2, "schema", "JSON Schema"),
    "a template's placeholder": (
        "entity_types/site.yaml",
        "since {{opened}}",
        "since {{opend}}",
        8,
        "rag.semantic",
        "did you mean 'opened'?",
    ),
    "an unknown setting of rag": (
        "entity_types/site.yaml",
        "  semantic:",
        "  semantc:",
        8,
        "rag.semantc",
        "'semantic'",
    ),
    "a status property": (
        "entity_types/site.yaml",
        "[status]",
        "[state]",
        9,
        "rag.status_properties[0]",
        "unknown property",
    ),
    "choices of what is no choice": (
        "entity_types/site.yaml",
        "opened: {type: date}",
        "opened: {type: date, choices: [now]}",
        4,
        "properties.opened",
        "if and only if",
    ),
    "a property that the type has not": (
        "entities/site.yaml",
        "    area: 120.5",
        "    aera: 120.5",
        6,
        "[0].properties.aera",
        "did you mean 'area'?",
    ),
    "a property of another type": (
        "entities/site.yaml",
        "area: 120.5",
        "area: large",
        6,
        "[0].properties.area",
        "must be a number",
    ),
    "a date that is none": ("entities/site.yaml", "2026-01-05", "2026-13-05", 5, "[0].properties.opened", "ISO date"),
    "a choice that is none": (
        "entities/site.yaml",
        "status: open",
        "status: opn",
        4,
        "[0].properties.status",
        "'open'",
    ),
    "a required property": ("entities/site.yaml", "{status: closed}", "{}", 12, "[1].properties.status", "requires it"),
    "a record twice": (
        "entities/site.yaml",
        "{status: closed}",
        "{status: closed}\n- {key: S-1, name: Again, properties: {status: open}}",
        13,
        "[2].key",
        "first on line 1",
    ),
    "a link that leads nowhere": (
        "entities/site.yaml",
        "to: site/S-2",
        "to: site/S-9",
        8,
        "[0].links[0].to",
        "site/S-2",
    ),
    "a link to itself": ("entities/site.yaml", "to: site/S-2", "to: site/S-1", 8, "[0].links[0].to", "itself"),
    "a link that names no type": ("entities/site.yaml", "to: site/S-2", "to: S-2", 8, "[0].links[0].to", "type/key"),
    "a document's record": ("documents/rules.md", "site/S-1", "site/S-11", 4, "entity", "did you mean 'site/S-1'?"),
    "a document's field": ("documents/rules.md", "kind: rules", "knd: rules", 3, "knd", "did you mean 'kind'?"),
    "a document's date": ("documents/rules.md", "2026-02-01", "1 February", 5, "date", "ISO date"),
    "a date among the metadata": (
        "documents/rules.md",
        "revision: 3",
        "date: today",
        8,
        "metadata.date",
        "the field `date`",
    ),
    "a header without an end": (
        "documents/rules.md",
        "  revision: 3\n---\n",
        "  revision: 3\n",
        1,
        "-",
        "another line of ---",
    ),
    "a header without text": ("documents/notes/keys.txt", "In the blue box.\n", "", 2, "-", "no text"),
    "another tenant's secret": (
        "tenant.yaml",
        "parlour/tenants/acme/gupshup",
        "parlour/tenants/other/gupshup",
        4,
        "secrets.gupshup_key",
        "tenants/acme/<name>",
    ),
    "a slug with capitals": ("tenant.yaml", "slug: acme", "slug: Acme", 1, "slug", "lower-case"),
    "a control character": ("humans/mira.yaml", "tone: kind", "tone: ki\x00nd", 4, "-", "U+0000"),
    "an escaped control character": ("humans/mira.yaml", "tone: kind", r'tone: "ki\0nd"', 4, "voice.tone", "U+0000"),
    "an escaped surrogate": ("humans/mira.yaml", "tone: kind", r'tone: "\ud83d"', 4, "-", "invalid Unicode"),
    "half a surrogate pair": ("documents/rules.md", "18:00", "18:00 \ud83d", 13, "-", "U+D83D"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_a_problem_names_file_line_and_field_and_says_what_to_do(case: tuple[str, str, str, int, str, str]) -> None:
    file, old, new, line, field, message = case

    (problem,) = problems(with_edit(file, old, new))

    assert (problem.file, problem.line, problem.field) == (file, line, field)
    assert message in problem.message


def test_an_approval_policy_that_is_no_schema_is_refused_with_its_line() -> None:
    (problem, *_) = problems(with_file("tools/look_up.yaml", f"{SAMPLE_TOOL}needs_approval: {{type: nonsense}}\n"))

    assert (problem.line, problem.field) == (9, "needs_approval")
    assert "JSON Schema" in problem.message


REMOTE = """\
description: Orders material.
schema: {type: object}
endpoint: https://orders.example.com/order
lookup: https://orders.example.com/orders/{key}
writes: true
timeout_seconds: 30
"""


def test_a_tool_may_write_to_a_host_that_the_tenant_lists() -> None:
    files = with_file("tools/order.yaml", REMOTE)
    files["tenant.yaml"] += "tool_hosts: [orders.example.com]\n"

    pack = validate(files)

    assert (pack.tools["order"].writes, pack.tools["order"].timeout_seconds) == (True, 30)
    assert pack.tenant.tool_hosts == ("orders.example.com",)


def test_a_tool_whose_host_the_tenant_does_not_list_is_refused_by_file_line_and_field() -> None:
    endpoint, lookup = problems(with_file("tools/order.yaml", REMOTE))

    assert (endpoint.file, endpoint.line, endpoint.field) == ("tools/order.yaml", 3, "endpoint")
    assert (lookup.line, lookup.field) == (4, "lookup")
    assert "tool_hosts" in endpoint.message


@pytest.mark.parametrize(
    "host", ["https://a.example", "A.example", "a.example/x", "a.example:0", "a.example:70000", "a:b"]
)
def test_a_tool_host_is_a_host(host: str) -> None:
    files = {**SMALL_PACK, "tenant.yaml": SMALL_PACK["tenant.yaml"] + f"tool_hosts: ['{host}']\n"}

    (problem,) = problems(files)

    assert problem.field == "tool_hosts[0]"


@pytest.mark.parametrize(
    "value",
    [
        "sk-ant-api03-abcdef",
        "xoxb-1234",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.e30.x",
        "hunter2",
        "3f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c",
        "tenants/acme/3f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c",
        "https://user:password@host/tenants/acme/x",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_refused_and_not_repeated(value: str) -> None:
    (problem,) = problems(with_edit("tenant.yaml", "parlour/tenants/acme/gupshup", f'"{value}"'))

    assert (problem.line, problem.field) == (4, "secrets.gupshup_key")
    assert "never the secret" in problem.message
    assert value not in str(problem)


def test_all_problems_are_told_at_once_in_the_order_of_files_and_lines() -> None:
    files = with_edit("humans/mira.yaml", "tone: kind", "tune: 1\n  tone: 2") | {
        "teams/office.yaml": "display_nam: x\n"
    }

    found = [(problem.file, problem.line, problem.field) for problem in problems(files)]

    assert found == [
        ("humans/mira.yaml", 4, "voice.tune"),
        ("humans/mira.yaml", 5, "voice.tone"),
        ("teams/office.yaml", 1, "display_nam"),
    ]


def test_a_file_with_problems_causes_none_in_the_files_that_refer_to_it() -> None:
    files = with_edit("humans/mira.yaml", "tone: kind", "tune: kind") | {"entities/site.yaml": "- key: [\n"}

    assert {problem.file for problem in problems(files)} == {"humans/mira.yaml", "entities/site.yaml"}


def test_two_bindings_cannot_have_one_routing_key() -> None:
    second = SMALL_PACK["bindings/front.yaml"].replace("AcmeGate", "Other")

    (problem,) = problems(with_file("bindings/second.yaml", second))

    assert (problem.file, problem.line, problem.field) == ("bindings/second.yaml", 13, "channels.web.host")
    assert "already used by bindings/front.yaml" in problem.message


def test_a_record_needs_its_type() -> None:
    (problem,) = problems(with_file("entities/yard.yaml", "- {key: Y-1, name: Yard}\n"))

    assert problem.file == "entities/yard.yaml"
    assert "unknown entity type 'yard' (available: contract, conversation, document" in problem.message


def test_guardrails_of_a_tier_have_different_ids() -> None:
    rule = "  - {id: no-guessing, text: Really.}\n"

    (problem,) = problems(with_file("humans/mira.yaml", SMALL_PACK["humans/mira.yaml"] + rule))

    assert (problem.line, problem.field) == (9, "guardrails[1].id")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("human/mira.yaml", "did you mean 'humans'?"),
        ("humans/mira.yml", "must be humans/<name>.yaml"),
        ("humans/deep/mira.yaml", "must be humans/<name>.yaml"),
        ("humans/Mira.yaml", "lower-case"),
        ("tenants.yaml", "did you mean 'tenant.yaml'?"),
        ("../humans/mira.yaml", "does not belong in a pack"),
        ("/etc/passwd", "does not belong in a pack"),
        ("documents/../rules.md", "the file name"),
        ("documents/rules.pdf", "must be letters"),
        (f"documents/{'x' * 200}.md", "200 at most"),
    ],
)
def test_a_file_in_the_wrong_place_is_a_problem(path: str, message: str) -> None:
    (problem,) = problems(with_file(path, SMALL_PACK["humans/mira.yaml"]))

    assert (problem.file, problem.line) == (path, 1)
    assert message in problem.message


def test_a_pack_needs_a_tenant() -> None:
    (problem,) = problems(without_files("tenant.yaml"))

    assert problem.file == "tenant.yaml"
    assert "is missing" in problem.message


def test_the_readme_of_a_pack_is_passed_over() -> None:
    assert validate(with_file("README.md", "# Anything")) == validate(SMALL_PACK)


def test_an_agent_may_name_the_built_in_tool_without_defining_it() -> None:
    pack = validate(with_edit("agents/helper.yaml", "[look_up]", "[search_knowledge]"))

    assert pack.agents["helper"].tools == ("search_knowledge",)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"humans/mira.yaml": "x" * (pack_parser.MAX_YAML_BYTES + 1)}, "the limit is 262,144"),
        ({"documents/a.md": "x" * (pack_parser.MAX_DOCUMENT_BYTES + 1)}, "the limit is 1,048,576"),
        ({f"humans/{n}.yaml": "x" * 250_000 for n in range(5)}, "1,048,576 bytes of YAML"),
        ({f"documents/{n}.md": "x" * pack_parser.MAX_DOCUMENT_BYTES for n in range(6)}, "at most 5,242,880 bytes"),
        ({f"documents/{n}.md": "x" for n in range(pack_parser.MAX_FILES + 1)}, "at most 1,000 files"),
    ],
)
def test_a_pack_that_is_too_large_is_refused_before_it_is_read(files: dict[str, str], message: str) -> None:
    (problem,) = problems(files)

    assert message in problem.message


def test_windows_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    windows = {path: "\ufeff" + text.replace("\n", "\r\n") for path, text in SMALL_PACK.items()}

    assert validate(windows) == validate(SMALL_PACK)


@given(st.sampled_from(sorted(SMALL_PACK)), st.data())
@settings(max_examples=300, deadline=None)
def test_a_mangled_file_is_a_pack_or_a_list_of_problems_never_a_crash(path: str, data: st.DataObject) -> None:
    text = SMALL_PACK[path]
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 20)))
    inserted = data.draw(
        st.text(max_size=8) | st.sampled_from(["- ", ": ", "{", "]", "null", "1", "[]", "&a ", "*a", "!!x "])
    )

    with contextlib.suppress(InvalidPack):
        validate(with_file(path, text[:begin] + inserted + text[end:]))


@pytest.mark.parametrize("path", sorted(SMALL_PACK))
@pytest.mark.parametrize("text", ["", "\n", "null\n", "[]\n", "{}\n", "7\n", "- 7\n", "- []\n", "x: y\n", "--- a\n"])
def test_a_file_of_another_shape_is_a_list_of_problems_or_empty(path: str, text: str) -> None:
    with contextlib.suppress(InvalidPack):
        validate(with_file(path, text))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("  closed: {en: We are closed.}\n", "replies.closed"),
        ("  stopped: {english: We take a break.}\n", "replies.stopped.english"),
        ("  stopped: {en: ''}\n", "replies.stopped.en"),
        ("  stopped: We take a break.\n", "replies.stopped"),
    ],
)
def test_own_replies_that_are_wrong_are_named(text: str, field: str) -> None:
    (problem,) = problems({**SMALL_PACK, "tenant.yaml": f"{SMALL_PACK['tenant.yaml']}replies:\n{text}"})
    assert (problem.file, problem.field) == ("tenant.yaml", field)
