"""A visitor of the web and somebody on the phone become one: by a code that only the phone's owner can know."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier
from uuid import UUID

import pytest

from parlour.channels import outbox
from parlour.conversations import turn_views
from parlour.conversations.linking import link_codes
from parlour.conversations.linking.user_merge import MergedUser
from parlour.conversations.sessions import session_lists
from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, LeaseHeld, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.jobs.sweep import handle_wakeup
from parlour.jobs.work_due import DueWork
from parlour.principal import Principal, system_principal
from parlour.records import crud
from parlour.records.record import RecordInput
from parlour.tenancy import users
from tests.conversation_harness import PHONE, ConversationHarness, text_answer
from tests.integration.conversations.phone_link_steps import (
    CODE,
    RecordingChannel,
    configure_template,
    deliver_reply,
    enter_code,
    link_phone,
    request_phone_code,
    send_web_message,
    start_phone_session,
    start_web_session,
)
from tests.integration.memory.memory_rows import add_fact
from tests.integration.sweeping import dependencies

OTHER_PHONE = "+919800000002"


def whose(conversation: ConversationHarness, session: UUID) -> UUID:
    ((user_id,),) = conversation.query(f"SELECT user_id FROM sessions WHERE id = '{session}'")
    return UUID(str(user_id))


def binding_of(conversation: ConversationHarness, session: UUID) -> UUID:
    ((binding_id,),) = conversation.query(f"SELECT binding_id FROM sessions WHERE id = '{session}'")
    return UUID(str(binding_id))


def writing(conversation: ConversationHarness, now_one: MergedUser) -> Principal:
    """Whoever both are, as they may act now."""
    binding_id = binding_of(conversation, now_one.session_id)
    with conversation.database.transaction(conversation.tenant_id) as tx:
        return users.load_user_principal(tx, now_one.user_id, binding_id)


def mains(conversation: ConversationHarness) -> list[UUID]:
    return [UUID(str(found)) for (found,) in conversation.query("SELECT id FROM sessions WHERE is_main ORDER BY id")]


def test_a_code_goes_to_the_number_and_nobody_else_reads_it(conversation: ConversationHarness) -> None:
    main = start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    put = request_phone_code(conversation, visitor, session).pending_reply
    assert put is not None
    assert put.session_id == main
    phone = RecordingChannel()
    assert deliver_reply(conversation, phone, put.id).state == "sent"
    (delivered,) = phone.taken
    assert delivered.recipient == PHONE
    assert delivered.text.startswith(f"{CODE} is your code")
    with conversation.database.transaction(system_principal(conversation.tenant_id)) as tx:
        for place in (session, main):
            assert not [
                line
                for line in turn_views.read_transcript(system_principal(conversation.tenant_id), tx, place, 100)
                if CODE in line.text
            ]
    send_web_message(conversation, visitor, session, "What is the code?")
    start_phone_session(conversation, "And which code did you send?", "phone-2")
    assert not [request for request in conversation.model.requests if CODE in str(request)]
    assert conversation.query(f"SELECT id FROM context_rows WHERE content LIKE '%{CODE}%'") == []


@pytest.mark.parametrize("state", ["unknown", "held", "failed"])
def test_whoever_looks_after_what_was_not_sent_is_not_told_the_code(
    conversation: ConversationHarness, state: str
) -> None:
    """Who reads those lists could ask for a code to somebody else's number."""
    start_phone_session(conversation)
    put = request_phone_code(conversation, *start_web_session(conversation)).pending_reply
    assert put is not None
    conversation.query(f"UPDATE outbox SET state = '{state}' WHERE id = '{put.id}' RETURNING 1")
    with conversation.database.transaction(conversation.admin) as tx:
        listed = [
            *outbox.list_needing_decision(conversation.admin, tx, 9),
            *outbox.list_failed(conversation.admin, tx, conversation.clock(), 9).rows,
        ]
    assert [(one.id, one.text) for one in listed] == [(put.id, "")]


