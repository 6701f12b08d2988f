"""A message is forgotten: every column of every row that was made of it loses its words, and the report names each row;
what repeats it is found wherever it stands alone."""

import json
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from parlour.channels.envelope import Media
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from tests.conversation_harness import ConversationHarness, search_call, text_answer, tool_call
from tests.inbound_media import PNG_BYTES, InboundMedia
from tests.integration.erasure.erasure_fixture import ErasureFixture, unreported_rows
from tests.integration.files.upload_harness import UploadHarness
from tests.integration.web_conversation import WebConversation

BIRD = "CANARY-61X"


def of_turn(conversation: ConversationHarness, message: UUID) -> UUID:
    ((turn,),) = conversation.query(f"SELECT turn_id FROM messages WHERE id = '{message}'")
    return UUID(str(turn))


def on_whatsapp(erasure_fixture: ErasureFixture) -> UUID:
    """A picture with a caption; a search, and a reply that cites what was found and was not sent yet."""
    desk, post = erasure_fixture.desk, InboundMedia(erasure_fixture.desk, erasure_fixture.bucket)
    desk.send_whatsapp("Good morning.", "before")
    desk.model.script = [text_answer("Good morning.")]
    desk.run_turn()
    erasure_fixture.embed()
    desk.clock.now += timedelta(seconds=20)
    media = Media("image", "https://filemanager.gupshup.io/1")
    desk.send_whatsapp(f"My crate is {erasure_fixture.canary('a caption')}.", "photo", kind="media", media=media)
    ((found,),) = desk.query("SELECT id FROM messages WHERE provider_message_id = 'gupshup:photo'")
    message = UUID(str(found))
    post.fetch_and_store(message, PNG_BYTES + erasure_fixture.canary("a picture").encode())
    query = search_call(f"which risks are open {erasure_fixture.canary('a query')}")
    desk.model.script = [query, text_answer(f"They are open [1] [2] [3]. {erasure_fixture.canary('a reply')}")]
    desk.run_turn()
    return message


def remembered(erasure_fixture: ErasureFixture, message: UUID) -> None:
    """What memory made of it, what it will make, and what a stranger knows by it."""
    bird, turn = erasure_fixture.canary, of_turn(erasure_fixture.desk, message)
    beside = f"JOIN turns t ON t.session_id = s.id AND t.id = '{turn}'"
    insert, new = partial(erasure_fixture.plant_row, beside), erasure_fixture.new_id
    said, at = f"ARRAY['{message}'::uuid]", "now()"
    erasure_fixture.plant_memory(beside, said, at)
    insert(
        "context_rows",
        id=new(),
        kind="'summary_anchor'",
        title="'anchor'",
        content=f"'{bird('an anchor')}'",
        content_hash="''",
        session_id="s.id",
        created_at="t.frozen_at",
    )
    insert(
        "summaries", session_id="s.id", version="1", until_turn="t.number", text=f"'{bird('a summary')}'", created_at=at
    )
    insert(
        "summary_key_details",
        id=new(),
        session_id="s.id",
        message_id=f"'{message}'::uuid",
        first_turn="1",
        last_turn="t.number",
        kind="'identifier'",
        value=f"'{bird('kept')}'",
        text=f"'{bird('kept words')}'",
        from_agent="false",
        missing_from_summary="true",
        created_at=at,
    )
    insert("agent_states", session_id="s.id", state=f"'{json.dumps({'notes': [bird('state')]})}'::jsonb", updated_at=at)


def left_behind(erasure_fixture: ErasureFixture, message: UUID) -> None:
    """What a turn leaves in columns that nobody thinks of."""
    desk, bird, turn = erasure_fixture.desk, erasure_fixture.canary, of_turn(erasure_fixture.desk, message)
    name, called = json.dumps({"file": bird("metadata")}), json.dumps({"tools": [bird("what was called")]})
    desk.query(f"UPDATE messages SET metadata = '{name}' WHERE id = '{message}' RETURNING 1")
    desk.query(
        f"UPDATE turns SET tool_messages = '{called}', problem = '{bird('a turn')}' WHERE id = '{turn}' RETURNING 1"
    )
    interim = json.dumps({"so far": bird("an interim answer")})
    desk.query(
        f"UPDATE tool_calls SET interim = '{interim}', code = '{bird('a code')}' WHERE turn_id = '{turn}' RETURNING 1"
    )
    desk.query(f"UPDATE citations SET title = '{bird('a citation')}' WHERE number = 1 RETURNING 1")
    desk.query(
        "INSERT INTO attachments (tenant_id, id, session_id, message_id, kind, name, body, created_at)"
        f" SELECT tenant_id, '{uuid7(desk.clock())}', session_id, id, 'text', '{bird('an attachment')}',"
        f" '{bird('an attached text')}', now() FROM messages WHERE id = '{message}' RETURNING 1"
    )
    desk.query(
        "INSERT INTO events (tenant_id, session_id, number, turn_id, kind, payload, at) SELECT tenant_id, session_id,"
        f" 7001, id, 'text_delta', '{json.dumps({'text': bird('an event')})}', now() FROM turns WHERE id = '{turn}'"
        " RETURNING 1"
    )
    erasure_fixture.letters["intake"].bodies = [
        {
            "channel": "whatsapp",
            "to": "gupshup:ParlourDemo",
            "provider_message_id": "gupshup:photo",
            "text": bird("a dead letter"),
        },
        {"channel": "whatsapp", "to": "gupshup:ParlourDemo", "provider_message_id": "gupshup:other", "text": "stays"},
    ]
    erasure_fixture.letters["turns-web"].bodies = [{"message_id": str(message)}]


