"""What lies in object storage is told, gone through and held against as if it were here."""

from datetime import timedelta
from uuid import UUID

import pytest

from local.database import Cluster
from parlour.infra.errors import ObjectsUnavailable
from parlour.jobs import work_due
from parlour.memory.archive import archive_job, archive_lines
from parlour.memory.archive.archive_lines import ArchivedMessage
from parlour.memory.extraction import store as conversations
from parlour.memory.inspection import user_memory as known
from parlour.memory.memory_job import MemoryJob
from parlour.memory.summaries import store as summaries
from tests.conversation_harness import ConversationHarness, text_answer
from tests.inbound_media import FakeMediaBucket
from tests.integration.erasure.erasure_fixture import ErasureFixture, ErasureHarness
from tests.integration.memory.silent_conversation import SilentConversation, make_memory_dependencies


@pytest.fixture
def erasure_fixture(conversation: ConversationHarness, cluster: Cluster, database_name: str) -> ErasureFixture:
    return ErasureFixture(ErasureHarness(conversation), cluster, database_name)


def grow_old(erasure_fixture: ErasureFixture) -> None:
    """Everything has its searchable row; ninety days go by."""
    erasure_fixture.embed()
    erasure_fixture.desk.clock.now += archive_job.ARCHIVE_AGE + timedelta(days=1)
    with erasure_fixture.desk.database.transaction(erasure_fixture.desk.tenant_id) as tx:
        work_due.schedule(tx, "archive", erasure_fixture.desk.tenant_id, erasure_fixture.desk.clock())


def run(erasure_fixture: ErasureFixture, bucket: FakeMediaBucket | None = None, seconds: float = 60.0) -> None:
    desk = erasure_fixture.desk
    order = MemoryJob(desk.tenant_id, "archive", desk.tenant_id)
    archive_job.run_archive(make_memory_dependencies(desk), bucket or erasure_fixture.bucket, order, lambda: seconds)


def here(conversation: ConversationHarness) -> list[object]:
    return [one for (one,) in conversation.query("SELECT body FROM messages WHERE body <> '' ORDER BY position")]


def lying(bucket: FakeMediaBucket) -> str:
    return "".join(data.decode() for key, data in bucket.objects.items() if "/archive/" in key)


def of(conversation: ConversationHarness, text: str) -> UUID:
    ((found,),) = conversation.query(
        "SELECT m.id FROM messages m LEFT JOIN context_rows r ON r.message_id = m.id"
        f" WHERE m.direction = 'inbound' AND '{text}' IN (m.body, substr(r.content,"
        " (r.metadata->>'prefix_length')::int + 1))"
    )
    return UUID(str(found))


def test_a_short_conversation_that_has_been_silent_as_long_is_archived_whole(erasure_fixture: ErasureFixture) -> None:
    SilentConversation(erasure_fixture.desk, 3)
    grow_old(erasure_fixture)
    run(erasure_fixture)
    assert here(erasure_fixture.desk) == []
    assert "Line 2 of the talk." in lying(erasure_fixture.bucket)


def test_of_one_in_which_somebody_spoke_since_the_newest_turns_stay(erasure_fixture: ErasureFixture) -> None:
    talk = SilentConversation(erasure_fixture.desk, 3)
    grow_old(erasure_fixture)
    talk.say("I am back.")
    run(erasure_fixture)
    assert "Line 0 of the talk." in here(erasure_fixture.desk)


def test_whoever_comes_back_finds_the_conversation_as_it_was(erasure_fixture: ErasureFixture) -> None:
    talk = SilentConversation(erasure_fixture.desk, 3)
    grow_old(erasure_fixture)
    run(erasure_fixture)
    prompt = talk.next_prompt("And now?")
    assert [f"Line {number} of the talk." in prompt for number in range(3)] == [True] * 3


