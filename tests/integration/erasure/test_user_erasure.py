"""A user with canaries planted everywhere is forgotten: none is left in any table, object or queue, nor in the next
prompt of anybody; whoever is not that user loses nothing."""

import json
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from parlour.channels.envelope import Media
from parlour.conversations import inbox_messages
from parlour.inbox import threads
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import writing_job
from parlour.records import staleness
from parlour.tenancy import rate_limits
from parlour.tenancy.limits import DEFAULT_LIMITS, stream_limits
from tests.conversation_harness import PHONE, ConversationHarness, search_call, text_answer, tool_call
from tests.inbound_media import PNG_BYTES, InboundMedia
from tests.integration.conversations.test_record_conversations import about
from tests.integration.day_pulse_reading import make_pulse_dependencies as pulse_services
from tests.integration.erasure.erasure_fixture import ErasureFixture, unreported_rows
from tests.integration.erasure.erasure_fixture import tables as all_of

OTHER = "+919800000002"

SAYS_NOTHING_OF_PEOPLE = frozenset(
    {
        # The tenant's own, and what nobody but its operators writes.
        "agents",
        "api_keys",
        "approval_grants",
        "audit_log",
        "bindings",
        "config_versions",
        "entity_types",
        "humans",
        "members",
        "rate_limits",
        "reembeddings",
        "routing_claims",
        "routing_keys",
        "schema_migrations",
        "secrets",
        "teams",
        "tenants",
        "token_factors",
        "tools",
        # Files are operators'; what people send are attachments.
        "files",
        # Ids, hashes, numbers, times, words of our own and of providers.
        "archived_messages",
        "channel_identities",
        "edges",
        "embeddings",
        "erasures",
        "llm_calls",
        "chatwoot_addresses",
        "chatwoot_conversations",
        "notifications",
        "open_streams",
        "outbox_parts",
        "pack_applies",
        "pack_items",
        "pending_delivery_updates",
        "pulse_ledgers",
        "pulse_marks",
        "pulse_states",
        "spend_addresses",
        "spend_reservations",
    }
)
"""Tables with texts, none of which is what people said. A table that is neither among these nor has a canary fails."""


NAMES_WHO_WENT = frozenset({"audit_log", "entities", "erasures"})
"""Tables in which the id of whoever was forgotten stays, and leads nowhere: as who changed what others have, too."""


def say(conversation: ConversationHarness, text: str, *script: list[Any], sender: str = PHONE) -> None:
    """A message on WhatsApp, and its turn."""
    conversation.clock.now += timedelta(seconds=20)
    conversation.send_whatsapp(text, f"m{conversation.clock.now.timestamp()}", sender=sender)
    conversation.model.script = [*script]
    conversation.run_turn()


def user_of(conversation: ConversationHarness, phone: str = PHONE) -> UUID:
    ((found,),) = conversation.query(f"SELECT id FROM users WHERE phone = '{phone}'")
    return UUID(str(found))


def session_of(conversation: ConversationHarness, user: UUID) -> UUID:
    ((found,),) = conversation.query(f"SELECT id FROM sessions WHERE user_id = '{user}' ORDER BY created_at LIMIT 1")
    return UUID(str(found))


def talk(erasure_fixture: ErasureFixture) -> UUID:
    """What somebody says, sends and has done in a conversation, with everything that turns leave behind."""
    desk, bird = erasure_fixture.desk, erasure_fixture.canary
    for number in range(12):
        say(desk, f"Line {number}: {bird('messages')} is mine.", text_answer(f"Noted, {bird('replies')}."))
    risk: JsonObject = {"severity": "high", "state": "open", "owner": bird("a property")}
    made = tool_call(
        "create_entity", kind="risk", name=f"Crate {bird('a name')}", project="project/NRS", properties=risk
    )
    say(desk, "Please note a risk.", made, text_answer("Done."))
    response: JsonObject = {"response": f"Call {bird('a property of somebody elses record')} first."}
    say(
        desk,
        "Change the risk.",
        tool_call("update_entity", "c2", entity="risk/R-03", properties=response),
        text_answer("Done."),
    )
    minutes = tool_call(
        "create_entity",
        "c4",
        kind="document",
        name=f"Note {bird('a document')}",
        project="project/NRS",
        text=f"# Note\n\nThe crate {bird('a text')} is mine.",
    )
    say(desk, "And write it up.", minutes, text_answer("Done."))
    erasure_fixture.embed()
    cites = "".join(f" [{number}]" for number in range(1, 9))
    say(
        desk,
        "Is it there?",
        search_call(f"where is my crate {bird('a query')}", "c3"),
        text_answer(f"{bird('a reply')}{cites}."),
    )
    return user_of(desk)


