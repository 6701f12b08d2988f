"""Who talks to an agent, and what they see, may do and find remembered: the table of docs/concepts/access.md."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.principal import LEVEL_NAMES, Principal
from parlour.records import crud
from parlour.records.record import RecordInput
from parlour.tenancy import bindings, users
from tests.conversation_harness import ConversationHarness, text_answer, tool_call
from tests.integration.conversations.phone_link_steps import (
    add_member,
    configure_template,
    link_members_phone,
    open_member_session,
)
from tests.integration.memory.memory_rows import add_fact

PAGE = Path("docs/concepts/access.md")
PHONE = "+919800000001"
RISK: JsonObject = {"severity": "high", "state": "open", "owner": "Asha"}
FIRM = "Kestrel Scaffolding"

type Ask = Callable[[list[JsonObject]], str]
"""Has the person write and a model that obeys make these calls; return what the model was shown."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation of somebody, and one in which they said something before."""

    ask: Ask
    earlier_session: UUID


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table; `private_door` is whether the private agent of the member answers them."""

    who: str
    begin: Callable[[ConversationHarness], Talk]
    private_door: str
    sees: str
    changes: str
    remembered: str


def on_web(conversation: ConversationHarness, session: UUID) -> Ask:
    def ask(calls: list[JsonObject]) -> str:
        ((user_id, binding_id),) = conversation.query(
            f"SELECT user_id, binding_id FROM sessions WHERE id = '{session}'"
        )
        with conversation.database.transaction(conversation.tenant_id) as tx:
            user = users.load_access(tx, UUID(str(user_id)), UUID(str(binding_id)), session).principal
        return shown_to_model(conversation, calls, lambda: conversation.send_web(user, session, "Please go on."))

    return ask


def by_phone(conversation: ConversationHarness) -> Ask:
    def ask(calls: list[JsonObject]) -> str:
        name = f"m{len(conversation.query('SELECT id FROM messages'))}"
        return shown_to_model(
            conversation, calls, lambda: conversation.send_whatsapp("Please go on.", name, sender=PHONE)
        )

    return ask


def shown_to_model(conversation: ConversationHarness, calls: list[JsonObject], send: Callable[[], object]) -> str:
    since = len(conversation.model.requests)
    send()
    conversation.model.script = [*([calls] if calls else []), text_answer("Done.")]
    conversation.run_turn()
    return canonical_json([list(request.messages) for request in conversation.model.requests[since:]])


def begin_as_visitor(conversation: ConversationHarness) -> Talk:
    visitor = conversation.create_visitor()
    return Talk(on_web(conversation, open_another(conversation, visitor)), conversation.find_session(visitor))


def begin_by_phone(conversation: ConversationHarness) -> Talk:
    ask = by_phone(conversation)
    ask([])
    return Talk(ask, newest_session(conversation))


def begin_as_member(conversation: ConversationHarness) -> Talk:
    member = add_member(conversation)
    _, earlier = open_member_session(conversation, member)
    _, session = open_member_session(conversation, member)
    return Talk(on_web(conversation, session), earlier)


def begin_as_member_by_phone(conversation: ConversationHarness) -> Talk:
    configure_template(conversation)
    earlier, _ = link_members_phone(conversation, add_member(conversation), PHONE)
    return Talk(by_phone(conversation), earlier)


def begin_as_owner(conversation: ConversationHarness) -> Talk:
    member = add_member(conversation, roles=["viewer"])
    _, earlier = open_member_session(conversation, member)
    _, session = open_member_session(conversation, member)
    return Talk(on_web(conversation, session), earlier)


def open_another(conversation: ConversationHarness, visitor: Principal) -> UUID:
    with conversation.database.transaction(conversation.tenant_id) as tx:
        binding = bindings.find_binding_by_slug(tx, "site-desk")
        assert binding is not None
        return users.open_session(visitor, tx, binding_id=binding.id, now=conversation.clock()).id


def newest_session(conversation: ConversationHarness) -> UUID:
    ((session,),) = conversation.query("SELECT id FROM sessions ORDER BY created_at DESC LIMIT 1")
    return UUID(str(session))


ROWS = [
    Row("visitor", begin_as_visitor, "closed", "internal", "nothing", "what they said in this browser"),
    Row("verified phone", begin_by_phone, "closed", "internal", "own", "what this number said"),
    Row("member in the console (editor)", begin_as_member, "open", "confidential", "all", "what they said anywhere"),
    Row("member by phone (editor)", begin_as_member_by_phone, "open", "confidential", "own", "what they said anywhere"),
    Row("owner of a private agent (viewer)", begin_as_owner, "open", "confidential", "own", "what they said to it"),
]


def highest_seen(ask: Ask) -> str:
    """The name of the highest level of a record that the person's agent reads to them."""
    calls = [
        call for level in range(4) for call in tool_call("get_entity", f"c{level}", entities=[f"risk/LEVEL-{level}"])
    ]
    shown = ask(calls)
    return LEVEL_NAMES[max(level for level in range(4) if f"Risk of level {level}" in shown)]


def changed(conversation: ConversationHarness, ask: Ask) -> str:
    """Whether the person's agent creates a record for them, and renames one of others."""
    ask(tool_call("create_entity", kind="risk", name="Mine", properties=RISK))
    ask(tool_call("update_entity", entity="risk/LEVEL-0", name="Renamed"))
    names = {name for (name,) in conversation.query("SELECT name FROM entities")}
    return "all" if "Renamed" in names else "own" if "Mine" in names else "nothing"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.who)
def test_what_somebody_sees_changes_and_finds_remembered(conversation: ConversationHarness, row: Row) -> None:
    conversation.query("UPDATE bindings SET writes = '{}' RETURNING id")
    with conversation.database.transaction(conversation.admin) as tx:
        for level in range(4):
            record = RecordInput("risk", f"Risk of level {level}", f"LEVEL-{level}", RISK, level)
            crud.create_record(conversation.admin, tx, record, conversation.clock())
    talk = row.begin(conversation)
    if row.who.startswith("owner"):
        make_private(conversation)
    add_fact(conversation, talk.earlier_session, "employer", FIRM)
    assert FIRM in talk.ask([])
    assert highest_seen(talk.ask) == row.sees
    assert changed(conversation, talk.ask) == row.changes
    make_private(conversation)
    assert ("open" if is_admitted(conversation, talk.earlier_session) else "closed") == row.private_door


def make_private(conversation: ConversationHarness) -> None:
    """Let the desk answer the member alone."""
    own = """door = 'private', owner = '{"issuer": "https://id.example", "subject": "ines"}'"""
    conversation.query(f"UPDATE bindings SET {own} WHERE slug = 'site-desk' RETURNING id")


def is_admitted(conversation: ConversationHarness, session: UUID) -> bool:
    ((user_id, binding_id),) = conversation.query(f"SELECT user_id, binding_id FROM sessions WHERE id = '{session}'")
    with conversation.database.transaction(conversation.tenant_id) as tx:
        return users.load_access(tx, UUID(str(user_id)), UUID(str(binding_id)), session).is_admitted


def test_nobody_reads_or_is_told_what_another_said(conversation: ConversationHarness) -> None:
    for row in (ROWS[0], ROWS[0], ROWS[1]):
        talk = row.begin(conversation)
        assert FIRM not in talk.ask([])
        add_fact(conversation, talk.earlier_session, "employer", FIRM)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.who)
def test_the_page_has_the_row(row: Row) -> None:
    cells = (row.who, row.private_door, row.sees, row.changes, row.remembered)
    line = "| " + " | ".join(cells) + " |"
    assert line in PAGE.read_text("utf-8").splitlines()
