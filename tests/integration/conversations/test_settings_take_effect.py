"""Each setting of a tool, an agent or a binding that is changed alone changes what happens."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from parlour.infra.ids import uuid7
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call

type Observation = Callable[[ConversationHarness], object]


@dataclass(frozen=True, slots=True)
class SettingCase:
    """A column with two values in SQL, and what shows which of them holds."""

    column: str
    first: str
    second: str
    observe: Observation


def _ask(desk: ConversationHarness) -> list[tuple[object, ...]]:
    """Return what the question about a page has, if one is asked, by a visitor of their own."""
    visitor = desk.create_visitor()
    desk.send_web(visitor, desk.find_session(visitor), "Page the foreman: clear the north side.")
    desk.model.script = [tool_call("page", message="clear the north side"), text_answer("Done.")]
    desk.run_turn()
    return desk.query(
        "SELECT approver, options, expires_at - created_at FROM approvals "
        f"WHERE user_id = '{visitor.id}' ORDER BY created_at DESC LIMIT 1"
    )


def _run_page(desk: ConversationHarness) -> list[tuple[object, ...]]:
    """Return the state of a visitor's call of the page, whose own policy asks no person."""
    desk.query("UPDATE tools SET needs_approval = '\"never\"' WHERE name = 'page' RETURNING id")
    _ask(desk)
    return desk.query("SELECT state FROM tool_calls WHERE name = 'page' ORDER BY started_at DESC LIMIT 1")


def _search_without_end(desk: ConversationHarness) -> int:
    """Return how often the model is asked in a turn in which it always wants to search."""
    since = len(desk.model.requests)
    visitor = desk.create_visitor()
    desk.send_web(visitor, desk.find_session(visitor), "When is the pour?")
    desk.model.script = [
        *(search_call(f"pour {number}", f"call_{number}") for number in range(8)),
        text_answer("Done."),
    ]
    desk.run_turn()
    desk.model.script = []
    return len(desk.model.requests) - since


def _count_accepted_messages(desk: ConversationHarness) -> int:
    """Return how many of four messages of one minute reach the agent."""
    desk.clock.now += timedelta(hours=1)
    sender, before = f"+9198000{uuid7(desk.clock()).int % 100_000:05}", len(desk.turns.sent)
    for number in range(4):
        desk.send_whatsapp(f"Message {number}", f"{sender}-{number}", sender=sender)
    return len(desk.turns.sent) - before


def _find_internal_document(desk: ConversationHarness) -> bool:
    """Return whether a visitor's search shows what is internal."""
    desk.query("UPDATE context_rows SET classification = 1 RETURNING id")
    visitor = desk.create_visitor()
    desk.send_web(visitor, desk.find_session(visitor), "How wide is the crack?")
    desk.model.script = [search_call("crack width C4"), text_answer("Narrow.")]
    desk.run_turn()
    return "0.45 mm" in str(desk.model.requests[-1].messages)


def _answering_model(desk: ConversationHarness) -> str:
    visitor = desk.create_visitor()
    desk.send_web(visitor, desk.find_session(visitor), "Hello, when is the pour?")
    desk.model.script = [text_answer("On Tuesday.")]
    desk.run_turn()
    return desk.model.requests[-1].model


_SONNET, _HAIKU = (
    f'\'{{"default": {{"provider": "anthropic", "model": "{model}"}}}}\''
    for model in ("claude-sonnet-5-5", "claude-haiku-5-5")
)

_PER_MINUTE = "'{{\"visitor_per_minute\": {}}}'"

CASES = [
    SettingCase("tools.needs_approval", "'\"always\"'", "'\"never\"'", _ask),
    SettingCase("tools.approver", "'user'", "'editor'", _ask),
    SettingCase("tools.approval_hours", "24", "2", _ask),
    SettingCase("tools.editable", "false", "true", _ask),
    SettingCase("bindings.needs_approval", "'\"never\"'", "'\"always\"'", _run_page),
    SettingCase("bindings.limits", _PER_MINUTE.format(2), _PER_MINUTE.format(5), _count_accepted_messages),
    SettingCase("bindings.clearance", "0", "1", _find_internal_document),
    SettingCase("agents.max_tool_iterations", "4", "1", _search_without_end),
    SettingCase("agents.model_routing", _SONNET, _HAIKU, _answering_model),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.column)
def test_a_changed_setting_changes_what_happens(conversation: ConversationHarness, case: SettingCase) -> None:
    ApprovalHarness(conversation).add_tool()
    table, _, column = case.column.partition(".")
    observed = []
    for value in (case.first, case.second, case.first):
        conversation.query(f"UPDATE {table} SET {column} = {value} RETURNING id")
        observed.append(case.observe(conversation))
    assert observed[0] == observed[2] != observed[1]
