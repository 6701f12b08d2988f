"""The inbox's feed: a follower misses nothing, in whatever order transactions commit."""

from collections.abc import Callable
from uuid import UUID

from parlour.conversations import inbox_messages
from parlour.inbox import events, threads
from parlour.infra.postgres import Database
from tests.conversation_harness import ConversationHarness
from tests.integration.inbox.test_threads import add_member, open_for_person


def test_a_follower_reads_an_event_that_was_written_first_and_committed_last(
    conversation: ConversationHarness, open_database: Callable[[], Database]
) -> None:
    first, person, now = open_for_person(conversation), add_member(conversation, "Asha"), conversation.clock()
    second = conversation.find_session(conversation.create_visitor())
    conversation.database.run(
        person, lambda tx: inbox_messages.open_thread(person, tx, second, "member", "They called.", now)
    )

    def read_notes(after: int) -> list[tuple[UUID, int]]:
        with conversation.database.transaction(person) as tx:
            rows = events.list_events_after(person, tx, after, 100)
        return [(row.session_id, row.number) for row in rows if row.kind == "noted"]

    with open_database().transaction(person) as slow:
        threads.add_note(person, slow, first, "Written first.", now)
        with open_database().transaction(person) as quick:
            threads.add_note(person, quick, second, "Written second.", now)
        [(session_id, number)] = read_notes(0)
        assert session_id == second

    [(session_id, last)] = read_notes(number)
    assert (session_id, last > number) == (first, True)
