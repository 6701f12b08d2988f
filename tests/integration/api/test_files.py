"""Uploading over the API: a form, the bytes past us, the state; roles, levels and what is refused."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from parlour.infra.objects import UploadForm
from tests import sample_files
from tests.integration.api.conftest import FakeQueues, create_key_headers, operator_headers


@pytest.fixture
def editor(client: TestClient, acme: str) -> dict[str, str]:
    return create_key_headers(client, acme, "editor")


def started(client: TestClient, headers: dict[str, str], **body: object) -> Any:
    wanted = {"name": "plan.pdf", "size_bytes": 900, **body}
    answer = client.post("/v1/files", json=wanted, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_file_is_started_sent_and_completed(client: TestClient, queues: FakeQueues, editor: dict[str, str]) -> None:
    begun = started(client, editor, media_type="application/pdf")
    assert begun["file"]["state"] == "uploading"
    path = f"/v1/files/{begun['file']['id']}"
    early = client.post(f"{path}/complete", headers=editor)
    assert (early.status_code, early.json()["error"]["code"]) == (409, "conflict")
    queues.bucket.post(UploadForm(**begun["upload"]), sample_files.make_contract_pdf())
    assert client.post(f"{path}/complete", headers=editor).json()["state"] == "queued"
    assert len(queues.ingest.messages) == 1
    assert client.get(path, headers=editor).json()["size_bytes"] == len(sample_files.make_contract_pdf())
    assert [one["id"] for one in client.get("/v1/files", headers=editor).json()["files"]] == [begun["file"]["id"]]
    again = client.post(f"{path}/versions", json={"size_bytes": 10}, headers=editor).json()
    assert again["version"] == 2
    assert client.delete(path, headers=editor).json() == {"deleted": True}
    assert client.get(path, headers=editor).status_code == 404
    assert queues.bucket.objects == {}


def test_a_file_is_downloaded_from_an_address_for_whoever_may_see_it(
    client: TestClient, acme: str, queues: FakeQueues, editor: dict[str, str]
) -> None:
    begun = started(client, editor, classification=0)
    path = f"/v1/files/{begun['file']['id']}/content"
    assert client.get(path, headers=editor).status_code == 404
    queues.bucket.post(UploadForm(**begun["upload"]), sample_files.make_contract_pdf())
    client.post(f"/v1/files/{begun['file']['id']}/complete", headers=editor)
    told = client.get(path, headers=create_key_headers(client, acme, "viewer")).json()
    assert (told["name"], told["seconds"], told["size_bytes"]) == (
        "plan.pdf",
        60,
        len(sample_files.make_contract_pdf()),
    )
    assert told["url"].startswith("https://files.example.org/")
    assert client.get(path).status_code == 401
    assert client.get(path, headers={**editor, "Parlour-Tenant": "brick"}).status_code in {401, 403}
    queues.bucket.is_access_refused = True
    refused = client.get(path, headers=editor)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "access_refused")


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"size_bytes": 300_000_000}, 422, "larger than 50 MB"),
        ({"name": "a.exe"}, 422, "not supported"),
        ({"name": "../../etc/passwd"}, 422, "not supported"),
        ({"size_bytes": -1}, 422, "size_bytes"),
        ({"about": "project/none"}, 404, "not found"),
        ({"team": "none"}, 404, "unknown slug"),
        ({"classification": 3}, 403, "above your own clearance"),
        ({"colour": "red"}, 422, "colour"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_sent(
    client: TestClient, editor: dict[str, str], body: dict[str, object], status: int, says: str
) -> None:
    answer = client.post("/v1/files", json={"name": "plan.pdf", "size_bytes": 900, **body}, headers=editor)
    assert answer.status_code == status, answer.text
    assert says in answer.json()["error"]["message"]


def test_viewers_look_and_do_not_upload(client: TestClient, acme: str, editor: dict[str, str]) -> None:
    viewer = create_key_headers(client, acme, "viewer")
    begun = started(client, editor, classification=0)
    assert client.get(f"/v1/files/{begun['file']['id']}", headers=viewer).status_code == 200
    assert client.post("/v1/files", json={"name": "a.txt", "size_bytes": 1}, headers=viewer).status_code == 403
    assert client.delete(f"/v1/files/{begun['file']['id']}", headers=viewer).status_code == 403


def test_the_console_may_send_to_the_bucket_and_nowhere_else(client: TestClient) -> None:
    policy = client.get("/console/").headers["content-security-policy"]
    assert "connect-src 'self' https://files.example.org;" in policy


def test_all_files_are_listed_page_by_page_and_found_by_name(client: TestClient, acme: str) -> None:
    headers = operator_headers(acme)
    for name in ("crane plan.txt", "site plan.txt", "50% cut.txt"):
        answer = client.post("/v1/files", json={"name": name, "size_bytes": 3}, headers=headers)
        assert answer.status_code == 201, answer.text
    names, cursor = [], ""
    while True:
        page = client.get("/v1/files", params={"limit": 2, "cursor": cursor}, headers=headers).json()
        names += [one["name"] for one in page["files"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert sorted(names) == ["50% cut.txt", "crane plan.txt", "site plan.txt"]
    found = client.get("/v1/files", params={"text": "PLAN"}, headers=headers).json()["files"]
    assert {one["name"] for one in found} == {"crane plan.txt", "site plan.txt"}
    assert client.get("/v1/files", params={"cursor": "x"}, headers=headers).status_code == 422


def test_a_file_is_by_others_until_an_editor_says_that_it_is_the_tenants_own(
    client: TestClient, queues: FakeQueues, editor: dict[str, str]
) -> None:
    own = {"written_by_others": False}
    assert started(client, editor)["file"]["written_by_others"] is True
    begun = started(client, editor, **own)
    path = f"/v1/files/{begun['file']['id']}"

    def complete(upload: dict[str, Any], **body: object) -> bool:
        queues.bucket.post(UploadForm(**upload["upload"]), sample_files.make_contract_pdf())
        done = client.post(f"{path}/complete", json={"version": upload["version"], **body}, headers=editor).json()
        return bool(done["written_by_others"])

    def start_version() -> dict[str, Any]:
        begun: dict[str, Any] = client.post(f"{path}/versions", json={"size_bytes": 10}, headers=editor).json()
        return begun

    assert not complete(begun)
    assert complete(start_version()), "nobody said who wrote the new version"
    assert not complete(start_version(), **own)
