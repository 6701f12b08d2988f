"""What is above a reader's clearance is not there for them, nor for a neighbour: every tool, every route and the
briefing answer as if it did not exist, in words, numbers and counts. Whoever adds a tool or a route finds it asked here
as well: about what is restricted, or they have to say what to ask."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD
from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.conversations.turn_views import list_turns, read_transcript
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, connector
from parlour.principal import Principal
from parlour.prompts.assembly.stored_text import text_hash
from parlour.tenancy import users
from parlour.tools.builtin import builtin_tools
from tests.conftest import NOW
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call
from tests.integration.api.conftest import FakeQueues, ManualClock, RecordingQueue, make_dependencies
from tests.integration.restricted_tenant import (
    APPROVAL,
    FILE,
    NEXT_TURN,
    NUMBER,
    PERSON,
    QUESTIONS,
    RISK,
    SESSION,
    SITE,
    TURN,
    WORDS,
    Probe,
    Reader,
    RestrictedTenant,
    collect_answers,
    fill_path,
    find_canaries,
    open_restricted_tenant,
    routes,
)

CLOSED, DOCUMENT = "risk/closed", "document/closed-doc"

TOOLS: Mapping[str, Sequence[JsonObject]] = {
    "search_knowledge": [
        {"query": WORDS, "limit": 10},
        {"query": "the slab", "limit": 10},
        {"query": WORDS, "scope": "type", "of": "risk"},
        {"query": WORDS, "scope": "project", "of": "project/site"},
        {"query": WORDS, "scope": "record", "of": "task/open"},
        {"query": WORDS, "scope": "record", "of": "task/was"},
        {"query": WORDS, "scope": "conversation"},
        {"query": WORDS, "of": CLOSED},
        {"query": WORDS, "scope": "record", "of": str(RISK)},
    ],
    "list_entities": [
        {},
        {"kind": "risk"},
        {"kind": "document"},
        {"text": "zeppelin"},
        {"project": "project/site"},
        {"project": CLOSED},
    ],
    "get_entity": [
        {"entities": [CLOSED]},
        {"entities": ["risk/close"]},
        {"entities": [DOCUMENT]},
        {"entities": ["task/open", "task/was", "project/site"]},
    ],
    "create_entity": [
        {"kind": "task", "name": "A", "project": CLOSED},
        {"kind": "task", "name": "A", "links": [{"relation": "relates_to", "to": CLOSED}]},
        {"kind": "task", "name": "A", "sources": [NUMBER]},
        {"kind": "document", "name": "A", "project": "project/site", "parent": DOCUMENT},
    ],
    "update_entity": [{"entity": CLOSED, "name": "A"}, {"entity": DOCUMENT, "text": "A"}],
    "link_entities": [
        {"links": [{"from": "task/open", "relation": "relates_to", "to": CLOSED}]},
        {"links": [{"from": "task/open", "relation": "relates_to", "to": CLOSED}], "remove": True},
    ],
    "get_linked_entities": [
        {"entity": "task/open"},
        {"entity": "task/open", "kind": "risk"},
        {"entity": "task/open", "page": 2},
        {"entity": "project/site"},
        {"entity": CLOSED},
        {"entity": str(RISK)},
    ],
    "list_documents": [{}, {"project": "project/site"}, {"project": CLOSED}],
    "search_documents": [
        {"query": WORDS},
        {"query": WORDS, "project": "project/site"},
        {"query": "x", "project": CLOSED},
    ],
    "get_document": [{"document": DOCUMENT}, {"document": "closed-doc", "section": "Narwhal"}],
    "get_document_metadata": [{"documents": [DOCUMENT, "document/manual"]}],
    "ask_a_person": [{"reason": f"They ask about {CLOSED}."}],
}
"""What each tool is asked. One that is not here is asked for nothing, which is refused: see the test of it."""

RESTRICTED = {
    "record_id": str(RISK),
    "type_key": "risk",
    "key": "closed",
    "ref": DOCUMENT,
    "file_id": str(FILE),
    "session_id": str(SESSION),
    "turn_id": str(TURN),
    "call_id": str(TURN),
    "outbox_id": str(TURN),
    "key_id": str(RISK),
    "member_id": str(RISK),
    "token": "none",
    "user_id": str(PERSON),
    "fact_id": str(PERSON),
    "link_id": str(TURN),
    "message_id": str(TURN),
    "report_id": str(TURN),
    "question_id": str(TURN),
    "approval_id": str(APPROVAL),
    "grant_id": str(APPROVAL),
}
"""What a route's path is filled with."""