def test_the_right_code_makes_them_one_with_all_that_was_theirs(conversation: ConversationHarness) -> None:
    main = start_phone_session(conversation)
    phone_user = whose(conversation, main)
    visitor, session = start_web_session(conversation)
    known = add_fact(conversation, session, "plan", "Basic")
    link = request_phone_code(conversation, visitor, session)
    now_one = enter_code(conversation, visitor, link.link_id)
    assert now_one == enter_code(conversation, visitor, link.link_id)
    assert (now_one.user_id, now_one.session_id) == (phone_user, main)
    assert whose(conversation, session) == phone_user
    assert conversation.query(f"SELECT user_id FROM facts WHERE id = '{known}'") == [(phone_user,)]
    assert conversation.query(f"SELECT merged_into FROM users WHERE id = '{visitor.id}'") == [(phone_user,)]
    assert conversation.query(f"SELECT body FROM messages WHERE kind = 'code' AND body LIKE '%{CODE}%'") == []
    assert conversation.query("SELECT kind FROM work_due WHERE kind = 'phone_link'") == []
    assert conversation.query("SELECT action, target FROM audit_log WHERE action = 'phone.linked'") == [
        ("phone.linked", f"user:{phone_user}")
    ]


def test_both_channels_write_in_one_thread_and_are_answered_where_they_wrote(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)
    _, _, now_one = link_phone(conversation)
    writer = writing(conversation, now_one)
    before = conversation.query("SELECT id FROM outbox")
    send_web_message(conversation, writer, now_one.session_id, "Which floor is next?")
    assert conversation.query("SELECT id FROM outbox") == before
    followed = f"SELECT kind FROM events WHERE session_id = '{now_one.session_id}' ORDER BY number"
    assert conversation.query(followed)[-1:] == [("done",)], "who writes on the web waits there for the answer"
    seen = len(conversation.query(followed))
    assert start_phone_session(conversation, "And the floor after that?", "phone-9") == now_one.session_id
    assert len(conversation.query(followed)) == seen
    assert len(conversation.query("SELECT id FROM outbox")) == len(before) + 1
    told = str(conversation.model.requests[-1])
    assert "My name is Priya." in told
    assert "Which floor is next?" in told
    with conversation.database.transaction(writer) as tx:
        said = [line.text for line in turn_views.read_transcript(writer, tx, now_one.session_id, 100)]
    assert {"Which floor is next?", "And the floor after that?"} <= set(said)


def test_a_visitors_token_goes_on_working_as_the_phones_user(conversation: ConversationHarness) -> None:
    main = start_phone_session(conversation)
    visitor, session, now_one = link_phone(conversation)
    assert visitor.id is not None
    binding_id = binding_of(conversation, session)
    with conversation.database.transaction(conversation.tenant_id) as tx:
        acting = users.load_user_principal(tx, visitor.id, binding_id)
        assert acting.id == now_one.user_id
        assert {line.id for line in session_lists.list_own_sessions(acting, tx, binding_id).rows} == {main, session}


