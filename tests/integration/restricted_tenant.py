"""A tenant before and after restricted things are put into it: whatever a reader below asks, the answers are the same.

Everything that can be asked (each tool, each route of the API, the briefing of a conversation) is asked once before and
once after, by somebody below the restricted things and by a neighbour, and afterwards by somebody cleared, who meets
them. Ids and handles of what is restricted are chosen in advance, so that asking for it before is asking for what is
not there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch
from uuid import UUID

from fastapi import FastAPI
from fastapi.testclient import TestClient

from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.turn_context import TurnDependencies
from parlour.conversations.turn_runner import run_session
from parlour.documents import authored_documents
from parlour.documents.authored_documents import NewDocument
from parlour.files import uploads
from parlour.files.file import NewFile
from parlour.infra.errors import ModelError
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.principal import Principal
from parlour.pulse.reading import refresh_requests
from parlour.pulse.writing import level_draft, writing_job
from parlour.records import crud, record_links
from parlour.records.record import RecordInput, RecordPatch
from parlour.tools.arguments import validate_arguments
from parlour.tools.builtin import builtin_tools
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.result import error_result, success_result
from parlour.tools.run import ToolContext
from tests.conversation_harness import FakeDelayedQueue, FakeQueue, ScriptedModel, TickingClock, text_answer
from tests.integration.api.conftest import ConstantEmbedder, FakeQueues, create_tenant, operator_headers
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.knowledge_tenant import execute
from tests.integration.pulse.scripted_pulse_model import ScriptedPulseModel

CANARY_WORDS = ("zeppelin", "quagga", "narwhal", "okapi", "dugong", "axolotl")
"""A word of each restricted thing: the record, the file, the document, a change, a message, a conversation."""

RISK, FILE, SESSION, TURN, MESSAGE, NEXT_TURN, SITE, PERSON = (UUID(int=0x7000_0000_0000 + at) for at in range(8))
"""What is restricted, by ids that are known before it is there; the next turn is another of the same conversation. The
site is not, but what goes on there is."""

QUESTIONS = ("Where is the zeppelin?", "And where is the quagga?")
"""What was asked in those two turns, whose prompts are kept."""

WORDS = " ".join(CANARY_WORDS)
APPROVAL = UUID(int=0x0197_0000_0000_7000_8000_0000_0000_00AA)
"""A question that was asked in the restricted conversation, and a permission of its user."""

NUMBER = 40
"""A number of the reader's own conversation that was given out for the restricted file."""

BELOW, CLEARED = 1, 3


@dataclass(frozen=True)
class Probe:
    """One question, asked of a tool, a route or a turn: `name` says which, `what` with what."""

    name: str
    arguments: Any
    ask: Callable[["RestrictedTenant", "Reader"], str] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name} {canonical_json(self.arguments)}"[:150]


@dataclass(frozen=True)
class Reader:
    """Somebody who asks: over the API with their key, by tools as a user in a conversation of theirs."""

    tenant: str
    principal: Principal
    headers: Mapping[str, str]
    session_id: UUID
    about: UUID | None


