"""The example pack is valid, and its numbers agree with each other."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from parlour.models.model import TokenUsage
from parlour.models.prices import known_cost
from parlour.packs.folder import read_folder
from parlour.packs.format import Pack
from parlour.packs.validate import validate


@pytest.fixture(scope="module")
def pack() -> Pack:
    return validate(read_folder(Path("packs/construction")))


def test_it_shows_every_kind_of_thing(pack: Pack) -> None:
    assert set(pack.bindings) == {"site-desk", "contract-desk"}
    assert 12 <= len(pack.records) <= 20
    assert {key.rpartition(".")[2] for key in pack.documents} == {"md", "txt", "eml"}
    assert {document.header.classification for document in pack.documents.values()} == {0, 1, 2, 3}


def test_its_models_have_prices(pack: Pack) -> None:
    usage = TokenUsage(input_tokens=1_000, output_tokens=1_000, cache_read_tokens=0, cache_write_tokens=0)
    for agent in pack.agents.values():
        for choice in (agent.model_routing.default, *agent.model_routing.fallback):
            assert known_cost(choice.provider, choice.model, usage, datetime(2026, 3, 2, tzinfo=UTC))


def test_no_desk_shows_what_is_restricted(pack: Pack) -> None:
    assert max(binding.clearance for binding in pack.bindings.values()) < 3


def test_amounts_agree_across_documents(pack: Pack) -> None:
    texts = {key: document.content for key, document in pack.documents.items()}
    contract, change = pack.records["contract/C-2025-017"].properties, pack.records["change_order/CO-007"].properties

    assert contract["amount"] == 4_860_000
    assert "£4,860,000" in texts["contracts/main-works-contract.md"]
    assert f"£{4_860_000 * 5 // 100:,}" in texts["contracts/main-works-contract.md"]
    assert f"£{4_860_000 * 50 // 100:,}" in texts["contracts/main-works-contract.md"]
    assert f"£{4_860_000 * 3 // 100:,}" in texts["contracts/main-works-contract.md"]
    assert change["quoted_price"] == round((14_200 + 11_300 + 7_400 + 2_700) * 1.08)
    assert "£38,448" in texts["mails/2026-02-23-change-order-007-quotation.eml"]
    assert "£38,448" in texts["minutes/progress-meeting-2026-02-24.md"]
    assert f"£{round((35_600 - 1_900) * 1.08):,}" in texts["mails/2026-02-26-change-order-007-answer.eml"]
