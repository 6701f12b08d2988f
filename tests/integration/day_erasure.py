"""The part of the working day in which things are forgotten: a message, a file, a fact and at last a person; what is
there of somebody who stays is only looked at. And one conversation falls silent, and messages grow old."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from parlour.erasure import execution
from parlour.files.file import File
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.jobs import work_due
from parlour.jobs.dead_letters import DiscardResult
from parlour.memory.archive import archive_job
from parlour.memory.extraction import consolidation_job
from parlour.memory.memory_job import MemoryJob
from parlour.pulse.pulse import PulseJob as PulseOrder
from parlour.pulse.writing import writing_job
from parlour.records import staleness
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call
from tests.inbound_media import InboundMedia
from tests.integration.day_packs import rename_risk_by_pack
from tests.integration.day_pulse_reading import make_pulse_dependencies as pulse_services
from tests.integration.erasure.erasure_fixture import ErasureHarness, FakeDeadLetters
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.memory.silent_conversation import SilentConversation, make_memory_dependencies
from tests.integration.web_conversation import WebConversation


@dataclass(frozen=True, slots=True)
class TracedConversation:
    """A conversation with everything that hangs on it."""

    talk: WebConversation
    first: UUID
    acted: UUID
    fact: UUID
    file: File


@dataclass
class InterruptingDeadLetters(FakeDeadLetters):
    """While these are looked through, somebody says something."""

    talk: WebConversation = field(kw_only=True)

    def discard(self, is_about: Callable[[JsonObject], bool], most: int, /) -> DiscardResult:
        self.talk.say("And one more thing.", text_answer("Yes?"))
        return super().discard(is_about, most)


def erase_people(conversation: ConversationHarness) -> None:
    """Looked at of one person, done of another."""
    room = ErasureHarness(conversation)
    stays, goes = _lived(conversation, room, "stays"), _lived(conversation, room, "goes")
    rename_risk_by_pack(conversation)
    _forget(room, stays, dry_run=True)
    room.forget("message", stays.talk.say("Never mind."))
    room.letters["intake"] = InterruptingDeadLetters(talk=goes.talk)
    conversation.query(
        "UPDATE work_due SET leased_until = now() + interval '1 hour'"
        f" WHERE kind = 'extraction' AND id = '{goes.talk.session}' RETURNING 1"
    )
    _forget(room, goes)
    with conversation.database.transaction(conversation.admin) as tx:
        found = execution.list_erasures(conversation.admin, tx).rows
        assert execution.get_report(conversation.admin, tx, found[0].id)["kind"] == "user"


def _forget(room: ErasureHarness, one: TracedConversation, *, dry_run: bool = False) -> None:
    """Part by part, and at last the person."""
    for message in (one.first, one.acted):
        room.forget("message", message, dry_run=dry_run)
    room.forget("file", one.file.id, dry_run=dry_run)
    room.forget("fact", one.fact, dry_run=dry_run)
    room.forget("user", one.talk.user, dry_run=dry_run)


def age_conversations(conversation: ConversationHarness) -> None:
    """A long conversation falls silent; later its messages are old, and those of another that nobody gets to."""
    talk = SilentConversation(conversation, consolidation_job.MIN_TURNS + 1)
    said = talk.say("I live in Pune.")
    talk.add_episode("They live in Pune.", said)
    ErasureHarness(conversation).forget("fact", talk.add_fact("Pune", said, key="preference.town"))
    with conversation.database.transaction(conversation.tenant_id) as tx:
        consolidation_job.schedule_consolidation(tx, talk.session)
    talk.fall_silent()
    episode = {"text": "They told that they live in Pune.", "messages": [22]}
    conversation.query("UPDATE tenants SET daily_cap_usd = 0 RETURNING 1")
    talk.run_consolidation("{}")
    conversation.query("UPDATE tenants SET daily_cap_usd = NULL RETURNING 1")
    talk.fall_silent()
    talk.run_consolidation(json.dumps({"facts": [], "episodes": [episode]}))
    talk.fall_silent(-50)
    others = [SilentConversation(conversation, archive_job.MIN_KEPT_TURNS + 1) for _ in range(2)]
    room = ErasureHarness(conversation)
    conversation.query("UPDATE messages SET indexed = true WHERE body LIKE 'Line %' RETURNING 1")
    conversation.clock.now += archive_job.ARCHIVE_AGE + timedelta(days=1)
    with conversation.database.transaction(conversation.tenant_id) as tx:
        work_due.schedule(tx, "archive", conversation.tenant_id, conversation.clock())
    order = MemoryJob(conversation.tenant_id, "archive", conversation.tenant_id)
    archive_job.run_archive(make_memory_dependencies(conversation), room.bucket, order, lambda: 1.0)
    assert len(others) > len(room.bucket.objects)
    conversation.clock.now -= archive_job.ARCHIVE_AGE + timedelta(days=1)


def _lived(conversation: ConversationHarness, room: ErasureHarness, name: str) -> TracedConversation:
    talk = WebConversation(conversation)
    files = UploadHarness(conversation.database, conversation.admin, conversation.clock, bucket=room.files)
    file = files.upload(f"{name}.md", f"# The {name} gate\n\nThe {name} gate opens at night.".encode(), "project/NRS")
    files.run_ingestion()
    code = f"{name.upper()}-4711"  # what stays says nothing in the very words of what goes
    line = f"My gate code is {code}, near Pune."
    first = talk.say(line, text_answer(f"You said: {line}"))
    risk: JsonObject = {"severity": "high", "state": "open", "owner": "Asha"}
    made = tool_call("create_entity", kind="risk", name=f"Gate {name}", project="project/NRS", properties=risk)
    acted = talk.say("Note the gate as a risk, would you?", made, text_answer("Done."))
    change = tool_call("update_entity", entity="risk/R-05", properties={"response": f"Ask {name} first."})
    talk.say("And ask me before R-05.", change, text_answer("Done."))
    talk.say(
        "How does it open?",
        search_call(f"when does the {name} gate open at night"),
        text_answer("At night [1] [2] [3]."),
    )
    again = talk.say(f"{code} it is, and Pune.", text_answer("Yes."))
    post = InboundMedia(conversation, room.bucket)
    post.send_web(
        talk.visitor, talk.session, "See this.", post.upload_file(talk.visitor, talk.session, b"# A note", "note.md")
    )
    conversation.model.script = [text_answer("Seen.")]
    post.run_turn()
    fact = _remembered(talk, code, first, again)
    _kept_away(conversation, room, talk, first, acted)
    _told_to_others(conversation, name)
    _read_by_others(talk, name, code)
    return TracedConversation(talk, first, acted, fact, file)


def _remembered(talk: WebConversation, code: str, first: UUID, again: UUID) -> UUID:
    """What memory made of it; the fact that may be forgotten by itself."""
    desk = talk.desk
    old = talk.add_fact(code, again, superseded_by=talk.add_fact(f"{code}, near Pune", first))
    assert old
    talk.add_fact("Pune", first, again, key="preference.town")
    talk.add_fact("the gate", first, key=f"preference.x{talk.user.hex[-6:]}", scope="team")
    talk.add_episode("They have a gate.", first)
    talk.add_context_row("summary_anchor", "They have a gate.")
    talk.add_summary("They have a gate.", 3, 1)
    desk.query(
        "INSERT INTO session_memory_state (tenant_id, session_id, anchor_count, anchored_message_count) VALUES"
        f" (current_tenant(), '{talk.session}', 2, 100) ON CONFLICT (tenant_id, session_id) DO UPDATE SET"
        " anchor_count = 2"
        " RETURNING 1"
    )
    return talk.add_fact("Asha", again, key="name")


def _kept_away(
    conversation: ConversationHarness, room: ErasureHarness, talk: WebConversation, first: UUID, acted: UUID
) -> None:
    """Two archives: of a message alone, and of one beside another."""
    for name, messages in (("one", [first]), ("two", [acted, uuid7(conversation.clock())])):
        key = f"tenant/{conversation.tenant_id}/archive/{talk.session}/{name}.jsonl"
        room.bucket.objects[key] = b"".join(json.dumps({"id": str(one)}).encode() + b"\n" for one in messages)
        talk.add_archive(key, messages[0])


def _read_by_others(talk: WebConversation, name: str, code: str) -> None:
    """Somebody else reads the record that was made; a code was sent to them, and a title says what was said."""
    desk, other = talk.desk, WebConversation(talk.desk)
    ((key,),) = desk.query(f"SELECT key FROM entities WHERE name = 'Gate {name}'")
    for call, reply in (("c8", "It is noted."), ("c9", f"It is called Gate {name}.")):
        other.say("And mine?", tool_call("get_entity", call, entities=[f"risk/{key}"]), text_answer(reply))
    other.add_summary(f"They asked after Gate {name}.", 1, 1)
    title = f"My gate code is {code}, near Pune."
    desk.query(f"UPDATE sessions SET title = '{title}' WHERE id = '{talk.session}' RETURNING 1")
    desk.query(
        "INSERT INTO phone_links (tenant_id, id, user_id, binding_id, message_id, phone, code_hash, consented_at,"
        f" expires_at, created_at) SELECT m.tenant_id, '{uuid7(desk.clock())}', '{talk.user}', m.binding_id, m.id,"
        " '+910000000000', '', now(), now(), now() FROM messages m WHERE m.direction = 'outbound'"
        f" AND m.session_id = '{other.session}' ORDER BY m.position LIMIT 1 RETURNING 1"
    )


def _told_to_others(conversation: ConversationHarness, name: str) -> None:
    """A Pulse is written from the record that was made, and somebody else's briefing tells of it."""
    ((project,),) = conversation.query("SELECT id FROM entities WHERE key = 'NRS'")
    with conversation.database.transaction(conversation.admin) as tx:
        staleness.request_refresh(tx, UUID(str(project)), conversation.clock())
    writing_job.run_pulse_job(
        pulse_services(conversation), PulseOrder(conversation.tenant_id, UUID(str(project))), lambda: 600.0
    )
    other = WebConversation(conversation)
    conversation.query(f"UPDATE sessions SET entity_id = '{project}' WHERE id = '{other.session}' RETURNING 1")
    other.say(f"What of the {name} gate?", text_answer("It is noted."))
