"""A visitor who knows the ids of another's conversation: what the API lets them do in it."""

from contextlib import closing
from unittest.mock import patch
from uuid import UUID

from fastapi.testclient import TestClient

from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.api.event_stream import StreamTiming
from parlour.api.routes import agui
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal
from parlour.tenancy.authentication import Authenticator
from parlour.tenancy.oidc import TrustedIssuers
from parlour.tenancy.visitor_tokens import VisitorClaims
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.api.conftest import (
    TOKEN_SECRET,
    FakeQueues,
    ManualClock,
    RecordingQueue,
    UnreachableIssuer,
    make_dependencies,
)

_SAID = "Cancel the pour."
_NO_WAIT = StreamTiming(max_seconds=0)


def stranger_stops_a_turn(desk: ConversationHarness) -> bool:
    return _stops_a_turn(desk, desk.create_visitor(), desk.create_visitor())


def owner_stops_a_turn(desk: ConversationHarness) -> bool:
    visitor = desk.create_visitor()
    return _stops_a_turn(desk, visitor, visitor)


def _stops_a_turn(desk: ConversationHarness, owner: Principal, caller: Principal) -> bool:
    """Whether a turn that its owner waits for takes the caller's stop while the model writes."""
    session_id = desk.find_session(owner)
    stopped: list[bool] = []

    def stop_meanwhile() -> None:
        ((turn_id,),) = desk.query("SELECT id FROM turns WHERE state = 'open'")
        _post(desk, caller, f"/v1/sessions/{session_id}/turns/{turn_id}/stop", {})
        stopped.append(desk.query("SELECT stop_requested_at IS NOT NULL FROM turns") == [(True,)])

    desk.model.before_completion = stop_meanwhile
    desk.model.script = [text_answer("All of it.")]
    desk.send_web(owner, session_id, "Please go on.")
    desk.run_turn()
    return stopped == [True]


def stranger_writes_over_agui(desk: ConversationHarness) -> bool:
    return _writes_over_agui(desk, desk.create_visitor(), desk.create_visitor())


def owner_writes_over_agui(desk: ConversationHarness) -> bool:
    visitor = desk.create_visitor()
    return _writes_over_agui(desk, visitor, visitor)


def _writes_over_agui(desk: ConversationHarness, owner: Principal, caller: Principal) -> bool:
    """Whether the caller's message gets into the owner's thread."""
    run: JsonObject = {
        "threadId": str(desk.find_session(owner)),
        "runId": "run",
        "state": None,
        "messages": [{"id": "m", "role": "user", "content": _SAID}],
        "tools": [],
        "context": [],
        "forwardedProps": None,
    }
    _post(desk, caller, "/v1/agui/site-desk", run)
    return desk.query("SELECT body FROM messages") == [(_SAID,)]


def _post(desk: ConversationHarness, caller: Principal, path: str, body: JsonObject) -> None:
    """Call the API as a visitor, on connections of its own: a turn may be using the desk's."""
    ((binding_id,),) = desk.query(f"SELECT binding_id FROM sessions WHERE user_id = '{caller.id}'")
    assert caller.id
    assert isinstance(binding_id, UUID)
    authenticator = Authenticator(TrustedIssuers((), "parlour", UnreachableIssuer()), lambda: TOKEN_SECRET, lambda: "")
    claims = VisitorClaims(desk.tenant_id, caller.id, binding_id, None)
    token = authenticator.issue_visitor_token(claims, desk.clock()).text
    with closing(DatabasePool(desk.database.clone)) as pool, patch.object(agui, "LIVE_TIMING", _NO_WAIT):
        app = create_app(make_dependencies(pool, ManualClock(desk.clock()), RecordingQueue(), FakeQueues()))
        TestClient(app).post(path, json=body, headers={"Authorization": f"Bearer {token}"})
