import re
from zoneinfo import ZoneInfo

import pytest
from markdown_it import MarkdownIt

from parlour.approvals.question import ArgumentRow, argument_rows, effects_text, question_text
from parlour.channels.whatsapp_format import format_whatsapp
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.records.record_type import RecordType
from parlour.text.local_times import Locale
from parlour.tools.builtin.definitions import CREATE_ENTITY, UPDATE_ENTITY
from parlour.tools.tool_definition import ARGUMENT_ORDER, Tool


def test_each_value_of_an_argument_has_a_row_in_words() -> None:
    schema: JsonObject = {"properties": {"kind": {"type": "string", "title": "Type"}}}
    arguments: JsonObject = {
        "kind": "task",
        "properties": {"owner": "Rosa", "is_late": True},
        "tags": ["a"],
        "links": {},
    }
    assert argument_rows(arguments, schema) == [
        ArgumentRow("Type", "task"),
        ArgumentRow("Properties, owner", "Rosa"),
        ArgumentRow("Properties, is late", "yes"),
        ArgumentRow("Tags", '["a"]'),
        ArgumentRow("Links", "{}"),
    ]


def test_arguments_are_in_the_order_of_the_tools_file() -> None:
    arguments: JsonObject = {"to": "Pune", "amount": 5, "starting_place": "Goa"}
    schema: JsonObject = {ARGUMENT_ORDER: ["starting_place", "to", "via"]}
    assert [row.label for row in argument_rows(arguments, schema)] == ["Starting place", "To", "Amount"]
    assert [row.label for row in argument_rows(arguments)] == ["To", "Amount", "Starting place"]
    definition = Tool("book", "Books.", {"type": "object", **schema}, "https://rooms.example/").to_definition()
    assert "order" not in str(definition)


def test_neither_names_nor_values_of_arguments_write_lines_of_the_question() -> None:
    forged = "Bob\n- Amount: 5"
    schema: JsonObject = {"title": forged, "properties": {"kind": {"title": forged}}}
    arguments: JsonObject = {"payee": forged, "kind": "gift", forged: 1, "details": {forged: forged}}
    assert question_text(Tool("pay", "", schema, "https://pay.example.org", writes=True), arguments).split("\n") == [
        "Bob - Amount: 5:",
        "- Payee: Bob",
        "  > - Amount: 5",
        "- Bob - Amount: 5: gift",
        "- Bob<U+000A>- Amount: 5: 1",
        "- Details, Bob<U+000A>- Amount: 5: Bob",
        "  > - Amount: 5",
    ]


@pytest.mark.parametrize(
    "char",
    # Carriage return, tabs, controls, line ends, direction marks, without width, fillers, tags.
    [*"\r\v\t\x00\x85\u2028\u2029\u202e\u2066\u200b\u200d\ufeff\u00ad\u180e\u3164\u2800\ufe0f\U000e0041"],
)
def test_an_invisible_character_is_shown_by_its_number(char: str) -> None:
    shown, argument = f"<U+{ord(char):04X}>", f"Bob{char}EUR 5"
    arguments: JsonObject = {"payee": argument, argument: 1, "details": {argument: [argument]}}
    assert question_text(Tool("pay", "", {}, "https://pay.example.org", writes=True), arguments).split("\n") == [
        "Pay:",
        f"- Payee: Bob{shown}EUR 5",
        f"- Bob{shown}EUR 5: 1",
        f'- Details, Bob{shown}EUR 5: ["Bob{json_escape(char) or shown}EUR 5"]',
    ]


def json_escape(char: str) -> str:
    """How JSON writes a control character; "" for all others."""
    return canonical_json(char)[1:-1] if char < " " else ""


NARROW = {ord(mark) + 0xFEE0: mark for mark in "*_~`"}
"""Full-width marks, which WhatsApp does not draw as formatting, and what stood there."""

HOSTILE = (
    '[the north side](#a "and pay EUR 9999 to XX00")',
    "![the north side](//evil.example/a?b=c)",
    "north\n\n| side |\n|---|\n| a | and pay EUR 9999 |",
    "north\n```and pay EUR 9999\nside\n```",
    "~~~ pay EUR 9999\nnorth\n~~~\n",
    "[north][1] side\n\n[1]: # 'and pay EUR 9999'\n[2]: http://a.example",
    "north <!-- and pay EUR 9999 --> side &nbsp; &#60;b&#62; <b title='EUR 9'>",
    "`` `north` and `` ` *pay* __EUR__ ~~9999~~ \\\\ \\* \\",
    "north\n===\nside\n---\n# pay\n1. EUR\n2) 9999\n+ 1\n    code",
    "https://evil.example/?q=9999 www.evil.example <https://evil.example> a@evil.example [3] [1, 2]",
    "* " * 50 + "[" * 200 + "> " * 200,
)


@pytest.mark.parametrize("argument", HOSTILE)
@pytest.mark.parametrize("count", [1, 2])
def test_markdown_in_arguments_is_read_as_it_is_written(argument: str, count: int) -> None:
    arguments: JsonObject = {"message": argument, argument: {argument: [argument]}}
    question = question_text(Tool("page", "", {}, "https://page.example.org", writes=True), arguments)
    asked = effects_text([question] * count)
    assert visible(asked) == visible_lines(question) * count


@pytest.mark.parametrize("argument", HOSTILE)
def test_whatsapp_shows_every_character_of_the_arguments(argument: str) -> None:
    question = question_text(Tool("page", "", {}, "https://page.example.org", writes=True), {"message": argument})
    (shown,) = format_whatsapp(effects_text([question]), [])
    assert not re.search(r"(?<![a-z0-9])[*_~`]|[*_~`](?![a-z0-9])", shown)
    shown = shown.translate(NARROW)
    assert squeeze(shown).replace(">", "").replace("•", "") == visible_lines(question).replace(">", "")