ELSEWHERE: Mapping[str, Sequence[tuple[str, JsonObject]]] = {
    "GET /v1/entities": [
        ("/v1/entities", {}),
        ("/v1/entities", {"params": {"type": "risk"}}),
        ("/v1/entities", {"params": {"type": "risk", "limit": 1}}),
        ("/v1/entities", {"params": {"text": "zeppelin"}}),
        ("/v1/entities", {"params": {"project": "project/site"}}),
        ("/v1/entities", {"params": {"project": CLOSED}}),
    ],
    "GET /v1/entities/{type_key}/{key}": [
        ("/v1/entities/risk/closed", {}),
        ("/v1/entities/task/open", {}),
        ("/v1/entities/task/was", {}),
    ],
    "GET /v1/entities/{type_key}/{key}/links": [
        ("/v1/entities/risk/closed/links", {}),
        ("/v1/entities/task/open/links", {}),
        ("/v1/entities/task/open/links", {"params": {"type": "risk", "limit": 1}}),
        ("/v1/entities/project/site/links", {}),
    ],
    **{
        f"GET /v1/entities/{path}/pulse{part}": [
            (f"/v1/entities/{named}/pulse{part}", {}) for named in ("project/site", "risk/closed", SITE, RISK)
        ]
        for path in ("{type_key}/{key}", "{record_id}")
        for part in ("", "/history", "/diff", "/prompt")
    },
    "GET /v1/projects/{ref}/documents": [
        ("/v1/projects/project/site/documents", {}),
        (f"/v1/projects/{CLOSED}/documents", {}),
    ],
    "GET /v1/documents": [("/v1/documents", {}), ("/v1/documents", {"params": {"limit": 1}})],
    "GET /v1/documents/{ref}": [(f"/v1/documents/{DOCUMENT}", {}), ("/v1/documents/closed-doc", {})],
    "GET /v1/files": [
        ("/v1/files", {}),
        ("/v1/files", {"params": {"about": "task/open"}}),
        ("/v1/files", {"params": {"about": CLOSED}}),
    ],
    "GET /v1/search": [
        ("/v1/search", {"params": {"q": WORDS, "limit": 50}}),
        ("/v1/search", {"params": {"q": "the slab", "limit": 50}}),
        ("/v1/search", {"params": {"q": WORDS, "scope": "type", "in": "risk"}}),
        ("/v1/search", {"params": {"q": WORDS, "scope": "record", "in": "task/open"}}),
        ("/v1/search", {"params": {"q": WORDS, "scope": "record", "in": "task/was"}}),
        ("/v1/search", {"params": {"q": WORDS, "scope": "record", "in": CLOSED}}),
        ("/v1/search", {"params": {"q": WORDS, "scope": "project", "in": "project/site"}}),
        ("/v1/search", {"params": {"q": WORDS, "scope": "conversation", "in": str(SESSION)}}),
    ],
    "GET /v1/sessions": [
        ("/v1/sessions", {"params": {"user": str(PERSON)}}),
        ("/v1/sessions", {"params": {"entity": CLOSED}}),
        ("/v1/sessions", {"params": {"entity": "task/open"}}),
    ],
    "GET /v1/conversations": [  # not all of them: one that was answered from what is restricted leaves the list whole
        ("/v1/conversations", {"params": {"agent": "closed"}}),
        ("/v1/conversations", {"params": {"text": "axolotl", "limit": 1}}),
        ("/v1/conversations", {"params": {"record": CLOSED}}),
        ("/v1/conversations", {"params": {"person": str(PERSON)}}),
        ("/v1/conversations", {"params": {"state": "answered"}}),
        ("/v1/conversations", {"params": {"state": "running"}}),
        ("/v1/conversations", {"params": {"state": "failed"}}),
        ("/v1/conversations", {"params": {"state": "waiting"}}),
    ],
    "GET /v1/approvals": [("/v1/approvals", {}), ("/v1/approvals", {"params": {"state": "all", "limit": 1}})],
    "POST /v1/approvals/{approval_id}/answer": [
        (f"/v1/approvals/{APPROVAL}/answer", {"json": {"decision": "approve"}}),
    ],
    "GET /v1/changes": [
        ("/v1/changes", {}),
        ("/v1/changes", {"params": {"limit": 1}}),
        ("/v1/changes", {"params": {"record": CLOSED}}),
    ],
    "GET /v1/turns": [("/v1/turns", {}), ("/v1/turns", {"params": {"session_id": str(SESSION)}})],
    "GET /v1/turns/{turn_id}/prompt/texts": [
        (f"/v1/turns/{TURN}/prompt/texts", {"params": {"hash": [text_hash(one) for one in QUESTIONS]}}),
    ],
    "GET /v1/turns/{turn_id}/prompt/diff": [
        (f"/v1/turns/{NEXT_TURN}/prompt/diff", {"params": {"with": str(TURN)}}),
        (f"/v1/turns/{TURN}/prompt/diff", {"params": {"with": str(NEXT_TURN)}}),
    ],
    "POST /v1/sessions": [("/v1/sessions", {"json": {"tenant": "acme", "binding": "desk", "entity": CLOSED}})],
    "POST /v1/sessions/{session_id}/handoff": [(f"/v1/sessions/{SESSION}/handoff", {"json": {"to": "desk"}})],
    "POST /v1/agui/{binding}": [
        (
            "/v1/agui/desk",
            {
                "json": {
                    "threadId": str(SESSION),
                    "runId": "r",
                    "messages": [{"id": "m", "role": "user", "content": "Hello"}],
                    "resume": [{"interruptId": str(APPROVAL), "status": "resolved", "payload": {"approved": True}}],
                }
            },
        )
    ],
    "POST /v1/sessions/{session_id}/messages": [(f"/v1/sessions/{SESSION}/messages", {"json": {"text": "Hello"}})],
    "POST /v1/entities": [
        ("/v1/entities", {"json": {"type": "task", "name": "A", "project": CLOSED}}),
    ],
    "PATCH /v1/entities/{record_id}": [(f"/v1/entities/{RISK}", {"json": {"name": "A"}})],
    "PATCH /v1/entities/{type_key}/{key}": [("/v1/entities/risk/closed", {"json": {"name": "A"}})],
    "POST /v1/links": [
        ("/v1/links", {"json": {"source": "task/open", "target": CLOSED, "relation": "relates_to"}}),
        ("/v1/links", {"json": {"source": str(RISK), "target": "task/open", "relation": "relates_to"}}),
    ],
    "DELETE /v1/links": [
        ("/v1/links", {"params": {"source": "task/open", "target": CLOSED, "relation": "relates_to"}}),
    ],
    "POST /v1/documents": [
        ("/v1/documents", {"json": {"title": "A", "project": CLOSED}}),
        ("/v1/documents", {"json": {"title": "A", "project": "project/site", "parent": DOCUMENT}}),
    ],
    "PUT /v1/documents/{ref}/place": [
        (f"/v1/documents/{DOCUMENT}/place", {"json": {"position": 0}}),
        ("/v1/documents/document/manual/place", {"json": {"parent": DOCUMENT}}),
    ],
    "PATCH /v1/documents/{ref}": [(f"/v1/documents/{DOCUMENT}", {"json": {"title": "A"}})],
    "POST /v1/files": [("/v1/files", {"json": {"name": "a.txt", "size_bytes": 3, "about": CLOSED}})],
    "POST /v1/files/{file_id}/versions": [(f"/v1/files/{FILE}/versions", {"json": {"size_bytes": 3}})],
    "POST /v1/attention/tool-calls/{call_id}": [(f"/v1/attention/tool-calls/{TURN}", {"json": {"resolution": "done"}})],
    "POST /v1/attention/replies/{outbox_id}": [(f"/v1/attention/replies/{TURN}", {"json": {"resolution": "arrived"}})],
    "POST /v1/inbox/{session_id}/assign": [(f"/v1/inbox/{SESSION}/assign", {"json": {"member_id": str(TURN)}})],
    "POST /v1/inbox/{session_id}/messages": [(f"/v1/inbox/{SESSION}/messages", {"json": {"text": "A", "claim": 1}})],
    "POST /v1/inbox/{session_id}/notes": [(f"/v1/inbox/{SESSION}/notes", {"json": {"text": "A"}})],
    "POST /v1/inbox/{session_id}/hand-back": [(f"/v1/inbox/{SESSION}/hand-back", {"json": {}})],
    "POST /v1/inbox/{session_id}/open": [(f"/v1/inbox/{SESSION}/open", {"json": {}})],
    "POST /v1/inbox/{session_id}/snooze": [
        (f"/v1/inbox/{SESSION}/snooze", {"json": {"until": "2030-03-02T09:00:00Z"}})
    ],
    "POST /v1/attention/notifications/{notification_id}": [
        (f"/v1/attention/notifications/{TURN}", {"json": {"resolution": "dismiss"}})
    ],
    "POST /v1/attention/turns/{turn_id}": [(f"/v1/attention/turns/{TURN}", {"json": {"resolution": "dismiss"}})],
}
"""What is asked of a route besides, or in place of, its path about what is restricted."""

