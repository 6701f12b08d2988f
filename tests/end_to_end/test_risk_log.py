"""From a contract's clause to the risk log and back, with a model on an independent server of its provider's protocol:
what is found is told with its page on both channels, noted with it, and found again across contracts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from local.stack_client import WebSession, citation_problem, sample_payload, wait_until
from tests.end_to_end.clerk import ACROSS, LOG_IT, clerk
from tests.end_to_end.operating import operate, state, thinking, upload
from tests.end_to_end.world import World
from tests.integration.models.aimock import ScriptedProtocolServer
from tests.sample_files import make_pdf

PAPERS = {
    "Kestrel Dock": [
        [("Kestrel Dock works contract", 20), ("Between Kestrel Dock Trust and Fennimore Build.", 11)],
        [("11. Delay", 14), ("Delay damages are 0.4 % of the price per week.", 11)],
        [("13. Limitation of liability", 14), ("The builder is liable up to 3,250,000 pounds in all.", 11)],
        [("14. Indemnity", 14), ("The builder shall indemnify the trust against claims of third parties.", 11)],
    ],
    "Merrow Weir": [
        [("Merrow Weir maintenance contract", 20), ("Between the Merrow Navigation and Fennimore Build.", 11)],
        [("7. Liability for tolls", 14), ("The builder is liable for lost tolls up to 90,000 pounds a season.", 11)],
    ],
}
ABOUT = "What does the contract for {} say about liability?"


@dataclass(frozen=True)
class Phone:
    """Somebody with WhatsApp."""

    world: World
    number: str

    def says(self, text: str) -> str:
        """Write to the site desk by Gupshup; returns the message that comes back."""
        before = len(self.world.talk.phone_messages(self.number))
        assert (
            self.world.talk.post_webhook(sample_payload("inbound_gupshup_text", sender=self.number, text=text)) == 200
        )
        wait_until(lambda: len(self.world.talk.phone_messages(self.number)) > before, f"the reply to {text!r}", 60)
        return str(self.world.talk.phone_messages(self.number)[-1]["text"])


@dataclass(frozen=True)
class Browser:
    """Somebody on the contract desk's page."""

    world: World
    session: WebSession

    def says(self, text: str) -> dict[str, Any]:
        """Write into the session; returns the turn that answers."""
        before = self._done()
        self.world.talk.send_message(self.session, text)
        wait_until(lambda: self._done() > before, f"the reply to {text!r}", 60)
        return self.world.talk.list_turns(session_id=self.session.id)[0]

    def _done(self) -> int:
        return sum(event["kind"] == "done" for event in self.world.talk.list_events(self.session))


@pytest.fixture(scope="module")
def model(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedProtocolServer]:
    with thinking(world, tmp_path_factory.mktemp("model"), clerk) as server:
        yield server


@pytest.fixture(scope="module")
def contracts(world: World, model: ScriptedProtocolServer) -> dict[str, str]:
    """Two contracts, their papers uploaded and read: handles by name."""
    handles, files = {}, {}
    for name, pages in PAPERS.items():
        properties = {"counterparty": name, "subject": "works", "state": "in force"}
        wanted = {"type": "contract", "name": name, "properties": properties, "classification": 1}
        handles[name] = str(operate(world, "POST", "/v1/entities", json=wanted).json()["handle"])
        files[name] = upload(world, f"{name}.pdf", make_pdf(pages), handles[name])
    for name, file_id in files.items():
        file = state(world, file_id)
        assert (file["state"], file["pages"], file["about"]) == ("ready", len(PAPERS[name]), handles[name]), file
    return handles


@pytest.fixture(scope="module")
def browser(world: World, contracts: dict[str, str]) -> Browser:
    return Browser(world, world.talk.open_session("contract-desk"))


@pytest.fixture(scope="module")
def phone(world: World, contracts: dict[str, str]) -> Phone:
    return Phone(world, world.phone())


@pytest.fixture(scope="module")
def quoted(phone: Phone) -> str:
    """What the phone was told of the first contract."""
    return phone.says(ABOUT.format("Kestrel Dock"))


