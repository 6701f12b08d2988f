"""The part of the working day in which something is remembered: a fact and an episode are told and counted, and an
agent's notes are written by a tool and by a summariser."""

from parlour.infra.jsonable import JsonObject
from parlour.memory.recalling import recall
from parlour.memory.state import states
from tests.desk import Desk, calls, says, searches
from tests.integration.memory.planted import another, episode, fact

_RISK: JsonObject = {"severity": "high", "state": "open", "owner": "Joanna Pryce"}
_ASKED = "Is the crane permit there? Note the water in the cellar as a risk."


def remembered(desk: Desk) -> None:
    """A visitor comes back."""
    visitor = desk.visit()
    session = desk.session_of(visitor)
    fact(desk, session, "permit", "KX-4471")
    episode(desk, another(desk, session), "They asked for the crane permit.")
    desk.write_web(visitor, session, _ASKED)
    note = calls("create_entity", kind="risk", name="Water in the cellar", properties=_RISK)
    desk.model.script = [searches("crane permit"), note, says("KX-4471 [1].")]
    desk.run()
    ((record,),) = desk.rows("SELECT key FROM entities WHERE name = 'Water in the cellar'")
    item: JsonObject = {"kind": "task", "title": "Pump it out", "relatedEntityIds": [f"risk/{record}"]}
    desk.rows(
        "INSERT INTO summaries (tenant_id, session_id, version, until_turn, text, created_at)"
        f" VALUES (current_tenant(), '{session}', 1, 1, 'So far.', now()) RETURNING 1"
    )
    with desk.database.transaction(desk.tenant_id) as tx:
        applied = states.reconcile(tx, session, 1, [{"op": "add", "item": item}], {}, desk.clock())
        assert applied.taken == 1
        assert recall.notes(tx, session, desk.clock())
