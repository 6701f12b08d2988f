"""The packs of a laptop: read before anything starts, applied with the developer as a member, their secrets made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from local.errors import StackError
from local.state import write_private
from parlour.infra.errors import InvalidPack, InvalidRequest, PackProblem
from parlour.packs import budget_check, built_in_tools, folder
from parlour.packs.validate import validate
from parlour.text import token_counter

DEVELOPER = "developer"
"""The subject that the development issuer signs in; an administrator of every tenant of the laptop."""

_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class LaptopPack:
    """A valid pack, as it was read.

    tenant   its tenant's slug.
    files    path below its folder -> text.
    secrets  where its secrets are kept.
    """

    folder: Path
    tenant: str
    files: Mapping[str, str]
    secrets: frozenset[str]


def read_pack(place: Path) -> LaptopPack:
    """Read and check a pack. Raises StackError with every problem in it."""
    try:
        files = folder.read_folder(place)
        pack = validate(files)
    except InvalidRequest as error:
        raise StackError(str(error)) from None
    except InvalidPack as error:
        raise StackError(_problem_list(place, error.problems)) from None
    complete = built_in_tools.add_built_in_tools(pack)
    if problems := list(budget_check.find_budget_problems(complete, token_counter.count_tokens)):
        raise StackError(_problem_list(place, problems))
    return LaptopPack(place, pack.tenant.slug, files, frozenset(pack.tenant.secrets.values()))


def apply_pack(url: str, operator_key: str, pack: LaptopPack) -> None:
    """Apply a pack through the API as the deployment's operator. Raises StackError if it is refused."""
    with _client(url, operator_key, pack.tenant) as client:
        answer = client.put("/v1/pack", json={"files": dict(pack.files)})
        if answer.is_error:
            raise StackError(_refusal_text(pack.folder, answer))


def add_developer(url: str, operator_key: str, tenant: str, issuer: str) -> None:
    """Make the developer an administrator of a tenant, if they are not."""
    member = {
        "issuer": issuer,
        "subject": DEVELOPER,
        "display_name": "Developer",
        "roles": ["admin", "viewer"],
        "clearance": 3,
        "email": f"{DEVELOPER}@laptop.example",
    }
    with _client(url, operator_key, tenant) as client:
        answer = client.post("/v1/members", json=member)
        if answer.is_error and answer.status_code != httpx2.codes.CONFLICT:
            raise StackError(f"the developer did not become a member of {tenant}: {answer.text[:500]}")


def write_cli_credentials(state: Path, url: str, operator_key: str, tenant: str) -> None:
    """Tell the `parlour` command where it is and who it acts as, when it is run in this clone."""
    write_private(state / "cli.json", json.dumps({"url": url, "tenant": tenant, "key": operator_key}, indent=2))


def _client(url: str, key: str, tenant: str) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {key}", "Parlour-Tenant": tenant}
    return httpx2.Client(base_url=url, headers=headers, timeout=_TIMEOUT_SECONDS)


def _refusal_text(place: Path, answer: httpx2.Response) -> str:
    try:
        error: dict[str, Any] = answer.json()["error"]
    except (ValueError, KeyError):
        return f"{place} was refused ({answer.status_code}): {answer.text[:500]}"
    problems = [
        PackProblem(one.get("file", "-"), one.get("line", 1), one["field"], one["message"])
        for one in error.get("problems", ())
    ]
    return _problem_list(place, problems) if problems else f"{place} was refused: {error['message']}"


def _problem_list(place: Path, problems: Sequence[PackProblem]) -> str:
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    return "\n".join([f"{place} is not a valid pack: {count} to fix", *(f"  {problem}" for problem in problems)])
