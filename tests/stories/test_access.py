"""Who may do what: tenants, roles, members and keys."""

import re
from collections.abc import Callable

from tests.stories import words
from tests.stories.clients import HTTP, Api, Command
from tests.stories.stack import Stack


def test_key_of_one_tenant_opens_nothing_of_another(make_tenant: Callable[[str], Api], name: str) -> None:
    first, second = make_tenant(f"{name}-a"), make_tenant(f"{name}-b")
    handle = first.record("finding", "Shelduck nest in the culvert")
    holder = first.key_for("admin", "editor", "viewer", clearance=3)
    intruder = Api(holder.url, second.tenant, holder.key)
    assert holder.status("GET", f"{words.ENTITIES}/{handle}") == 200
    paths = (f"{words.ENTITIES}/{handle}", words.ENTITIES, "/v1/search?q=shelduck", "/v1/turns", "/v1/tenant")
    assert {intruder.status("GET", path) for path in paths} == {401}
    assert second.status("GET", f"{words.ENTITIES}/{handle}") == 404
    assert second.get(words.ENTITIES)["entities"] == []
    assert handle not in [card["handle"] for card in second.get("/v1/search", q="shelduck nest")["cards"]]
    assert handle in [card["handle"] for card in first.get("/v1/search", q="shelduck nest")["cards"]]


def test_viewer_reads_and_writes_nothing_and_a_revoked_key_opens_nothing(operator: Api, command: Command) -> None:
    made = operator.ask("POST", "/v1/keys", {"name": "reader", "roles": ["viewer"]})
    viewer = Api(operator.url, operator.tenant, made["key"])
    assert viewer.get("/v1/me")["roles"] == ["viewer"]
    assert viewer.status("GET", words.ENTITIES) == 200
    finding = {"type": "finding", "name": "Written by a viewer"}
    refused = [
        viewer.send("POST", words.ENTITIES, finding),
        viewer.send("POST", "/v1/files", {"name": "a.txt", "size_bytes": 1}),
        viewer.send("POST", "/v1/keys", {"name": "another"}),
        viewer.send("PUT", "/v1/tenant/status", {"status": "paused"}),
        viewer.send("POST", "/v1/costs/stop"),
        viewer.send("GET", "/v1/members"),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert "editor" in refused[0].json()["error"]["message"]
    command.print("keys", "revoke", made["id"])
    assert viewer.status("GET", "/v1/me") == 401
    assert made["id"] in command.print("keys", "list")


def test_a_key_makes_no_key(operator: Api) -> None:
    admin = operator.key_for("admin", clearance=1)
    assert admin.status("GET", "/v1/keys") == 200
    assert admin.status("POST", "/v1/keys", {"name": "equal", "clearance": 1}) == 403


def test_member_signs_in_by_token_with_the_roles_of_the_moment(running_stack: Stack, operator: Api, name: str) -> None:
    token = HTTP.post(f"{running_stack.issuer}/token", json={"subject": name}).json()["access_token"]
    member = Api(running_stack.url, running_stack.tenant, token)
    assert member.status("GET", "/v1/me") == 401
    wanted = {"issuer": running_stack.issuer, "subject": name, "display_name": "Wren", "roles": ["viewer"]}
    made = operator.ask("POST", "/v1/members", {**wanted, "clearance": 1})
    me = member.get("/v1/me")
    assert (me["kind"], me["roles"], me["clearance"]) == ("member", ["viewer"], 1)
    finding = {"type": "finding", "name": "Plover on the scaffold"}
    assert member.status("POST", words.ENTITIES, finding) == 403
    path = f"/v1/members/{made['id']}"
    operator.ask("PUT", path, {"roles": ["editor"], "clearance": 2})
    assert member.status("POST", words.ENTITIES, finding) == 201
    operator.ask("PUT", path, {"roles": ["editor"], "clearance": 2, "active": False})
    assert member.status("GET", "/v1/me") == 401


def test_command_with_a_wrong_key_says_so(command: Command) -> None:
    ran = command.run("turns", key="parlour_wrong")
    assert ran.returncode == 1
    assert ran.stderr.startswith("parlour: ")
    assert ran.stderr.count("\n") == 1
    assert "credentials" in ran.stderr
    assert "parlour_wrong" not in ran.stderr


def test_audit_names_who_did_what(operator: Api, command: Command) -> None:
    made = command.run("keys", "create", "for the audit", "--role", "viewer")
    key, key_id = made.stdout.strip(), re.search(r"[0-9a-f-]{36}", made.stderr)
    assert key_id
    assert Api(operator.url, operator.tenant, key).get("/v1/me")["roles"] == ["viewer"]
    entries = operator.get("/v1/audit")["entries"]
    (entry,) = [one for one in entries if one["target"].endswith(key_id[0])]
    assert entry["actor"] == "operator"
    assert key not in str(entries)
    assert entry["target"] in command.print("audit")
