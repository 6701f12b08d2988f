"""The part of the working day in which a goal's Pulses are written: for everybody and for those who see more, once more
to no purpose, and after what was restricted is gone; and a question about it is asked twice."""

from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.pulse.reading import refresh_requests
from parlour.pulse.writing import writing_job
from parlour.pulse.writing.prompt_explanation import explain_prompt
from parlour.records import crud, record_links
from parlour.records.crud import RecordInput
from tests.conversation_harness import ConversationHarness
from tests.integration.day_pulse_reading import make_pulse_dependencies

_GOAL = "goal/dry-cellar"


def write_pulses(conversation: ConversationHarness) -> None:
    """Two plans work toward the goal, one of them restricted; that one goes."""
    admin = conversation.admin
    with conversation.database.transaction(admin) as tx:
        crud.create_record(admin, tx, RecordInput("goal", "A dry cellar", "dry-cellar"), conversation.clock())
        for key, level in (("pumps", 0), ("claim", 3)):
            new = RecordInput("plan", f"The {key}", key, {"state": "active"}, level)
            crud.create_record(admin, tx, new, conversation.clock())
            record_links.link(admin, tx, f"plan/{key}", _GOAL, "supports_goal", conversation.clock())
    _write(conversation)
    _write(conversation)
    assert conversation.query(_LEVELS) == [(0,), (3,)]
    with conversation.database.transaction(admin) as tx:
        crud.delete_record(admin, tx, "plan/claim", None, conversation.clock())
    _write(conversation)
    assert conversation.query(_LEVELS) == [(0,)]
    for _ in range(2):
        _write(conversation, "What is late?")
    with conversation.database.transaction(admin) as tx:
        assert explain_prompt(admin, tx, _GOAL)["is_identical"]


_LEVELS = (
    "SELECT p.level FROM pulses p JOIN entities e ON e.id = p.entity_id WHERE e.key = 'dry-cellar' ORDER BY p.level"
)


def _write(conversation: ConversationHarness, question: str = "") -> UUID:
    """Somebody wants it now."""
    question_id = uuid7(conversation.clock())
    with conversation.database.transaction(conversation.admin) as tx:
        asked = refresh_requests.request_refresh(
            conversation.admin, tx, _GOAL, question, question_id, conversation.clock()
        )
    writing_job.run_pulse_job(make_pulse_dependencies(conversation), asked.job, lambda: 600.0)
    return question_id