def test_nothing_of_it_is_left_in_any_column_and_each_row_is_told(erasure_fixture: ErasureFixture) -> None:
    desk = erasure_fixture.desk
    message = on_whatsapp(erasure_fixture)
    remembered(erasure_fixture, message)
    left_behind(erasure_fixture, message)
    erasure_fixture.embed()
    seen = erasure_fixture.canaries_by_table()
    assert set().union(*seen.values()) == set(erasure_fixture.planted)
    before = erasure_fixture.rows()
    told = erasure_fixture.forget("message", message)
    assert erasure_fixture.canaries_by_table() == {}
    assert unreported_rows(before, erasure_fixture.rows(), told) == []
    assert told["dead_letters"] == {"intake": 1, "turns-web": 1}
    assert erasure_fixture.bucket.objects == {}
    assert desk.query("SELECT state, problem FROM outbox ORDER BY created_at") == [
        ("pending", None),
        ("failed", "erased"),
    ]
    assert desk.query("SELECT body FROM messages ORDER BY position LIMIT 2") == [("Good morning.",), ("Good morning.",)]
    assert desk.query("SELECT indexed, media FROM messages WHERE body = ''") == [(True, None)] * 2


PLACES = {
    "a reply": "UPDATE messages SET body = '{0}' WHERE turn_id = '{1}' AND direction = 'outbound' RETURNING 1",
    "a reply's row": "INSERT INTO context_rows (tenant_id, id, kind, title, content, content_hash, session_id,"
    " message_id, created_at) SELECT tenant_id, '{2}', 'chat_message', '', '{0}', '', session_id, id, now()"
    " FROM messages WHERE turn_id = '{1}' AND direction = 'outbound' RETURNING 1",
    "a step": "UPDATE steps SET blocks = '[{{\"text\": \"{0}\"}}]' WHERE turn_id = '{1}' RETURNING 1",
    "arguments": "UPDATE tool_calls SET arguments = '{{\"query\": \"{0}\"}}' WHERE turn_id = '{1}' RETURNING 1",
    "a result": "UPDATE tool_calls SET result = '{{\"text\": \"{0}\"}}' WHERE turn_id = '{1}' RETURNING 1",
    "an interim answer": "UPDATE tool_calls SET interim = '{{\"text\": \"{0}\"}}' WHERE turn_id = '{1}' RETURNING 1",
    "an event": "INSERT INTO events (tenant_id, session_id, number, turn_id, kind, payload, at) SELECT tenant_id,"
    " session_id, 7001, id, 'text_delta', '{{\"text\": \"{0}\"}}', now() FROM turns WHERE id = '{1}' RETURNING 1",
}


@pytest.mark.parametrize("place", PLACES)
def test_what_repeats_it_is_found_where_it_stands_alone(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation, place: str
) -> None:
    desk = erasure_fixture.desk
    told = web_conversation.say(f"My account is {BIRD}, please.", text_answer("Noted."))
    later = web_conversation.say("Which risks are open?", search_call("which risks are open"), text_answer("Some are."))
    desk.query(PLACES[place].format(f"It is {BIRD}.", of_turn(desk, later), uuid7(desk.clock())))
    erasure_fixture.forget("message", told)
    assert erasure_fixture.canaries_by_table() == {}


@pytest.mark.parametrize("kind", ["text_delta", "reasoning_delta"])
def test_what_repeats_it_in_pieces_of_a_stream_is_found(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation, kind: str
) -> None:
    desk = erasure_fixture.desk
    told = web_conversation.say(f"My account is {BIRD}, please.", text_answer("Noted."))
    later = web_conversation.say("Which risks are open?", text_answer("Some are."))
    for number, piece in enumerate((f"It is {BIRD[:5]}", f"{BIRD[5:]}."), start=7001):
        payload = json.dumps({"text": piece, "block": 1})
        desk.query(
            "INSERT INTO events (tenant_id, session_id, number, turn_id, kind, payload, at) SELECT tenant_id,"
            f" session_id, {number}, id, '{kind}', '{payload}', now() FROM turns"
            f" WHERE id = '{of_turn(desk, later)}' RETURNING 1"
        )
    erasure_fixture.forget("message", told)
    assert desk.query("SELECT number FROM events WHERE number > 7000") == []