NOT_ABOUT_RECORDS = {
    "GET /console/agents/{tenant}/{binding}": "what chat pages show to everybody",
    "GET /v1/pack/status": "an administrator's; tests/integration/packs/test_merge.py asks about what is restricted",
    "GET /v1/limits": "counts of requests, also those that are above the reader",
    "POST /v1/me/sign-out": "the visitor's own tokens",
    "PUT /v1/pack": "it writes what the caller sends",
    "POST /v1/pack/undo": "an administrator's; tests/integration/packs/test_merge.py asks about what is restricted",
    "POST /v1/pack/prune": "an administrator's; tests/integration/packs/test_merge.py asks about what is restricted",
    "POST /v1/tools/{name}/calls": "a call of the tenant's own tool, an administrator's",
    "PUT /v1/costs/cap": "money",
    "POST /v1/costs/stop": "money",
    "POST /v1/costs/resume": "money",
    "POST /v1/keys": "access",
    "POST /v1/members": "access",
    "PUT /v1/members/{member_id}": "access",
    "GET /v1/keys": "access, with the time of its last use",
    "PUT /v1/tenant/status": "the tenant itself",
    "POST /v1/routes/accept": "the tenant's own address, for the operator only",
    "POST /v1/erasures": "an administrator has something forgotten, whatever it is",
    "PUT /v1/memory/shared-facts": "it writes what the caller sends",
    "DELETE /v1/users/{user_id}": "an administrator has somebody forgotten, whoever it is",
    "DELETE /v1/messages/{message_id}": "an administrator has a message forgotten, whatever it says",
    "POST /v1/reembedding": "every row is embedded anew",
    "POST /v1/operations/redrive": "the operator's",
    "GET /v1/costs": "money, also that of the conversations here",
    "GET /v1/pulses": "what all Pulses cost, also those that are above the reader",
    "PUT /v1/pulses/cap": "money",
    "POST /v1/tool-results/{token}": "a tool's own answer",
    "POST /v1/chatwoot/{token}": "what a person did in Chatwoot; notifications/test_chatwoot_answers.py",
    "GET /v1/chatwoot": "an address",
    "POST /v1/chatwoot/rotate": "an address",
    "GET /v1/sessions/{session_id}/stream": "the same events as a list of them, without an end",
}
"""Routes that are not asked, and why not."""