def test_what_a_visitor_created_is_the_phones_users_own(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    creator, now = replace(visitor, writes="own"), conversation.clock()
    with conversation.database.transaction(creator) as tx:
        risk: JsonObject = {"severity": "high", "state": "open", "owner": "Asha"}
        record = crud.create_record(creator, tx, RecordInput("risk", "Reported", properties=risk), now)
    joined = enter_code(conversation, visitor, request_phone_code(conversation, visitor, session, PHONE).link_id)
    binding_id = binding_of(conversation, session)
    with conversation.database.transaction(conversation.tenant_id) as tx:
        owner = users.load_user_principal(tx, joined.user_id, binding_id)
    with conversation.database.transaction(owner) as tx:
        found = crud.get_record(owner, tx, record.id)
        assert (found.created_by, found.unverified_by) == (owner.name, owner.name)
    assert conversation.query(f"SELECT 1 FROM context_rows WHERE unverified_by = '{visitor.name}'") == []


def test_where_nothing_was_said_on_the_phone_it_goes_on_with_the_web(conversation: ConversationHarness) -> None:
    configure_template(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session, OTHER_PHONE)
    assert link.pending_reply is not None
    now_one = enter_code(conversation, visitor, link.link_id)
    assert now_one.session_id == session
    assert mains(conversation) == [session]
    conversation.send_whatsapp("It is me again.", "later", sender=OTHER_PHONE)
    conversation.model.script = [text_answer("Good.")]
    conversation.run_turn()
    assert conversation.query("SELECT session_id FROM messages WHERE provider_message_id = 'gupshup:later'") == [
        (session,)
    ]
    ((recipient,),) = conversation.query(f"SELECT recipient FROM outbox WHERE session_id = '{session}'")
    assert recipient == OTHER_PHONE


def test_a_talk_about_a_record_does_not_become_where_the_phone_writes(conversation: ConversationHarness) -> None:
    configure_template(conversation)
    visitor, session = start_web_session(conversation)
    conversation.query(
        f"UPDATE sessions SET entity_id = (SELECT id FROM entities LIMIT 1) WHERE id = '{session}' RETURNING id"
    )
    now_one = enter_code(conversation, visitor, request_phone_code(conversation, visitor, session, OTHER_PHONE).link_id)
    assert mains(conversation) == [now_one.session_id]
    assert now_one.session_id != session


def test_another_browser_of_the_same_person_is_joined_too_and_messages_are_read_once(
    conversation: ConversationHarness,
) -> None:
    start_phone_session(conversation)
    link_phone(conversation)
    _, session, now_one = link_phone(conversation)
    assert conversation.query(
        f"SELECT channel FROM channel_identities WHERE user_id = '{now_one.user_id}' ORDER BY 1"
    ) == [
        ("web",),
        ("whatsapp",),
    ]
    writer = writing(conversation, now_one)
    send_web_message(conversation, writer, session, "Only once, please")
    assert str(conversation.model.requests[-1]).count("Only once, please") == 1


@pytest.mark.parametrize("later", ["phone", "web"])
def test_of_two_facts_under_one_key_the_one_said_last_stays(conversation: ConversationHarness, later: str) -> None:
    main = start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    values = {
        "phone": add_fact(conversation, main, "city", "Pune"),
        "web": add_fact(conversation, session, "city", "Goa"),
    }
    conversation.query(
        f"UPDATE facts SET last_confirmed_at = last_confirmed_at + interval '1 day' WHERE id = '{values[later]}'"
        " RETURNING id"
    )
    add_fact(conversation, session, "plan", "Basic")
    now_one = enter_code(conversation, visitor, request_phone_code(conversation, visitor, session).link_id)
    live = conversation.query(
        f"SELECT key, id FROM facts WHERE user_id = '{now_one.user_id}' AND valid_until IS NULL AND key = 'city'"
    )
    assert live == [("city", values[later])]
    assert conversation.query("SELECT end_reason, superseded_by FROM facts WHERE valid_until IS NOT NULL") == [
        ("merged", values[later])
    ]
    assert len(conversation.query("SELECT id FROM facts WHERE valid_until IS NULL AND key = 'plan'")) == 1


def test_five_wrong_codes_are_the_end_of_it(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session)
    for left in ("4 attempts left", "3 attempts left", "2 attempts left", "1 attempt left", "no attempts are left"):
        with pytest.raises(InvalidRequest, match=left):
            enter_code(conversation, visitor, link.link_id, "654321")
    with pytest.raises(NotFound):
        enter_code(conversation, visitor, link.link_id)
    assert conversation.query("SELECT id FROM users WHERE merged_into IS NOT NULL") == []


def test_a_code_is_good_for_ten_minutes_and_for_whoever_asked(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session)
    other, _ = start_web_session(conversation)
    with pytest.raises(NotFound):
        enter_code(conversation, other, link.link_id)
    conversation.clock.now += link_codes.CODE_LIFETIME
    with pytest.raises(NotFound):
        enter_code(conversation, visitor, link.link_id)


def test_only_the_newest_code_of_a_visitor_is_good(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    first = request_phone_code(conversation, visitor, session, code="111111")
    second = request_phone_code(conversation, visitor, session, code="222222")
    with pytest.raises(NotFound):
        enter_code(conversation, visitor, first.link_id, "111111")
    assert enter_code(conversation, visitor, second.link_id, "222222")


@pytest.mark.parametrize("written_before", [None, timedelta(hours=25)])
def test_whether_a_number_can_be_reached_is_told_to_nobody(
    conversation: ConversationHarness, written_before: timedelta | None
) -> None:
    """Without a template only those are reached who wrote within the day; who asks hears the same."""
    if written_before:
        start_phone_session(conversation)
        conversation.clock.now += written_before
    visitor, session = start_web_session(conversation)
    before = conversation.query("SELECT id FROM outbox"), conversation.query("SELECT id FROM users")
    link = request_phone_code(conversation, visitor, session)
    assert link.pending_reply is None
    assert (conversation.query("SELECT id FROM outbox"), conversation.query("SELECT id FROM users")) == before
    with pytest.raises(InvalidRequest, match="4 attempts"):
        enter_code(conversation, visitor, link.link_id)


def test_a_stranger_shuts_no_owner_out_and_nobodys_phone_is_flooded(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)

    def count_given(address: str, phone: str = PHONE) -> int:
        return sum(ask_from(conversation, address, phone) for _ in range(link_codes.MAX_CODES_PER_HOUR + 1))

    assert count_given("stranger") == link_codes.MAX_CODES_PER_HOUR
    assert ask_from(conversation, "stranger", OTHER_PHONE)
    conversation.clock.now += timedelta(hours=1)
    assert count_given("stranger") == link_codes.MAX_CODES_PER_DAY - link_codes.MAX_CODES_PER_HOUR
    owner, session = start_web_session(conversation)
    assert request_phone_code(conversation, owner, session, address="owner").pending_reply
    assert [count_given(address) for address in "ab"] == [3, 2]  # nine in an hour
    conversation.clock.now += timedelta(hours=1)
    assert not ask_from(conversation, "stranger", PHONE)  # until tomorrow
    assert [count_given(address) for address in "cde"] == [3, 3, 0]  # eighteen in a day


def test_a_binding_sends_only_so_many(conversation: ConversationHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    configure_template(conversation)
    monkeypatch.setattr(link_codes, "MAX_BINDING_CODES_PER_HOUR", 4)
    for number in range(4):
        request_phone_code(conversation, *start_web_session(conversation), f"+9198000001{number:02}")
    with pytest.raises(Conflict, match="this agent"):
        request_phone_code(conversation, *start_web_session(conversation), OTHER_PHONE)


def ask_from(conversation: ConversationHarness, address: str, phone: str) -> bool:
    """Whether a new visitor at that address may ask for a code for the number."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    with suppress(Conflict):
        request_phone_code(conversation, visitor, session, phone, address=address)
        return True
    return False


def test_one_address_leaves_the_codes_of_a_binding_to_others(
    conversation: ConversationHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_template(conversation)
    monkeypatch.setattr(link_codes, "MAX_BINDING_CODES_PER_HOUR", 15)
    asked = [ask_from(conversation, "flood", f"+9198000001{number:02}") for number in range(30)]
    assert asked.count(True) == link_codes.MAX_ADDRESS_CODES_PER_HOUR
    assert ask_from(conversation, "elsewhere", PHONE)
    conversation.clock.now += timedelta(hours=1)
    assert ask_from(conversation, "flood", OTHER_PHONE)


def test_codes_asked_for_at_once_from_one_address_are_counted(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    configure_template(conversation)
    owns = [ConversationHarness(conversation.tenant_id, open_database(), conversation.clock) for _ in range(5)]

    def ask(number: int) -> int:
        return sum(ask_from(owns[number], "flood", f"+91980000{number}1{one:02}") for one in range(5))

    with ThreadPoolExecutor(5) as pool:
        assert sum(pool.map(ask, range(5))) == link_codes.MAX_ADDRESS_CODES_PER_HOUR


def test_a_number_that_never_wrote_gets_few_codes_and_nobody_learns_so(conversation: ConversationHarness) -> None:
    configure_template(conversation)
    start_phone_session(conversation)
    sent: dict[str, list[bool]] = {PHONE: [], OTHER_PHONE: []}
    few, most = link_codes.MAX_STRANGER_CODES_PER_DAY, link_codes.MAX_STRANGER_NUMBER_CODES_PER_DAY
    strangers = link_codes.MAX_CODES_PER_DAY
    addresses = [*["stranger"] * strangers, *(f"{number}" for number in range(most - strangers)), "late"]
    for address in addresses:
        for phone, codes in sent.items():
            visitor = conversation.create_visitor()
            link = request_phone_code(conversation, visitor, conversation.find_session(visitor), phone, address=address)
            codes.append(link.pending_reply is not None)
        conversation.clock.now += timedelta(minutes=30)
    assert sent[PHONE] == [True] * len(addresses)
    assert sent[OTHER_PHONE] == [*[True] * few, *[False] * (strangers - few), *[True] * (most - strangers), False]


@pytest.mark.parametrize(
    ("visitors", "phones", "ends"), [(None, None, None), (None, 3, 1), (0, 3, 0), (0, None, 0), (3, None, 1)]
)
def test_of_two_clearances_the_lower_holds(
    conversation: ConversationHarness, visitors: int | None, phones: int | None, ends: int | None
) -> None:
    """Who has none of their own sees what the binding does, which is 1."""
    main = start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    for whom, level in ((visitor.id, visitors), (whose(conversation, main), phones)):
        conversation.query(
            f"UPDATE users SET clearance = {'NULL' if level is None else level} WHERE id = '{whom}' RETURNING 1"
        )
    now_one = enter_code(conversation, visitor, request_phone_code(conversation, visitor, session).link_id)
    assert conversation.query(f"SELECT clearance FROM users WHERE id = '{now_one.user_id}'") == [(ends,)]


def test_nobodys_phone_is_flooded_by_many_at_once(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    start_phone_session(conversation)
    asking = [start_web_session(conversation) for _ in range(link_codes.MAX_NUMBER_CODES_PER_HOUR + 2)]
    together = Barrier(len(asking))

    def ask_for_one(given: tuple[Principal, UUID]) -> bool:
        own = ConversationHarness(conversation.tenant_id, open_database(), conversation.clock)
        together.wait(20)
        with suppress(Conflict):
            return request_phone_code(own, *given).pending_reply is not None
        return False

    with ThreadPoolExecutor(len(asking)) as pool:
        assert sum(pool.map(ask_for_one, asking)) == link_codes.MAX_NUMBER_CODES_PER_HOUR


def test_who_has_a_number_already_and_who_is_no_visitor_are_refused(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)
    _, session, now_one = link_phone(conversation)
    writer = writing(conversation, now_one)
    with pytest.raises(Conflict, match="0001"):
        request_phone_code(conversation, writer, session, OTHER_PHONE)
    with pytest.raises(Forbidden):
        request_phone_code(conversation, conversation.admin, session, OTHER_PHONE)


def test_while_the_visitor_is_being_answered_nothing_is_joined(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session)
    until = (conversation.clock() + timedelta(minutes=1)).isoformat()
    conversation.query(f"UPDATE sessions SET lease_until = '{until}' WHERE id = '{session}' RETURNING id")
    for _ in range(link_codes.MAX_ATTEMPTS):
        with pytest.raises(LeaseHeld):
            enter_code(conversation, visitor, link.link_id)
    conversation.clock.now += timedelta(minutes=2)
    assert enter_code(conversation, visitor, link.link_id)


def test_two_visitors_who_give_codes_of_one_number_at_once_both_end_as_its_owner(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    start_phone_session(conversation)
    asking = [
        (visitor, request_phone_code(conversation, visitor, session))
        for visitor, session in (start_web_session(conversation), start_web_session(conversation))
    ]
    together = Barrier(2)

    def give(given: tuple[Principal, UUID]) -> UUID:
        own = ConversationHarness(conversation.tenant_id, open_database(), conversation.clock)
        together.wait(20)
        return enter_code(own, given[0], given[1]).user_id

    with ThreadPoolExecutor(2) as pool:
        users = set(pool.map(give, [(visitor, link.link_id) for visitor, link in asking]))
    assert len(users) == 1
    assert len(mains(conversation)) == 1


def test_a_message_from_the_phone_at_the_same_moment_is_not_lost(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    """The phone's session, in which nothing was said so far, is about to go while its first message comes in."""
    configure_template(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session, OTHER_PHONE)
    together = Barrier(2)

    def write() -> None:
        own = ConversationHarness(conversation.tenant_id, open_database(), conversation.clock)
        together.wait(20)
        own.send_whatsapp("Here I am.", "at-once", sender=OTHER_PHONE)

    def give() -> None:
        own = ConversationHarness(conversation.tenant_id, open_database(), conversation.clock)
        together.wait(20)
        enter_code(own, visitor, link.link_id)

    with ThreadPoolExecutor(2) as pool:
        for running in [pool.submit(write), pool.submit(give)]:
            running.result(60)
    ((where,),) = conversation.query("SELECT session_id FROM messages WHERE provider_message_id = 'gupshup:at-once'")
    assert mains(conversation) == [where]


def test_what_was_begun_as_the_visitors_and_is_written_later_is_their_new_selfs(
    conversation: ConversationHarness,
) -> None:
    """A worker read a conversation before, and writes down what it gathered after."""
    start_phone_session(conversation)
    visitor, session, now_one = link_phone(conversation)
    for table, values in (
        ("facts", "'user', '{user}', binding_id, 'city', 'Goa', 0.9, 'stated', now(), now(), now()"),
        ("episodes", "'{user}', binding_id, id, 'They met.', now(), now(), now()"),
    ):
        columns = {
            "facts": "scope, user_id, binding_id, key, value, confidence, origin, valid_from, "
            "last_confirmed_at, created_at",
            "episodes": "user_id, binding_id, session_id, text, from_at, until_at, created_at",
        }[table]
        told = values.replace("{user}", str(visitor.id))
        written = conversation.query(
            f"INSERT INTO {table} (tenant_id, id, {columns}) SELECT tenant_id, '{uuid7(conversation.clock())}', {told}"
            f" FROM sessions WHERE id = '{session}' RETURNING user_id"
        )
        assert written == [(now_one.user_id,)]
    binding_id = binding_of(conversation, session)
    with conversation.database.transaction(conversation.tenant_id) as tx:
        late = users.open_session(visitor, tx, binding_id=binding_id, now=conversation.clock())
    assert late.user_id == now_one.user_id


def test_of_a_code_that_nobody_gives_back_nothing_is_left(conversation: ConversationHarness) -> None:
    configure_template(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session, OTHER_PHONE)
    over(conversation, link.link_id)
    assert len(conversation.query(f"SELECT id FROM users WHERE phone = '{OTHER_PHONE}'")) == 1
    conversation.clock.now += link_codes.CODE_LIFETIME
    over(conversation, link.link_id)
    assert conversation.query(f"SELECT id FROM users WHERE phone = '{OTHER_PHONE}'") == []
    assert conversation.query("SELECT id FROM messages WHERE kind = 'code'") == []
    assert conversation.query("SELECT kind FROM work_due WHERE kind = 'phone_link'") == []


def test_the_words_of_a_code_go_and_whoever_was_known_before_stays(conversation: ConversationHarness) -> None:
    start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session)
    conversation.clock.now += link_codes.CODE_LIFETIME
    over(conversation, link.link_id)
    assert conversation.query("SELECT body FROM messages WHERE kind = 'code'") == [("",)]
    assert len(conversation.query(f"SELECT id FROM users WHERE phone = '{PHONE}'")) == 1


def test_who_writes_at_the_moment_their_code_is_over_is_not_lost(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    configure_template(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session, OTHER_PHONE)
    conversation.clock.now += link_codes.CODE_LIFETIME
    written = "UPDATE messages SET kind = 'text', direction = 'inbound', body = 'It is me.' WHERE kind = 'code'"
    held = "SELECT s.id FROM sessions s JOIN messages m ON m.session_id = s.id WHERE m.kind = 'code' FOR UPDATE OF s"
    with ThreadPoolExecutor(1) as pool:
        with open_database().transaction(conversation.tenant_id) as tx:
            assert tx.run(Query("test.held", "-", held)) == 1
            ending = pool.submit(
                over, ConversationHarness(conversation.tenant_id, open_database(), conversation.clock), link.link_id
            )
            with pytest.raises(TimeoutError):
                ending.result(1)
            assert tx.run(Query("test.written", "-", written)) == 1
        ending.result(20)
    assert len(conversation.query(f"SELECT id FROM users WHERE phone = '{OTHER_PHONE}'")) == 1


def over(conversation: ConversationHarness, link_id: UUID) -> None:
    """The sweep looks at what is due."""
    due = DueWork(conversation.tenant_id, "phone_link", link_id, datetime(2026, 1, 1, tzinfo=UTC))
    handle_wakeup(dependencies(conversation), due.to_json())


def test_a_link_is_one_of_a_tenant(conversation: ConversationHarness, database: Database) -> None:
    start_phone_session(conversation)
    visitor, session = start_web_session(conversation)
    link = request_phone_code(conversation, visitor, session)
    elsewhere = Principal(uuid7(conversation.clock()), "user", visitor.id)
    with pytest.raises(NotFound):
        enter_code(conversation, elsewhere, link.link_id)