def send(erasure_fixture: ErasureFixture) -> None:
    """What they send along: a picture over WhatsApp, and what nobody has sent yet."""
    desk, bird = erasure_fixture.desk, erasure_fixture.canary
    post = InboundMedia(desk, erasure_fixture.bucket)
    desk.clock.now += timedelta(seconds=20)
    desk.send_whatsapp(
        bird("a caption"), "photo", kind="media", media=Media("image", "https://filemanager.gupshup.io/1")
    )
    ((message,),) = desk.query("SELECT id FROM messages WHERE provider_message_id = 'gupshup:photo'")
    post.fetch_and_store(UUID(str(message)), PNG_BYTES + bird("a picture").encode())
    desk.model.script = [text_answer("A fine picture.")]
    desk.run_turn()


def on_the_web(erasure_fixture: ErasureFixture, user: UUID) -> None:
    """The same person on the web: a visitor of whom it was found out later, with a file."""
    desk, bird = erasure_fixture.desk, erasure_fixture.canary
    visitor = desk.create_visitor()
    session = desk.find_session(visitor)
    post = InboundMedia(desk, erasure_fixture.bucket)
    note = f"# Note\n\nThe crate {bird('an attached text')} stands at the gate."
    named = post.upload_file(visitor, session, note.encode(), f"{bird('a file name')}.md")
    post.upload_file(visitor, session, bird("an upload that was never sent").encode(), "later.md")
    post.send_web(visitor, session, f"See {bird('the web')}.", named)
    desk.model.script = [text_answer(f"Seen {bird('a reply on the web')}.")]
    post.run_turn()
    desk.query(f"UPDATE users SET merged_into = '{user}' WHERE id = '{visitor.id}' RETURNING id")


def remember(erasure_fixture: ErasureFixture, user: UUID) -> None:
    """What memory made of it, as its writers leave it."""
    desk, bird, session = erasure_fixture.desk, erasure_fixture.canary, session_of(erasure_fixture.desk, user)
    (message,) = desk.query(f"SELECT id, turn_id FROM messages WHERE session_id = '{session}' LIMIT 1")
    whose = f"s.user_id = '{user}' AND s.id = '{session}'"

    beside = f"WHERE {whose}"
    insert, new = partial(erasure_fixture.plant_row, beside), erasure_fixture.new_id
    said, at = f"ARRAY['{message[0]}'::uuid]", "s.created_at"
    fact = {"confidence": "0.9", "origin": "'stated'", "valid_from": at, "last_confirmed_at": at, "created_at": at}
    own = {"user_id": "s.user_id", "binding_id": "s.binding_id"}
    erasure_fixture.plant_memory(beside, said, at)
    insert(
        "facts",
        id=new(),
        scope="'user'",
        **own,
        key="'city'",
        value=f"'{bird('an old fact')}'",
        message_ids=said,
        valid_until=at,
        end_reason="'contradicted'",
        **fact,
    )
    insert("summaries", session_id="s.id", version="1", until_turn="3", text=f"'{bird('a summary')}'", created_at=at)
    insert(
        "summary_key_details",
        id=new(),
        session_id="s.id",
        message_id=f"'{message[0]}'::uuid",
        first_turn="1",
        last_turn="1",
        kind="'identifier'",
        value=f"'{bird('kept')}'",
        text=f"'{bird('kept words')}'",
        from_agent="false",
        missing_from_summary="true",
        created_at=at,
    )
    insert(
        "context_rows",
        id=new(),
        kind="'summary_anchor'",
        title="'anchor'",
        content=f"'{bird('an anchor')}'",
        content_hash="''",
        session_id="s.id",
        created_at=at,
    )
    insert("session_memory_state", session_id="s.id")
    insert("work_due", kind="'consolidation'", id="s.id", due_at=at, problem=f"'{bird('a problem')}'")
    failed = f"UPDATE work_due SET problem = '{bird('a problem of the extractor')}' WHERE kind = 'extraction'"
    desk.query(f"{failed} AND id = '{session}' RETURNING 1")
    state = json.dumps({"notes": [bird("state")]})
    desk.query(f"UPDATE agent_states SET state = state || '{state}' WHERE session_id = '{session}' RETURNING 1")
    insert(
        "phone_links",
        id=new(),
        user_id="s.user_id",
        binding_id="s.binding_id",
        phone=f"'{bird('a number')}'",
        code_hash="''",
        consented_at=at,
        expires_at=at,
        created_at=at,
    )
    key = f"tenant/{desk.tenant_id}/archive/{session}/one.jsonl"
    erasure_fixture.bucket.objects[key] = json.dumps({"id": "x", "body": bird("an archive")}).encode()
    insert(
        "archived_messages",
        id=new(),
        session_id="s.id",
        object_key=f"'{key}'",
        first_position="1",
        last_position="1",
        from_at=at,
        until_at=at,
        message_count="1",
        size_bytes="1",
        sha256="''",
        created_at=at,
    )


