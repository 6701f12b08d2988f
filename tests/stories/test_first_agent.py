"""From `parlour new` to an answer of one's own agent, on the web and on the phone; then with another pack."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.stories import words
from tests.stories.clients import HTTP, Visitor, cited_titles
from tests.stories.stack import Stack, plain_environment, running, until

QUESTION, ANSWER, TITLE = "When are you open on Saturday?", "09:00 to 13:00", "Practice guide"
DELIVERY_QUESTION = "What does delivery cost?"
LIABILITY_QUESTION = "What is our liability limited to?"


def write_new_pack(folder: Path, name: str, *options: str) -> Path:
    """Run `parlour new` far from any checkout; return the pack's folder."""
    program = str(Path(sys.executable).with_name("parlour"))
    ran = subprocess.run(
        [program, "new", name, *options],
        cwd=folder,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert f"make run PACK={folder / name}" in ran.stdout
    return folder / name


def ask_by_phone(stack: Stack, tenant: str, binding: str, question: str) -> str:
    """Write from the console's simulated phone; return the reply that it shows."""
    thread = {"tenant": tenant, "binding": binding, "from": "+447700900177"}
    sent = HTTP.post(stack.url + words.PHONE, json={**thread, "text": question})
    assert sent.status_code == 202, sent.text

    def received() -> list[str]:
        shown = HTTP.get(stack.url + words.PHONE_MESSAGES, params=thread).json()["messages"]
        return [message["text"] for message in shown if message["direction"] == "received"]

    return until(received, f"the reply of {binding} on the phone")[0]


def bindings_with_numbers(stack: Stack, tenant: str) -> list[str]:
    found = HTTP.get(stack.url + words.PHONE_NUMBERS, params={"tenant": tenant}).json()["numbers"]
    return [number["binding"] for number in found]


def sign_in(stack: Stack) -> tuple[str, dict[str, Any]]:
    """Return the tenant that the console opens with, and who its reader is."""
    given = HTTP.get(stack.url + words.LOCAL_TOKEN).json()
    headers = {"Authorization": f"Bearer {given['token']}", words.TENANT_HEADER: given["tenant"]}
    return given["tenant"], HTTP.get(f"{stack.url}/v1/me", headers=headers).json()


def ask_on_the_web(stack: Stack, tenant: str, question: str) -> dict[str, Any]:
    """Ask the agent that the console's settings offer for a tenant."""
    offered = HTTP.get(f"{stack.url}/console/settings.json").json()["bindings"]
    agent = next(agent for agent in offered if agent["tenant"] == tenant)
    assert question in agent["samples"]
    return Visitor(stack.url, tenant, agent["slug"]).ask(question)


def test_new_pack_answers_on_web_and_phone_also_after_another_one(tmp_path: Path) -> None:
    first = write_new_pack(tmp_path, "bright-smile")
    with running(tmp_path / "state", words.WITH_PACK, str(first)) as stack:
        opened_with, me = sign_in(stack)
        assert (stack.tenant, opened_with) == ("bright-smile", "bright-smile")
        assert {tenant["slug"] for tenant in me["tenants"]} == {"bright-smile", "northbank"}
        reply = ask_on_the_web(stack, "bright-smile", QUESTION)
        assert ANSWER in reply["text"]
        assert TITLE in cited_titles(reply)
        assert bindings_with_numbers(stack, "bright-smile") == ["front-desk"]
        assert ANSWER in ask_by_phone(stack, "bright-smile", "front-desk", QUESTION)
        assert bindings_with_numbers(stack, "northbank") == [words.CONTRACT_DESK, words.SITE_DESK]
        assert "2,430,000" in ask_by_phone(stack, "northbank", words.CONTRACT_DESK, LIABILITY_QUESTION)

    second = write_new_pack(tmp_path, "corner-shop", "--template", "shop")
    with running(tmp_path / "state", words.WITH_PACK, str(second)) as stack:
        opened_with, me = sign_in(stack)
        assert opened_with == "corner-shop"
        assert {tenant["slug"] for tenant in me["tenants"]} == {"bright-smile", "corner-shop", "northbank"}
        assert "£3.90" in ask_on_the_web(stack, "corner-shop", DELIVERY_QUESTION)["text"]
        assert "£3.90" in ask_by_phone(stack, "corner-shop", "shop-desk", DELIVERY_QUESTION)
        assert ANSWER in ask_by_phone(stack, "bright-smile", "front-desk", "When on Saturday are you open?")
