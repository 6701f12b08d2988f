"""A conversation about a record begins with its Pulse, without the Pulse's own numbers, and with what came since."""

import re
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.principal import RESTRICTED
from parlour.prompts.ledger.source_status import WITHHELD_PLACEHOLDER
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import writing_job
from parlour.records import crud, staleness
from parlour.records.record import RecordPatch
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.conversations.test_record_conversations import about, ask, system
from tests.integration.day_pulse_reading import make_pulse_dependencies
from tests.integration.prompts.test_source_status import read, viewer


def record(conversation: ConversationHarness, key: str) -> UUID:
    ((found,),) = conversation.query(f"SELECT id FROM entities WHERE key = '{key}'")
    assert isinstance(found, UUID)
    return found


def write(conversation: ConversationHarness, key: str = "NRS") -> None:
    """Its Pulses, quoted from what there is: no model is configured."""
    entity_id = record(conversation, key)
    with conversation.database.transaction(conversation.admin) as tx:
        staleness.request_refresh(tx, entity_id, conversation.clock())
    writing_job.run_pulse_job(
        make_pulse_dependencies(conversation), PulseJob(conversation.tenant_id, entity_id), lambda: 600.0
    )


def change(conversation: ConversationHarness, key: str, **properties: str) -> None:
    entity_id = record(conversation, key)
    with conversation.database.transaction(conversation.admin) as tx:
        crud.update_record(
            conversation.admin, tx, entity_id, RecordPatch(properties={**properties}), None, conversation.clock()
        )


def test_it_begins_with_the_pulse_and_its_sources_by_name(conversation: ConversationHarness) -> None:
    write(conversation)
    ask(conversation, "project/NRS")
    briefing = "\n".join(system(conversation))
    pulse = briefing.split("# Pulse: what is going on with it")[1].split("\n# ")[0]
    assert "As of " in pulse
    assert "Riverside School extension" in pulse
    assert not re.search(r"\[\d+\]", pulse)
    assert "# Changed since the Pulse" not in briefing


def test_what_came_since_stands_beside_it(conversation: ConversationHarness) -> None:
    write(conversation)
    conversation.clock.now += timedelta(minutes=1)
    change(conversation, "NRS", forecast_completion="2026-09-25")
    ask(conversation, "project/NRS")
    since = "\n".join(system(conversation)).split("# Changed since the Pulse")[1].split("\n# ")[0]
    assert "Since then: 1 change of it (completion as forecast: 2026-09-25 (was 2026-09-11))." in since


def test_a_pulse_written_from_something_that_was_closed_is_not_begun_with(conversation: ConversationHarness) -> None:
    write(conversation)
    conversation.query(f"UPDATE entities SET classification = {RESTRICTED} WHERE key = 'M1' RETURNING id")
    ask(conversation, "project/NRS")
    assert "# Pulse" not in "\n".join(system(conversation))


def test_a_record_of_a_kind_without_pulses_asks_nothing_more(conversation: ConversationHarness) -> None:
    ask(conversation, "task/T-121")
    asked = conversation.database.statements.by_name
    assert not [name for name in asked if name.startswith("reading.")]


def test_a_turn_that_begins_with_it_is_a_look_at_it(conversation: ConversationHarness) -> None:
    write(conversation)
    ask(conversation, "project/NRS")
    ((reads,),) = conversation.query("SELECT sum(reads)::int FROM pulse_days")
    assert reads == 1


@pytest.mark.parametrize("deleted", ["", "milestone/M1"])
def test_it_is_read_when_the_briefing_is_rendered_and_not_on_every_turn(
    conversation: ConversationHarness, deleted: str
) -> None:
    """Also when something that it tells of was deleted, and it was not written anew yet."""
    write(conversation)
    if deleted:
        with conversation.database.transaction(conversation.admin) as tx:
            crud.delete_record(conversation.admin, tx, deleted, None, conversation.clock())
    visitor, session = about(conversation, "project/NRS")
    looked = []
    for text in ("Where do we stand?", "And the crane?"):
        conversation.clock.now += timedelta(seconds=30)
        conversation.database.statements.by_name.clear()
        conversation.send_web(visitor, session, text)
        conversation.model.script = [text_answer("Nowhere yet.")]
        conversation.run_turn()
        assert "# Pulse" in "\n".join(system(conversation))
        looked.append(conversation.database.statements.by_name.get("reading.find_pulse_view", 0))
    assert looked == [1, 0]


def test_an_old_prompt_tells_nobody_a_pulse_of_what_was_closed_since(conversation: ConversationHarness) -> None:
    write(conversation)
    ask(conversation, "project/NRS")
    ((turn,),) = conversation.query("SELECT id FROM turns ORDER BY frozen_at DESC LIMIT 1")
    assert isinstance(turn, UUID)
    modest = viewer(conversation, clearance=2)
    assert "As of " in read(conversation, turn, modest, "briefing")
    conversation.query(f"UPDATE entities SET classification = {RESTRICTED} WHERE key = 'M1' RETURNING id")
    shown = read(conversation, turn, modest, "briefing")
    assert "As of " not in shown
    assert WITHHELD_PLACEHOLDER in shown
    assert "As of " in read(conversation, turn, layer="briefing")
