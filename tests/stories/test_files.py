"""Files: what is uploaded is found by its page, what cannot be read is refused in a clear line."""

import re
from collections.abc import Callable

import pytest

from tests.stories import packs, words
from tests.stories.clients import HTTP, Api, Command, Visitor, upload

_PROJECT = "project/NRS"


def test_uploaded_document_is_found_and_quoted_with_its_page(operator: Api, visit: Callable[..., Visitor]) -> None:
    quay = packs.pdf(
        ["Aldermoor quay works contract", "Between the port of Aldermoor and Fennimore Build."],
        ["Delay damages for the quay are 0.4 per cent of the price per week."],
        ["The builder of Aldermoor quay is liable up to 3,250,000 pounds in all."],
    )
    file = upload(operator, "aldermoor-quay.pdf", quay, about=_PROJECT)
    assert (file["problem"], file["pages"]) == (None, 3)
    question = "What is the builder of Aldermoor quay liable for?"
    card = operator.get("/v1/search", q=question)["cards"][0]
    assert (card["title"], card["handle"]) == ("aldermoor-quay.pdf", _PROJECT)
    assert "page 3" in card["locator"]
    assert file["id"] in card["link"]
    reply = visit(words.CONTRACT_DESK).ask(question)
    assert "3,250,000" in reply["text"]
    assert any(one["title"] == card["title"] and "page 3" in one["locator"] for one in reply["citations"])


@pytest.mark.parametrize(
    ("name", "size", "line"),
    [
        ("virus.exe", 4, words.WRONG_KIND_OF_FILE),
        ("empty.txt", 0, words.EMPTY_FILE),
        ("huge.pdf", 60_000_000, words.FILE_TOO_LARGE),
    ],
)
def test_file_that_is_not_taken_is_refused_with_the_reason(operator: Api, name: str, size: int, line: str) -> None:
    answer = operator.send("POST", "/v1/files", {"name": name, "size_bytes": size, "about": _PROJECT})
    assert answer.status_code == 422
    assert re.search(line, answer.json()["error"]["message"])
    assert name not in [file["name"] for file in operator.get("/v1/files")["files"]]


def test_broken_file_fails_with_the_reason_and_harms_nothing(operator: Api) -> None:
    file = upload(operator, "broken.pdf", b"%PDF-1.7 and then nothing", about=_PROJECT)
    assert file["state"] == "failed"
    assert re.search(words.UNREADABLE_FILE, file["problem"])
    assert operator.titles_found("crack at C4")


def test_deleted_file_is_found_no_more(operator: Api) -> None:
    file = upload(operator, "tariff.txt", b"The grebe lantern tariff is seventeen pounds a night.", about=_PROJECT)
    assert "seventeen pounds" in operator.send("GET", "/v1/search", params={"q": "grebe lantern tariff"}).text
    operator.ask("DELETE", f"/v1/files/{file['id']}")
    assert "seventeen pounds" not in operator.send("GET", "/v1/search", params={"q": "grebe lantern tariff"}).text
    assert operator.status("GET", f"/v1/files/{file['id']}") == 404


def test_upload_command_reports_each_file_and_its_failure(operator: Api, command: Command) -> None:
    content = b"The razorbill mooring fee is nine florins a tide."
    (command.folder / "razorbill.txt").write_bytes(content)
    (command.folder / "torn.pdf").write_bytes(b"%PDF-1.7 and then nothing")
    assert "razorbill.txt" in command.print("upload", "razorbill.txt", "--to", _PROJECT, "--no-wait")
    torn = command.run("upload", "torn.pdf", "--to", _PROJECT)
    assert torn.returncode == 1
    assert re.search(rf"torn\.pdf.*{words.UNREADABLE_FILE}", torn.stdout)
    listed = {file["name"]: file for file in command.json("files", _PROJECT)}
    assert {"razorbill.txt", "torn.pdf"} <= set(listed)
    address = operator.get(f"/v1/files/{listed['razorbill.txt']['id']}/content")["url"]
    assert HTTP.get(address).content == content