def asks() -> Iterator[Probe]:
    for name in (tool.name for tool in builtin_tools.BUILTIN_TOOLS):
        for arguments in TOOLS.get(name, [{}]):
            yield Probe(name, arguments, lambda vault, reader, n=name, a=arguments: vault.tool(reader, n, a))  # type: ignore[misc]
    for name in routes(_app()):
        method, _, template = name.partition(" ")
        if name in NOT_ABOUT_RECORDS:
            continue
        for path, asked in ELSEWHERE.get(name) or [(fill_path(template, RESTRICTED), {})]:
            yield Probe(name, [path, asked], _over_the_api(method, path, asked))
    for handle in ("task/open", "project/site", CLOSED):
        yield Probe("briefing", handle, lambda vault, reader, about=handle: vault.turn(reader, about))  # type: ignore[misc]


def _over_the_api(method: str, path: str, asked: JsonObject) -> Callable[[RestrictedTenant, Reader], str]:
    return lambda vault, reader: vault.route(reader, method, path, asked)


def _app(connections: DatabasePool | None = None, queues: FakeQueues | None = None) -> FastAPI:
    nowhere = connections or DatabasePool(lambda: Database(lambda _: None))  # type: ignore[arg-type,return-value]
    return create_app(make_dependencies(nowhere, ManualClock(NOW), RecordingQueue(), queues or FakeQueues()))


ASKS = list(asks())
READS = [tool.name for tool in builtin_tools.BUILTIN_TOOLS if not tool.writes]
EVERY = pytest.mark.parametrize("at", range(len(ASKS)), ids=[f"{at}-{ask.name}" for at, ask in enumerate(ASKS)])


