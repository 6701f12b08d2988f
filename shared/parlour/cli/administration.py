"""Keys, the tenant's status, and who did what."""

from typing import Annotated
from uuid import UUID

import typer

from parlour.cli import drawing, terminal
from parlour.cli.target import target_of

keys = typer.Typer(help="API keys of the tenant.")
tenant = typer.Typer(help="The tenant as a whole.")


@keys.command("create")
def create_key(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is for; shown in lists.")],
    role: Annotated[
        list[str] | None, typer.Option(help="admin, editor or viewer; may be given more than once. None: no role.")
    ] = None,
    clearance: Annotated[
        int, typer.Option(min=0, max=3, help="0 public, 1 internal, 2 confidential, 3 restricted.")
    ] = 1,
) -> None:
    """Make a key. Its text is printed this once, alone on standard output."""
    body = {"name": name, "roles": role or [], "clearance": clearance}
    made = target_of(context).call("POST", "v1/keys", body)
    terminal.remark(f"key {made['id']}; keep its text, it is not shown again")
    terminal.line(made["key"])


@keys.command("list")
def list_keys(context: typer.Context) -> None:
    """The keys, newest first; the revoked ones too."""
    found = target_of(context).call("GET", "v1/keys")["keys"]
    headings = ("name", "roles", "clearance", "created", "revoked", "key")
    terminal.show(
        drawing.table(
            headings,
            (
                (one["name"], " ".join(one["roles"]) or "-", one["clearance"], drawing.moment(one["created_at"]),
                 drawing.moment(one["revoked_at"]) or "-", one["id"])
                for one in found
            ),
        )
    )  # fmt: skip


@keys.command("revoke")
def revoke_key(
    context: typer.Context, key: Annotated[UUID, typer.Argument(help="The key's id, from `parlour keys list`.")]
) -> None:
    """End a key at once."""
    ended = target_of(context).call("DELETE", f"v1/keys/{key}")
    terminal.line(f"{ended['name']} was revoked at {drawing.moment(ended['revoked_at'])}")


@tenant.command("show")
def show_tenant(context: typer.Context) -> None:
    """Which tenant this is, and its status."""
    _told(target_of(context).call("GET", "v1/tenant"))


@tenant.command("pause")
def pause_tenant(context: typer.Context) -> None:
    """Answer everybody with a polite line until it is resumed."""
    _told(target_of(context).call("PUT", "v1/tenant/status", {"status": "paused"}))


@tenant.command("resume")
def resume_tenant(context: typer.Context) -> None:
    """Answer again."""
    _told(target_of(context).call("PUT", "v1/tenant/status", {"status": "active"}))


def audit(
    context: typer.Context,
    most: Annotated[int, typer.Option(min=1, max=200, help="How many, newest first.")] = 30,
) -> None:
    """Who did which administrative act to what, and when."""
    found = target_of(context).call("GET", "v1/audit", most=most)["entries"]
    rows = ((drawing.moment(one["at"]), one["actor"], one["action"], one["target"]) for one in found)
    terminal.show(drawing.table(("at", "who", "did", "to"), rows))


def _told(found: dict[str, str]) -> None:
    terminal.line(f"{found['slug']} ({found['display_name']}): {found['status']}")
