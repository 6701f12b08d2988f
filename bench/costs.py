"""What AWS costs a month, from the template and the prices of bench/prices.json: arithmetic, nothing runs.

    python -m bench.costs [--markdown] [--json FILE]

docs/concepts/costs.md has the tables. Quantities of a turn are those of a streamed web turn of two steps: a search, and
a reply of 1,000 characters. Transactions and bytes are counted by `bench.growth`; what is estimated says so.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfnlint.decode import cfn_yaml  # type: ignore[import-untyped]

from bench import report

_HOURS = 730
_SECONDS = _HOURS * 3600
_LAPTOP_ONLY = "OnLaptop"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the bill: what it is for, how much of it a month has, and US dollars."""

    name: str
    quantity: str
    dollars: float


def read_prices() -> Mapping[str, Any]:
    """Return the prices in US dollars by what they are of, and their date, region and source."""
    prices: dict[str, Any] = json.loads(Path(__file__).with_name("prices.json").read_text("utf-8"))
    return prices


def fixed_lines(prices: Mapping[str, Any], database: str) -> list[Line]:
    """Return what a stack costs without traffic, with `Database` idle or steady."""
    resources = cfn_yaml.load("template.yaml")["Resources"].values()
    types = [entry["Type"] for entry in resources if entry.get("Condition") != _LAPTOP_ONLY]
    secrets = types.count("AWS::SecretsManager::Secret") + 1  # the database owner's is the cluster's own
    alarms = types.count("AWS::CloudWatch::Alarm")
    functions = [entry["Properties"] for entry in resources if entry["Type"] == "AWS::Serverless::Function"]
    cached_gb = sum(properties.get("MemorySize", 512) for properties in functions if "SnapStart" in properties) / 1024
    is_steady = database == "steady"
    nat = prices["nat_gateway_hour"] + prices["public_address_hour"]
    return [
        Line("Aurora: 0.5 capacity units, paused", "", 0.5 * _HOURS * prices["aurora_unit_hour"] * is_steady),
        Line("NAT gateway and its address", "", _HOURS * nat),
        Line(
            "SnapStart caches of one version each",
            f"{cached_gb:g} GB",
            cached_gb * _SECONDS * prices["snapstart_gb_second"] * is_steady,
        ),
        Line("AWS WAF: two rules", "", prices["waf_acl"] + 2 * prices["waf_rule"]),
        Line("secrets, alarms, dashboard", f"{secrets}, {alarms}, 1", _observed(prices, secrets, alarms)),
        Line("queues that are polled while empty", "7.2 million", 7.2 * prices["sqs_million_requests"]),
    ]


def _observed(prices: Mapping[str, Any], secrets: int, alarms: int) -> float:
    return float(secrets * prices["secret"] + alarms * prices["alarm"] + prices["dashboard"])


def turn_lines(prices: Mapping[str, Any], turns: int, aurora_unit_hours: float) -> list[Line]:
    """Return what so many turns a month cost beside the fixed lines; `aurora_unit_hours` beyond those."""
    millions = turns / 1e6
    gb = turns / 1e6  # of one KB a turn
    return [
        Line("Lambda: the stream that a browser follows", "11.5 GB-seconds", turns * 11.5 * prices["lambda_gb_second"]),
        Line("Lambda: the turn, most of which waits", "10.5 GB-seconds", turns * 10.5 * prices["lambda_gb_second"]),
        Line("Lambda: API, embedder, memory", "0.75 GB-seconds*", turns * 0.75 * prices["lambda_gb_second"]),
        Line(
            "requests of Lambda, API Gateway and WAF",
            "6, 3 and 3*",
            millions
            * (
                6 * prices["lambda_million_requests"]
                + 3 * prices["api_million_requests"]
                + 3 * prices["waf_million_requests"]
            ),
        ),
        Line("requests of SQS", "15*", millions * 15 * prices["sqs_million_requests"]),
        Line("Aurora: capacity", "81 ms of a processor*", aurora_unit_hours * prices["aurora_unit_hour"]),
        Line("Aurora: I/O", "30 of 4 KB*", millions * 30 * prices["aurora_million_ios"]),
        Line("Aurora: storage of the month", "32 KB", 32 * gb * prices["aurora_gb_month"]),
        Line(
            "data to the model and to browsers",
            "100 KB* and 5 KB",
            gb * (100 * (prices["data_out_gb"] + prices["nat_gb"]) + 5 * prices["data_out_gb"]),
        ),
        Line("logs", "5 KB*", 5 * gb * prices["log_gb"]),
    ]


def fixed_rows() -> list[dict[str, report.Cell]]:
    """Return the table of a stack without traffic."""
    idle, steady = (fixed_lines(read_prices(), database) for database in ("idle", "steady"))
    rows: list[dict[str, report.Cell]] = [
        {
            "a month without traffic": f"{line.name} ({line.quantity})" if line.quantity else line.name,
            "`DATABASE=idle`": _dollars(line.dollars),
            "`DATABASE=steady`": _dollars(awake.dollars),
        }
        for line, awake in zip(idle, steady, strict=True)
    ]
    idle_sum, steady_sum = (_dollars(sum(line.dollars for line in lines)) for lines in (idle, steady))
    rows.append(
        {
            "a month without traffic": "**about**",
            "`DATABASE=idle`": f"**{idle_sum}**",
            "`DATABASE=steady`": f"**{steady_sum}**",
        }
    )
    return rows


#: Turns a month, the database, stacks, and capacity-unit hours beyond the fixed half unit: awake for 200 hours in idle;
#: otherwise 0.54 units for each turn a second, four times as many at the peak as on average (bench/capacity.py).
_LOADS = (
    (10_000, "idle", 1, 100.0),
    (1_000_000, "steady", 1, 730.0),
    (50_000_000, "steady", 10, 10 * 730 * 4.0),
)


def load_rows() -> list[dict[str, report.Cell]]:
    """Return the table of a month with so many turns."""
    prices = read_prices()
    rows: list[dict[str, report.Cell]] = []
    for turns, database, stacks, unit_hours in _LOADS:
        fixed = stacks * sum(line.dollars for line in fixed_lines(prices, database))
        lines = turn_lines(prices, turns, unit_hours)
        variable = sum(line.dollars for line in lines)
        rows.append(
            {
                "turns a month": f"{turns:,}",
                "stacks": f"{stacks}, {database}",
                "fixed": _dollars(fixed),
                "turns": _dollars(variable),
                "per 1,000 turns": f"${1000 * (fixed + variable) / turns:.2f}",
            }
        )
    return rows


def million_rows() -> list[dict[str, report.Cell]]:
    """Return the lines of a million turns a month."""
    lines = turn_lines(read_prices(), 1_000_000, 730.0)
    return [
        {"a million turns": line.name, "a turn": line.quantity, "a month": _dollars(line.dollars)} for line in lines
    ]


def _dollars(amount: float) -> str:
    return "$0" if amount == 0 else f"${amount:,.0f}" if amount >= 1 else f"${amount:.2f}"


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/concepts/costs.md")
    options = parser.parse_args()
    tables = {"fixed": fixed_rows(), "million": million_rows(), "loads": load_rows()}
    for title, rows in tables.items():
        if options.markdown:
            print(report.to_markdown(rows), end="\n\n")
        else:
            report.show(title, rows)
    report.write(options.json, tables)


if __name__ == "__main__":
    main()
