"""The API against its own description: schemathesis calls every operation with examples, generated values and links.

The tenant is the example's, with a conversation, a file, a Pulse, and what waits for a person, so that ids in paths
lead somewhere. Every run makes the same requests.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
import schemathesis
from fastapi.testclient import TestClient
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema

from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.infra.postgres import Database
from parlour.packs import folder
from local.example_tenant import PACK_FOLDER, TENANT_SLUG
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import FakeQueues, ManualClock, RecordingQueue, make_dependencies, operator_headers
from tests.integration.day_pulse_reading import read_pulses
from tests.integration.web_conversation import WebConversation

SEED = 20

#: What only a visitor may call: the operator's key is refused there.
VISITORS = ("post_message", "start_attachment", "update_session", "get_own_memory", "sign_out_everywhere", "start_phone_link")

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "allow_header_conformance",
)


@dataclass
class Outcome:
    """What a run found: statuses by operation, and each failure once."""

    statuses: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    failures: dict[str, str] = field(default_factory=dict)


def run(document: dict[str, Any], app: Any, headers: Mapping[str, str], visitor: str, *, examples: int) -> Outcome:
    config = SchemathesisConfig.from_dict(
        {
            "seed": SEED,
            "headers": {**headers},
            "workers": 1,
            "continue-on-failure": True,
            "suppress-health-check": ["all"],
            "warnings": False,
            "cache": {"enabled": False},
            "checks": {"enabled": False, **{name: {"enabled": True} for name in CHECKS}},
            "generation": {"max-examples": examples, "deterministic": True, "no-shrink": True, "database": "none", "with-security-parameters": False},
            "phases": {
                "examples": {"enabled": True, "fill-missing": True},
                "coverage": {"enabled": True},
                "fuzzing": {"enabled": True},
                "stateful": {"enabled": True, "max-steps": 4},
            },
            "operations": [{"include-operation-id": [*VISITORS], "headers": {"Authorization": f"Bearer {visitor}", "Parlour-Tenant": ""}}],
        }
    )
    schema = schemathesis.openapi.from_dict(document, config=config).exclude(path="/v1/sessions/{session_id}/stream")
    schema.app = app
    found = Outcome()
    import time
    t=time.monotonic()
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError): print("ERR", event.label, event.value)
        if isinstance(event, events.FatalError): raise event.exception
        if isinstance(event, events.PhaseFinished): print(event.phase.name, time.monotonic()-t)
        if isinstance(event, events.ScenarioFinished):
            _collect(event, found)
    return found


def _collect(event: events.ScenarioFinished, found: Outcome) -> None:
    for case_id, interaction in event.recorder.interactions.items():
        operation = event.recorder.cases[case_id].value.operation.label
        if interaction.response is not None and event.recorder.cases[case_id].value.method == operation.split()[0]:
            found.statuses[operation].add(interaction.response.status_code)
    for case_id, checks in event.recorder.checks.items():
        for check in checks:
            if check.status is Status.FAILURE and check.failure_info:
                operation = event.recorder.cases[case_id].value.operation.label
                found.failures.setdefault(f"{operation} {check.name}", f"{check.failure_info.failure.title} {check.failure_info.failure.message[:300]}\n{check.failure_info.code_sample}")


def test_the_api_does_what_its_description_says(
    conversation: ConversationHarness, open_database: Callable[[], Database], now: datetime
) -> None:
    queues, clock = FakeQueues(), ManualClock(now)
    pool = DatabasePool(open_database)
    app = create_app(make_dependencies(pool, clock, RecordingQueue(), queues))
    client = TestClient(app)
    headers = operator_headers(TENANT_SLUG)
    ids, visitor = prepare(conversation, client, headers, now)
    document = app.openapi()
    fill(document, ids)
    found = run(document, app, headers, visitor, examples=2)
    import json, os
    ok = {op for op, st in found.statuses.items() if any(200 <= s < 300 for s in st)}
    print("OPERATIONS", len(found.statuses), "2xx", len(ok))
    for op, st in sorted(found.statuses.items()):
        if op not in ok: print("   no 2xx", op, sorted(st))
    for k, v in found.failures.items(): print("FAIL", k, v)
    pool.close()
    assert not found.failures


def prepare(conversation, client, headers, now):
    web = WebConversation(conversation)
    message = web.say("When does the crane come?", text_answer("On Friday [1]."))
    fact = web.add_fact("preference", "short answers", message) if False else None
    opened = client.post("/v1/sessions", json={"tenant": TENANT_SLUG, "binding": "site-desk"}).json()
    troubles = AttentionItems(conversation.database, conversation.tenant_id, UUID(str(web.session)), now)
    read_pulses(conversation)
    turn = client.get("/v1/turns", headers=headers).json()["turns"][0]
    record = client.get("/v1/entities/task/T-112", headers=headers).json()
    key = client.post("/v1/keys", json={"name": "a"}, headers=headers).json()
    member = client.post("/v1/members", json={"issuer": "https://i.example", "subject": "s", "display_name": "S"}, headers=headers).json()
    file = client.post("/v1/files", json={"name": "a.txt", "size_bytes": 3, "about": "project/NRS"}, headers=headers).json()["file"]
    ids = {
        "session_id": opened["session_id"], "turn_id": turn["id"], "record_id": record["id"], "key_id": key["id"],
        "member_id": member["id"], "file_id": file["id"], "user_id": str(web.user), "message_id": str(message),
        "resolve_tool_call.call_id": str(troubles.add_tool_call()), "cancel_tool_call.call_id": str(troubles.add_tool_call("running", heavy=True)),
        "resolve_reply.outbox_id": str(troubles.add_reply()), "redrive_reply.outbox_id": str(troubles.add_reply("failed")),
        "resolve_turn.turn_id": str(troubles.add_failed_turn()),
    }
    return ids, opened["token"]


def fill(document, ids):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            for parameter in operation.get("parameters", ()):
                name = parameter["name"]
                example = ids.get(f"{operation['operationId']}.{name}", ids.get(name))
                if example: parameter["example"] = example
            if operation["operationId"].startswith("apply_pack"):
                operation["requestBody"]["content"]["application/json"]["example"] = {"files": folder.read_folder(PACK_FOLDER)}
