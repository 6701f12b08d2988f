"""Packs: refused by file, line and field; applied twice without a change; exported and applied elsewhere."""

from collections.abc import Callable
from pathlib import Path

from tests.stories import packs, words
from tests.stories.clients import Api, Command, Visitor, cited_titles
from tests.stories.stack import Stack


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def _read(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}


def test_pack_with_a_mistake_is_refused_and_nothing_is_applied(
    running_stack: Stack, command: Command, name: str
) -> None:
    files = packs.pack(name)
    files[packs.BINDING_FILE] += "colour: red\n"
    ran = command.run("apply", str(_write(command.folder / "wrong", files)), tenant=name)
    assert ran.returncode == 1
    line = files[packs.BINDING_FILE].count("\n")
    assert f"{packs.BINDING_FILE}:{line}: colour:" in ran.stderr
    assert Api(running_stack.url, name, running_stack.operator_key).status("GET", "/v1/tenant") == 404


def test_mistake_is_told_by_the_api_with_file_line_and_field(own_tenant: Api) -> None:
    files = packs.pack(own_tenant.tenant)
    files["tenant.yaml"] = files["tenant.yaml"].replace("Tenant", "Renamed")
    files[packs.BINDING_FILE] = files[packs.BINDING_FILE].replace("human: ida", "human: nobody")
    refused = own_tenant.send("PUT", "/v1/pack", {"files": files})
    assert refused.status_code == 422
    (problem,) = refused.json()["error"]["problems"]
    assert (problem["file"], problem["line"], problem["field"]) == (packs.BINDING_FILE, 2, "human")
    assert own_tenant.get("/v1/tenant")["display_name"].startswith("Tenant")


def test_pack_applied_twice_changes_nothing(command: Command, name: str) -> None:
    folder = str(_write(command.folder / "pack", packs.pack(name)))
    assert words.NOTHING_CHANGED not in command.print("apply", folder, tenant=name)
    assert words.NOTHING_CHANGED in command.print("apply", folder, tenant=name)


def test_exported_pack_applied_elsewhere_makes_the_same_tenant(
    make_tenant: Callable[[str], Api], visit: Callable[..., Visitor], command: Command, name: str
) -> None:
    there = f"{name}-copy"
    make_tenant(name)
    command.print("export", str(command.folder / "first"), tenant=name)
    files = {path: text.replace(name, there) for path, text in _read(command.folder / "first").items()}
    assert set(packs.pack(name)) <= set(files)
    folder = str(_write(command.folder / "moved", files))
    command.print("apply", folder, tenant=there)
    assert words.NOTHING_CHANGED in command.print("apply", folder, tenant=there)
    command.print("export", str(command.folder / "second"), tenant=there)
    assert _read(command.folder / "second") == files
    assert packs.FERRY_TITLE in cited_titles(visit(packs.BINDING, there).ask(packs.FERRY_QUESTION))


def test_pack_of_another_tenant_is_refused(command: Command, own_tenant: Api, name: str) -> None:
    folder = _write(command.folder / "pack", packs.pack(f"{name}-other"))
    ran = command.run("apply", str(folder), tenant=name)
    assert ran.returncode != 0
    assert f"{name}-other" in ran.stderr
    assert own_tenant.get("/v1/tenant")["slug"] == name
