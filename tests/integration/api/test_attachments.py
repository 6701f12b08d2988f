"""What is sent along with a message, over HTTP."""

from typing import Any

import pytest

from tests.integration.api.conftest import FakeQueues, RecordingQueue, VisitorSession

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(48))


def begun(visit: VisitorSession, name: str = "crack.png", size: int = 56) -> Any:
    return visit.client.post(
        f"/v1/sessions/{visit.session_id}/attachments", json={"name": name, "size_bytes": size}, headers=visit.headers
    )


def test_an_upload_is_sent_by_a_form_and_named_by_the_message(
    visit: VisitorSession, queues: FakeQueues, queue: RecordingQueue
) -> None:
    started = begun(visit).json()
    key = started["upload"]["fields"]["key"]
    assert key.startswith("tenant/")
    assert f"/media/{visit.session_id}/{started['id']}" in key
    queues.bucket.objects[key] = PNG
    assert visit.send("", attachments=[{"upload": started["id"]}]).status_code == 202
    (told,) = visit.get("/messages").json()["messages"]
    assert told["attachments"] == [
        {"kind": "image", "name": "crack.png", "media_type": "image/png", "size_bytes": len(PNG)}
    ]
    assert len(queue.messages) == 1


def test_what_has_not_arrived_is_said(visit: VisitorSession, queue: RecordingQueue) -> None:
    answer = visit.send("Look", attachments=[{"upload": begun(visit).json()["id"]}])
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    assert "crack.png has not arrived" in answer.json()["error"]["message"]
    assert queue.messages == []


@pytest.mark.parametrize(
    "attachments",
    [
        [{}],
        [{"upload": "x"}],
        [{"upload": "0" * 32, "file": "0" * 32}],
        [{"other": 1}],
        "x",
        [{"file": "0" * 32}] * 6,
    ],
)
def test_what_names_nothing_is_refused(visit: VisitorSession, attachments: object) -> None:
    assert visit.send("Look", attachments=attachments).status_code == 422


@pytest.mark.parametrize(("name", "size"), [("", 1), ("a\nb", 1), ("a", 0), ("a", 17 * 1024 * 1024), ("a", -1)])
def test_what_is_too_large_or_has_no_name_gets_no_form(visit: VisitorSession, name: str, size: int) -> None:
    assert begun(visit, name, size).status_code == 422


def test_only_who_a_session_belongs_to_uploads_in_it(visit: VisitorSession) -> None:
    visit.token = "nobody"
    assert begun(visit).status_code == 401


def test_a_file_that_is_not_there_is_said(visit: VisitorSession) -> None:
    answer = visit.send("Look", attachments=[{"file": "0" * 32}])
    assert answer.status_code == 404
    assert "not found" in answer.json()["error"]["message"]


SAMPLES = {
    "JPEG": b"\xff\xd8\xff\xe0" + bytes(60),
    "PNG": PNG,
    "GIF": b"GIF89a" + bytes(60),
    "WebP": b"RIFF\x28\x00\x00\x00WEBPVP8 " + bytes(60),
    "plain": b"The crane comes on Friday.",
    "Markdown": b"# Crane\n\nOn Friday.",
    "CSV": b"day,crane\nFriday,TC-2\n",
    "JSON": b'{"crane": "TC-2"}',
}


def test_a_page_is_told_what_may_come_with_a_message_and_that_is_taken(
    visit: VisitorSession, queues: FakeQueues
) -> None:
    rules = visit.client.get("/console/settings.json").json()["attachments"]
    assert [one["name"] for one in rules["types"]] == list(SAMPLES)
    assert (rules["max_count"], rules["max_bytes"]) == (5, 16 * 1024 * 1024)
    for one in rules["types"]:
        started = begun(visit, f"sample{one['extensions'][0]}").json()
        queues.bucket.objects[started["upload"]["fields"]["key"]] = SAMPLES[one["name"]]
        answer = visit.send("Look", attachments=[{"upload": started["id"]}])
        assert answer.status_code == 202, (one, answer.text)
        (attached,) = visit.get("/messages").json()["messages"][-1]["attachments"]
        assert attached["kind"] == one["kind"], one


def test_a_pdf_is_refused_with_the_reason_that_a_page_gives(visit: VisitorSession, queues: FakeQueues) -> None:
    refusal = visit.client.get("/console/settings.json").json()["attachments"]["refusal"]
    started = begun(visit, "plan.pdf").json()
    queues.bucket.objects[started["upload"]["fields"]["key"]] = b"%PDF-1.7\n" + bytes(60)
    answer = visit.send("Look", attachments=[{"upload": started["id"]}])
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == f"attachments: plan.pdf {refusal}"