@dataclass
class RestrictedTenant:
    """Two tenants and their readers, and what there is to ask them with."""

    database: Database
    client: TestClient
    queues: FakeQueues
    clock: TickingClock
    owner: Principal
    below: Reader
    cleared: Reader
    neighbour: Reader

    def tool(self, reader: Reader, name: str, arguments: JsonObject) -> str:
        (tool,) = (one for one in builtin_tools.BUILTIN_TOOLS if one.name == name)
        endpoint = PythonEndpoint(
            builtin_tools.builtin_handlers(lambda database, tenant_id: ConstantEmbedder(), FakeDelayedQueue()),
            builtin_tools.BUILTIN_LOOKUPS,
        )
        now = self.clock.now
        context = ToolContext(
            reader.principal,
            self.database,
            reader.session_id,
            uuid7(now),
            now,
            0,
            idempotency_key=str(uuid7(now)),
            entity_id=reader.about,
        )
        try:
            validate_arguments(tool.schema, arguments)
            return canonical_json(success_result(endpoint.call(context, tool, arguments)).content)
        except ModelError as error:
            return canonical_json(error_result(error).content)

    def route(self, reader: Reader, method: str, path: str, asked: JsonObject) -> str:
        answer = self.client.request(method, path, headers=dict(reader.headers), **asked)  # type: ignore[arg-type]
        return f"{answer.status_code} {answer.text}"

    def turn(self, reader: Reader, handle: str) -> str:
        """The whole prompt of a new conversation about the record, for a visitor who is cleared as the reader is."""
        opened = self.client.post("/v1/sessions", json={"tenant": reader.tenant, "binding": "desk", "entity": handle})
        if opened.status_code != 201:
            return opened.text
        session_id = opened.json()["session_id"]
        with self.database.transaction(self.owner) as tx:
            execute(tx, _CLEAR, level=reader.principal.clearance, id=session_id)
        told = self._answered(session_id, opened.json()["token"], "What is new?")
        self._close(session_id)
        return told

    def _answered(self, session_id: str, token: str, question: str) -> str:
        """Have a visitor's question answered; returns the prompt."""
        headers, path = {"Authorization": f"Bearer {token}"}, f"/v1/sessions/{session_id}/messages"
        self.client.post(path, json={"text": question}, headers=headers)
        model = ScriptedModel()
        model.provider, model.script = "offline", [text_answer("So it is.")]
        run_session(self._services(model), SessionWakeup(self.owner.tenant_id, UUID(session_id)), lambda: 60.0)
        (request,) = model.requests
        return canonical_json([list(request.system), list(request.messages), list(request.tools)])

    def _close(self, session_id: str) -> None:
        """Leave nothing of a visitor's conversation, nor of what it cost."""
        with self.database.transaction(self.owner) as tx:
            execute(tx, "DELETE FROM sessions WHERE id = %(id)s", id=session_id)
            execute(tx, "DELETE FROM spend_days")

    def _services(self, model: ScriptedModel) -> TurnDependencies:
        return TurnDependencies(
            database=self.database,
            models={"offline": model},
            endpoints={},
            outbox_queue=FakeQueue(),
            tool_queue=FakeQueue(),
            embedding_queue=FakeDelayedQueue(),
            memory_queue=FakeDelayedQueue(),
            wakeup_queue=FakeDelayedQueue(),
            max_tenant_turns=20,
            embedder_of=lambda _database, _tenant: ConstantEmbedder(),
            default_cap_usd=Decimal(20),
            clock=lambda: self.clock.now,
            sleep=lambda _: None,
            jitter=lambda low, _: low,
        )

    def mark_background_work_done(self) -> None:
        """Every row has its vector, nothing waits, and nobody's Pulse is stale: that belongs to whoever writes it."""
        with self.database.transaction(self.owner) as tx:
            execute(tx, _EMBED)
            execute(tx, "UPDATE context_rows SET pending = false")
            execute(tx, "UPDATE entities SET stale_since = NULL, stale_causes = '{}'")

    def write_pulses(self) -> None:
        """The Pulses of the site are written anew, as far as what they are made of is another; their author says
        whatever stands in the prompt. What that cost is told to everybody."""
        services = level_draft.PulseDependencies(
            self.database,
            lambda: {"anthropic": ScriptedPulseModel()},
            Decimal(20),
            Decimal(20),
            timedelta(days=1),
            lambda _: None,
            self.clock,
            lambda _: None,
            lambda low, _: low,
        )
        with self.database.transaction(self.owner) as tx:
            asked = refresh_requests.request_refresh(self.owner, tx, SITE, "", uuid7(self.clock()), self.clock())
        writing_job.run_pulse_job(services, asked.job, lambda: 300.0)
        with self.database.transaction(self.owner) as tx:
            execute(tx, "DELETE FROM spend_days")

    def add_public_data(self) -> None:
        """What everybody may see, and a record whose past nobody below may."""
        self._make("project", "site", "The site", record_id=SITE)
        self._make("task", "open", "Pour the slab", "project/site")
        self._make("risk", "open", "Rain", "project/site")
        self._link("task/open", "risk/open", "relates_to")
        self._write("manual", "Manual", "# Pour\n\nThe slab is poured in bays.", 0)
        self._upload(uuid7(self.clock()), "open.txt", "The slab is poured in bays, says the file.", 0)
        self._make("task", "was", "Was closed", level=CLEARED)
        self._change("task/was", RecordPatch(properties={"description": "okapi"}))
        self._change("task/was", RecordPatch(properties={"description": None}))
        self._change("task/was", RecordPatch(classification=0))
        with self.database.transaction(self.owner) as tx:
            execute(tx, _UNLIMITED)
            execute(tx, _CLOSED_DESK, id=SESSION, now=self.clock())
            execute(tx, _CHEAP)

    def change(self) -> None:
        """The restricted record is another now."""
        self._change("risk/closed", RecordPatch(name="Zeppelin ledger, closed"))

    def add_restricted_data(self) -> None:
        """What nobody below may meet: a record linked to an open one, a file about an open one, a document in the tree
        of an open project, a message in the reader's own conversation, a conversation through a closed desk."""
        self._make("risk", "closed", "Zeppelin ledger", "project/site", CLEARED, RISK)
        self._link("task/open", "risk/closed", "relates_to")
        self._write("closed-doc", "Narwhal", "# Narwhal\n\nThe narwhal stops the pour.", CLEARED, position=0)
        self._upload(FILE, "quagga.txt", "The quagga stops the pour.", CLEARED)
        values = {
            "session": self.below.session_id,
            "message": MESSAGE,
            "now": self.clock(),
            "risk": RISK,
            "file": FILE,
            "id": SESSION,
            "turn": TURN,
            "number": NUMBER,
            "person": PERSON,
        }
        with self.database.transaction(self.owner) as tx:
            for statement in (_SAID, _CLOSED_SESSION, _CLOSED_TURN, _CLOSED_MESSAGE, _GIVEN_OUT, _KNOWN, _WRITTEN):
                execute(tx, statement, **{name: value for name, value in values.items() if f"%({name})s" in statement})
        self._keep_prompts()

    def _keep_prompts(self) -> None:
        """The prompts of the closed conversation's turns are those of somebody cleared who asks about the record."""
        asked = {"tenant": self.below.tenant, "binding": "desk"}
        opened = self.client.post("/v1/sessions", json=asked).json()
        with self.database.transaction(self.owner) as tx:
            execute(tx, _ABOUT_IT, risk=RISK, id=opened["session_id"])
            execute(tx, _CLEAR, level=CLEARED, id=opened["session_id"])
        for question in QUESTIONS:
            self._answered(opened["session_id"], opened["token"], question)
        with self.database.transaction(self.owner) as tx:
            execute(tx, _NEXT_TURN, turn=NEXT_TURN, id=SESSION, now=self.clock())
            execute(tx, _CLOSED_QUESTION, turn=NEXT_TURN, id=SESSION, approval=APPROVAL, now=self.clock())
            for number, turn in enumerate((TURN, NEXT_TURN), start=1):
                execute(tx, _KEPT_PROMPTS, turn=turn, session=opened["session_id"], number=number)
        self._close(opened["session_id"])

    def _make(
        self,
        kind: str,
        key: str,
        name: str,
        project: str | None = None,
        level: int = 0,
        record_id: UUID | None = None,
    ) -> None:
        new = RecordInput(kind, name, key, classification=level, project=project)
        make_id = patch.object(crud, "uuid7", lambda now: record_id or uuid7(now))
        with make_id, self.database.transaction(self.owner) as tx:
            crud.create_record(self.owner, tx, new, self.clock())

    def _link(self, source: str, target: str, relation: str) -> None:
        with self.database.transaction(self.owner) as tx:
            record_links.link(self.owner, tx, source, target, relation, self.clock())

    def _change(self, handle: str, patch: RecordPatch) -> None:
        with self.database.transaction(self.owner) as tx:
            crud.update_record(self.owner, tx, handle, patch, None, self.clock())

    def _write(self, key: str, title: str, content: str, level: int, position: int | None = None) -> None:
        with self.database.transaction(self.owner) as tx:
            authored_documents.create_document(
                self.owner,
                tx,
                NewDocument(
                    project="project/site",
                    title=title,
                    content=content,
                    key=key,
                    position=position,
                    classification=level,
                ),
                now=self.clock(),
            )

    def _upload(self, file_id: UUID, name: str, text: str, level: int) -> None:
        desk = UploadHarness(self.database, self.owner, self.clock, self.queues.bucket)
        new = NewFile(name, len(text), "task/open", classification=level)
        with self.database.transaction(self.owner) as tx:
            started = uploads.start_upload(self.owner, tx, desk.bucket, new, self.clock(), file_id)
        desk.bucket.post(started.form, text.encode())
        desk.complete(file_id)
        desk.run_ingestion()


