"""The example tenant of a laptop: its pack applied, its developer a member, the `parlour` command signed in."""

import json
from pathlib import Path

import httpx2

from local.errors import StackError
from local.state import ROOT, write_private
from parlour.packs import folder

PACK_FOLDER = ROOT / "packs" / "construction"
TENANT_SLUG = "northbank"
DEVELOPER = "developer"
"""The subject that the development issuer signs in; an administrator of the example tenant."""

PHONE_BINDING = "site-desk"
"""The pack's binding whose WhatsApp number the phone writes to."""

CONTACT_NAME = "Asha"
"""Who answers for that binding."""

SECRET_NAMES = (f"parlour/tenants/{TENANT_SLUG}/gupshup", f"parlour/tenants/{TENANT_SLUG}/whatsapp")
"""The names that the pack refers to its WhatsApp providers' keys by."""

OFFICE_HOST = "office.northbank.example"
"""The host that the pack's tools call; on a laptop `local/office.py` answers for it."""

_TIMEOUT_SECONDS = 120.0


def apply_example_pack(url: str, operator_key: str) -> int:
    """Apply the pack through the API as the deployment's operator; returns how many things changed."""
    with _client(url, operator_key) as client:
        answer = _check_response(
            client.put("/v1/pack", json={"files": folder.read_folder(PACK_FOLDER)}), "the example pack"
        )
    return sum(tally["created"] + tally["changed"] for tally in answer["counts"].values())


def add_developer(url: str, operator_key: str, issuer: str) -> None:
    """Make the developer an administrator of the example tenant, if they are not."""
    member = {
        "issuer": issuer,
        "subject": DEVELOPER,
        "display_name": "Developer",
        "roles": ["admin", "viewer"],
        "clearance": 3,
    }
    with _client(url, operator_key) as client:
        answer = client.post("/v1/members", json=member)
        if answer.status_code != httpx2.codes.CONFLICT:
            _check_response(answer, "the developer's membership")


def write_cli_credentials(state: Path, url: str, operator_key: str) -> None:
    """Tell the `parlour` command where it is and who it acts as, when it is run in this clone."""
    write_private(state / "cli.json", json.dumps({"url": url, "tenant": TENANT_SLUG, "key": operator_key}, indent=2))


def _client(url: str, key: str) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {key}", "Parlour-Tenant": TENANT_SLUG}
    return httpx2.Client(base_url=url, headers=headers, timeout=_TIMEOUT_SECONDS)


def _check_response(answer: httpx2.Response, what: str) -> dict[str, dict[str, dict[str, int]]]:
    if answer.is_error:
        raise StackError(f"{what} was refused ({answer.status_code}): {answer.text[:500]}")
    checked: dict[str, dict[str, dict[str, int]]] = answer.json()
    return checked
