"""What model calls cost, what they may cost in a day, and the switch that stops them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer
from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from parlour.cli import rendering, terminal
from parlour.cli.api_client import JsonOption, get_api_client
from parlour.infra.errors import InvalidRequest

_BAR_CELLS = 28
_WARNING_SHARE = Decimal("0.8")
_CENTS_FROM = Decimal("0.1")

app = typer.Typer(help="Model cost by day, agent and model, and the daily cap.")


@app.callback(invoke_without_command=True)
def cost(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=92, help="Number of days including today (UTC).")] = 7,
    as_json: JsonOption = False,
) -> None:
    """Show today's spend against the cap, then the previous days."""
    if context.invoked_subcommand is not None:
        return
    found = get_api_client(context).request("GET", "v1/costs", days=days)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_renderable(render_costs(found))


@app.command(epilog="Examples: parlour cost cap 15; parlour cost cap default")
def cap(
    context: typer.Context,
    usd: Annotated[
        str, typer.Argument(metavar="USD", help="US dollars per day, or `default` for the deployment's cap.")
    ],
) -> None:
    """Set the tenant's daily cap for model calls. It applies from the next call."""
    try:
        wanted = None if usd == "default" else str(Decimal(usd.removeprefix("$")))
    except InvalidOperation:
        raise InvalidRequest("give an amount like 5 or 2.50, or `default` for the deployment's cap") from None
    _print_today(get_api_client(context).request("PUT", "v1/costs/cap", {"daily_cap_usd": wanted}))


@app.command(epilog="Example: parlour cost stop")
def stop(context: typer.Context) -> None:
    """Stop all model calls of the tenant now. Users get a canned reply."""
    _print_today(get_api_client(context).request("POST", "v1/costs/stop"))


@app.command(epilog="Example: parlour cost resume")
def resume(context: typer.Context) -> None:
    """Resume model calls."""
    _print_today(get_api_client(context).request("POST", "v1/costs/resume"))


def render_costs(found: Mapping[str, Any]) -> Group:
    """Today against the cap, every day, and who and what the money went to."""
    days, total = found["days"], found["total"]
    parts: list[RenderableType] = [_render_today(found["today"])]
    if len(days) > 1:
        parts += [
            _heading("by day, UTC"),
            _render_bars([(day["day"], _day_text(day), Decimal(day["spent_usd"])) for day in days]),
        ]
    for title, key in (("by agent", "by_binding"), ("by model", "by_model"), ("by purpose", "by_purpose")):
        if total[key]:
            parts += [
                _heading(title),
                _render_bars([(name, _usage_text(one), Decimal(one["cost_usd"])) for name, one in total[key].items()]),
            ]
    parts.append(Text("\n" + _summary_text(total, len(days)), style="dim"))
    return Group(*parts)


def _render_today(today: Mapping[str, Any]) -> Group:
    spent, reserved, limit = (Decimal(today[name]) for name in ("spent_usd", "reserved_usd", "cap_usd"))
    share = f", {spent / limit:.0%}" if limit else ""
    whose = "" if today["has_own_cap"] else " (deployment default)"
    line = Text.assemble(("today  ", "bold"), f"{_format_dollars(spent)} of {_format_dollars(limit)}{whose}{share}")
    if reserved:
        line.append(f", plus {_format_dollars(reserved)} reserved for running calls")
    grid = Table.grid()
    full = max(limit, spent + reserved) or Decimal(1)
    colour = "red" if spent >= limit else "yellow" if spent >= limit * _WARNING_SHARE else "green"
    used, held = (round(float(amount / full) * _BAR_CELLS) for amount in (spent, spent + reserved))
    used = max(used, 1) if spent else used
    grid.add_row(
        Text.assemble(
            ("█" * used, colour), ("▒" * max(held - used, 0), colour), ("░" * (_BAR_CELLS - max(held, used)), "dim")
        )
    )
    parts: list[RenderableType] = [line, grid]
    if today["stopped"]:
        stopped_by = rendering.strip_control_codes(today["stopped_by"])
        since = f"since {rendering.format_time(today['stopped_at'])} by {stopped_by}"
        parts.append(Text(f"Model calls are off {since}. Resume: parlour cost resume", style="bold red"))
    return Group(*parts)


def _render_bars(rows: Sequence[tuple[str, str, Decimal]]) -> Table:
    most = max(*(amount for _, _, amount in rows), Decimal("0.00000001"))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=12, overflow="fold")
    grid.add_column(width=_BAR_CELLS)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, told, amount in rows:
        label = rendering.strip_control_codes(name) or "(no agent)"
        grid.add_row(
            label, Bar(float(most), 0, float(amount), color="green"), _format_dollars(amount), Text(told, style="dim")
        )
    return grid


def _day_text(day: Mapping[str, Any]) -> str:
    degraded = f", {day['degraded_turns']} turns without a model" if day["degraded_turns"] else ""
    unsettled = Decimal(day["unsettled_usd"])
    besides = f", at most {_format_dollars(unsettled)} unsettled" if unsettled else ""
    return f"{_usage_text(day)}{degraded}{besides}" if day["calls"] or besides or degraded else ""


def _usage_text(one: Mapping[str, Any]) -> str:
    tokens = sum(one[name] for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"))
    return f"{one['calls']:,} calls, {tokens:,} tokens, {one['cache_hit_percent']}% cached"


def _summary_text(total: Mapping[str, Any], days: int) -> str:
    span = "today" if days == 1 else f"{days} days"
    told = [
        f"{span}: {_format_dollars(Decimal(total['spent_usd']))} counted against the cap",
        f"{total['failed_calls']} calls failed",
    ]
    if unsettled := Decimal(total["unsettled_usd"]):
        told.append(f"up to {_format_dollars(unsettled)} more, unsettled (calls whose worker died)")
    if total["unpriced_calls"]:
        told.append(f"{total['unpriced_calls']} calls of unknown price, counted at the highest price")
    if total["degraded_turns"]:
        told.append(f"{total['degraded_turns']} turns answered without a model because of the cap")
    return "; ".join(told)


def _format_dollars(usd: Decimal) -> str:
    """Two places for what is worth a dime, four for less, and never nothing for something."""
    if usd == 0 or usd >= _CENTS_FROM:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if usd >= Decimal("0.00005") else "<$0.0001"


def _heading(text: str) -> Text:
    return Text(f"\n{text}", style="dim")


def _print_today(answer: Mapping[str, Any]) -> None:
    terminal.print_renderable(_render_today(answer["today"]))