_CLEAR = "UPDATE users u SET clearance = %(level)s FROM sessions s WHERE u.id = s.user_id AND s.id = %(id)s"
_EMBED = """
INSERT INTO embeddings (tenant_id, row_id, space, vector)
SELECT tenant_id, id, 'flat@2', '[1,0]' FROM context_rows ON CONFLICT DO NOTHING
"""
_TENANT = Query("test.tenant", "-", "SELECT tenant_id FROM routing_keys WHERE key = %(key)s")
_SAID = """
WITH said AS (
    INSERT INTO messages (tenant_id, id, session_id, binding_id, direction, state, channel, kind, body, sent_at,
                          received_at, indexed)
    SELECT tenant_id, %(message)s, id, binding_id, 'inbound', 'ignored', 'web', 'text', 'The dugong stops the pour.',
           %(now)s, %(now)s, true
      FROM sessions WHERE id = %(session)s
)
INSERT INTO context_rows (tenant_id, id, kind, ordinal, title, content, content_hash, classification, metadata,
                          session_id, message_id, created_at)
SELECT current_tenant(), %(message)s, 'chat_message', 0, 'Talk', 'The dugong stops the pour.', 'dugong', 3, '{}',
       %(session)s, NULL, %(now)s
"""
_WRITTEN = """
INSERT INTO agent_writes (tenant_id, id, turn_id, origin, principal, action, entity_id, version, written_at)
SELECT current_tenant(), %(turn)s, %(turn)s, 'closed', 'user:' || %(person)s::text, 'create', %(risk)s, 1, %(now)s
"""
_CLOSED_DESK = """
INSERT INTO bindings (tenant_id, id, slug, display_name, human_id, team_id, agent_id, clearance, created_at, updated_at)
SELECT tenant_id, %(id)s, 'closed', 'Closed', human_id, team_id, agent_id, 3, %(now)s, %(now)s
  FROM bindings WHERE slug = 'desk'
"""
_UNLIMITED = """
WITH refilled AS (DELETE FROM rate_limits)
UPDATE bindings
   SET limits = '{"visitor_per_minute": 10000, "address_per_minute": 100000, "binding_per_minute": 100000,
                  "new_visitors_per_minute": 100000}'
"""
_CHEAP = """
UPDATE agents
   SET model_routing = model_routing || '{"cheap": {"provider": "anthropic", "model": "claude-haiku-4-5"}}'
"""
_CLOSED_SESSION = """
INSERT INTO sessions (tenant_id, id, user_id, binding_id, entity_id, channel, title, created_at, last_active_at)
SELECT tenant_id, %(id)s, user_id, %(id)s, %(risk)s, 'web', 'About the axolotl', %(now)s, %(now)s
  FROM sessions WHERE id = %(session)s
"""
_CLOSED_TURN = """
INSERT INTO turns (tenant_id, id, session_id, binding_id, number, state, frozen_at, stage_ms)
VALUES (current_tenant(), %(turn)s, %(id)s, %(id)s, 1, 'answered', %(now)s, '{}')
"""
_CLOSED_QUESTION = """
WITH step AS (
    INSERT INTO steps (tenant_id, turn_id, number, provider, model, prompt_hash, requested_at)
    VALUES (current_tenant(), %(turn)s, 1, 'offline', 'offline', '', %(now)s)
), call AS (
    INSERT INTO tool_calls (tenant_id, id, turn_id, step, call_id, name, arguments, state, idempotency_key,
                            started_at)
    VALUES (current_tenant(), %(approval)s, %(turn)s, 1, 'c', 'page', '{"pet": "axolotl"}', 'failed', 'axolotl',
            %(now)s)
), granted AS (
    INSERT INTO approval_grants (tenant_id, id, user_id, binding_id, tool, granted_by, created_at, expires_at)
    SELECT tenant_id, %(approval)s, user_id, %(id)s, 'axolotl', 'user', %(now)s, %(now)s + interval '9 days'
      FROM sessions WHERE id = %(id)s
)
INSERT INTO approvals (tenant_id, id, session_id, binding_id, user_id, tool_call_id, approver, tool, arguments,
                       question, options, channel, bound, bound_hash, state, created_at, posted_at, expires_at)
SELECT tenant_id, %(approval)s, id, binding_id, user_id, %(approval)s, 'admin', 'page', '{"pet": "axolotl"}',
       'Page the axolotl', '{approve}', 'web', '{}', '', 'asked', %(now)s, %(now)s, %(now)s + interval '1 day'
  FROM sessions WHERE id = %(id)s
"""
_NEXT_TURN = """
INSERT INTO turns (tenant_id, id, session_id, binding_id, number, state, frozen_at, stage_ms)
VALUES (current_tenant(), %(turn)s, %(id)s, %(id)s, 2, 'answered', %(now)s, '{}')
"""
_ABOUT_IT = "UPDATE sessions SET entity_id = %(risk)s WHERE id = %(id)s"
_KEPT_PROMPTS = """
UPDATE ledgers SET turn_id = %(turn)s
 WHERE turn_id = (SELECT id FROM turns WHERE session_id = %(session)s AND number = %(number)s)
"""
_CLOSED_MESSAGE = """
INSERT INTO messages (tenant_id, id, session_id, binding_id, turn_id, direction, state, channel, kind, body, sent_at,
                      received_at, indexed)
VALUES (current_tenant(), %(turn)s, %(id)s, %(id)s, %(turn)s, 'inbound', 'answered', 'web', 'text',
        'Where is the axolotl?', %(now)s, %(now)s, true)
"""
_KNOWN = """
WITH person AS (
    INSERT INTO users (tenant_id, id, display_name, clearance, created_at)
    VALUES (current_tenant(), %(person)s, 'Keeper of the axolotl', 3, %(now)s)
    RETURNING tenant_id, id
), talk AS (
    INSERT INTO sessions (tenant_id, id, user_id, binding_id, channel, created_at, last_active_at)
    SELECT tenant_id, id, id, %(id)s, 'web', %(now)s, %(now)s FROM person
)
INSERT INTO facts (tenant_id, id, scope, user_id, binding_id, key, value, confidence, origin, valid_from,
                   last_confirmed_at, created_at)
SELECT tenant_id, id, 'user', id, %(id)s, 'family.pets', 'an axolotl', 0.9, 'stated', %(now)s, %(now)s, %(now)s
  FROM person
"""
_GIVEN_OUT = """
INSERT INTO citation_numbers (tenant_id, session_id, number, row_id, title, locator)
SELECT tenant_id, %(session)s, %(number)s, id, title, '' FROM context_rows
 WHERE file_id = %(file)s AND kind = 'file_chunk' ORDER BY ordinal LIMIT 1
"""