@pytest.fixture(scope="module")
def noted(quoted: str, phone: Phone, browser: Browser) -> tuple[str, str]:
    """What was said when the first contract's clauses were noted by the phone and the second's on the web.

    What either notes waits for a member, who accepts it here.
    """
    on_the_phone = phone.says(LOG_IT)
    browser.says(ABOUT.format("Merrow Weir"))
    on_the_web = browser.says(LOG_IT)["reply"]["text"]
    waiting = operate(phone.world, "GET", "/v1/entities", params={"unverified": "true"}).json()["entities"]
    assert "7. Liability for tolls" in {one["name"] for one in waiting}
    assert len(waiting) > 1
    assert "7. Liability for tolls" not in phone.says(ACROSS)
    for noted in waiting:
        operate(phone.world, "POST", f"/v1/entities/{noted['id']}/accept")
    return on_the_phone, on_the_web


def risks(world: World) -> dict[str, dict[str, Any]]:
    """The risks that say what they were taken from, by name."""
    found = operate(world, "GET", "/v1/entities", params={"type": "risk", "limit": 50}).json()["entities"]
    return {one["name"]: one for one in found if "sources" in one["properties"]}


def linked(world: World, risk: dict[str, Any]) -> dict[str, set[str]]:
    """The contracts that a risk is linked to, each with the relations."""
    found = operate(world, "GET", f"/v1/entities/{risk['handle']}/links", params={"type": "contract"}).json()["links"]
    return {one["handle"]: {relation["relation"] for relation in one["relations"]} for one in found}


def test_the_clauses_are_told_on_the_web_with_their_pages(world: World, contracts: dict[str, str]) -> None:
    turn = Browser(world, world.talk.open_session("contract-desk")).says(ABOUT.format("Kestrel Dock"))
    assert {(call["provider"], call["outcome"]) for call in turn["model_calls"]} == {("anthropic", "ok")}
    assert citation_problem(turn["reply"]) == ""
    assert "3,250,000" in turn["reply"]["text"]
    assert [(one["title"], one["locator"]) for one in turn["reply"]["citations"]] == [
        ("Kestrel Dock.pdf", "13. Limitation of liability · page 3"),
        ("Kestrel Dock.pdf", "14. Indemnity · page 4"),
    ]


def test_the_same_on_whatsapp_has_the_pages_in_its_footnotes(quoted: str) -> None:
    said, _, footnotes = quoted.partition("Sources:")
    assert "3,250,000" in said
    assert re.findall(r"^\[(\d+)\] (.+)$", footnotes, re.MULTILINE) == [
        (number, f"Kestrel Dock.pdf, {clause}")
        for number, clause in zip(
            re.findall(r"\[(\d+)\]", said),
            ("13. Limitation of liability · page 3", "14. Indemnity · page 4"),
            strict=True,
        )
    ]


def test_what_was_quoted_becomes_risks_that_lead_back_to_contract_clause_and_page(
    world: World, contracts: dict[str, str], noted: tuple[str, str]
) -> None:
    found = risks(world)
    assert {name: risk["properties"]["sources"] for name, risk in found.items()} == {
        "13. Limitation of liability": [_source("Kestrel Dock", "13. Limitation of liability", 3)],
        "14. Indemnity": [_source("Kestrel Dock", "14. Indemnity", 4)],
        "7. Liability for tolls": [_source("Merrow Weir", "7. Liability for tolls", 2)],
    }
    for name, risk in found.items():
        contract = contracts[risk["properties"]["sources"][0]["title"].removesuffix(".pdf")]
        assert linked(world, risk) == {contract: {"references", "about"}}, name
        assert risk["created_by"].startswith("user:")
        assert f"page {risk['properties']['sources'][0]['page']}," in risk["properties"]["response"]
        assert risk["handle"] in "\n".join(noted)
    assert "page 3" in noted[0]


def test_risks_across_all_contracts_are_found_with_their_contracts_and_pages(
    world: World, contracts: dict[str, str], noted: tuple[str, str], phone: Phone
) -> None:
    turn = Browser(world, world.talk.open_session("contract-desk")).says(ACROSS)
    assert citation_problem(turn["reply"]) == ""
    told = [phone.says(ACROSS), turn["reply"]["text"]]
    for risk in risks(world).values():
        (source,) = risk["properties"]["sources"]
        where = f"{risk['handle']}, {risk['name']}: {source['title']}, page {source['page']}"
        assert [where in text for text in told] == [True, True], told
        (contract,) = linked(world, risk)
        assert f"{where}, of {contract}" in told[1]


def _source(contract: str, clause: str, page: int) -> dict[str, Any]:
    return {"title": f"{contract}.pdf", "locator": clause, "page": page}
