"""`make attacks`: every attack against the defences, and the allowed case beside each.

    python -m tests.attacks [--without DEFENCE] [--injections FILE] [--json FILE]

Exit status 0 when no attack gets through and every allowed case works, 1 otherwise. With a defence switched off, the
attacks that it stops have to get through: that is what shows that the suite can fail.
"""

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from bench import report
from local.database import APP_ROLE, OWNER_ROLE, Cluster, open_connection
from local.temporary_database import APP_PASSWORD, temporary_cluster
from parlour.infra import log
from parlour.infra.postgres import Database, connector
from tests.attacks.attacks import ATTACKS, Attack, Trial
from tests.attacks.defences import DEFENCES, run_committed, without
from tests.attacks.injections import OWN_SAMPLE, list_injection_attacks
from tests.conversation_harness import ConversationHarness, TickingClock, open_conversation_harness

_TEMPLATE = "attacks_template"
_NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def main() -> int:
    """Run the suite; the exit status."""
    parser = report.parser(__doc__ or "")
    parser.add_argument("--without", choices=sorted(DEFENCES), default="", help="switch this defence off")
    parser.add_argument(
        "--injections", type=Path, help="JSON [text, ...]: what documents, names and tools are made to say"
    )
    chosen = parser.parse_args()
    attacks = [*ATTACKS, *list_injection_attacks(_read_injections(chosen.injections))]
    logging.disable(logging.CRITICAL)
    with patch.object(log, "count"), temporary_cluster() as cluster:
        desk = _prepare(cluster)
        rows = [_try(cluster, desk, attack, chosen.without) for attack in attacks]
    report.show(f"Attacks{f' without {chosen.without}' if chosen.without else ''}", rows)
    report.write(chosen.json, rows)
    failed = [row for row in rows if row["outcome"] == "got through" or row["allowed case"].endswith("broken")]
    print(f"{len(rows)} attacks, {len(failed)} got through or broke an allowed case")
    return 1 if failed else 0


def _read_injections(file: Path | None) -> Sequence[str]:
    return OWN_SAMPLE if file is None else [str(text) for text in json.loads(file.read_text("utf-8"))]


def _prepare(cluster: Cluster) -> ConversationHarness:
    """The example pack in a template that every attack gets a copy of."""
    cluster.create(_TEMPLATE)
    cluster.migrate(_TEMPLATE, _NOW, APP_PASSWORD)
    with closing(Database(connector(cluster.connection_parameters(_TEMPLATE, APP_ROLE, APP_PASSWORD)))) as database:
        return open_conversation_harness(database, _NOW)


def _try(cluster: Cluster, prepared: ConversationHarness, attack: Attack, switched_off: str) -> dict[str, str]:
    got_through = _run(cluster, prepared, attack.gets_through, switched_off)
    works = _run(cluster, prepared, attack.allowed, switched_off)
    return {
        "attack": attack.name,
        "defence": attack.defence,
        "outcome": "got through" if got_through else "stopped",
        "allowed case": f"{attack.allowed_case}: {'works' if works else 'broken'}",
    }


def _run(cluster: Cluster, prepared: ConversationHarness, trial: Trial, switched_off: str) -> bool:
    with _copy(cluster, prepared) as desk, without(switched_off, desk):
        return trial(desk)


@contextmanager
def _copy(cluster: Cluster, prepared: ConversationHarness) -> Iterator[ConversationHarness]:
    cluster.create("attacked", _TEMPLATE)
    database = Database(connector(cluster.connection_parameters("attacked", APP_ROLE, APP_PASSWORD)))
    try:
        with open_connection(cluster.connection_parameters("attacked", OWNER_ROLE)) as owner:
            yield ConversationHarness(
                prepared.tenant_id,
                database,
                TickingClock(_NOW),
                owner=lambda statement: run_committed(owner, statement),
            )
    finally:
        database.close()
        cluster.drop("attacked")


if __name__ == "__main__":
    sys.exit(main())