def open_restricted_tenant(
    database: Database, client: TestClient, queues: FakeQueues, now: datetime
) -> RestrictedTenant:
    """The tenants with nothing in them but what a pack brings."""
    for slug in ("acme", "brick"):
        create_tenant(client, slug)
    owner = Principal(_tenant(database, "acme"), "member", None, frozenset({"admin"}), clearance=CLEARED)
    clock = TickingClock(now)
    readers = [
        _reader(database, client, slug, level)
        for slug, level in (("acme", BELOW), ("acme", CLEARED), ("brick", CLEARED))
    ]
    return RestrictedTenant(database, client, queues, clock, owner, *readers)


def _reader(database: Database, client: TestClient, tenant: str, level: int) -> Reader:
    body = {"name": "reader", "roles": ["admin", "editor", "viewer"], "clearance": level}
    key = client.post("/v1/keys", json=body, headers=operator_headers(tenant)).json()["key"]
    session = client.post("/v1/sessions", json={"tenant": tenant, "binding": "desk"}).json()["session_id"]
    principal = Principal(_tenant(database, tenant), "user", UUID(session), clearance=level)
    return Reader(tenant, principal, {"Authorization": f"Bearer {key}"}, UUID(session), None)


def _tenant(database: Database, slug: str) -> UUID:
    with database.transaction(None) as tx:
        found: UUID = tx.value(
            Query("test.t", "-", "SELECT tenant_id FROM routing_keys WHERE key = %(key)s"), key=f"tenant:{slug}"
        )
    return found


def routes(app: FastAPI) -> list[str]:
    """Every route of the API, as method and path."""
    return [f"{method.upper()} {path}" for path, said in app.openapi()["paths"].items() for method in said]


def fill_path(path: str, values: Mapping[str, str]) -> str:
    """A route's path about what is restricted; KeyError for a parameter that nobody has said anything about."""
    return path.format_map(values)


def collect_answers(vault: RestrictedTenant, reader: Reader, asks: Sequence[Probe]) -> list[str]:
    return [ask.ask(vault, reader) for ask in asks]


def find_canaries(text: str) -> set[str]:
    """The canaries in an answer."""
    return {word for word in CANARY_WORDS if word in text.casefold()}
