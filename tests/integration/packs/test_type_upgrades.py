"""Everybody's kinds of record follow what a newer Parlour says; a kind that a pack says itself stays as it is."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import pytest

from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.principal import Principal
from parlour.records import backfill, crud, type_registry
from parlour.records.built_in_types import BUILT_IN_TYPES
from parlour.records.crud import Record, RecordInput, RecordPatch
from parlour.records.record_type import RecordType
from tests.integration.packs.conftest import ApplyFunction
from tests.unit.packs.sample_pack import SMALL_PACK

GAP = "- key: F-1\n  name: Gap\n  properties: {kind: safety, severity: high}\n"
OWN = "display_name: Finding of ours\nproperties:\n  kind: {type: text}\n  severity: {type: text}\n"

_VERSIONS = """
SELECT jsonb_agg(jsonb_build_array(v.version, v.created_by, v.config->>'display_name') ORDER BY v.version)
  FROM config_versions v
  JOIN entity_types t ON t.id = v.config_id
 WHERE t.key = 'finding'
"""
_DUE = "SELECT count(*) FROM work_due WHERE tenant_id = current_tenant() AND kind = 'record_type'"
_SAYS = "SELECT string_agg(content, '|') FROM context_rows WHERE kind = 'snapshot' AND strpos(title, 'Gap') > 0"


class Desk:
    """Somebody who writes findings."""

    def __init__(self, database: Database, principal: Principal, now: datetime) -> None:
        self.database, self.principal, self.now = database, principal, now

    def ask(self, sql: str) -> object:
        with self.database.transaction(self.principal) as tx:
            return tx.value(Query("test.ask", "-", sql))

    def kind(self) -> RecordType:
        with self.database.transaction(self.principal) as tx:
            return type_registry.get_record_type(tx, "finding")

    def create(self, name: str, properties: JsonObject) -> Record:
        with self.database.transaction(self.principal) as tx:
            new = RecordInput("finding", name, properties=properties)
            return crud.create_record(self.principal, tx, new, self.now)


@pytest.fixture
def desk(apply_pack: ApplyFunction, database: Database, operator: Principal, now: datetime) -> Desk:
    apply_pack(SMALL_PACK)
    return Desk(database, operator, now)


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Puts the next Parlour in force: it calls a finding otherwise, and knows a root cause of it."""
    old = BUILT_IN_TYPES["finding"]
    told = replace(old, display_name="Observation", properties={**old.properties, "root": {"type": "text"}})
    return lambda: monkeypatch.setitem(BUILT_IN_TYPES, "finding", told)


def with_findings(**files: str) -> Mapping[str, str]:
    return {
        **SMALL_PACK,
        "entities/finding.yaml": GAP,
        **{f"{name}/finding.yaml": text for name, text in files.items()},
    }


def test_a_kind_in_use_follows_a_newer_parlour(desk: Desk, newer: Callable[[], None]) -> None:
    first = desk.create("Gap in the rail", {"severity": "high"})
    newer()
    assert (desk.kind().display_name, desk.kind().version, desk.kind().is_outdated) == ("Observation", 1, True)
    desk.create("Slab", {"root": "haste"})
    assert (desk.kind().version, desk.kind().is_outdated) == (2, False)
    assert desk.ask(_VERSIONS) == [[1, "system", "Finding"], [2, "system", "Observation"]]
    type_id = desk.kind().id
    assert isinstance(type_id, UUID)
    assert desk.ask(_DUE) == 1
    tenant_id = desk.principal.tenant_id
    assert backfill.run_backfill(desk.database, tenant_id, type_id, desk.now, lambda: 60.0)
    assert "Observation" in str(desk.ask(_SAYS))
    with desk.database.transaction(desk.principal) as tx:
        patch = RecordPatch(properties={"root": "age"})
        assert crud.update_record(desk.principal, tx, first.id, patch, None, desk.now).type_name == "Observation"
    assert desk.kind().version == 2


def test_a_change_that_tells_nothing_else_describes_no_record_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.create("Gap", {})
    monkeypatch.setitem(
        BUILT_IN_TYPES,
        "finding",
        replace(BUILT_IN_TYPES["finding"], rag={**BUILT_IN_TYPES["finding"].rag, "icon": "eye"}),
    )
    desk.create("Slab", {})
    assert (desk.kind().version, desk.kind().settings.icon, desk.ask(_DUE)) == (2, "eye", 0)


def test_a_kind_that_a_pack_says_itself_is_never_touched(
    desk: Desk, apply_pack: ApplyFunction, newer: Callable[[], None]
) -> None:
    apply_pack(with_findings(entity_types=OWN))
    newer()
    desk.create("Slab", {"severity": "grave"})
    with pytest.raises(InvalidRequest, match="root"):
        desk.create("Crack", {"root": "haste"})
    again = apply_pack(with_findings())
    assert not again.counts["entity_type"].changed
    assert desk.ask(_VERSIONS) == [[1, desk.principal.name, "Finding of ours"]]


def test_a_kind_that_a_pack_only_has_records_of_is_parlours(
    desk: Desk, apply_pack: ApplyFunction, newer: Callable[[], None]
) -> None:
    apply_pack(with_findings())
    assert desk.ask(_VERSIONS) == [[1, "system", "Finding"]]
    newer()
    assert apply_pack(with_findings()).counts["entity_type"].changed == 1
    assert desk.ask(_VERSIONS) == [[1, "system", "Finding"], [2, "system", "Observation"]]
    assert not apply_pack(with_findings()).has_changes
    apply_pack(with_findings(entity_types=OWN))
    assert not desk.kind().is_built_in
