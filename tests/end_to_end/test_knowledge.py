"""Files and records on the deployed functions: what is uploaded is found, page and all, on the web and on WhatsApp."""

import pytest

from local.talk import citation_problem, sample, until
from tests.end_to_end.operating import operate, state, upload
from tests.end_to_end.world import World
from tests.papers import pdf

QUAY = [
    [("Aldermoor quay works contract", 20), ("Between the port of Aldermoor and Fennimore Build.", 11)],
    [("11. Delay at Aldermoor quay", 14), ("Delay damages for the quay are 0.4 % of the price per week.", 11)],
    [
        ("13. Limitation of liability at Aldermoor quay", 14),
        ("The builder of Aldermoor quay is liable up to 3,250,000 pounds in all.", 11),
    ],
]
QUESTION = "What is the limit of liability at Aldermoor quay?"


@pytest.fixture(scope="module")
def quay(world: World) -> str:
    """The contract about the quay, uploaded and read."""
    file_id = upload(world, "aldermoor-quay.pdf", pdf(QUAY), "project/NRS")
    file = state(world, file_id)
    assert (file["state"], file["pages"]) == ("ready", 3), file
    return file_id


def test_a_clause_of_an_uploaded_contract_is_answered_on_the_web_with_its_page(world: World, quay: str) -> None:
    session = world.talk.open_session("contract-desk")
    world.talk.say(session, QUESTION)
    until(lambda: any(event["kind"] == "done" for event in world.talk.events(session)), "the reply", 60)
    (turn,) = world.talk.turns(session_id=session.id)
    reply = turn["reply"]
    assert citation_problem(reply) == ""
    assert "3,250,000" in reply["text"]
    assert any("aldermoor" in one["title"].lower() and "page 3" in one["locator"] for one in reply["citations"]), reply


def test_the_same_question_on_whatsapp_names_the_page_too(world: World, quay: str) -> None:
    number = world.phone()
    assert world.talk.webhook(sample("inbound_gupshup_text", sender=number, text=QUESTION)) == 200
    (message,) = until(lambda: world.talk.phone_messages(number), "the reply", 60)
    assert "3,250,000" in message["text"]
    assert "page 3" in message["text"]


def test_what_cannot_be_read_fails_by_name_and_harms_nothing(world: World) -> None:
    file = state(world, upload(world, "broken.pdf", b"%PDF-1.7 and then nothing", "project/NRS"))
    assert file["state"] == "failed"
    assert file["problem"]
    assert operate(world, "GET", "/v1/search", params={"q": "crack at C4"}).json()["cards"]


def test_a_deleted_file_is_found_no_more(world: World) -> None:
    words = "Grebe lantern tariff"
    file_id = upload(world, "tariff.txt", f"{words}: seventeen pounds a night.".encode(), "project/NRS")
    assert state(world, file_id)["state"] == "ready"
    assert words in operate(world, "GET", "/v1/search", params={"q": words}).text
    operate(world, "DELETE", f"/v1/files/{file_id}")
    assert "seventeen pounds" not in operate(world, "GET", "/v1/search", params={"q": words}).text


def test_a_record_that_is_written_is_found_by_meaning_seconds_later_and_its_deletion_at_once(world: World) -> None:
    made = operate(
        world, "POST", "/v1/entities", json={"type": "finding", "name": "Otter holt below the north abutment"}
    ).json()
    handle = made["handle"]
    row = "SELECT count(*) FROM embeddings v JOIN context_rows r ON r.id = v.row_id WHERE r.entity_id = %s"
    until(lambda: world.value(row, made["id"]), "the record's vector", 30)
    assert handle in operate(world, "GET", "/v1/search", params={"q": "otter holt"}).text
    operate(world, "DELETE", f"/v1/entities/{handle}")
    assert handle not in operate(world, "GET", "/v1/search", params={"q": "otter holt"}).text