@dataclass(frozen=True)
class Heard:
    """The answers to ASKS, in order."""

    before: list[str]
    after: list[str]


@dataclass(frozen=True)
class Everything:
    """What each reader heard."""

    below: Heard
    neighbour: Heard
    cleared: dict[str, str]


@pytest.fixture(scope="module")
def heard(cluster: Cluster, template: str) -> Iterator[Everything]:
    """Everything is asked once, on one database."""
    name = f"test_{uuid.uuid4().hex}"
    cluster.create(name, template)

    def open_one() -> Database:
        return Database(connector(cluster.connection_parameters(name, APP_ROLE, APP_PASSWORD)))

    connections, database, queues = DatabasePool(open_one), open_one(), FakeQueues()
    client = TestClient(_app(connections, queues), follow_redirects=False)
    yield _ask_all(open_restricted_tenant(database, client, queues, NOW))
    connections.close()
    database.close()
    cluster.drop(name)


def _ask_all(vault: RestrictedTenant) -> Everything:
    vault.add_public_data()
    vault.mark_background_work_done()
    vault.write_pulses()
    vault.mark_background_work_done()
    before = [collect_answers(vault, reader, ASKS) for reader in (vault.below, vault.neighbour)]
    vault.add_restricted_data()
    vault.mark_background_work_done()
    vault.write_pulses()
    vault.change()
    vault.write_pulses()
    vault.mark_background_work_done()
    after = [collect_answers(vault, reader, ASKS) for reader in (vault.below, vault.neighbour)]
    reading = [ask for ask in ASKS if ask.name.startswith(("GET", "briefing")) or ask.name in READS]
    cleared: dict[str, str] = {}
    for ask, answer in zip(reading, collect_answers(vault, vault.cleared, reading), strict=True):
        cleared[ask.name] = cleared.get(ask.name, "") + answer
    return Everything(Heard(before[0], after[0]), Heard(before[1], after[1]), cleared)


@EVERY
@pytest.mark.parametrize("who", ["below", "neighbour"])
def test_what_is_above_a_reader_changes_no_answer(heard: Everything, who: str, at: int) -> None:
    told: Heard = getattr(heard, who)
    answer = told.after[at]
    assert answer == told.before[at], str(ASKS[at])
    for words in _texts(ASKS[at].arguments):
        answer = answer.replace(words, "")  # what was asked is quoted back
    assert find_canaries(answer) == set(), str(ASKS[at])


def _texts(asked: object) -> Iterator[str]:
    """Every text of a question."""
    if isinstance(asked, str):
        yield asked
    elif isinstance(asked, Mapping):
        for part in asked.values():
            yield from _texts(part)
    elif isinstance(asked, Sequence):
        for part in asked:
            yield from _texts(part)


SILENT = {
    "GET /v1/entity-types",
    "GET /v1/relations",
    "GET /v1/health",
    "GET /console/settings.json",
    "GET /v1/bindings",
    "GET /v1/tenant",
    "GET /v1/me",
    "GET /v1/me/tenants",
    "GET /v1/members",
    "GET /v1/audit",
    "GET /v1/reembedding",
    "GET /v1/attention",
    "ask_a_person",
    "GET /v1/inbox",
    "GET /v1/inbox/counts",
    "GET /v1/inbox/members",
    "GET /v1/inbox/{session_id}",
    "GET /v1/inbox/{session_id}/events",
    "GET /v1/inbox/feed",
    "GET /v1/inbox/saved-replies",
    "GET /v1/inbox/{session_id}/context",
    "GET /v1/attention/failed-replies",
    "GET /v1/operations/dead-letters",
    "GET /v1/operations/health",
    "GET /v1/secrets",
    "GET /v1/routes",
    "GET /v1/sessions/{session_id}/events",
    "GET /v1/memory",
    "GET /v1/memory/shared-facts",
    "GET /v1/erasures",
    "GET /v1/erasures/{report_id}",
    "GET /v1/entities/{record_id}/pulse/questions/{question_id}",
    "GET /v1/entities/{type_key}/{key}/pulse/questions/{question_id}",
}
"""What tells nobody of records, or of other people's questions about them."""


@pytest.mark.parametrize(
    "name", sorted({ask.name for ask in ASKS if ask.name.startswith("GET")} | {*READS, "briefing"})
)
def test_somebody_cleared_meets_it(heard: Everything, name: str) -> None:
    """Else nothing would be shown by the tests above."""
    assert bool(find_canaries(heard.cleared[name])) is (name not in SILENT)


