"""The part of the working day in which prompts stand on earlier ones, are looked into, and are let go of in the end."""

from datetime import timedelta

from parlour.knowledge.search.recall import recall
from parlour.turns.prompts import retention, store
from parlour.turns.prompts.explain import explain
from tests.desk import Desk, says


def prompts_kept(desk: Desk) -> None:
    """Two turns about a project; the second stands on the first, an operator looks into it, what was said long ago is
    found, and last year's go."""
    visitor = desk.visit()
    session = desk.session_of(visitor)
    about = "(SELECT id FROM entities WHERE key = 'NRS')"
    desk.rows(f"UPDATE sessions SET entity_id = {about} WHERE id = '{session}' RETURNING id")
    for question in ("Where do we stand?", "And the crane?"):
        desk.write_web(visitor, session, question)
        desk.model.script = [says("Two weeks late.")]
        desk.run()
    ((turn,),) = desk.rows(f"SELECT id FROM turns WHERE session_id = '{session}' AND number = 2")
    with desk.database.transaction(desk.admin) as tx:
        assert explain(desk.admin, tx, turn)["steps"]  # type: ignore[arg-type]
        store.learn_factor(tx, "anthropic/claude-sonnet-5-5", "latin", 1.2)
    ((long_talk, said),) = desk.rows(
        "SELECT session_id, content FROM context_rows WHERE session_id IS NOT NULL AND content ~ 'crack' LIMIT 1"
    )
    with desk.database.transaction(desk.admin) as tx:
        assert recall(desk.admin, tx, long_talk, query=str(said), vector=None, since=99)  # type: ignore[arg-type]
    ((oldest, words),) = desk.rows("SELECT min(turn_id::text), min(hash) FROM ledgers, ledger_blobs")
    desk.rows(f"UPDATE ledgers SET month = '2025-11-01' WHERE turn_id = '{oldest}' RETURNING 1")
    desk.rows(
        "INSERT INTO ledger_blobs (tenant_id, month, hash, words)"
        f" SELECT tenant_id, '2025-11-01', hash, words FROM ledger_blobs WHERE hash = '{words}' RETURNING 1"
    )
    with desk.database.transaction(desk.admin) as tx:
        retention.drop(tx, desk.clock() - timedelta(days=30))
        assert retention.next_over(tx)