def elsewhere(erasure_fixture: ErasureFixture, user: UUID) -> None:
    """Where nobody thinks of it: what is written about conversations, and what was never stored."""
    desk, bird, session = erasure_fixture.desk, erasure_fixture.canary, session_of(erasure_fixture.desk, user)
    desk.query(f"UPDATE sessions SET title = '{bird('a session')}' WHERE id = '{session}' RETURNING 1")
    desk.query(f"UPDATE users SET display_name = '{bird('a user')}' WHERE id = '{user}' RETURNING 1")
    desk.query(f"UPDATE outbox SET problem = '{bird('a send')}' WHERE session_id = '{session}' RETURNING 1")
    desk.query(f"UPDATE turns SET problem = '{bird('a turn')}' WHERE session_id = '{session}' RETURNING 1")
    desk.query(
        "INSERT INTO pulse_questions (tenant_id, id, entity_id, question, asked_by, level, asked_at)"
        f" SELECT tenant_id, '{uuid7(desk.clock())}', id, '{bird('a question')}', 'user:{user}', 1, now()"
        " FROM entities WHERE key = 'R-05' RETURNING id"
    )
    handed_over(erasure_fixture, session)
    in_the_inbox(erasure_fixture, session)
    desk.query(
        "INSERT INTO approvals (tenant_id, id, session_id, binding_id, user_id, tool_call_id, approver, tool,"
        " arguments, question, options, channel, bound, bound_hash, state, created_at, posted_at, expires_at)"
        f" SELECT s.tenant_id, '{uuid7(desk.clock())}', s.id, s.binding_id, s.user_id, c.id, 'user', 'page', '{{}}',"
        f" '{bird('an approval')}', '{{}}', 'web', '{{}}', '', 'asked', now(), now(), now()"
        " FROM sessions s JOIN turns t ON t.session_id = s.id JOIN tool_calls c ON c.turn_id = t.id"
        f" WHERE s.id = '{session}' LIMIT 1 RETURNING 1"
    )
    told_to_others(erasure_fixture)
    dead: dict[str, Json] = {"channel": "whatsapp", "to": "gupshup:ParlourDemo", "provider_message_id": "dead"}
    erasure_fixture.letters["intake"].bodies = [
        {**dead, "sender": PHONE, "text": bird("a dead letter")},
        {**dead, "sender": OTHER, "text": "mine stays"},
    ]
    erasure_fixture.letters["turns-web"].bodies = [{"tenant_id": str(desk.tenant_id), "session_id": str(session)}]


def handed_over(erasure_fixture: ErasureFixture, session: UUID) -> None:
    """What one desk told the next."""
    bird = erasure_fixture.canary
    erasure_fixture.plant_row(
        f"WHERE s.id = '{session}'",
        "handoffs",
        id=erasure_fixture.new_id(),
        session_id="s.id",
        from_binding_id="b.id",
        to_binding_id="b.id",
        idempotency_key="'once'",
        brief=f"'{bird('a brief')}'",
        at="now()",
    )