FROM_A_FILE = {
    "a citation of it": "INSERT INTO citations (tenant_id, message_id, number, title, file_id) SELECT tenant_id, id, 9,"
    " '', '{0}' FROM messages WHERE turn_id = '{2}' AND direction = 'outbound' RETURNING 1",
    "a citation of its row": "INSERT INTO citations (tenant_id, message_id, number, title, row_id) SELECT tenant_id,"
    " id, 9, '', '{1}' FROM messages WHERE turn_id = '{2}' AND direction = 'outbound' RETURNING 1",
    "an attachment": "INSERT INTO attachments (tenant_id, id, session_id, message_id, kind, name, file_id, created_at)"
    " SELECT tenant_id, '{3}', session_id, id, 'other', '', '{0}', now() FROM messages WHERE turn_id = '{2}'"
    " AND direction = 'inbound' RETURNING 1",
}


@pytest.mark.parametrize("how", FROM_A_FILE)
def test_who_drew_from_a_file_is_found_by_any_one_trace(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation, how: str
) -> None:
    desk = erasure_fixture.desk
    files = UploadHarness(desk.database, desk.admin, desk.clock, bucket=erasure_fixture.room.files)
    file = files.upload("gate.md", b"# Gate\n\nThe gate opens at night.", "project/NRS")
    files.run_ingestion()
    ((row,),) = desk.query(f"SELECT id FROM context_rows WHERE file_id = '{file.id}' LIMIT 1")
    drew = web_conversation.say("How does the gate open?", text_answer(f"With {BIRD}."))
    desk.query(FROM_A_FILE[how].format(file.id, row, of_turn(desk, drew), uuid7(desk.clock())))
    erasure_fixture.forget("file", file.id)
    assert erasure_fixture.canaries_by_table() == {}
    assert desk.query("SELECT 1 FROM attachments") == []


FROM_A_RECORD = {
    "a citation of it": "INSERT INTO citations (tenant_id, message_id, number, title, entity_id) SELECT tenant_id, id,"
    " 9, '', '{0}' FROM messages WHERE turn_id = '{1}' AND direction = 'outbound' RETURNING 1",
    "a citation of its row": "INSERT INTO citations (tenant_id, message_id, number, title, row_id) SELECT m.tenant_id,"
    " m.id, 9, '', r.id FROM messages m, context_rows r WHERE m.turn_id = '{1}' AND m.direction = 'outbound'"
    " AND r.entity_id = '{0}' AND r.kind = 'snapshot' LIMIT 1 RETURNING 1",
    "arguments": "UPDATE tool_calls SET arguments = '{{\"entities\": [\"{2}\"]}}' WHERE turn_id = '{1}' RETURNING 1",
    "a result": "UPDATE tool_calls SET result = '{{\"of\": \"{2}\"}}' WHERE turn_id = '{1}' RETURNING 1",
}


@pytest.mark.parametrize("is_archived", [False, True])
@pytest.mark.parametrize("how", FROM_A_RECORD)
def test_who_drew_from_a_record_is_found_by_any_one_trace(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation, how: str, is_archived: bool
) -> None:
    desk, other = erasure_fixture.desk, WebConversation(erasure_fixture.desk)
    risk: JsonObject = {"severity": "high", "state": "open", "owner": BIRD}
    made = tool_call("create_entity", kind="risk", name="Gate", project="project/NRS", properties=risk)
    told = web_conversation.say("Note it, please.", made, text_answer("Done."))
    erasure_fixture.embed()
    ((record, key),) = desk.query("SELECT id, key FROM entities WHERE name = 'Gate'")
    drew = other.say("Who owns the gate?", search_call("weather"), text_answer(f"It is {BIRD}."))
    turn = of_turn(desk, drew)
    if is_archived:
        erasure_fixture.embed()
        desk.query(f"UPDATE messages SET body = '' WHERE turn_id = '{turn}' AND direction = 'outbound' RETURNING 1")
    desk.query(FROM_A_RECORD[how].format(record, turn, f"risk/{key}"))
    erasure_fixture.forget("message", told)
    assert erasure_fixture.canaries_by_table() == {}


KINDS = ("extraction", "summary", "consolidation", "pulse", "archive")


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_is_at_any_work_that_reads_it_begins_anew(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation, kind: str
) -> None:
    desk = erasure_fixture.desk
    change = tool_call("update_entity", entity="risk/R-03", properties={"response": f"Ask {BIRD}"})
    told = web_conversation.say("Change it, please.", change, text_answer("Done."))
    ((record,),) = desk.query("SELECT id FROM entities WHERE key = 'R-03'")
    one = {"pulse": record, "archive": desk.tenant_id}.get(kind, web_conversation.session)
    desk.query(
        "INSERT INTO work_due (tenant_id, kind, id, due_at, leased_until) VALUES"
        f" (current_tenant(), '{kind}', '{one}', now(), now() + interval '1 hour')"
        " ON CONFLICT (tenant_id, kind, id) DO UPDATE SET leased_until = EXCLUDED.leased_until RETURNING 1"
    )
    erasure_fixture.forget("message", told)
    ((held, due),) = desk.query(f"SELECT leased_until, due_at FROM work_due WHERE kind = '{kind}' AND id = '{one}'")
    assert held is None
    assert kind != "archive" or due >= desk.clock.now + timedelta(minutes=9)  # type: ignore[operator]
