"""A turn's prompts over the API: who may see them, and what is refused."""

import uuid
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from tests.conversation_harness import ConversationHarness
from tests.integration.api.conftest import create_key_headers, operator_headers
from tests.integration.day_prompt_inspection import run_two_turns


@pytest.fixture
def talk(conversation: ConversationHarness) -> list[UUID]:
    return run_two_turns(conversation)


def test_a_turns_prompts_are_read_by_layer_and_by_word(client: TestClient, talk: list[UUID]) -> None:
    by, path = operator_headers("northbank"), f"/v1/turns/{talk[1]}/prompt"
    steps = client.get(path, headers=by).json()["steps"]
    block = steps[-1]["segments"][0]["blocks"][0]
    told = client.get(f"{path}/texts", params={"hash": block["text_hashes"]}, headers=by).json()["texts"]
    assert set(told) == set(block["text_hashes"])
    assert all(told.values())
    assert client.get(f"{path}/diff", params={"with": str(talk[0])}, headers=by).json()["first_change"]
    assert client.get(f"{path}/rebuilt", params={"step": 2}, headers=by).json()["is_identical"] is True
    assert client.get(f"{path}/rebuilt", params={"budget": 5_000}, headers=by).json()["reassembly"]["tokens"] <= 5_000


def test_a_turn_and_its_last_prompt_have_the_same_figures(client: TestClient, talk: list[UUID]) -> None:
    by = operator_headers("northbank")
    turn = client.get(f"/v1/turns/{talk[1]}", headers=by).json()
    steps = client.get(f"/v1/turns/{talk[1]}/prompt", headers=by).json()["steps"]
    layers = {one["layer"]: one["tokens"] for one in steps[-1]["layers"] if one["tokens"]}
    assert turn["tokens_by_layer"] == layers
    assert turn["last_prompt_tokens"] == steps[-1]["usage"]["prompt_tokens"] > 0
    assert turn["total_prompt_tokens"] == sum(one["usage"]["prompt_tokens"] for one in steps)
    assert turn["total_ms"] >= turn["model_ms"]


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        ("?step=0", 422),
        ("?step=9", 404),
        ("/diff", 422),
        ("/diff?with=x", 422),
        (f"/diff?with={uuid.UUID(int=7)}", 404),
        ("/rebuilt?budget=0", 422),
        ("/rebuilt?budget=300", 422),
        ("/texts", 422),
    ],
)
def test_what_makes_no_sense_is_refused(client: TestClient, talk: list[UUID], rest: str, status: int) -> None:
    answer = client.get(f"/v1/turns/{talk[1]}/prompt{rest}", headers=operator_headers("northbank"))
    assert (answer.status_code, bool(answer.json()["error"]["message"])) == (status, True)


@pytest.mark.parametrize("rest", ["", "/texts?hash=a", "/diff?with={turn}", "/rebuilt", "/rebuilt?budget=6000"])
def test_nobody_else_sees_them(
    client: TestClient, conversation: ConversationHarness, talk: list[UUID], acme: str, rest: str
) -> None:
    path = f"/v1/turns/{talk[1]}/prompt{rest.format(turn=talk[0])}"
    assert client.get(path).status_code == 401
    assert client.get(path, headers=create_key_headers(client, acme, "viewer")).status_code == 404
    assert client.get(path, headers=create_key_headers(client, "northbank", "editor")).status_code == 403
    conversation.query("UPDATE users SET clearance = 3 RETURNING 1")
    assert client.get(path, headers=create_key_headers(client, "northbank", "viewer")).status_code == 404
