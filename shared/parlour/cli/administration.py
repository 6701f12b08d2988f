"""Keys, the tenant's status, and who did what."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from parlour.cli import id_lookup, rendering, terminal
from parlour.cli.api_client import JsonOption, get_api_client
from parlour.cli.id_lookup import ID_HELP

User = Annotated[str, typer.Argument(help=f"The user's id, from `parlour users list`; {ID_HELP}.")]

keys = typer.Typer(help="API keys of the tenant.")
users = typer.Typer(help="Users of the tenant's agents.")
routes = typer.Typer(help="Hosts and numbers of the tenant: list them, accept those that wait.")
tenant = typer.Typer(help="Show, pause and resume the tenant.")


@keys.command("create", epilog="Example: parlour keys create erp --role editor --clearance 2 --days 90")
def create_key(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the key, shown in lists.")],
    role: Annotated[
        list[str] | None, typer.Option(help="admin, editor or viewer; repeat it for several roles.")
    ] = None,
    clearance: Annotated[
        int, typer.Option(min=0, max=3, help="0 public, 1 internal, 2 confidential, 3 restricted.")
    ] = 1,
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires; without it, never.")] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="Part of the API it opens, like entities or files; repeat it for several.")
    ] = None,
) -> None:
    """Create a key. Its secret is printed once, alone on standard output."""
    body: dict[str, object] = {"name": name, "roles": role or [], "clearance": clearance, "scopes": scope or []}
    if days is not None:
        body["expires_at"] = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    made = get_api_client(context).request("POST", "v1/keys", body)
    terminal.print_note(f"key {made['id']}: store the secret now, it is not shown again")
    terminal.print_line(made["key"])


@keys.command("list", epilog="Example: parlour keys list")
def list_keys(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the keys, newest first, including revoked ones."""
    found = get_api_client(context).request("GET", "v1/keys")["keys"]
    if as_json:
        terminal.print_json(found)
        return
    headings = ("name", "roles", "clearance", "created", "last used", "expires", "revoked", "key")
    terminal.print_renderable(
        rendering.make_table(
            headings,
            (
                (
                    one["name"],
                    " ".join(one["roles"]) or "-",
                    one["clearance"],
                    rendering.format_time(one["created_at"]),
                    rendering.format_time(one["last_used_at"]) or "-",
                    rendering.format_time(one["expires_at"]) or "-",
                    rendering.format_time(one["revoked_at"]) or "-",
                    one["id"],
                )
                for one in found
            ),
        )
    )


@keys.command("revoke", epilog="Example: parlour keys revoke 5fb1b03a")
def revoke_key(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help=f"The key's id, from `parlour keys list`; {ID_HELP}.")],
) -> None:
    """Revoke a key immediately."""
    target = get_api_client(context)
    ended = target.request("DELETE", f"v1/keys/{id_lookup.key_id(target, key)}")
    terminal.print_line(f"{ended['name']} was revoked at {rendering.format_time(ended['revoked_at'])}")