def in_the_inbox(erasure_fixture: ErasureFixture, session: UUID) -> None:
    """Why a person was asked, and what they noted."""
    desk, bird, admin = erasure_fixture.desk, erasure_fixture.canary, erasure_fixture.desk.admin
    with desk.database.transaction(admin) as tx:
        inbox_messages.open_thread(admin, tx, session, "member", bird("why a person was asked"), desk.clock())
        threads.add_note(admin, tx, session, bird("a private note"), desk.clock())
        inbox_messages.hand_back(admin, tx, session, bird("an instruction"), desk.clock())


def told_to_others(erasure_fixture: ErasureFixture) -> None:
    """What somebody who stays asked of records, and earlier texts: from a record that goes, from what was written into
    another, and a question about one that goes."""
    desk, bird = erasure_fixture.desk, erasure_fixture.canary
    ((crate,),) = desk.query("SELECT id FROM entities WHERE name LIKE 'Crate CANARY-%'")
    ((changed, said),) = desk.query("SELECT id, properties ->> 'response' FROM entities WHERE key = 'R-03'")
    asked = "(tenant_id, id, entity_id, question, asked_by, level, asked_at, source_ids, markdown)"
    for told_of, answer in (
        (f"entities/{crate}", bird("an answer to somebody else")),
        (f"entities/{changed}", f"{said} That is {bird('an answer about a changed record')}."),
        ("entities/none", "The slab is late."),
    ):
        desk.query(
            f"INSERT INTO pulse_questions {asked} SELECT tenant_id, '{uuid7(desk.clock())}', id, 'What else?',"
            f" 'member:other', 1, now(), ARRAY['{told_of}'], '{answer}' FROM entities WHERE key = 'R-05' RETURNING 1"
        )
    desk.query(
        f"INSERT INTO pulse_questions {asked} SELECT tenant_id, '{uuid7(desk.clock())}', id,"
        f" '{bird('a question about what goes')}', 'member:other', 1, now(), '{{}}', '' FROM entities"
        f" WHERE id = '{crate}' RETURNING 1"
    )
    for version, told_of, text in (
        (1, f"entities/{crate}", bird("an earlier text")),
        (2, f"entities/{changed}", f"{said} That is {bird('an earlier text about a changed record')}."),
        (3, "entities/none", "The slab is late."),
    ):
        desk.query(
            "INSERT INTO pulse_versions (tenant_id, entity_id, level, version, markdown, statements, citations,"
            f" source_ids, fingerprint, model, generated_at) SELECT tenant_id, id, 1, {version}, '{text}', '[]', '[]',"
            f" ARRAY['{told_of}'], '', '', now() FROM entities WHERE key = 'R-05' RETURNING 1"
        )

    replaced = f'{{"properties.response": "{bird("what an apply replaced")}"}}'
    apply_id = uuid7(desk.clock())
    desk.query(
        "INSERT INTO pack_applies (tenant_id, id, applied_by, applied_at)"
        f" SELECT tenant_id, '{apply_id}', 'operator', now() FROM entities WHERE key = 'R-03' RETURNING 1"
    )
    desk.query(
        "INSERT INTO pack_changes (tenant_id, id, apply_id, kind, name, record_id, before)"
        f" SELECT tenant_id, '{uuid7(desk.clock())}', id, 'entity', 'risk/R-03', '{changed}', '{replaced}'"
        " FROM pack_applies"
        f" WHERE id = '{apply_id}' RETURNING 1"
    )


def write_pulse(conversation: ConversationHarness, key: str) -> None:
    ((entity,),) = conversation.query(f"SELECT id FROM entities WHERE key = '{key}'")
    with conversation.database.transaction(conversation.admin) as tx:
        staleness.request_refresh(tx, UUID(str(entity)), conversation.clock())
    writing_job.run_pulse_job(
        pulse_services(conversation), PulseJob(conversation.tenant_id, UUID(str(entity))), lambda: 600.0
    )


def whole_words(erasure_fixture: ErasureFixture, words: str) -> set[str]:
    """The tables that say it."""
    return {name for name, text in all_of(erasure_fixture.cluster, erasure_fixture.name).items() if words in text}


