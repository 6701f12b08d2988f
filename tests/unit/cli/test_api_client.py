"""Where the command goes, as whom, and how it tells what it was told."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from parlour.cli.api_client import ApiClient, CliDependencies
from parlour.infra.errors import InvalidPack, Misconfigured, NotFound, ParlourError, RetryError, Unauthenticated

KEPT = {"url": "http://127.0.0.1:8700", "tenant": "northbank", "key": "local-key"}


def outside(folder: Path, answer: Callable[[httpx2.Request], httpx2.Response]) -> CliDependencies:
    def open_client(url: str) -> httpx2.Client:
        return httpx2.Client(base_url=url, transport=httpx2.MockTransport(answer))

    return CliDependencies(open_client, lambda _arguments: 0, lambda _seconds: None, folder)


def unanswered(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("refused", request=request)


def answering(status: int, body: Any) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _request: httpx2.Response(status, json=body)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder below which the local stack left its file."""
    (tmp_path / ".parlour").mkdir()
    (tmp_path / ".parlour" / "cli.json").write_text(json.dumps(KEPT))
    below = tmp_path / "packs" / "mine"
    below.mkdir(parents=True)
    return below


def test_the_local_stack_is_found_from_any_folder_of_the_checkout(checkout: Path) -> None:
    found = ApiClient(outside(checkout, unanswered)).with_local_defaults()
    assert (found.url, found.tenant, found.key) == ("http://127.0.0.1:8700", "northbank", "local-key")
    other = ApiClient(outside(checkout, unanswered), tenant="other").with_local_defaults()
    assert (other.tenant, other.key) == ("other", "local-key")


def test_the_local_stack_is_found_from_anywhere_by_the_command_of_its_checkout(checkout: Path) -> None:
    elsewhere = replace(outside(Path("/"), unanswered), checkout=checkout.parents[1])
    assert ApiClient(elsewhere).with_local_defaults().url == "http://127.0.0.1:8700"
    with pytest.raises(Misconfigured):
        ApiClient(replace(elsewhere, checkout=Path("/nowhere"))).with_local_defaults()


@pytest.mark.parametrize("url", ["http://127.0.0.1:8700", "http://127.0.0.1:8700/v1/", "http://localhost:8700"])
def test_the_local_stacks_own_address_gets_its_key(checkout: Path, url: str) -> None:
    found = ApiClient(outside(checkout, unanswered), url=url, tenant="other").with_local_defaults()
    assert (found.tenant, found.key) == ("other", "local-key")
    assert found.stack_file is not None


@pytest.mark.parametrize(
    "url", ["https://api.example", "http://127.0.0.1:8701", "http://127.0.0.1:8700@api.example", "http://127.0.0.1:870"]
)
def test_the_local_key_is_never_sent_to_another_address(checkout: Path, url: str) -> None:
    found = ApiClient(outside(checkout, unanswered), url=url).with_local_defaults()
    assert (found.url, found.tenant, found.key, found.stack_file) == (url, "", "", None)


def test_without_an_address_it_says_how_to_give_one(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="PARLOUR_URL"):
        ApiClient(outside(tmp_path, unanswered)).with_local_defaults()


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "{"])
def test_a_file_that_is_not_ours_is_named(checkout: Path, text: str) -> None:
    (checkout.parents[1] / ".parlour" / "cli.json").write_text(text)
    with pytest.raises(Misconfigured, match=r"cli\.json"):
        ApiClient(outside(checkout, unanswered)).with_local_defaults()


def test_a_stages_prefix_stays_in_front_of_the_path(tmp_path: Path) -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={"turns": []})

    target = ApiClient(outside(tmp_path, answer), "https://x.example/Prod", "acme", "k")
    assert target.request("GET", "v1/turns", limit=5, session_id=None) == {"turns": []}
    assert str(asked[0].url) == "https://x.example/Prod/v1/turns?limit=5"
    assert (asked[0].headers["authorization"], asked[0].headers["parlour-tenant"]) == ("Bearer k", "acme")


@pytest.mark.parametrize(
    ("code", "kind"), [("not_found", NotFound), ("unauthenticated", Unauthenticated), ("something_new", ParlourError)]
)
def test_a_refusal_is_the_error_it_was_there(tmp_path: Path, code: str, kind: type[ParlourError]) -> None:
    answer = answering(400, {"error": {"code": code, "message": "Do this instead."}})
    with pytest.raises(kind, match="Do this instead"):
        ApiClient(outside(tmp_path, answer), "https://x.example").request("GET", "v1/turns")


def test_the_problems_of_a_pack_keep_their_places(tmp_path: Path) -> None:
    problem = {"file": "a.yaml", "line": 3, "field": "name", "message": "is missing"}
    answer = answering(422, {"error": {"code": "invalid_pack", "message": "", "problems": [problem]}})
    with pytest.raises(InvalidPack, match=r"a\.yaml:3: name: is missing"):
        ApiClient(outside(tmp_path, answer), "https://x.example").request("PUT", "v1/pack", {})


@pytest.mark.parametrize("body", [None, [], {"message": "Forbidden"}, {"error": "no"}])
def test_what_is_not_parlour_is_told_as_such(tmp_path: Path, body: Any) -> None:
    with pytest.raises(ParlourError, match="status 403"):
        ApiClient(outside(tmp_path, answering(403, body)), "https://x.example").request("GET", "v1/turns")


def test_an_address_that_does_not_answer_is_named(tmp_path: Path) -> None:
    for url in ("https://x.example", "nonsense", "http://[", "ftp://x"):
        with pytest.raises(RetryError, match="does not answer"):
            ApiClient(outside(tmp_path, unanswered), url).request("GET", "v1/turns")
