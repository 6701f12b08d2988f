"""The packs of a laptop: what is wrong with one is said before anything starts."""

from pathlib import Path

import httpx2
import pytest

from local import laptop_packs
from local.errors import StackError
from local.example_tenant import PACK_FOLDER, TENANT_SLUG
from local.laptop_packs import LaptopPack, read_pack
from parlour.packs import folder as pack_folder
from parlour.packs.pack_templates import NewPack, render_pack


def write_pack(place: Path, **changes: str) -> Path:
    files = render_pack(NewPack("blank", "acme", "Acme", "acme.localhost", "447700900150"))
    pack_folder.write_folder(place, {**files, **changes})
    return place


def test_pack_is_read_with_its_tenant_and_secrets(tmp_path: Path) -> None:
    pack = read_pack(write_pack(tmp_path))
    assert (pack.tenant, set(pack.secrets)) == ("acme", {"parlour/tenants/acme/gupshup"})
    assert "tenant.yaml" in pack.files


def test_example_pack_is_the_example_tenants() -> None:
    assert read_pack(PACK_FOLDER).tenant == TENANT_SLUG


def test_folder_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"nowhere is not a folder; give the folder that contains tenant\.yaml$"):
        read_pack(tmp_path / "nowhere")


def test_every_mistake_of_a_pack_is_listed(tmp_path: Path) -> None:
    mistakes = {
        "agents/assistant.yaml": "display_name: A\ncolour: red\ntools: [sing]\n",
        "humans/alex.yaml": "identity: x\n",
    }
    with pytest.raises(StackError) as refused:
        read_pack(write_pack(tmp_path, **mistakes))
    first, *lines = str(refused.value).splitlines()
    assert first == f"{tmp_path} is not a valid pack: {len(lines)} problems to fix"
    places = [line.split()[0] for line in lines]
    assert places == ["agents/assistant.yaml:2:", "agents/assistant.yaml:3:", "humans/alex.yaml:1:"]


def test_prompt_that_does_not_fit_its_budget_is_a_mistake(tmp_path: Path) -> None:
    agent = {"agents/assistant.yaml": "display_name: A\nbudget: {tokens: 2000, layers: {history: {floor: 1900}}}\n"}
    with pytest.raises(StackError, match=r"1 problem to fix\n  agents/assistant\.yaml:2: budget"):
        read_pack(write_pack(tmp_path, **agent))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            httpx2.Response(409, json={"error": {"code": "conflict", "message": "the app is another tenant's"}}),
            "mine was refused: the app is another tenant's",
        ),
        (
            httpx2.Response(
                422,
                json={
                    "error": {
                        "code": "invalid_pack",
                        "message": "x",
                        "problems": [{"file": "tenant.yaml", "line": 2, "field": "slug", "message": "is odd"}],
                    }
                },
            ),
            "mine is not a valid pack: 1 problem to fix\n  tenant.yaml:2: slug: is odd",
        ),
        (httpx2.Response(502, text="Bad gateway"), "mine was refused (502): Bad gateway"),
    ],
)
def test_refusal_of_the_api_is_said(monkeypatch: pytest.MonkeyPatch, answer: httpx2.Response, said: str) -> None:
    transport = httpx2.MockTransport(lambda _: answer)
    client = httpx2.Client(base_url="http://stack", transport=transport)
    monkeypatch.setattr(laptop_packs, "_client", lambda *_: client)
    with pytest.raises(StackError) as refused:
        laptop_packs.apply_pack("http://stack", "key", LaptopPack(Path("mine"), "acme", {}, frozenset()))
    assert str(refused.value) == said