def written_again(conversation: ConversationHarness, key: str) -> set[str]:
    """The searchable rows that tell of a record as it is, in whose place others come when it changes."""
    rows = conversation.query(
        "SELECT r.id::text FROM context_rows r JOIN entities e ON e.id = r.entity_id"
        f" WHERE e.key = '{key}' AND r.kind = 'snapshot'"
    )
    return {str(one) for (one,) in rows}


def tables(report: JsonObject) -> set[str]:
    """Which tables a report names."""
    rows = report["rows"]
    assert isinstance(rows, list)
    return {str(row["table"]) for row in rows if isinstance(row, dict)}


class Neighbour:
    """Somebody else, in a conversation about a record of whose Pulse the first one's calls are a part."""

    def __init__(self, conversation: ConversationHarness, handle: str) -> None:
        self.desk = conversation
        self.visitor, self.session = about(conversation, handle)

    def ask(self, text: str) -> str:
        """Their next prompt, whole."""
        self.desk.clock.now += timedelta(seconds=20)
        self.desk.send_web(self.visitor, self.session, text)
        self.desk.model.script = [text_answer("Well then.")]
        self.desk.run_turn()
        request = self.desk.model.requests[-1]
        return canonical_json([*request.system, *request.messages])


def test_fifty_canaries_are_gone_from_every_table_object_and_queue_and_from_the_next_prompt(
    erasure_fixture: ErasureFixture,
) -> None:
    desk = erasure_fixture.desk
    user = talk(erasure_fixture)
    send(erasure_fixture)
    on_the_web(erasure_fixture, user)
    remember(erasure_fixture, user)
    elsewhere(erasure_fixture, user)
    erasure_fixture.embed()
    for key in ("NRS", "R-03"):
        write_pulse(desk, key)
    neighbours = [Neighbour(desk, handle) for handle in ("project/NRS", "risk/R-03")]
    assert "CANARY" in "".join(one.ask("Where do we stand? My crate is WREN-1.") for one in neighbours)
    seen = erasure_fixture.canaries_by_table()
    assert set().union(*seen.values()) == set(erasure_fixture.planted)
    assert len(erasure_fixture.planted) >= 50
    assert {one for one in seen if one.startswith("table ")} == {
        f"table {name}" for name in erasure_fixture.tables_with_texts() - SAYS_NOTHING_OF_PEOPLE
    }
    assert seen.keys() >= {"object media", "queue dead intake"}

    with desk.database.transaction(desk.admin) as tx:
        rate_limits.take(tx, stream_limits(DEFAULT_LIMITS, user), desk.clock())
    dry = erasure_fixture.forget("user", user, dry_run=True)
    assert erasure_fixture.canaries_by_table() == seen
    before, replaced = erasure_fixture.rows(), written_again(desk, "R-03")
    ((due,),) = desk.query(f"SELECT count(*) FROM work_due WHERE id = '{session_of(desk, user)}'")
    assert due
    gone = [str(user), str(session_of(desk, user))]
    told = erasure_fixture.forget("user", user)
    assert erasure_fixture.canaries_by_table() == {}
    assert [
        one for one in unreported_rows(before, erasure_fixture.rows(), told) if one[1].partition("/")[0] not in replaced
    ] == []
    for table in ("pulse_questions", "pulse_versions"):
        stay = "SELECT markdown FROM {} p JOIN entities e ON e.id = p.entity_id WHERE e.key = 'R-05'"
        assert desk.query(stay.format(table)) == [("The slab is late.",)]
    for name in gone:
        assert whole_words(erasure_fixture, name) <= NAMES_WHO_WENT
    assert [
        name for name, words in all_of(erasure_fixture.cluster, erasure_fixture.name).items() if PHONE[1:] in words
    ] == []
    assert tables(told) == tables(dry)
    assert told["dead_letters"] == {"intake": 1, "turns-web": 1}
    assert erasure_fixture.letters["intake"].bodies[0]["text"] == "mine stays"

    for one in neighbours:
        prompt = one.ask("And now?")
        assert "CANARY" not in prompt
        assert "WREN-1" in prompt
    say(desk, "Hello again", text_answer("Hello, who are you?"))
    assert "CANARY" not in canonical_json([*desk.model.requests[-1].system, *desk.model.requests[-1].messages])
    assert user_of(desk) != user
    assert erasure_fixture.canaries_by_table() == {}
