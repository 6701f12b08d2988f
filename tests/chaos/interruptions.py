"""What happens while a model is asked: the user writes once more, or an operator stops the turn."""

import time

from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant, webhook_event
from tests.chaos.meanwhile_scenarios import STOP
from tests.chaos.operator_requests import operator_request

_PATIENCE_SECONDS = 20.0

_OPEN_TURN = """
SELECT t.session_id, t.id FROM turns t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND t.state = 'open'
"""
_TEXTS = """
SELECT count(*) FROM messages m JOIN sessions s ON s.id = m.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND m.direction = 'inbound'
"""


def interrupt(world: ChaosEnvironment, desk: ChaosTenant, name: str, tag: str) -> None:
    """Make an interruption happen, once, and return when it is committed; again, it changes nothing."""
    number = f"+{tag.removeprefix('r')}"
    if name == STOP:
        for session_id, turn_id in world.rows(_OPEN_TURN, number):
            path = f"/v1/sessions/{session_id}/turns/{turn_id}/stop"
            world.workers.invoke("http_api", operator_request("POST", path, {}, desk), 20)
        return
    payload = world.webhook_payload(desk, number, "One thing more.", f"meanwhile-{tag}")
    world.workers.invoke("inbound", webhook_event(payload), 10)
    ends_at = time.monotonic() + _PATIENCE_SECONDS
    while world.value(_TEXTS, number) < 2 and time.monotonic() < ends_at:
        time.sleep(0.05)
