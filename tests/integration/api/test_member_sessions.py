"""A member who talks to an agent: as themselves, for as long as their sign-in says, and no longer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi.testclient import TestClient

from local.issuer import Issuer
from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.infra.postgres import Database
from parlour.tenancy import visitor_tokens
from parlour.tenancy.authentication import Authenticator
from parlour.tenancy.oidc import TrustedIssuers
from tests.integration.api.conftest import (
    OPERATOR,
    TOKEN_SECRET,
    FakeQueues,
    ManualClock,
    RecordingQueue,
    create_key_headers,
    create_tenant,
    make_dependencies,
    operator_headers,
    sample_pack_files,
)
from tests.integration.api.test_phone_linking import DESK_FILE, TENANT_FILE, code_in

ISSUER = Issuer("https://id.example.org", rsa.generate_private_key(public_exponent=65537, key_size=2048))
PHONE = "+91 98000 00007"


@pytest.fixture
def authenticator() -> Authenticator:
    documents = {
        f"{ISSUER.url}/.well-known/openid-configuration": ISSUER.discovery(),
        f"{ISSUER.url}/jwks.json": ISSUER.keys(),
    }
    return Authenticator(
        TrustedIssuers([ISSUER.url], "parlour", documents.__getitem__), lambda: TOKEN_SECRET, lambda: OPERATOR
    )


@pytest.fixture
def client(
    open_database: Callable[[], Database],
    clock: ManualClock,
    queue: RecordingQueue,
    queues: FakeQueues,
    authenticator: Authenticator,
) -> Iterator[TestClient]:
    """A client of an API that trusts the issuer."""
    connections = DatabasePool(open_database)
    dependencies = replace(make_dependencies(connections, clock, queue, queues), authenticator=authenticator)
    yield TestClient(create_app(dependencies), follow_redirects=False)
    connections.close()


@dataclass
class SignedInMember:
    """A member as a browser that signs in again whenever it has to."""

    client: TestClient
    clock: ManualClock
    tenant: str
    subject: str
    id: str

    def headers(self, agent: str = "") -> dict[str, str]:
        token = ISSUER.token(self.subject, self.clock.now)
        named = {"Parlour-Agent": agent} if agent else {}
        return {"Authorization": f"Bearer {token}", "Parlour-Tenant": self.tenant, **named}

    def open(self, binding: str = "desk", **body: Any) -> Any:
        wanted = {"tenant": self.tenant, "binding": binding, **body}
        return self.client.post("/v1/sessions", json=wanted, headers=self.headers())

    def change(self, **changed: Any) -> None:
        wanted = {"roles": ["editor"], "clearance": 2, "active": True, **changed}
        answer = self.client.put(f"/v1/members/{self.id}", json=wanted, headers=operator_headers(self.tenant))
        assert answer.status_code == 200, answer.text


@pytest.fixture
def add_member(client: TestClient, clock: ManualClock, acme: str) -> Callable[..., SignedInMember]:
    def add(subject: str = "ines", tenant: str = acme) -> SignedInMember:
        new = {"issuer": ISSUER.url, "subject": subject, "display_name": subject, "roles": ["editor"], "clearance": 2}
        answer = client.post("/v1/members", json=new, headers=operator_headers(tenant))
        assert answer.status_code == 201, answer.text
        return SignedInMember(client, clock, tenant, subject, answer.json()["id"])

    return add


@pytest.fixture
def ines(add_member: Callable[..., SignedInMember]) -> SignedInMember:
    return add_member()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def read(client: TestClient, opened: Any, headers: dict[str, str] | None = None) -> int:
    path = f"/v1/sessions/{opened['session_id']}/messages"
    return client.get(path, headers=headers or bearer(opened["token"])).status_code


def test_a_members_token_is_for_one_session_and_ends_after_twelve_hours(
    client: TestClient, clock: ManualClock, ines: SignedInMember
) -> None:
    opened = ines.open().json()
    assert (opened["visitor_token"], opened["visitor_expires_at"]) == (None, None)
    assert datetime.fromisoformat(opened["expires_at"]) == clock.now + timedelta(hours=12)
    assert read(client, opened) == 200
    again = {"tenant": ines.tenant, "binding": "desk"}
    assert client.post("/v1/sessions", json=again, headers=bearer(opened["token"])).status_code == 403
    for path in ("/v1/sessions", "/v1/memory", "/v1/approvals/grants"):
        assert client.get(path, headers=bearer(opened["token"])).status_code in {200, 403}, path
    clock.advance(hours=12, minutes=1)
    assert read(client, opened) == 401
    renewed = ines.open(resume=True).json()
    assert (renewed["session_id"], renewed["visitor_token"]) == (opened["session_id"], None)
    assert read(client, renewed) == 200


def test_a_token_of_a_member_that_nobody_signed_in_for_is_refused(
    client: TestClient, clock: ManualClock, ines: SignedInMember, authenticator: Authenticator
) -> None:
    """As they were given for 90 days, and to phones that were linked before: the account may have ended since."""
    opened = ines.open().json()
    whom = visitor_tokens.verify_token(opened["token"], TOKEN_SECRET, clock.now)
    assert whom.is_member
    with pytest.raises(ValueError, match="one session"):
        authenticator.issue_visitor_token(replace(whom, session_id=None), clock.now)
    for session_id in (whom.session_id, None):
        old = replace(whom, session_id=session_id, is_member=False)
        token = authenticator.issue_visitor_token(old, clock.now).text
        assert read(client, opened, bearer(token)) == 401
        wanted = {"tenant": ines.tenant, "binding": "desk"}
        assert client.post("/v1/sessions", json=wanted, headers=bearer(token)).status_code == 401


def test_a_former_members_session_token_ends_at_once(client: TestClient, ines: SignedInMember) -> None:
    opened = ines.open().json()
    ines.change(active=False)
    assert read(client, opened) in {401, 403}
    assert ines.open().status_code == 401
    ines.change()
    assert read(client, opened) == 200


def test_a_visitor_and_a_key_get_what_they_got_before(client: TestClient, clock: ManualClock, acme: str) -> None:
    for headers in ({}, create_key_headers(client, acme, "editor"), operator_headers(acme)):
        opened = client.post("/v1/sessions", json={"tenant": acme, "binding": "desk"}, headers=headers).json()
        assert datetime.fromisoformat(opened["visitor_expires_at"]) == clock.now + timedelta(days=90)
        assert datetime.fromisoformat(opened["expires_at"]) == clock.now + timedelta(hours=24)


def test_a_member_of_one_tenant_is_a_visitor_in_another(client: TestClient, ines: SignedInMember, brick: str) -> None:
    opened = client.post("/v1/sessions", json={"tenant": brick, "binding": "desk"}, headers=ines.headers()).json()
    assert opened["visitor_token"]
    session = client.get(f"/v1/sessions/{opened['session_id']}", headers=operator_headers(brick)).json()
    memory = client.get(f"/v1/users/{session['user_id']}/memory", headers=operator_headers(brick)).json()
    assert memory["user"]["clearance"] is None


def test_a_member_names_the_agent_and_acts_as_the_user_that_they_talk_as(
    client: TestClient, ines: SignedInMember, add_member: Callable[..., SignedInMember]
) -> None:
    opened = ines.open().json()
    path = f"/v1/sessions/{opened['session_id']}"
    headers = ines.headers("desk")
    sent = client.post(f"{path}/messages", json={"text": "When is the pour?"}, headers=headers)
    assert sent.status_code == 202, sent.text
    assert [one["id"] for one in client.get("/v1/sessions", headers=headers).json()["sessions"]] == [
        opened["session_id"]
    ]
    assert client.get("/v1/memory", headers=headers).status_code == 200
    assert client.patch(path, json={"title": "Pour"}, headers=headers).status_code == 200
    colleague = add_member("otto")
    assert client.get("/v1/sessions", headers=colleague.headers("desk")).json()["sessions"] == []
    assert client.get(f"{path}/messages", headers=colleague.headers("desk")).status_code == 404
    assert client.post(f"{path}/messages", json={"text": "Me too"}, headers=ines.headers()).status_code == 403
    assert client.post("/v1/me/sign-out", headers=headers).status_code == 204
    assert read(client, opened) == 401


@pytest.mark.parametrize("agent", ["nobody", "office", "../desk", "DESK", "x" * 300, "desk\u00a0"])
def test_an_agent_that_does_not_answer_the_member_is_not_found(
    client: TestClient, ines: SignedInMember, agent: str
) -> None:
    headers = [(name.encode(), value.encode()) for name, value in ines.headers(agent).items()]
    assert client.get("/v1/sessions", headers=headers).status_code == 404


def test_only_a_member_names_an_agent(client: TestClient, acme: str) -> None:
    opened = client.post("/v1/sessions", json={"tenant": acme, "binding": "desk"}).json()
    named = {"Parlour-Agent": "desk"}
    for headers in (operator_headers(acme), create_key_headers(client, acme, "admin"), bearer(opened["visitor_token"])):
        assert client.get("/v1/sessions", headers=headers | named).status_code == 403
    assert client.get("/v1/sessions", headers=named).status_code == 401


def test_the_owner_of_a_private_agent_opens_it_and_nobody_else(
    client: TestClient, ines: SignedInMember, add_member: Callable[..., SignedInMember]
) -> None:
    files = sample_pack_files(ines.tenant, "acme.example")
    owned = files["bindings/office.yaml"].replace(
        "owner: {phone: '+447700900001'}", f"owner: {{issuer: '{ISSUER.url}', subject: ines}}"
    )
    answer = client.put(
        "/v1/pack", json={"files": files | {"bindings/office.yaml": owned}}, headers=operator_headers(ines.tenant)
    )
    assert answer.status_code == 200, answer.text
    opened = ines.open("office")
    assert opened.status_code == 201
    page, colleague = f"/console/agents/{ines.tenant}/office", add_member("otto")
    assert client.get("/v1/sessions", headers=ines.headers("office")).status_code == 200
    assert client.get(page, headers=ines.headers()).json()["name"] == "Office"
    assert open_agents(client, ines) == {"desk", "office"}
    assert colleague.open("office").status_code == 404
    assert client.get("/v1/sessions", headers=colleague.headers("office")).status_code == 404
    assert open_agents(client, colleague) == {"desk"}
    assert client.get("/v1/bindings", headers=operator_headers(ines.tenant)).status_code == 200
    wrong = bearer(opened.json()["token"] + "x")
    for headers in ({}, colleague.headers(), operator_headers(ines.tenant), wrong, bearer(opened.json()["token"])):
        assert client.get(page, headers=headers).status_code == 404
    ines.change(active=False)
    assert client.get(page, headers=ines.headers()).status_code == 404


def open_agents(client: TestClient, member: SignedInMember) -> set[str]:
    """The agents that the console lets a member talk to."""
    member.change(roles=["viewer"])
    found = client.get("/v1/bindings", headers=member.headers()).json()["bindings"]
    return {one["slug"] for one in found if one["is_open_to_caller"]}


def test_a_member_who_talks_reads_their_citations_and_has_no_further_role(
    client: TestClient, ines: SignedInMember
) -> None:
    ines.change(roles=["admin"])
    assert ines.open().status_code == 201
    assert client.get("/v1/members", headers=ines.headers()).status_code == 200
    for path in ("/v1/members", "/v1/bindings", "/v1/turns", "/v1/entities", "/v1/pack", "/v1/users"):
        assert client.get(path, headers=ines.headers("desk")).status_code == 403, path
    record = {"type": "site", "name": "Yard"}
    assert client.post("/v1/entities", json=record, headers=ines.headers("desk")).status_code == 403
    me = client.get("/v1/me", headers=ines.headers("desk")).json()
    assert (me["kind"], sorted(me["roles"])) == ("user", ["editor", "viewer"])


def test_a_member_links_a_phone_and_keeps_their_role(
    client: TestClient, ines: SignedInMember, database: Database, queues: FakeQueues
) -> None:
    link_desk(client, ines.tenant)
    opened = ines.open().json()
    linked = link(client, ines, opened, database, queues)
    assert linked.status_code == 200, linked.text
    joined = linked.json()
    assert (joined["visitor_token"], joined["session_id"]) == (None, opened["session_id"])
    assert read(client, opened) == 401
    assert read(client, joined) == 200
    assert read(client, joined, ines.headers("desk")) == 200
    listed = client.get("/v1/sessions", headers=ines.headers("desk")).json()["sessions"]
    assert sorted(one["is_main"] for one in listed) == [False, True]
    shown = client.get(f"/v1/sessions/{opened['session_id']}", headers=operator_headers(ines.tenant)).json()
    user = client.get(f"/v1/users/{shown['user_id']}/memory", headers=operator_headers(ines.tenant)).json()["user"]
    assert user["clearance"] == 2


def test_a_visitor_gets_no_token_for_the_phone_of_a_member(
    client: TestClient, ines: SignedInMember, database: Database, queues: FakeQueues
) -> None:
    link_desk(client, ines.tenant)
    wanted = {"tenant": ines.tenant, "binding": "desk"}
    before = client.post("/v1/sessions", json=wanted).json()
    first = link(client, bearer(before["visitor_token"]), before, database, queues).json()
    assert first["visitor_token"]
    assert link(client, ines, ines.open().json(), database, queues).status_code == 200
    for token in (first["token"], first["visitor_token"]):
        assert read(client, first, bearer(token)) == 401, "who linked the number as a visitor is not the member"
    stranger = client.post("/v1/sessions", json=wanted).json()
    refused = link(client, bearer(stranger["visitor_token"]), stranger, database, queues)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert "sign in" in refused.json()["error"]["message"]


def test_the_same_number_in_two_tenants_is_a_members_in_its_own(
    client: TestClient, ines: SignedInMember, brick: str, database: Database, queues: FakeQueues
) -> None:
    for tenant in (ines.tenant, brick):
        link_desk(client, tenant)
    assert link(client, ines, ines.open().json(), database, queues).status_code == 200
    visitor = client.post("/v1/sessions", json={"tenant": brick, "binding": "desk"}).json()
    linked = link(client, bearer(visitor["visitor_token"]), visitor, database, queues)
    assert linked.status_code == 200, linked.text
    assert linked.json()["visitor_token"]


def link_desk(client: TestClient, tenant: str) -> None:
    """A desk that may write to any number by a template."""
    create_tenant(client, tenant)
    files = sample_pack_files(tenant, f"{tenant}.example")
    desk = DESK_FILE.replace("acme.example", f"{tenant}.example").replace("AcmeApp", f"{tenant}App")
    desk = desk.replace("447700900142", f"4477009001{len(tenant)}2")
    files |= {"bindings/desk.yaml": desk, "tenant.yaml": TENANT_FILE.replace("acme", tenant)}
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers(tenant))
    assert answer.status_code == 200, answer.text


def link(
    client: TestClient,
    who: SignedInMember | dict[str, str],
    opened: Any,
    database: Database,
    queues: FakeQueues,
    phone: str = PHONE,
) -> Any:
    """The answer to the code that came to the number."""
    headers = who if isinstance(who, dict) else who.headers("desk")
    path = f"/v1/sessions/{opened['session_id']}/phone"
    asked = client.post(path, json={"phone": phone, "consent": True}, headers=headers)
    assert asked.status_code == 202, asked.text
    given = {"code": code_in(database, queues)}
    return client.post(f"{path}/{asked.json()['link_id']}", json=given, headers=headers)
