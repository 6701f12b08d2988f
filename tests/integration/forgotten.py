"""The part of the working day in which things are forgotten: a message, a file, a fact and at last a person; what is
there of somebody who stays is only looked at. And one conversation falls silent, and messages grow old."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from parlour.forgetting import erase
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.jobs import work_due
from parlour.jobs.dead_letters import Discarded
from parlour.knowledge.files.file import File
from parlour.knowledge.records import stale
from parlour.memory.archiving import archive
from parlour.memory.consolidating import due
from parlour.memory.order import Order
from parlour.pulse.pulse import Order as PulseOrder
from parlour.pulse.writing import writer
from tests.desk import Desk, calls, says, searches
from tests.integration.forgetting.aviary import Letters, Room
from tests.integration.knowledge.file_desk import FileDesk
from tests.integration.memory.silent import Silent, services
from tests.integration.pulses_read import services as pulse_services
from tests.integration.talking import Talk
from tests.post import Post


@dataclass(frozen=True, slots=True)
class Lived:
    """A conversation with everything that hangs on it."""

    talk: Talk
    first: UUID
    acted: UUID
    fact: UUID
    file: File


@dataclass
class Interrupting(Letters):
    """While these are looked through, somebody says something."""

    talk: Talk = field(kw_only=True)

    def discard(self, is_about: Callable[[JsonObject], bool], most: int, /) -> Discarded:
        self.talk.say("And one more thing.", says("Yes?"))
        return super().discard(is_about, most)


def forgotten(desk: Desk) -> None:
    """Looked at of one person, done of another."""
    room = Room(desk)
    stays, goes = _lived(desk, room, "stays"), _lived(desk, room, "goes")
    _forget(room, stays, dry_run=True)
    room.forget("message", stays.talk.say("Never mind."))
    room.letters["intake"] = Interrupting(talk=goes.talk)
    desk.rows(
        "UPDATE work_due SET held_until = now() + interval '1 hour'"
        f" WHERE kind = 'memory' AND id = '{goes.talk.session}' RETURNING 1"
    )
    _forget(room, goes)
    with desk.database.transaction(desk.admin) as tx:
        found = erase.reports(desk.admin, tx)
        assert erase.one_report(desk.admin, tx, found[0].id)["kind"] == "user"


def _forget(room: Room, one: Lived, *, dry_run: bool = False) -> None:
    """Part by part, and at last the person."""
    for message in (one.first, one.acted):
        room.forget("message", message, dry_run=dry_run)
    room.forget("file", one.file.id, dry_run=dry_run)
    room.forget("fact", one.fact, dry_run=dry_run)
    room.forget("user", one.talk.user, dry_run=dry_run)


def grown_old(desk: Desk) -> None:
    """A long conversation falls silent; later its messages are old, and those of another that nobody gets to."""
    talk = Silent(desk, due.TURNS + 1)
    said = talk.say("I live in Pune.")
    talk.episode("They live in Pune.", said)
    Room(desk).forget("fact", talk.fact("Pune", said, key="preference.town"))
    with desk.database.transaction(desk.tenant_id) as tx:
        due.note(tx, talk.session)
    talk.fall_silent()
    episode = {"text": "They told that they live in Pune.", "messages": [22]}
    desk.rows("UPDATE tenants SET daily_cap_usd = 0 RETURNING 1")
    talk.consolidate("{}")
    desk.rows("UPDATE tenants SET daily_cap_usd = NULL RETURNING 1")
    talk.fall_silent()
    talk.consolidate(json.dumps({"facts": [], "episodes": [episode]}))
    talk.fall_silent(-50)
    others = [Silent(desk, archive.KEPT_TURNS + 1) for _ in range(2)]
    room = Room(desk)
    desk.rows("UPDATE messages SET indexed = true WHERE body LIKE 'Line %' RETURNING 1")
    desk.clock.now += archive.AFTER + timedelta(days=1)
    with desk.database.transaction(desk.tenant_id) as tx:
        work_due.schedule(tx, "archive", desk.tenant_id, desk.clock())
    order = Order(desk.tenant_id, "archive", desk.tenant_id)
    archive.run(services(desk), room.bucket, order, lambda: 1.0)
    assert len(others) > len(room.bucket.kept)
    desk.clock.now -= archive.AFTER + timedelta(days=1)


def _lived(desk: Desk, room: Room, name: str) -> Lived:
    talk = Talk(desk)
    files = FileDesk(desk.database, desk.admin, desk.clock, bucket=room.files)
    file = files.upload(f"{name}.md", f"# The {name} gate\n\nThe {name} gate opens at night.".encode(), "project/NRS")
    files.work()
    code = f"{name.upper()}-4711"  # what stays says nothing in the very words of what goes
    line = f"My gate code is {code}, near Pune."
    first = talk.say(line, says(f"You said: {line}"))
    risk: JsonObject = {"severity": "high", "state": "open", "owner": "Asha"}
    made = calls("create_entity", kind="risk", name=f"Gate {name}", project="project/NRS", properties=risk)
    acted = talk.say("Note the gate as a risk, would you?", made, says("Done."))
    change = calls("update_entity", entity="risk/R-05", properties={"response": f"Ask {name} first."})
    talk.say("And ask me before R-05.", change, says("Done."))
    talk.say("How does it open?", searches(f"when does the {name} gate open at night"), says("At night [1] [2] [3]."))
    again = talk.say(f"{code} it is, and Pune.", says("Yes."))
    post = Post(desk, room.bucket)
    post.say(talk.visitor, talk.session, "See this.", post.upload(talk.visitor, talk.session, b"# A note", "note.md"))
    desk.model.script = [says("Seen.")]
    post.run()
    fact = _remembered(talk, code, first, again)
    _kept_away(desk, room, talk, first, acted)
    _told_to_others(desk, name)
    _read_by_others(talk, name, code)
    return Lived(talk, first, acted, fact, file)


def _remembered(talk: Talk, code: str, first: UUID, again: UUID) -> UUID:
    """What memory made of it; the fact that may be forgotten by itself."""
    desk = talk.desk
    old = talk.fact(code, again, superseded_by=talk.fact(f"{code}, near Pune", first))
    assert old
    talk.fact("Pune", first, again, key="preference.town")
    talk.fact("the gate", first, key=f"preference.x{talk.user.hex[-6:]}", scope="team")
    talk.episode("They have a gate.", first)
    talk.row("summary_anchor", "They have a gate.")
    talk.summary("They have a gate.", 3, 1)
    desk.rows(
        "INSERT INTO extractions (tenant_id, session_id, anchors, anchored) VALUES"
        f" (current_tenant(), '{talk.session}', 2, 100) ON CONFLICT (tenant_id, session_id) DO UPDATE SET anchors = 2"
        " RETURNING 1"
    )
    return talk.fact("Asha", again, key="name")


def _kept_away(desk: Desk, room: Room, talk: Talk, first: UUID, acted: UUID) -> None:
    """Two archives: of a message alone, and of one beside another."""
    for name, messages in (("one", [first]), ("two", [acted, uuid7(desk.clock())])):
        key = f"tenant/{desk.tenant_id}/archive/{talk.session}/{name}.jsonl"
        room.bucket.kept[key] = b"".join(json.dumps({"id": str(one)}).encode() + b"\n" for one in messages)
        talk.archive(key, messages[0])


def _read_by_others(talk: Talk, name: str, code: str) -> None:
    """Somebody else reads the record that was made; a code was sent to them, and a title says what was said."""
    desk, other = talk.desk, Talk(talk.desk)
    ((key,),) = desk.rows(f"SELECT key FROM entities WHERE name = 'Gate {name}'")
    for call, reply in (("c8", "It is noted."), ("c9", f"It is called Gate {name}.")):
        other.say("And mine?", calls("get_entity", call, entities=[f"risk/{key}"]), says(reply))
    other.summary(f"They asked after Gate {name}.", 1, 1)
    title = f"My gate code is {code}, near Pune."
    desk.rows(f"UPDATE sessions SET title = '{title}' WHERE id = '{talk.session}' RETURNING 1")
    desk.rows(
        "INSERT INTO phone_links (tenant_id, id, user_id, binding_id, message_id, phone, code_hash, consented_at,"
        f" expires_at, created_at) SELECT m.tenant_id, '{uuid7(desk.clock())}', '{talk.user}', m.binding_id, m.id,"
        " '+910000000000', '', now(), now(), now() FROM messages m WHERE m.direction = 'outbound'"
        f" AND m.session_id = '{other.session}' ORDER BY m.position LIMIT 1 RETURNING 1"
    )


def _told_to_others(desk: Desk, name: str) -> None:
    """A Pulse is written from the record that was made, and somebody else's briefing tells of it."""
    ((project,),) = desk.rows("SELECT id FROM entities WHERE key = 'NRS'")
    with desk.database.transaction(desk.admin) as tx:
        stale.ask(tx, UUID(str(project)), desk.clock())
    writer.run(pulse_services(desk), PulseOrder(desk.tenant_id, UUID(str(project))), lambda: 600.0)
    other = Talk(desk)
    desk.rows(f"UPDATE sessions SET entity_id = '{project}' WHERE id = '{other.session}' RETURNING 1")
    other.say(f"What of the {name} gate?", says("It is noted."))