@routes.command("list", epilog="Example: parlour routes list")
def list_routes(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the hosts and numbers of the tenant; those that wait lead nowhere until the operator accepts them."""
    found = get_api_client(context).request("GET", "v1/routes")["routes"]
    if as_json:
        terminal.print_json(found)
        return
    rows = ((route["state"], route["key"], route["binding"]) for route in found)
    terminal.print_renderable(rendering.make_table(("state", "host or number", "binding"), rows))


@routes.command("accept", epilog="Example: parlour routes accept web:chat.example.com")
def accept_route(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="The host or number as `parlour routes list` has it.")],
    end_reservation: Annotated[
        bool, typer.Option("--end-reservation", help="Also where another tenant gave it up within 30 days.")
    ] = False,
) -> None:
    """Accept a host or number that waits (operator only). See first that it belongs to the tenant."""
    body = {"key": key, "end_reservation": end_reservation}
    accepted = get_api_client(context).request("POST", "v1/routes/accept", body)
    terminal.print_line(f"{accepted['key']} leads to {accepted['binding']} now.")
    if not key.startswith("web:"):
        terminal.print_note("Messages that came before: parlour redrive --queue intake")


@tenant.command("show", epilog="Example: parlour tenant show --json")
def show_tenant(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the tenant and its status."""
    found = get_api_client(context).request("GET", "v1/tenant")
    if as_json:
        terminal.print_json(found)
    else:
        _print_tenant(found)


@tenant.command("pause", epilog="Example: parlour tenant pause")
def pause_tenant(context: typer.Context) -> None:
    """Pause the tenant. Every message gets a canned reply until you resume it."""
    _print_tenant(get_api_client(context).request("PUT", "v1/tenant/status", {"status": "paused"}))


@tenant.command("resume", epilog="Example: parlour tenant resume")
def resume_tenant(context: typer.Context) -> None:
    """Resume answering."""
    _print_tenant(get_api_client(context).request("PUT", "v1/tenant/status", {"status": "active"}))


@users.command("list", epilog="Examples: parlour users list; parlour users list 0123")
def list_users(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="Part of a name, or the last digits of a number.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number, most recently active first.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List the users of the tenant's agents."""
    found = get_api_client(context).request("GET", "v1/users", text=text, limit=limit)["users"]
    if as_json:
        terminal.print_json(found)
        return
    rows = ((one["name"] or "-", one["phone_last_digits"] or "-", one["id"]) for one in found)
    terminal.print_renderable(rendering.make_table(("name", "phone ends in", "user"), rows))


@users.command("sign-out", epilog="Example: parlour users sign-out 5fb1b03a")
def sign_user_out(context: typer.Context, user: User) -> None:
    """Refuse all tokens of a user. The user starts a new session on the web, or links their phone again."""
    target = get_api_client(context)
    user_id = id_lookup.user_id(target, user)
    target.request("POST", f"v1/users/{user_id}/sign-out")
    terminal.print_line(f"{user_id} is signed out everywhere.")


@users.command("clearance", epilog="Examples: parlour users clearance 5fb1b03a 2; parlour users clearance 5fb1b03a")
def set_user_clearance(
    context: typer.Context,
    user: User,
    level: Annotated[
        int | None, typer.Argument(min=0, max=3, help="0 public to 3 restricted; without it, what the binding says.")
    ] = None,
) -> None:
    """Set what a user may see, whatever agent they talk to."""
    target = get_api_client(context)
    user_id = id_lookup.user_id(target, user)
    target.request("PUT", f"v1/users/{user_id}/clearance", {"clearance": level})
    said = "what the binding says" if level is None else str(level)
    terminal.print_line(f"The clearance of {user_id} is now: {said}.")


def limits(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number, those that refused somebody first.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List the token buckets of visitors, addresses and bindings: what is left, and how many requests were refused."""
    found = get_api_client(context).request("GET", "v1/limits", limit=limit)["limits"]
    if as_json:
        terminal.print_json(found)
        return
    rows = (
        (
            one["scope"],
            f"{one['tokens']:.0f}",
            one["refused_count"],
            rendering.format_time(one["refilled_at"]),
            one["key"],
        )
        for one in found
    )
    terminal.print_renderable(rendering.make_table(("what", "left", "refused", "last used", "whose"), rows))


def audit(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number, newest first.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List administrative actions, newest first: time, actor, action and target."""
    found = get_api_client(context).request("GET", "v1/audit", limit=limit)["entries"]
    if as_json:
        terminal.print_json(found)
        return
    rows = ((rendering.format_time(one["at"]), one["actor"], one["action"], one["target"]) for one in found)
    terminal.print_renderable(rendering.make_table(("at", "actor", "action", "target"), rows))


def _print_tenant(found: dict[str, str]) -> None:
    terminal.print_line(f"{found['slug']} ({found['display_name']}): {found['status']}")
