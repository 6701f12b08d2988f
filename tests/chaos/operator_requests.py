"""What an operator does about what needs a person: through the REST API's own handler, as the console does."""

import json
from typing import Any

from tests.chaos.api_gateway import proxy_event
from tests.chaos.chaos_environment import OPERATOR_KEY, ChaosEnvironment, ChaosTenant


def redrive_turn(desk: ChaosTenant, turn_id: object) -> dict[str, Any]:
    """Have a parked turn's messages answered after all."""
    return operator_request("POST", f"/v1/attention/turns/{turn_id}", {"resolution": "redrive"}, desk)


def mark_arrived(desk: ChaosTenant, outbox_id: object) -> dict[str, Any]:
    """Say that a reply of which nobody knew did arrive."""
    return operator_request("POST", f"/v1/attention/replies/{outbox_id}", {"resolution": "arrived"}, desk)


def operator_request(method: str, path: str, body: object, desk: ChaosTenant | None = None) -> dict[str, Any]:
    """A request of the deployment's operator, as API Gateway hands it to the function."""
    headers = {"Authorization": f"Bearer {OPERATOR_KEY}", "Content-Type": "application/json"}
    mine = {**headers, **({"Parlour-Tenant": desk.slug} if desk else {})}
    return proxy_event(method, path, mine, json.dumps(body))


def send_request(world: ChaosEnvironment, wanted: dict[str, Any]) -> bool:
    """Whether the API said yes."""
    ended = world.workers.invoke("http_api", wanted, 20)
    return ended.outcome == "answered" and ended.answer.get("statusCode") == 200


def redrive_dead_letters(queue: str) -> dict[str, Any]:
    """Move a queue's dead letters back to it."""
    return operator_request("POST", "/v1/operations/redrive", {"queue": queue, "limit": 100})
