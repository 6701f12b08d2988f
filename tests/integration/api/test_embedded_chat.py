"""The embedded chat: which pages may show it in a frame and read its settings, and that no other page may."""

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import open_session, operator_headers, sample_pack_files

SHOP = "https://www.shop.example"
WIDGET = "http://widget.localhost:8790"
DENIED = "frame-ancestors 'none'"


@pytest.fixture
def embedded(client: TestClient, acme: str) -> TestClient:
    """The API with two agents of a tenant: the desk lists two hosts, the yard another one."""
    files = sample_pack_files(acme, "acme.example")
    desk = files["bindings/desk.yaml"]
    hosts = "embed_hosts: [www.shop.example, 'widget.localhost:8790'], face: AB, colour: '#0a7f6c', samples"
    files["bindings/desk.yaml"] = desk.replace("samples", hosts)
    files["bindings/yard.yaml"] = desk.replace(
        "acme.example, samples", "yard.example, embed_hosts: [y.example:8443], samples"
    )
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme))
    assert answer.status_code == 200, answer.text
    return client


def read_policy(client: TestClient, agent: str, **headers: str) -> str:
    answer = client.get(f"/console/embed.html?agent={agent}", headers=headers)
    assert answer.status_code == 200
    return answer.headers["content-security-policy"].rpartition("; ")[2]


def test_frame_policy_names_exactly_the_hosts_of_the_binding(embedded: TestClient) -> None:
    assert read_policy(embedded, "acme/desk") == f"frame-ancestors {SHOP} {WIDGET}"
    assert read_policy(embedded, "acme/yard") == "frame-ancestors https://y.example:8443"
    page = embedded.get("/console/embed.html?agent=acme/desk")
    assert "x-frame-options" not in page.headers
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-cache"


def test_binding_without_hosts_is_shown_in_no_frame(embedded: TestClient, brick: str) -> None:
    assert read_policy(embedded, f"{brick}/desk") == DENIED


@pytest.mark.parametrize(
    "agent", ["", "acme", "acme/", "/desk", "acme/office", "acme/nobody", "nobody/desk", "acme/desk/", "a%00/b"]
)
def test_frame_of_no_public_agent_is_refused(embedded: TestClient, agent: str) -> None:
    answer = embedded.get(f"/console/embed.html?agent={agent}")
    assert answer.status_code == 404
    assert DENIED in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("page", ["", "index.html", "chat.html", "settings.json", "chat.html?agent=acme/desk"])
def test_no_other_page_is_shown_in_a_frame(embedded: TestClient, page: str) -> None:
    answer = embedded.get(f"/console/{page}")
    assert DENIED in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


def test_host_headers_change_nothing_about_the_frame(embedded: TestClient) -> None:
    for name in ("Host", "X-Forwarded-Host", "Forwarded", "Origin", "Referer"):
        assert (
            read_policy(embedded, "acme/yard", **{name: "www.shop.example"}) == "frame-ancestors https://y.example:8443"
        )


@pytest.mark.parametrize("origin", [SHOP, WIDGET])
def test_page_of_a_listed_host_reads_the_settings(embedded: TestClient, origin: str) -> None:
    answer = embedded.get("/console/agents/acme/desk", headers={"Origin": origin})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers
    shown = answer.json()
    assert (shown["name"], shown["face"], shown["colour"]) == ("Site desk", "AB", "#0a7f6c")


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "https://shop.example",
        "https://a.www.shop.example",
        "https://www.shop.example.evil.example",
        "https://www.shop.example:8443",
        "http://www.shop.example",
        "https://WWW.shop.example",
        "https://y.example:8443",
        "http://widget.localhost",
        "https://widget.localhost:8790",
        "http://acme.example",
        "null",
        "*",
        "",
    ],
)
def test_page_of_any_other_host_reads_nothing(embedded: TestClient, origin: str) -> None:
    answer = embedded.get("/console/agents/acme/desk", headers={"Origin": origin})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert "access-control-allow-origin" not in answer.headers


def test_page_with_a_stolen_token_gets_no_answer_that_it_may_read(embedded: TestClient, acme: str) -> None:
    visit = open_session(embedded, acme)
    for origin in (SHOP, "https://evil.example"):
        for method in ("GET", "OPTIONS"):
            answer = embedded.request(
                method,
                f"/v1/sessions/{visit.session_id}/messages",
                headers={
                    **visit.headers,
                    "Origin": origin,
                    "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "authorization",
                },
            )
            assert not [name for name in answer.headers if name.startswith("access-control")]


def test_only_the_widget_is_loaded_from_other_hosts(embedded: TestClient) -> None:
    widget = embedded.get("/console/widget.js")
    assert widget.status_code == 200
    assert widget.headers["cross-origin-resource-policy"] == "cross-origin"
    assert widget.headers["cache-control"] == "no-cache"
    for other in ("/console/chat.html", "/console/embed.html?agent=acme/desk", "/console/agents/acme/desk"):
        assert embedded.get(other).headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "host",
    [
        "'*.shop.example'",
        "'*'",
        "https://shop.example",
        "shop.example/path",
        "'shop.example:0'",
        "Shop.example",
        "'a b'",
        "'x;y'",
    ],
)
def test_host_that_is_none_is_refused_with_the_pack(client: TestClient, acme: str, host: str) -> None:
    files = sample_pack_files(acme, "acme.example")
    files["bindings/desk.yaml"] = files["bindings/desk.yaml"].replace("samples", f"embed_hosts: [{host}], samples")
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme))
    assert answer.status_code == 422
    [problem] = answer.json()["error"]["problems"]
    assert "embed_hosts" in str(problem)
    assert "must be one host name" in str(problem)


def test_agents_own_host_offers_that_agent_alone(embedded: TestClient) -> None:
    at_yard = embedded.get("/console/settings.json", headers={"Host": "yard.example"}).json()
    assert at_yard["is_agent_host"] is True
    assert [one["slug"] for one in at_yard["bindings"]] == ["yard"]
    for games in ({"X-Forwarded-Host": "yard.example"}, {"Forwarded": "host=yard.example"}):
        at_none = embedded.get("/console/settings.json", headers=games).json()
        assert (at_none["is_agent_host"], at_none["bindings"]) == (False, [])
