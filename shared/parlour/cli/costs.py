"""What model calls cost, what they may cost in a day, and the switch that stops them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer
from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from parlour.cli import drawing, terminal
from parlour.cli.target import Json, target_of
from parlour.infra.errors import InvalidRequest

_BAR_CELLS = 28
_NEAR = Decimal("0.8")
_SMALL = Decimal("0.1")

app = typer.Typer(help="What model calls cost, by day, agent and model, against the daily cap.")


@app.callback(invoke_without_command=True)
def cost(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=92, help="How many days, today included (UTC).")] = 7,
    as_json: Json = False,
) -> None:
    """Today's spend against the cap, then the last days."""
    if context.invoked_subcommand is not None:
        return
    found = target_of(context).call("GET", "v1/costs", days=days)
    if as_json:
        terminal.machine(found)
    else:
        terminal.show(drawn(found))


@app.command()
def cap(
    context: typer.Context,
    usd: Annotated[str, typer.Argument(metavar="USD", help="US dollars a day, or `default`: the deployment's.")],
) -> None:
    """Say what the tenant's model calls may cost in a day; it holds from the next call on."""
    try:
        wanted = None if usd == "default" else str(Decimal(usd.removeprefix("$")))
    except InvalidOperation:
        raise InvalidRequest("give an amount like 5 or 2.50, or `default` for the deployment's cap") from None
    _told(target_of(context).call("PUT", "v1/costs/cap", {"daily_cap_usd": wanted}))


@app.command()
def stop(context: typer.Context) -> None:
    """Switch the tenant's model calls off, now; people get a polite line."""
    _told(target_of(context).call("POST", "v1/costs/stop"))


@app.command()
def resume(context: typer.Context) -> None:
    """Switch them on again."""
    _told(target_of(context).call("POST", "v1/costs/resume"))


def drawn(found: Mapping[str, Any]) -> Group:
    """Today against the cap, every day, and who and what the money went to."""
    days, total = found["days"], found["total"]
    parts: list[RenderableType] = [_today(found["today"])]
    if len(days) > 1:
        parts += [_title("by day, UTC"), _bars([(day["day"], _day(day), Decimal(day["spent_usd"])) for day in days])]
    for title, key in (("by agent", "by_binding"), ("by model", "by_model"), ("by purpose", "by_purpose")):
        if total[key]:
            parts += [_title(title), _bars([(name, _used(one), Decimal(one["cost_usd"])) for name, one in
                                            total[key].items()])]  # fmt: skip
    parts.append(Text("\n" + _sum(total, len(days)), style="dim"))
    return Group(*parts)


def _today(today: Mapping[str, Any]) -> Group:
    spent, reserved, limit = (Decimal(today[name]) for name in ("spent_usd", "reserved_usd", "cap_usd"))
    share = f", {spent / limit:.0%}" if limit else ""
    whose = "" if today["own_cap"] else " (the deployment's)"
    line = Text.assemble(("today  ", "bold"), f"{_dollars(spent)} of {_dollars(limit)}{whose}{share}")
    if reserved:
        line.append(f", and {_dollars(reserved)} reserved for calls under way")
    parts: list[RenderableType] = [line, _gauge(spent, reserved, limit)]
    if today["stopped"]:
        since = f"since {drawing.moment(today['stopped_at'])} by {drawing.plain(today['stopped_by'])}"
        parts.append(Text(f"Model calls are switched off {since}; `parlour cost resume`.", style="bold red"))
    return Group(*parts)


def _gauge(spent: Decimal, reserved: Decimal, limit: Decimal) -> Table:
    """How much of the cap is gone, and how much more may be by the calls under way."""
    grid = Table.grid()
    full = max(limit, spent + reserved) or Decimal(1)
    colour = "red" if spent >= limit else "yellow" if spent >= limit * _NEAR else "green"
    used, held = (round(float(amount / full) * _BAR_CELLS) for amount in (spent, spent + reserved))
    used = max(used, 1) if spent else used
    grid.add_row(
        Text.assemble(("█" * used, colour), ("▒" * max(held - used, 0), colour),
                      ("░" * (_BAR_CELLS - max(held, used)), "dim"))
    )  # fmt: skip
    return grid


def _bars(rows: Sequence[tuple[str, str, Decimal]]) -> Table:
    most = max(*(amount for _, _, amount in rows), Decimal("0.00000001"))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=12, overflow="fold")
    grid.add_column(width=_BAR_CELLS)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, told, amount in rows:
        label = drawing.plain(name) or "(no agent)"
        grid.add_row(
            label, Bar(float(most), 0, float(amount), color="green"), _dollars(amount), Text(told, style="dim")
        )
    return grid


def _day(day: Mapping[str, Any]) -> str:
    degraded = f", {day['degraded']} turned away" if day["degraded"] else ""
    unsettled = Decimal(day["unsettled_usd"])
    besides = f", at most {_dollars(unsettled)} unsettled" if unsettled else ""
    return f"{_used(day)}{degraded}{besides}" if day["calls"] or besides or degraded else ""


def _used(one: Mapping[str, Any]) -> str:
    tokens = sum(one[name] for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"))
    return f"{one['calls']:,} calls, {tokens:,} tokens, {one['cache_hits']}% cached"


def _sum(total: Mapping[str, Any], days: int) -> str:
    span = "today" if days == 1 else f"{days} days"
    told = [
        f"{span}: {_dollars(Decimal(total['spent_usd']))} counted against the cap",
        f"{total['failed']} calls failed",
    ]
    if unsettled := Decimal(total["unsettled_usd"]):
        told.append(f"at most {_dollars(unsettled)} besides, unsettled: of calls whose worker died")
    if total["unpriced"]:
        told.append(f"{total['unpriced']} calls of unknown price, counted as dear ones")
    if total["degraded"]:
        told.append(f"{total['degraded']} turns turned away for lack of it")
    return "; ".join(told)


def _dollars(usd: Decimal) -> str:
    """Two places for what is worth a dime, four for less, and never nothing for something."""
    if usd == 0 or usd >= _SMALL:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if usd >= Decimal("0.00005") else "<$0.0001"


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="dim")


def _told(answer: Mapping[str, Any]) -> None:
    terminal.show(_today(answer["today"]))
