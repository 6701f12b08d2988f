"""Having somebody forgotten over the API: who may, what the answer says, and what is left of it."""

from uuid import uuid4

from fastapi.testclient import TestClient

from parlour.infra.queries import Query
from tests.integration.api.conftest import EventFeed, FakeQueues, VisitorSession, create_key_headers, operator_headers

_USERS = Query("test.users", "-", "SELECT count(*) FROM users")


def user_of(feed: EventFeed) -> str:
    with feed.database.transaction(feed.tenant_id) as tx:
        return str(tx.value(Query("test.user", "-", "SELECT id FROM users LIMIT 1")))


def users(feed: EventFeed) -> int:
    with feed.database.transaction(feed.tenant_id) as tx:
        return int(tx.value(_USERS))


def test_a_dry_run_names_every_row_and_changes_nothing(
    client: TestClient, acme: str, visit: VisitorSession, feed: EventFeed
) -> None:
    turn = feed.add_turn(("text_delta", {"text": "hello"}))
    body = {"kind": "user", "id": user_of(feed), "dry_run": True}
    told = client.post("/v1/erasures", json=body, headers=operator_headers(acme)).json()
    assert told["dry_run"]
    rows = {one["table"]: one for one in told["rows"]}
    assert rows["turns"]["ids"] == [str(turn)]
    assert rows["sessions"]["ids"] == [visit.session_id]
    assert {"users", "channel_identities", "events"} <= rows.keys()
    assert users(feed) == 1
    assert client.get("/v1/erasures", headers=operator_headers(acme)).json()["erasures"] == []


def test_a_user_is_gone_and_the_report_can_be_read_later(
    client: TestClient, acme: str, feed: EventFeed, queues: FakeQueues
) -> None:
    user = user_of(feed)
    queues.dead_letters["turns-web"].bodies = [{"session_id": str(feed.session_id)}, {"session_id": str(uuid4())}]
    told = client.delete(f"/v1/users/{user}", headers=operator_headers(acme)).json()
    assert told["counts"]["deleted"] >= 3
    assert told["dead_letters"] == {"turns-web": 1}
    assert users(feed) == 0
    (one,) = client.get("/v1/erasures", headers=operator_headers(acme)).json()["erasures"]
    assert (one["kind"], one["target_id"], one["id"]) == ("user", user, told["id"])
    assert client.get(f"/v1/erasures/{told['id']}", headers=operator_headers(acme)).json() == told
    assert client.delete(f"/v1/users/{user}", headers=operator_headers(acme)).json()["id"] == told["id"]


def test_only_administrators_forget_and_only_their_own_tenants(
    client: TestClient, acme: str, brick: str, visit: VisitorSession, feed: EventFeed
) -> None:
    user = user_of(feed)
    for headers in (
        create_key_headers(client, acme, "viewer"),
        create_key_headers(client, acme, "editor"),
        {"Authorization": f"Bearer {visit.token}"},
    ):
        assert client.delete(f"/v1/users/{user}", headers=headers).status_code == 403
    assert client.delete(f"/v1/users/{user}", headers=operator_headers(brick)).status_code == 404
    assert users(feed) == 1


def test_what_is_not_there_or_no_kind_is_refused(client: TestClient, acme: str) -> None:
    for kind in ("user", "message", "file", "fact"):
        body = {"kind": kind, "id": str(uuid4())}
        assert client.post("/v1/erasures", json=body, headers=operator_headers(acme)).status_code == 404
    body = {"kind": "tenant", "id": str(uuid4())}
    assert client.post("/v1/erasures", json=body, headers=operator_headers(acme)).status_code == 422
    assert client.get(f"/v1/erasures/{uuid4()}", headers=operator_headers(acme)).status_code == 404
