"""What model calls cost, over the API: who sees it, who changes what, and that it holds."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from fastapi.testclient import TestClient

from parlour.infra.errors import SpendRefused
from parlour.infra.ids import uuid7
from parlour.infra.queries import Query
from parlour.models import spend
from parlour.models.spend import Reservation
from tests.integration.api.conftest import (
    EventFeed,
    ManualClock,
    VisitorSession,
    create_key_headers,
    operator_headers,
    sample_pack_files,
)

_CALL = """
INSERT INTO llm_calls (tenant_id, id, binding_id, purpose, provider, model, outcome, input_tokens, output_tokens,
                       cache_read_tokens, cache_write_tokens, cost_usd, latency_ms, at)
VALUES (current_tenant(), %(id)s, (SELECT id FROM bindings WHERE slug = %(binding)s), %(purpose)s, 'anthropic',
        %(model)s, %(outcome)s, 100, 20, 300, 0, %(cost)s, 900, %(at)s)
"""
_REFUSED = "UPDATE turns SET state = 'answered', degraded = true, problem = 'spend_cap', finished_at = %(now)s"


def called(
    feed: EventFeed, model: str, cost: str | None, *, days_ago: int = 0, purpose: str = "turn", **more: str
) -> None:
    """A call as the orchestrator writes it: reserved, made, settled."""
    at = feed.now - timedelta(days=days_ago)
    reservation = uuid7(at)
    row = {"binding": "desk", "outcome": "ok", **more}
    with feed.database.transaction(feed.tenant_id) as tx:
        spend.reserve(
            tx,
            Reservation(
                id=reservation,
                amount=Decimal(cost or 1),
                purpose=purpose,
                default_cap=Decimal(20),
                expires_at=at + timedelta(minutes=1),
            ),
            now=at,
        )
        tx.run(Query("test.call", "-", _CALL), id=uuid7(at), purpose=purpose, model=model, cost=cost, at=at, **row)
        spend.settle(tx, [reservation], Decimal(cost or 1), default_cap=Decimal(20), now=at)


def shown(client: TestClient, tenant: str = "acme", **query: object) -> Any:
    answer = client.get(
        "/v1/costs", params={name: str(value) for name, value in query.items()}, headers=operator_headers(tenant)
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_tenant_that_called_nobody_spent_nothing(client: TestClient, acme: str) -> None:
    found = shown(client, days=2)

    assert found["today"] == {
        "spent_usd": "0",
        "reserved_usd": "0",
        "cap_usd": "20",
        "has_own_cap": False,
        "warned_percent": 0,
        "stopped": False,
        "stopped_at": None,
        "stopped_by": None,
    }
    assert [day["day"] for day in found["days"]] == ["2026-03-02", "2026-03-01"]
    assert found["total"]["calls"] == 0
    assert found["total"]["by_binding"] == {}


def test_costs_are_told_by_day_agent_purpose_and_model(client: TestClient, feed: EventFeed) -> None:
    called(feed, "sonnet", "0.5")
    called(feed, "sonnet", "0.25", binding="office")
    called(feed, "haiku", "0.01", days_ago=1, purpose="summary")
    called(feed, "haiku", "7", days_ago=9)

    found = shown(client)

    today, before = found["days"][:2]
    assert (today["spent_usd"], today["cost_usd"], today["calls"]) == ("0.75", "0.75", 2)
    assert {name: one["cost_usd"] for name, one in today["by_binding"].items()} == {"desk": "0.5", "office": "0.25"}
    assert list(before["by_purpose"]) == ["summary"]
    assert (found["total"]["spent_usd"], len(found["days"])) == ("0.76", 7)
    assert list(found["total"]["by_model"]) == ["anthropic sonnet", "anthropic haiku"]
    assert found["total"]["by_model"]["anthropic sonnet"]["cache_read_tokens"] == 600
    assert found["total"]["cache_hit_percent"] == 75
    assert shown(client, days=10)["total"]["spent_usd"] == "7.76"


def test_a_call_of_unknown_price_counts_against_the_cap_and_is_said_to_be_unpriced(
    client: TestClient, feed: EventFeed
) -> None:
    called(feed, "mystery", None)

    total = shown(client)["total"]
    assert (total["spent_usd"], total["cost_usd"], total["unpriced_calls"]) == ("1", "0", 1)


def test_what_was_reserved_and_never_settled_is_told_as_perhaps_spent(client: TestClient, feed: EventFeed) -> None:
    with feed.database.transaction(feed.tenant_id) as tx:
        spend.reserve(
            tx,
            Reservation(
                id=uuid7(feed.now), amount=Decimal("0.4"), purpose="turn", default_cap=Decimal(20), expires_at=feed.now
            ),
            now=feed.now - timedelta(minutes=1),
        )

    found = shown(client)
    assert Decimal(found["today"]["reserved_usd"]) == 0
    assert (found["days"][0]["unsettled_usd"], found["total"]["unsettled_usd"]) == ("0.4", "0.4")
    assert (found["days"][0]["spent_usd"], found["days"][1]["unsettled_usd"]) == ("0", "0")


def test_turns_that_were_degraded_for_lack_of_money_are_counted(client: TestClient, feed: EventFeed) -> None:
    feed.add_turn()
    with feed.database.transaction(feed.tenant_id) as tx:
        tx.run(Query("test.refused", "-", _REFUSED), now=feed.now)

    found = shown(client)
    assert (found["days"][0]["degraded_turns"], found["total"]["degraded_turns"]) == (1, 1)


def test_the_cap_is_changed_and_taken_back(client: TestClient, acme: str) -> None:
    for given, cap, own in (("5.5", "5.5000", True), (0, "0.0000", True), (None, "20", False)):
        answer = client.put("/v1/costs/cap", json={"daily_cap_usd": given}, headers=operator_headers(acme))
        assert answer.status_code == 200, answer.text
        assert (answer.json()["today"]["cap_usd"], answer.json()["today"]["has_own_cap"]) == (cap, own)


@pytest.mark.parametrize("cap", [-1, "NaN", "1e30", 0.00001, "much", True, [5], {"usd": 5}])
def test_a_cap_that_is_none_is_refused(client: TestClient, acme: str, cap: object) -> None:
    answer = client.put("/v1/costs/cap", json={"daily_cap_usd": cap}, headers=operator_headers(acme))
    assert answer.status_code == 422, answer.text
    assert "daily_cap_usd" in answer.json()["error"]["message"]


def test_the_switch_stops_and_resumes_and_says_who(client: TestClient, feed: EventFeed, acme: str) -> None:
    answer = client.post("/v1/costs/stop", headers=operator_headers(acme))
    assert (answer.json()["today"]["stopped"], answer.json()["today"]["stopped_by"]) == (True, "operator")
    with pytest.raises(SpendRefused):
        called(feed, "sonnet", "0.1")

    assert not client.post("/v1/costs/resume", headers=operator_headers(acme)).json()["today"]["stopped"]
    called(feed, "sonnet", "0.1")


def test_changes_are_in_the_audit_trail_once(client: TestClient, acme: str) -> None:
    for _ in range(2):
        client.put("/v1/costs/cap", json={"daily_cap_usd": 3}, headers=operator_headers(acme))
        client.post("/v1/costs/stop", headers=operator_headers(acme))
    client.post("/v1/costs/resume", headers=operator_headers(acme))

    entries = client.get("/v1/audit", headers=operator_headers(acme)).json()["entries"]
    acts = [one["action"] for one in entries if one["action"].startswith("spend")]
    assert sorted(acts) == ["spend.resumed", "spend.stopped", "spend_cap.changed"]


def test_a_viewer_looks_and_only_an_administrator_changes(client: TestClient, visit: VisitorSession, acme: str) -> None:
    viewer = create_key_headers(client, acme, "viewer")
    assert client.get("/v1/costs", headers=viewer).status_code == 200
    assert client.put("/v1/costs/cap", json={"daily_cap_usd": 3}, headers=viewer).status_code == 403
    assert client.post("/v1/costs/stop", headers=viewer).status_code == 403
    assert client.post("/v1/costs/resume", headers=viewer).status_code == 403
    assert client.get("/v1/costs", headers=visit.headers).status_code == 403


@pytest.mark.parametrize("days", ["0", "93", "-1", "many"])
def test_a_span_that_is_none_is_refused(client: TestClient, acme: str, days: str) -> None:
    assert client.get("/v1/costs", params={"days": days}, headers=operator_headers(acme)).status_code == 422


def test_a_neighbour_sees_nothing_of_it(client: TestClient, feed: EventFeed, brick: str) -> None:
    called(feed, "sonnet", "0.5")

    assert shown(client, brick)["total"]["spent_usd"] == "0"


def test_the_pack_may_say_the_cap_and_one_that_does_not_leaves_it(client: TestClient, acme: str) -> None:
    files = sample_pack_files(acme, "acme.example")
    told = {**files, "tenant.yaml": files["tenant.yaml"] + "daily_cap_usd: 7.5\n"}
    assert client.put("/v1/pack", json={"files": told}, headers=operator_headers(acme)).json()["changed"]
    assert not client.put("/v1/pack", json={"files": told}, headers=operator_headers(acme)).json()["changed"]
    assert Decimal(shown(client)["today"]["cap_usd"]) == Decimal("7.5")
    exported = client.get("/v1/pack", headers=operator_headers(acme)).json()["files"]
    assert "daily_cap_usd: 7.5" in exported["tenant.yaml"]
    assert not client.put("/v1/pack", json={"files": exported}, headers=operator_headers(acme)).json()["changed"]

    client.put("/v1/costs/cap", json={"daily_cap_usd": 3}, headers=operator_headers(acme))
    assert not client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme)).json()["changed"]
    assert Decimal(shown(client)["today"]["cap_usd"]) == 3


@pytest.mark.parametrize("cap", ["-1", ".nan", ".inf", "much", "1e12", "0.00001", "true"])
def test_a_pack_with_a_cap_that_is_none_is_refused_with_its_line(client: TestClient, acme: str, cap: str) -> None:
    files = sample_pack_files(acme, "acme.example")
    answer = client.put(
        "/v1/pack",
        json={"files": {**files, "tenant.yaml": files["tenant.yaml"] + f"daily_cap_usd: {cap}\n"}},
        headers=operator_headers(acme),
    )
    assert answer.status_code == 422, answer.text
    assert [one["field"] for one in answer.json()["error"]["problems"]] == ["daily_cap_usd"]


def test_today_is_the_day_in_utc(feed: EventFeed, client: TestClient, clock: ManualClock) -> None:
    called(feed, "sonnet", "0.5")
    clock.advance(hours=15)
    assert [day["spent_usd"] for day in shown(client, days=2)["days"]] == ["0", "0.5"]
