"""What an operator does about what needs a person: through the REST API's own handler, as the console does."""

import json
from typing import Any

from local.chaos.gateway import event
from local.chaos.world import OPERATOR, Desk, World


def redrive(desk: Desk, turn_id: object) -> dict[str, Any]:
    """Have a parked turn's messages answered after all."""
    return request("POST", f"/v1/attention/turns/{turn_id}", {"how": "redrive"}, desk)


def arrived(desk: Desk, outbox_id: object) -> dict[str, Any]:
    """Say that a reply of which nobody knew did arrive."""
    return request("POST", f"/v1/attention/sends/{outbox_id}", {"how": "arrived"}, desk)


def request(method: str, path: str, body: object, desk: Desk | None = None) -> dict[str, Any]:
    """A request of the deployment's operator, as API Gateway hands it to the function."""
    headers = {"Authorization": f"Bearer {OPERATOR}", "Content-Type": "application/json"}
    mine = {**headers, **({"Parlour-Tenant": desk.slug} if desk else {})}
    return event(method, path, mine, json.dumps(body))


def ask(world: World, wanted: dict[str, Any]) -> bool:
    """Whether the API said yes."""
    ended = world.workers.invoke("http_api", wanted, 20)
    return ended.how == "answered" and ended.answer.get("statusCode") == 200


def redrive_dead_letters(queue: str) -> dict[str, Any]:
    """Move a queue's dead letters back to it."""
    return request("POST", "/v1/operations/redrive", {"queue": queue, "most": 100})
