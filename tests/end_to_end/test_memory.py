"""What is remembered of somebody, on the whole stack: a visitor says something of themselves, the extractor notes it,
the next conversation is told it and a stranger's is not; a long talk is summed up; one command forgets all of it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local import example_tenant
from local.stack_client import WebSession, wait_until
from tests.end_to_end.operating import operate, thinking
from tests.end_to_end.world import World
from tests.integration.erasure import erasure_fixture
from tests.integration.models.aimock import ScriptedProtocolServer

GATE = "Deliveries for us come through the Quillfeather gate, the big one is locked."
VALUE = "through the Quillfeather gate"
DOCKET = "ZX-88213-QF"
OPENING = f"My name is Brunhild Quasnitz and our docket is {DOCKET}."
SUMMED_UP = f"At the start the user gave their docket as {DOCKET}."
CANARIES = re.compile(r"Quillfeather|Quasnitz|ZX-88213", re.IGNORECASE)

TURNS = 12
"""After eight they are looked through at once, after nine a summary is wanted; from the eleventh on it is told."""

_SECONDS = 120


def mind(request: dict[str, Any]) -> dict[str, Any]:
    """Notes the gate, sums up the docket, and says of either what its prompt says: nothing else is known to it."""
    told = "\n".join(one["content"] for one in request["messages"] if isinstance(one["content"], str))
    if "You read part of a chat" in told:
        return {"content": json.dumps({"facts": [_fact(line) for line in _numbered(told, GATE)], "episodes": []})}
    if "You keep the summary of a long conversation" in told:
        return {"content": json.dumps({"summary": SUMMED_UP if DOCKET in told else "They talked."})}
    known = re.search(rf"^- about\.deliveries: ({VALUE})$", told, re.MULTILINE)
    said = [f"Remembered: {known[1]}."] if known else []
    return {"content": " ".join([*said, *([f"Summed up: {SUMMED_UP}"] if SUMMED_UP in told else [])]) or "I see."}


def _numbered(told: str, text: str) -> list[int]:
    return [int(number) for number in re.findall(rf"^\[(\d+)\] \S+ user: {re.escape(text)}$", told, re.MULTILINE)]


def _fact(line: int) -> dict[str, Any]:
    return {"message": line, "quote": VALUE, "key": "about.deliveries", "value": VALUE, "certainty": 0.9}


@pytest.fixture(scope="module")
def model(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedProtocolServer]:
    with thinking(world, tmp_path_factory.mktemp("mind"), mind) as server:
        yield server


def test_what_a_visitor_says_is_known_next_time_and_forgotten_when_told(
    world: World, model: ScriptedProtocolServer
) -> None:
    first, token = visit(world)
    replies = [ask(world, first, text) for text in (OPENING, GATE, *(f"Lorry {n} is here." for n in range(3, TURNS)))]
    assert replies[:2] == ["I see.", "I see."]

    facts = wait_until(lambda: extracted(world, token), "the fact", _SECONDS)
    assert {
        one["key"]: (one["value"], one["origin"], [said["text"] for said in one["evidence_messages"]]) for one in facts
    } == {
        "name": ("Brunhild Quasnitz", "stated", [OPENING]),
        "about.deliveries": (VALUE, "extracted", [GATE]),
    }
    summed_up = "SELECT text FROM summaries WHERE session_id = %s ORDER BY version LIMIT 1"
    assert wait_until(lambda: world.rows(summed_up, first.id), "the summary", _SECONDS) == [(SUMMED_UP,)]
    assert f"Summed up: {SUMMED_UP}" in ask(world, first, "What was our docket?")

    again, _ = visit(world, token)
    assert again.id != first.id
    assert ask(world, again, "How do our lorries get in?") == f"Remembered: {VALUE}."
    stranger, _ = visit(world)
    assert ask(world, stranger, "How do our lorries get in?") == "I see."

    assert found(world), "the looking finds what is there"
    user = operate(world, "GET", f"/v1/sessions/{first.id}").json()["user_id"]
    report = forget(world, user)
    assert {"facts", "messages", "summaries", "sessions", "users"} <= {one["table"] for one in report["rows"]}
    assert found(world) == {}
    assert CANARIES.search(json.dumps(report)) is None


def visit(world: World, token: str = "") -> tuple[WebSession, str]:
    """A new session with the site desk: of whoever has the token, or of a new visitor; and the visitor's token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    wanted = {"tenant": example_tenant.TENANT_SLUG, "binding": "site-desk"}
    url = f"{world.stack.addresses.console}/v1/sessions"
    answer = world.talk.client.post(url, json=wanted, headers=headers)
    assert answer.is_success, answer.text[:300]
    opened = answer.json()
    return WebSession(opened["session_id"], opened["token"]), opened["visitor_token"]


def ask(world: World, session: WebSession, text: str) -> str:
    """What is replied."""
    before = finished(world, session)
    world.talk.send_message(session, text)
    wait_until(lambda: finished(world, session) > before, "the reply", _SECONDS)
    return str(world.talk.list_turns(limit=1, session_id=session.id)[0]["reply"]["text"])


def finished(world: World, session: WebSession) -> int:
    """How many turns are."""
    return [event["kind"] for event in world.talk.list_events(session)].count("done")


def extracted(world: World, token: str) -> list[dict[str, Any]]:
    """What is remembered of the visitor, once a model has looked."""
    answer = world.talk.client.get(
        f"{world.stack.addresses.console}/v1/memory", headers={"Authorization": f"Bearer {token}"}
    )
    facts: list[dict[str, Any]] = answer.raise_for_status().json()["facts"]
    return facts if any(one["origin"] == "extracted" for one in facts) else []


def forget(world: World, user: str) -> dict[str, Any]:
    """`parlour erase user`, as somebody has it done from a terminal."""
    parlour, at = Path(sys.executable).with_name("parlour"), world.stack.addresses.console
    where = ["--url", at, "--tenant", example_tenant.TENANT_SLUG, "--key", world.stack.keys.operator_key]
    command = [str(parlour), *where, "erase", "user", user, "--yes", "--json"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def found(world: World) -> dict[str, set[str]]:
    """In which tables what of it stands, records of prompts unpacked."""
    tables = erasure_fixture.tables(world.stack.cluster, "parlour")
    seen = {name: {one.lower() for one in CANARIES.findall(words)} for name, words in tables.items()}
    return {name: birds for name, birds in seen.items() if birds}