def test_a_very_long_argument_comes_in_several_messages_and_is_not_cut() -> None:
    argument = " ".join(f"word{number}*" for number in range(4_000))
    question = question_text(Tool("page", "", {}, "https://page.example.org", writes=True), {"message": argument})
    parts = format_whatsapp(effects_text([question]), [], 1024)
    assert len(parts) > 20
    assert {f"word{number}*" for number in range(4_000)} <= set(" ".join(parts).translate(NARROW).split())


def test_a_plain_argument_is_asked_about_as_it_is() -> None:
    arguments: JsonObject = {"message": 'Clear C4 by 14:30 (not C5), 3.5 t - ok? "yes" हाँ\nThanks.'}
    question = question_text(Tool("page", "", {}, "https://page.example.org", writes=True), arguments)
    assert effects_text([question]) == question


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("pay *5* to ~Bob~ _now_", "pay W5W to WBobW WnowW"),
        ("`a` ```b```", "WaW WWWbWWW"),
        ("contract_desk, 2*3, हाँ*ठीक*", "contract_desk, 2*3, हाँWठीकW"),
    ],
)
def test_whatsapp_draws_no_mark_of_an_argument_as_formatting(argument: str, shown: str) -> None:
    question = question_text(Tool("page", "", {}, "https://page.example.org", writes=True), {"message": argument})
    (sent,) = format_whatsapp(f"**Shall I?**\n\n{effects_text([question])}", [])
    assert sent.translate(dict.fromkeys(NARROW, "W")) == f"*Shall I?*\n\nPage:\n\n• Message: {shown}"
    assert sent.translate(NARROW).endswith(argument)


TASK = RecordType(
    "task",
    "Task",
    {
        "owner": {},
        "due": {},
        "exposure": {"unit": "GBP", "label": "possible cost"},
        "state": {"type": "choice", "choices": ["open", "done"]},
    },
)

RECORD_QUESTIONS: tuple[tuple[JsonObject, list[str]], ...] = (
    (
        {
            "kind": "task",
            "name": "Fit the missing ties",
            "properties": {"due": "2026-12-03", "owner": "Joanna", "state": "open", "exposure": 46000, "is_late": True},
        },
        [
            "Create the task “Fit the missing ties”: owner “Joanna”, due Thursday 3 December 2026, possible cost "
            "46,000 GBP, state open, is late yes."
        ],
    ),
    (
        {"kind": "task", "name": "a”:\n- Owner: Eve"},
        ["Create entity:", "- Kind: task", "- Name: a”:", "  > - Owner: Eve"],
    ),
    (
        {"kind": "task", "name": "a", "project": "project/A", "properties": {"project": "B\n- Owner: Eve"}},
        ["Create the task “a”:", "- Properties, project: B", "  > - Owner: Eve", "- Project: project/A"],
    ),
    ({"kind": "task", "name": "a", "properties": {"due": "2026-13-40"}}, ["Create the task “a”: due “2026-13-40”."]),
)


@pytest.mark.parametrize(("arguments", "lines"), RECORD_QUESTIONS)
def test_a_question_about_a_record_reads_like_a_sentence(arguments: JsonObject, lines: list[str]) -> None:
    assert question_text(CREATE_ENTITY, arguments, TASK).split("\n") == lines


def test_a_question_names_the_change_and_what_cannot_be_taken_back() -> None:
    change: JsonObject = {"entity": "task/T-118", "properties": {"note": None, "state": "done"}}
    assert question_text(UPDATE_ENTITY, change) == "Change task/T-118: note (removed), state “done”."
    page = Tool("page", "It cannot be taken back.", {}, "https://page.example.org", writes=True)
    assert question_text(page, {"message": "go"}) == "Page:\n- Message: go\nThis cannot be taken back."


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        (
            "en",
            ["Book:", "- Start: Thursday 3 December 2026 16:00 IST", "- Day: Friday 4 December 2026"],
        ),
        ("hi", ["Book:", "- Start: गुरुवार 3.12.2026 16:00 IST", "- Day: शुक्रवार 4.12.2026"]),
    ],
)
def test_times_are_local_and_have_their_weekday(language: str, lines: list[str]) -> None:
    arguments: JsonObject = {"start": "2026-12-03T10:30:00Z", "day": "2026-12-04"}
    schema: JsonObject = {ARGUMENT_ORDER: ["start", "day"]}
    tool = Tool("book", "", schema, "https://book.example.org", writes=True)
    assert question_text(tool, arguments, None, Locale(language, ZoneInfo("Asia/Kolkata"))).split("\n") == lines


@pytest.mark.parametrize("value", ["Joanna\n- Owner: Eve", "a ”, state “done", "x" * 200, ["a"], ""])
def test_what_could_pass_for_another_property_has_a_line_of_its_own(value: Json) -> None:
    question = question_text(CREATE_ENTITY, {"kind": "task", "name": "a", "properties": {"owner": value}}, TASK)
    assert question.startswith("Create the task “a”:\n- Owner: ")


def squeeze(text: str) -> str:
    return "".join(text.split())


def visible_lines(question: str) -> str:
    """The question without white space and its own marks."""
    return squeeze("".join(line.removeprefix("- ").removeprefix("  > ") for line in question.split("\n")))


def visible(markdown: str) -> str:
    """What a client shows that reads everything: HTML, tables, references."""
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 1000}).enable(["table", "strikethrough"])
    tokens = [child for token in parser.parse(markdown) for child in token.children or [token]]
    assert not {token.type for token in tokens} & {"html_inline", "html_block", "link_open", "image", "table_open"}
    return squeeze("".join(token.content for token in tokens if token.type in {"text", "code_inline", "fence"}))
