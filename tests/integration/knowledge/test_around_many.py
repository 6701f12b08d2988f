"""What stands around a record that has very much around it."""

from datetime import datetime

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.knowledge.around import around
from tests.desk import Desk, open_desk


def test_of_very_many_files_the_newest_are_told_of(database: Database, now: datetime) -> None:
    desk: Desk = open_desk(database, now)
    ((record, team),) = desk.rows("SELECT e.id, t.id FROM entities e, teams t WHERE e.key = 'T-121' LIMIT 1")
    for number in range(45):
        desk.rows(
            "INSERT INTO context_rows (tenant_id, id, entity_id, kind, title, content, content_hash, created_at) VALUES"
            f" ('{desk.tenant_id}', '{uuid7(now)}', '{record}', 'file_distillation', 'f', 'File {number}', '{number}',"
            f" timestamptz '2026-01-01' + interval '{number} minutes') RETURNING 1"
        )
    with desk.database.transaction(desk.admin) as tx:
        found = around.around(desk.admin, tx, record, team_id=team, is_project=False)  # type: ignore[arg-type]
    told = {one.content for one in found if one.part == "distillation"}
    assert told == {f"File {number}" for number in range(5, 45)}