def test_every_tool_is_asked() -> None:
    assert set(TOOLS) == {tool.name for tool in builtin_tools.BUILTIN_TOOLS}


def test_every_route_is_asked_or_said_not_to_be_about_records() -> None:
    known = set(routes(_app()))
    assert set(ELSEWHERE) | set(NOT_ABOUT_RECORDS) <= known
    assert not set(ELSEWHERE) & set(NOT_ABOUT_RECORDS)
    writes = {name for name in known if not name.startswith(("GET", "DELETE"))}
    unsaid = writes - set(ELSEWHERE) - set(NOT_ABOUT_RECORDS)
    assert {name for name in unsaid if "{" not in name} == set()


@pytest.fixture
def closed(conversation: ConversationHarness) -> ConversationHarness:
    """A reader who was told of a document by its number, and whom it is closed to since."""
    conversation.send_whatsapp("How wide may a crack be?", "m1")
    conversation.model.script = [search_call("crack width"), text_answer("As wide as it says [1].")]
    conversation.run_turn()
    assert conversation.query("SELECT number FROM citations") == [(1,)]
    conversation.query("UPDATE context_rows SET classification = 3 RETURNING id")
    return conversation


def test_a_number_given_out_before_is_no_citation_any_more(closed: ConversationHarness) -> None:
    closed.send_whatsapp("Where was that again?", "m2")
    closed.model.script = [text_answer("As I said [1].")]
    closed.run_turn()
    assert closed.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position DESC LIMIT 1") == [
        ("As I said.",)
    ]
    assert len(closed.query("SELECT number FROM citations")) == 1


def test_what_was_cited_before_is_named_to_nobody_below_it(closed: ConversationHarness) -> None:
    ((session, user),) = closed.query("SELECT id, user_id FROM sessions")
    assert isinstance(session, UUID)
    assert isinstance(user, UUID)
    viewer = Principal(closed.tenant_id, "member", None, frozenset({"viewer"}), clearance=2)
    for reader, named in (
        (Principal(closed.tenant_id, "user", user, clearance=1), 0),
        (viewer, 0),
        (replace(viewer, clearance=3), 1),
    ):
        with closed.database.transaction(reader) as tx:
            told = read_transcript(reader, tx, session, 10)
            turns = list_turns(reader, tx, 10).rows if reader.kind == "member" else []
        assert [len(row.citations) for row in told if row.direction == "outbound"] == [named]
        assert [len((turn.reply or {})["citations"]) for turn in turns] == [named] * len(turns)  # type: ignore[arg-type]


def test_a_talk_that_was_answered_from_what_is_closed_since_is_read_by_nobody_below_it(
    closed: ConversationHarness,
) -> None:
    ((session, user),) = closed.query("SELECT id, user_id FROM sessions")
    assert isinstance(session, UUID)
    assert isinstance(user, UUID)
    closed.query("UPDATE sessions SET visibility = 'shared' RETURNING id")
    nobody = Principal(closed.tenant_id, "member", None, frozenset(), clearance=2)
    with closed.database.transaction(nobody) as tx:
        assert not users.can_read_session(nobody, tx, session)
        assert list_turns(replace(nobody, roles=frozenset({"viewer"})), tx, 10).rows == []
        assert users.can_read_session(replace(nobody, clearance=3), tx, session)
        assert users.can_read_session(Principal(closed.tenant_id, "user", user, clearance=1), tx, session)


def test_what_is_noted_from_it_is_refused_like_a_number_that_was_never_given_out(closed: ConversationHarness) -> None:
    closed.send_whatsapp("Note that.", "m2")
    risk: JsonObject = {"severity": "low", "state": "open", "owner": "Ida"}
    closed.model.script = [
        tool_call("create_entity", "a", kind="risk", name="A", properties=risk, sources=[1]),
        tool_call("create_entity", "b", kind="risk", name="A", properties=risk, sources=[9]),
        text_answer("I cannot."),
    ]
    closed.add_tool("create_entity", closed._builtin_tools()["create_entity"], idempotent=True)
    closed.run_turn()
    first, second = (
        str(result["message"])
        for (result,) in closed.query("SELECT result FROM tool_calls WHERE name = 'create_entity' ORDER BY step")
        if isinstance(result, dict)
    )
    assert first.replace("1:", "9:") == second
