"""What one stack holds, from the caps that `make deploy SIZE=` sets: arithmetic, nothing runs.

    python -m bench.capacity [--markdown] [--json FILE]

Each cap is divided by what one conversation that is being answered takes of it: a turn of ten seconds. The smallest
quotient is the first bottleneck. docs/concepts/scale.md has the tables; the figures that they rest on are below.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bench import report
from layers.preflight import SIZES

#: Seconds of a streamed turn of two steps, and of the function that streams it (docs/concepts/costs.md).
TURN_SECONDS = 10.0
_ORCHESTRATOR_SECONDS, _STREAM_SECONDS = 10.5, 11.5

#: Milliseconds of the database's processor in a turn: writing transactions and looks as `bench.growth` counts them, at
#: 3 and 0.1 ms, and one search (docs/decisions/0034). Estimates until they are measured on Aurora.
_DATABASE_MS = 15.7 * 3 + (102 - 15.7) * 0.1 + 25

#: Aurora gives a capacity unit about a quarter of a processor (an estimate), and 60 % of it is used at most.
_PROCESSORS_PER_UNIT, _MAX_UTILISATION = 0.25, 0.6

#: Connections: the turn, the renewal of its lease, its stream with a look under way.
_CONNECTIONS = 3.5
_CONNECTIONS_PER_UNIT, _MAX_CONNECTIONS = 200, 5_000

#: A conversation's memory is extracted for every fourth turn and takes 8 seconds (an estimate).
_EXTRACTION_SECONDS_PER_TURN = 8 / 4


@dataclass(frozen=True, slots=True)
class Limit:
    """A cap of a stack, and how many conversations can be answered at once under it."""

    name: str
    conversations: float


def list_limits(size: Mapping[str, int]) -> list[Limit]:
    """Return the limits of a stack with these parameters, the smallest first."""
    units = size["DatabaseCapacity"]
    processor_seconds = units * _PROCESSORS_PER_UNIT * _MAX_UTILISATION
    limits = [
        Limit("turns per queue", size["TurnConcurrency"]),
        Limit("turns in all", size["OrchestratorConcurrency"] * TURN_SECONDS / _ORCHESTRATOR_SECONDS),
        Limit("streams", size["StreamConcurrency"] * TURN_SECONDS / _STREAM_SECONDS),
        Limit("database capacity", processor_seconds * TURN_SECONDS / (_DATABASE_MS / 1000)),
        Limit("database connections", min(units * _CONNECTIONS_PER_UNIT, _MAX_CONNECTIONS) / _CONNECTIONS),
        Limit("one tenant", size["MaxTenantTurns"]),
        Limit("memory keeps up", size["BackgroundConcurrency"] * TURN_SECONDS / _EXTRACTION_SECONDS_PER_TURN),
    ]
    return sorted(limits, key=lambda limit: limit.conversations)


def capacity_rows() -> list[dict[str, report.Cell]]:
    """Return a row for each limit, with the conversations that each size holds under it."""
    by_size = {name: {limit.name: limit.conversations for limit in list_limits(size)} for name, size in SIZES.items()}
    first, *_ = by_size.values()
    return [
        {"limit": limit, **{name: round(limits[limit]) for name, limits in by_size.items()}} for limit in sorted(first)
    ]


def demand_rows() -> list[dict[str, report.Cell]]:
    """Return what conversations that are answered at once take of a stack."""
    return [
        {
            "conversations at once": conversations,
            "turns a second": conversations / TURN_SECONDS,
            "million turns a month": round(conversations / TURN_SECONDS * 86_400 * 30.4 / 1e6, 1),
            "capacity units": round(
                conversations / TURN_SECONDS * _DATABASE_MS / 1000 / (_PROCESSORS_PER_UNIT * _MAX_UTILISATION), 1
            ),
            "connections": round(conversations * _CONNECTIONS),
            "executions": round(conversations * (_ORCHESTRATOR_SECONDS + _STREAM_SECONDS) / TURN_SECONDS),
        }
        for conversations in (10, 100, 300, 1_000)
    ]


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/concepts/scale.md")
    options = parser.parse_args()
    if options.markdown:
        print(report.to_markdown(capacity_rows()), report.to_markdown(demand_rows()), sep="\n\n")
    else:
        report.show("Conversations that a stack answers at once, by limit", capacity_rows())
        report.show("What conversations take", demand_rows())
    report.write(options.json, {"capacity": capacity_rows(), "demand": demand_rows()})


if __name__ == "__main__":
    main()