def test_what_lies_there_is_summed_up_gone_through_and_shown_like_any_other_words(
    erasure_fixture: ErasureFixture,
) -> None:
    desk = erasure_fixture.desk
    talk = SilentConversation(desk)
    said = talk.say("I like the sea at Alibag.", text_answer("So do I."))
    talk.add_fact("Alibag", said, key="preference.sea")
    grow_old(erasure_fixture)
    run(erasure_fixture)
    assert here(desk) == []
    with desk.database.transaction(desk.admin) as tx:
        turns = summaries.list_turns_after(tx, talk.session, 0, 10, 3)
        heard = conversations.read_lines(tx, talk.session, 0, 1, 3)
        memory = known.read_user_memory(desk.admin, tx, talk.user)
    assert "I like the sea at Alibag." in str(turns)
    assert [one.body for one in heard] == ["I like the sea at Alibag.", "So do I."]
    assert "I like the sea at Alibag." in str(memory.facts)


def test_a_fact_that_an_archived_message_says_as_well_stays(erasure_fixture: ErasureFixture) -> None:
    desk = erasure_fixture.desk
    talk = SilentConversation(desk)
    first = talk.say("Pune it is, as it were.", text_answer("Nice."))
    grow_old(erasure_fixture)
    run(erasure_fixture)
    second = talk.say("In Pune it rains.", text_answer("Yes."))
    fact = talk.add_fact("Pune", first, second, key="preference.town")
    erasure_fixture.forget("message", second)
    assert desk.query(f"SELECT value, message_ids FROM facts WHERE id = '{fact}'") == [("Pune", [first])]


def test_what_is_forgotten_before_it_is_moved_is_not_taken_along(erasure_fixture: ErasureFixture) -> None:
    """The first message of an archive that was begun: the place is the next one's, and none is left behind."""
    desk = erasure_fixture.desk
    SilentConversation(desk, 4)
    grow_old(erasure_fixture)
    erasure_fixture.bucket.is_unavailable = True
    with pytest.raises(ObjectsUnavailable):
        run(erasure_fixture)
    erasure_fixture.bucket.is_unavailable = False
    erasure_fixture.forget("message", of(desk, "Line 0 of the talk."))
    desk.clock.now += timedelta(minutes=11)
    run(erasure_fixture)
    assert "Line 0 of the talk." not in lying(erasure_fixture.bucket)
    assert "Line 1 of the talk." in lying(erasure_fixture.bucket)
    assert desk.query("SELECT message_count FROM archived_messages") == [(6,)]


def test_whoever_forgets_something_puts_the_moving_off(erasure_fixture: ErasureFixture) -> None:
    SilentConversation(erasure_fixture.desk, 4)
    grow_old(erasure_fixture)
    erasure_fixture.forget("message", of(erasure_fixture.desk, "Line 0 of the talk."))
    run(erasure_fixture)
    assert lying(erasure_fixture.bucket) == ""
    erasure_fixture.desk.clock.now += timedelta(minutes=11)
    run(erasure_fixture)
    assert "Line 1 of the talk." in lying(erasure_fixture.bucket)


def test_one_bad_conversation_keeps_no_other_from_its_archive(
    erasure_fixture: ErasureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sorted((SilentConversation(erasure_fixture.desk, 2) for _ in range(2)), key=lambda one: one.session)
    first.say("A bad one.")
    second.say("A good one.")
    grow_old(erasure_fixture)
    written = archive_lines.to_json_lines

    def failing(messages: list[ArchivedMessage]) -> bytes:
        if any(one.body == "A bad one." for one in messages):
            raise ValueError
        return written(messages)

    monkeypatch.setattr(archive_lines, "to_json_lines", failing)
    run(erasure_fixture)
    assert "A good one." in lying(erasure_fixture.bucket)
    assert "A bad one." in here(erasure_fixture.desk)
    assert erasure_fixture.desk.query("SELECT leased_until FROM work_due WHERE kind = 'archive'") == [(None,)]
