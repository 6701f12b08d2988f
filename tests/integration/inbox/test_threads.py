"""A person in the thread: one person at a time, no turn meanwhile, and one turn once the agent has it back."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from uuid import UUID

import pytest

from parlour.channels.outgoing_message import OutgoingMessage
from parlour.channels.send import Providers, send_reply
from parlour.channels.templates import FilledTemplate, TemplateChoice
from parlour.conversations import canned_replies, inbox_clock, inbox_messages
from parlour.inbox import events, threads
from parlour.inbox.thread import Thread
from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, ParlourError, RequestRejected, ToolRefused
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.jobs.sweep import Finder
from parlour.jobs.work_due import DueWork
from parlour.principal import Principal
from parlour.tools.builtin.ask_a_person import ask_a_person
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer, tool_call
from tests.integration.channels.test_send import Phone

HARNESS_WORDS = '{"words": {"en": ["real person"]}, "service": {"first_response_minutes": 15}}'


def add_member(conversation: ConversationHarness, name: str, *roles: str) -> Principal:
    given = roles or ("viewer", "editor")
    member_id = uuid7(conversation.clock())
    conversation.query(
        "INSERT INTO members (tenant_id, id, issuer, subject, display_name, roles, clearance, created_at) VALUES "
        f"(current_tenant(), '{member_id}', 'https://id.example.org', '{name}', '{name}', "
        f"'{{{','.join(given)}}}', 3, now()) RETURNING id"
    )
    return Principal(conversation.tenant_id, "member", member_id, frozenset(given), 3)


def id_of(person: Principal) -> UUID:
    assert person.id
    return person.id


def session_of(conversation: ConversationHarness) -> UUID:
    ((session_id,),) = conversation.query("SELECT DISTINCT session_id FROM messages")
    assert isinstance(session_id, UUID)
    return session_id


def open_for_person(conversation: ConversationHarness) -> UUID:
    """A conversation on WhatsApp that somebody opened for a person."""
    conversation.send_whatsapp("When does the crane come?", "first")
    conversation.model.script = [text_answer("On Monday.")]
    conversation.run_turn()
    session_id, admin, now = session_of(conversation), conversation.admin, conversation.clock()
    conversation.database.run(
        admin, lambda tx: inbox_messages.open_thread(admin, tx, session_id, "member", "They called.", now)
    )
    return session_id


def take(conversation: ConversationHarness, person: Principal, session_id: UUID) -> Thread:
    now = conversation.clock()
    return conversation.database.run(person, lambda tx: threads.take(person, tx, session_id, now))


def say(
    conversation: ConversationHarness, person: Principal, session_id: UUID, content: str | TemplateChoice, claim: int
) -> UUID:
    now = conversation.clock()
    return conversation.database.run(
        person, lambda tx: inbox_messages.say(person, tx, session_id, content, claim, "", now)
    ).message_id


def set_templates(conversation: ConversationHarness, *templates: JsonObject) -> None:
    given = json.dumps(templates)
    conversation.query(
        f"UPDATE bindings SET channels = jsonb_set(channels, '{{whatsapp,templates}}', '{given}') RETURNING id"
    )


def send_latest(conversation: ConversationHarness) -> list[OutgoingMessage]:
    """Send the newest reply; return what its provider got."""
    ((row,),) = conversation.query("SELECT id FROM outbox ORDER BY created_at DESC, id DESC LIMIT 1")
    assert isinstance(row, UUID)
    provider, now = Phone(), conversation.clock()
    providers: Providers = {"gupshup": provider}
    sent = send_reply(conversation.admin, conversation.database, providers, row, uuid7(now), now, lambda: 60.0)
    assert sent.state == "sent"
    return provider.received


def hand_back(conversation: ConversationHarness, person: Principal, session_id: UUID, instruction: str = "") -> None:
    now = conversation.clock()
    _, wakeup = conversation.database.run(
        person, lambda tx: inbox_messages.hand_back(person, tx, session_id, instruction, now)
    )
    conversation.turns.send([wakeup.message])


def outbound(conversation: ConversationHarness) -> list[object]:
    return [
        body
        for (body,) in conversation.query("SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position")
    ]


def kinds(conversation: ConversationHarness) -> list[str]:
    with conversation.database.transaction(conversation.admin) as tx:
        return [event.kind for event in events.list_events_after(conversation.admin, tx, 0, 200)]


def test_of_fifty_people_who_take_a_conversation_one_gets_it(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    session_id, now = open_for_person(conversation), conversation.clock()
    people = [add_member(conversation, f"person {number}") for number in range(50)]
    connections, start = [open_database() for _ in range(10)], Barrier(10)

    def race(lane: int) -> list[str]:
        start.wait()
        return [name for person in people[lane::10] if (name := taken_by(connections[lane], person))]

    def taken_by(connection: Database, person: Principal) -> str | None:
        try:
            return connection.run(person, lambda tx: threads.take(person, tx, session_id, now)).assignee
        except Conflict:
            return None

    with ThreadPoolExecutor(10) as lanes:
        winners = [name for names in lanes.map(race, range(10)) for name in names]
    assert len(winners) == 1
    assert conversation.query("SELECT state, assignee FROM inbox_threads") == [("person", winners[0])]
    assert kinds(conversation).count("taken") == 1


def test_twenty_messages_while_a_person_holds_the_thread_are_one_turn_after(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    take(conversation, person, session_id)
    for number in range(20):
        conversation.send_whatsapp(f"message {number}", f"held {number}")
        conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM turns WHERE state = 'open'") == [(0,)]
    assert len(conversation.model.requests) == 1
    hand_back(conversation, person, session_id, "Offer them Tuesday.")
    conversation.model.script = [text_answer("Tuesday, then.")]
    conversation.run_turn()
    assert conversation.model.script == []
    ((inputs,),) = conversation.query(
        "SELECT count(*) FROM messages WHERE direction = 'inbound' AND turn_id = "
        "(SELECT id FROM turns ORDER BY number DESC LIMIT 1)"
    )
    assert inputs == 20
    assert "Offer them Tuesday." in str(conversation.model.requests[-1].messages)
    assert conversation.query("SELECT instruction FROM inbox_threads") == [(None,)]


def test_what_a_person_writes_is_sent_once_and_enters_history_with_their_name(
    conversation: ConversationHarness,
) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    conversation.send_whatsapp("Is it blue?", "held")
    claim, now = take(conversation, person, session_id).claim, conversation.clock()
    for _ in range(2):
        conversation.database.run(
            person, lambda tx: inbox_messages.say(person, tx, session_id, "It is red.", claim, "once", now)
        )
    assert outbound(conversation)[-1] == "It is red."
    assert conversation.query("SELECT count(*) FROM outbox") == [(3,)]
    assert conversation.query("SELECT state FROM messages WHERE body = 'Is it blue?'") == [("answered",)]
    hand_back(conversation, person, session_id)
    conversation.run_turn()  # nothing is left to answer
    assert len(conversation.model.requests) == 1
    conversation.send_whatsapp("Thanks! How tall is it?", "after")
    conversation.model.script = [text_answer("Forty metres.")]
    conversation.run_turn()
    prompt = str(conversation.model.requests[-1].messages)
    assert "Asha, a person of the team: It is red." in prompt
    assert "Is it blue?" in prompt
    assert kinds(conversation) == ["opened", "said", "said", "taken", "said", "handed_back"]


def test_a_person_who_lost_the_conversation_writes_nothing_more(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    other, now = add_member(conversation, "Ravi"), conversation.clock()
    claim = take(conversation, person, session_id).claim
    moved = conversation.database.run(person, lambda tx: threads.assign(person, tx, session_id, id_of(other), now))
    with pytest.raises(Conflict, match="Ravi has this conversation"):
        say(conversation, person, session_id, "Late.", claim)
    with pytest.raises(Conflict, match="moved since you read it"):
        say(conversation, other, session_id, "Stale.", claim)
    say(conversation, other, session_id, "Here I am.", moved.claim)
    hand_back(conversation, other, session_id)
    with pytest.raises(Conflict, match="handed back"):
        say(conversation, other, session_id, "Too late.", moved.claim)
    assert outbound(conversation)[-1] == "Here I am."


def test_after_a_day_a_person_is_told_that_whatsapp_takes_no_free_text(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    claim = take(conversation, person, session_id).claim
    set_templates(conversation)
    conversation.clock.now += timedelta(hours=25)
    with pytest.raises(Conflict, match="add a template to the binding"):
        say(conversation, person, session_id, "Hello again.", claim)
    assert "Hello again." not in outbound(conversation)


VISIT = "Hello {{1}}, we come on {{2}}."


def test_after_a_day_a_person_sends_a_template_and_history_has_its_text(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    claim = take(conversation, person, session_id).claim
    set_templates(conversation, {"name": "visit", "id": "v-1", "language": "en", "text": VISIT})
    conversation.clock.now += timedelta(hours=25)
    with pytest.raises(Conflict, match=r"choose a template \(visit\)"):
        say(conversation, person, session_id, "Hello again.", claim)
    say(conversation, person, session_id, TemplateChoice("visit", "en", ["Jon", "Tuesday,\n 9:00"]), claim)
    assert outbound(conversation)[-1] == "Hello Jon, we come on Tuesday, 9:00."
    [sent] = send_latest(conversation)
    assert sent.template == FilledTemplate("v-1", "en", sent.text, [("1", "Jon"), ("2", "Tuesday, 9:00")])
    hand_back(conversation, person, session_id)
    conversation.send_whatsapp("That suits me.", "after")
    conversation.model.script = [text_answer("See you then.")]
    conversation.run_turn()
    prompt = str(conversation.model.requests[-1].messages)
    assert "Asha, a person of the team: Hello Jon, we come on Tuesday, 9:00." in prompt


def test_a_template_is_sent_as_such_once_the_user_has_written(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    claim = take(conversation, person, session_id).claim
    set_templates(conversation, {"name": "visit", "id": "v-1", "language": "en", "text": VISIT})
    say(conversation, person, session_id, TemplateChoice("visit", "en", ["Jon", "Tuesday"]), claim)
    set_templates(conversation)  # what was written before is sent as it was chosen
    [sent] = send_latest(conversation)
    assert sent.template
    assert sent.text == "Hello Jon, we come on Tuesday."


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (TemplateChoice("visit", "hi", ["Jon", "Tuesday"]), r"unknown .* has visit \(en\)"),
        (TemplateChoice("ask", "en", ["Jon"]), r"unknown .* has visit \(en\)"),
        (TemplateChoice("visit", "en", ["Jon"]), r"has 2 placeholders \(\{\{1\}\}, \{\{2\}\}\); 1 values came"),
        (TemplateChoice("visit", "en", ["Jon", " \n"]), r"write a value for \{\{2\}\}"),
        (TemplateChoice("visit", "en", ["Jon", "x" * 1_024]), "shorten"),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused(
    conversation: ConversationHarness, choice: TemplateChoice, words: str
) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    claim = take(conversation, person, session_id).claim
    question: JsonObject = {"name": "ask", "id": "a-1", "language": "en", "purpose": "question", "text": "{{1}}"}
    set_templates(conversation, {"name": "visit", "id": "v-1", "language": "en", "text": VISIT}, question)
    before = outbound(conversation)
    with pytest.raises(InvalidRequest, match=words):
        say(conversation, person, session_id, choice, claim)
    assert outbound(conversation) == before


def test_a_closed_conversation_is_the_agents_from_the_next_message_on(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    take(conversation, person, session_id)
    conversation.send_whatsapp("Never mind.", "held")
    now = conversation.clock()
    conversation.database.run(person, lambda tx: inbox_messages.close(person, tx, session_id, now))
    conversation.run_turn()
    assert len(conversation.model.requests) == 1
    conversation.send_whatsapp("And the hoist?", "after")
    conversation.model.script = [text_answer("On Friday.")]
    conversation.run_turn()
    assert "Never mind." in str(conversation.model.requests[-1].messages)


def test_a_snoozed_conversation_is_back_as_soon_as_the_user_writes(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    taken, now = take(conversation, person, session_id), conversation.clock()
    snoozed = conversation.database.run(
        person, lambda tx: threads.snooze(person, tx, session_id, now + timedelta(hours=2), now)
    )
    conversation.send_whatsapp("Are you there?", "held")
    conversation.run_turn()
    assert conversation.query("SELECT state, snoozed_until, claim FROM inbox_threads") == [
        ("person", None, snoozed.claim + 1)
    ]
    assert taken.claim < snoozed.claim


@pytest.mark.parametrize(("role", "refusal"), [("viewer", Forbidden)])
def test_only_editors_answer(conversation: ConversationHarness, role: str, refusal: type[ParlourError]) -> None:
    session_id = open_for_person(conversation)
    with pytest.raises(refusal):
        take(conversation, add_member(conversation, "Vera", role), session_id)


def test_a_conversation_goes_only_to_members_who_may_answer(conversation: ConversationHarness) -> None:
    session_id, viewer, now = (
        open_for_person(conversation),
        add_member(conversation, "Vera", "viewer"),
        conversation.clock(),
    )
    with pytest.raises(InvalidRequest, match="roles viewer and editor"):
        conversation.database.run(
            conversation.admin, lambda tx: threads.assign(conversation.admin, tx, session_id, id_of(viewer), now)
        )


def test_a_conversation_goes_only_to_members_who_may_read_it(conversation: ConversationHarness) -> None:
    session_id, admin, now = open_for_person(conversation), conversation.admin, conversation.clock()
    asha, ines = (add_member(conversation, name) for name in ("Asha", "Ines"))
    conversation.query(f"UPDATE members SET clearance = 1 WHERE id = '{id_of(asha)}' RETURNING id")
    conversation.query("UPDATE sessions SET answering_clearance = 2 RETURNING id")
    with conversation.database.transaction(admin) as tx:
        assert [one.display_name for one in threads.list_answerers(admin, tx, session_id)] == ["Ines"]
        assert [one.display_name for one in threads.list_answerers(admin, tx)] == ["Asha", "Ines"]
        with pytest.raises(InvalidRequest, match="clearance is too low"):
            threads.assign(admin, tx, session_id, id_of(asha), now)
        assert threads.assign(admin, tx, session_id, id_of(ines), now).assignee == ines.name


def test_a_model_that_asks_for_a_person_stops_and_the_user_is_told_once(conversation: ConversationHarness) -> None:
    conversation.add_tool("ask_a_person", ask_a_person, writes=False)
    conversation.send_whatsapp("I want to talk to somebody", "first")
    conversation.model.script = [tool_call("ask_a_person", reason="They want a person."), text_answer("Of course.")]
    conversation.run_turn()
    assert conversation.query("SELECT state, reason, reason_text FROM inbox_threads") == [
        ("waiting", "asked", "They want a person.")
    ]
    (reply,) = outbound(conversation)
    assert str(reply).startswith("Of course.\n\nI have asked a colleague")
    conversation.send_whatsapp("Hello?", "second")
    conversation.run_turn()
    assert len(conversation.model.requests) == 2


def test_a_word_of_the_pack_asks_for_a_person_without_a_model(conversation: ConversationHarness) -> None:
    conversation.query(f"UPDATE bindings SET inbox = '{HARNESS_WORDS}' RETURNING id")
    conversation.send_whatsapp("A REAL person, please", "first")
    conversation.run_turn()
    assert conversation.model.requests == []
    assert conversation.query("SELECT reason, first_response_due_at - opened_at FROM inbox_threads") == [
        ("words", timedelta(minutes=15))
    ]
    assert conversation.query("SELECT kind FROM work_due WHERE kind = 'inbox'") == [("inbox",)]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (RuntimeError("broken"), [("tool_failed", "measure")]),
        (RequestRejected("the tool answered 404: no such gauge"), [("tool_failed", "measure")]),
        (ToolRefused("The record belongs to somebody else."), []),  # as Parlour refuses what a user may not do
    ],
)
def test_a_tool_that_fails_twice_brings_the_conversation_to_the_inbox(
    conversation: ConversationHarness, problem: Exception, expected: list[tuple[str, str]]
) -> None:
    conversation.query(f"UPDATE bindings SET inbox = '{HARNESS_WORDS}' RETURNING id")

    def broken(_context: ToolContext, _arguments: object) -> dict[str, object]:
        raise problem

    conversation.add_tool("measure", broken, writes=False)  # type: ignore[arg-type]
    for number in range(2):
        conversation.send_whatsapp("How wide?", f"m{number}")
        conversation.model.script = [tool_call("measure", f"c{number}"), text_answer("I cannot tell.")]
        conversation.run_turn()
    assert conversation.query("SELECT reason, reason_text FROM inbox_threads") == expected


def test_an_agent_without_an_inbox_goes_on_after_a_failure(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("real person", "first")
    conversation.model.script = [text_answer("I am all there is.")]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM inbox_threads") == [(0,)]


@pytest.mark.parametrize(
    "raised",
    [
        "UPDATE bindings SET clearance = 2",
        "UPDATE users SET clearance = 2",
        "UPDATE sessions SET answering_clearance = 2",  # as by a handoff to a desk that sees more
        "WITH about AS (UPDATE entities SET classification = 2 WHERE name LIKE '%crack%' RETURNING id)"
        " UPDATE sessions SET entity_id = (SELECT id FROM about LIMIT 1)",
    ],
)
def test_a_viewer_below_the_clearance_finds_no_conversation(conversation: ConversationHarness, raised: str) -> None:
    session_id = open_for_person(conversation)
    conversation.query(f"{raised} RETURNING id")
    reader = replace(add_member(conversation, "Vera", "viewer"), clearance=1)
    with conversation.database.transaction(reader) as tx:
        assert threads.list_threads(reader, tx, threads.ThreadFilter(), 10).rows == []
        assert events.list_events_after(reader, tx, 0, 10) == []
        assert threads.count_threads(reader, tx).waiting == 0
        with pytest.raises(ParlourError):
            threads.get_thread(reader, tx, session_id)
    assert [row.thread.session_id for row in _listed(conversation)] == [session_id]


def _listed(conversation: ConversationHarness) -> list[threads.ThreadRow]:
    admin = conversation.admin
    with conversation.database.transaction(admin) as tx:
        return list(threads.list_threads(admin, tx, threads.ThreadFilter(states=["waiting"]), 10).rows)


def test_a_user_who_waits_too_long_is_told_once_and_the_conversation_is_escalated(
    conversation: ConversationHarness,
) -> None:
    service = '{"service": {"first_response_minutes": 15, "waiting_minutes": 10}}'
    conversation.query(f"UPDATE bindings SET inbox = '{service}' RETURNING id")
    session_id = open_for_person(conversation)
    for minutes in (11, 6, 60):
        conversation.clock.now += timedelta(minutes=minutes)
        run_clock(conversation, session_id)
    assert outbound(conversation).count(canned_replies.PERSON_LATE_REPLY) == 1
    assert kinds(conversation) == ["opened", "said", "said", "escalated", "breached"]
    assert [row.thread.priority for row in _listed(conversation)] == [1]


def test_in_closed_hours_the_user_reads_when_somebody_is_there(conversation: ConversationHarness) -> None:
    closed = '{"service": {"hours": {"time_zone": "UTC", "sunday": ["09:00-10:00"]}}}'
    conversation.query(f"UPDATE bindings SET inbox = '{closed}' RETURNING id")
    open_for_person(conversation)
    assert "Sunday 09:00" in str(outbound(conversation)[-1])


def test_hours_that_never_open_offer_no_time(conversation: ConversationHarness) -> None:
    conversation.query("""UPDATE bindings SET inbox = '{"service": {"hours": {"time_zone": "UTC"}}}' RETURNING id""")
    open_for_person(conversation)
    assert outbound(conversation)[-1] == canned_replies.PERSON_ASKED_REPLY


def test_notes_and_instructions_are_read_by_people_and_only_instructions_by_the_agent(
    conversation: ConversationHarness,
) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    conversation.send_whatsapp("And the hoist?", "held")
    take(conversation, person, session_id)
    now = conversation.clock()
    conversation.database.run(person, lambda tx: threads.add_note(person, tx, session_id, "Pays late.", now))
    hand_back(conversation, person, session_id, "Offer them Tuesday.")
    conversation.model.script = [text_answer("On Tuesday.")]
    conversation.run_turn()
    prompt = str(conversation.model.requests[-1].messages)
    assert ("Offer them Tuesday." in prompt, "Pays late." in prompt) == (True, False)
    with conversation.database.transaction(conversation.admin) as tx:
        bodies = [event.body for event in events.list_events_after(conversation.admin, tx, 0, 200) if event.body]
    assert bodies == ["Pays late.", "Offer them Tuesday."]


def test_what_is_written_while_a_person_has_the_thread_is_remembered_once(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    conversation.send_whatsapp("My name is Rosa.", "held")
    claim = take(conversation, person, session_id).claim
    say(conversation, person, session_id, "Hello Rosa.", claim)
    assert conversation.query("SELECT count(*) FROM work_due WHERE kind = 'extraction'") == [(1,)]
    assert conversation.query("SELECT count(*) FROM turns WHERE state = 'answered'") == [(3,)]


def test_a_snooze_ends_by_itself(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    now = conversation.clock()
    conversation.database.run(person, lambda tx: threads.snooze(person, tx, session_id, now + timedelta(hours=1), now))
    conversation.clock.now += timedelta(hours=2)
    run_clock(conversation, session_id)
    assert conversation.query("SELECT state, snoozed_until FROM inbox_threads") == [("waiting", None)]


def test_a_notice_that_comes_during_a_turn_waits_and_holds_nobody_up(conversation: ConversationHarness) -> None:
    service = '{"service": {"waiting_minutes": 10}}'
    conversation.query(f"UPDATE bindings SET inbox = '{service}' RETURNING id")
    session_id = open_for_person(conversation)
    conversation.query("UPDATE turns SET state = 'open' WHERE number = 1 RETURNING id")  # its worker died
    conversation.clock.now += timedelta(minutes=11)
    run_clock(conversation, session_id)
    assert conversation.query("SELECT lease_until FROM sessions") == [(None,)]
    assert kinds(conversation) == ["opened", "said"]
    conversation.query("UPDATE turns SET state = 'answered' WHERE number = 1 RETURNING id")
    run_clock(conversation, session_id)
    assert kinds(conversation) == ["opened", "said", "said", "escalated"]


def test_after_a_notice_the_next_clock_is_looked_at_in_time(conversation: ConversationHarness) -> None:
    service = '{"service": {"waiting_minutes": 60, "resolution_minutes": 70}}'
    conversation.query(f"UPDATE bindings SET inbox = '{service}' RETURNING id")
    session_id = open_for_person(conversation)
    conversation.clock.now += timedelta(minutes=60)
    now = conversation.clock()
    work = DueWork(conversation.tenant_id, "inbox", session_id, now)
    found = conversation.database.run(conversation.tenant_id, lambda tx: clock_finder(conversation)(tx, work, now))
    assert found
    assert max(now - found.waiting_since, found.first_wait) <= timedelta(minutes=10)


def test_a_note_that_is_sent_again_is_there_once(conversation: ConversationHarness) -> None:
    session_id, person = open_for_person(conversation), add_member(conversation, "Asha")
    for client_id in ("n1", "n1", "n2"):
        with conversation.database.transaction(person) as tx:
            threads.add_note(person, tx, session_id, "Called.", conversation.clock(), client_id)
    assert kinds(conversation).count("noted") == 2
    assert conversation.query("SELECT count(*) FROM audit_log WHERE action = 'conversation.noted'") == [(2,)]


def clock_finder(conversation: ConversationHarness) -> Finder:
    return inbox_clock.finder(conversation.outbox, lambda wakeup: conversation.turns.send([wakeup.message]))


def run_clock(conversation: ConversationHarness, session_id: UUID) -> None:
    work = DueWork(conversation.tenant_id, "inbox", session_id, conversation.clock())
    found = conversation.database.run(
        conversation.tenant_id, lambda tx: clock_finder(conversation)(tx, work, conversation.clock())
    )
    if found and not found.not_before:
        found.send_wakeup()
