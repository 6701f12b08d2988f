"""Old messages lie in object storage: whole, once, and found and read as before."""

import json
from datetime import timedelta
from uuid import UUID

import pytest

from local.database import Cluster
from parlour.conversations import turn_views
from parlour.infra.errors import ObjectsUnavailable
from parlour.jobs import work_due
from parlour.memory.archive import archive_job
from parlour.memory.memory_job import MemoryJob
from tests.conversation_harness import ConversationHarness
from tests.inbound_media import FakeMediaBucket
from tests.integration.erasure.erasure_fixture import ErasureFixture, ErasureHarness
from tests.integration.memory.silent_conversation import SilentConversation, make_memory_dependencies


@pytest.fixture
def erasure_fixture(conversation: ConversationHarness, cluster: Cluster, database_name: str) -> ErasureFixture:
    return ErasureFixture(ErasureHarness(conversation), cluster, database_name)


@pytest.fixture
def old_conversation(erasure_fixture: ErasureFixture, monkeypatch: pytest.MonkeyPatch) -> SilentConversation:
    """A conversation of twelve turns of long ago, of which the newest two stay: somebody has just looked in again."""
    monkeypatch.setattr(archive_job, "MIN_KEPT_TURNS", 2)
    talk = SilentConversation(erasure_fixture.desk, 12)
    erasure_fixture.embed()
    erasure_fixture.desk.clock.now += archive_job.ARCHIVE_AGE + timedelta(days=1)
    erasure_fixture.desk.query(f"UPDATE sessions SET last_active_at = '{erasure_fixture.desk.clock()}' RETURNING 1")
    with erasure_fixture.desk.database.transaction(erasure_fixture.desk.tenant_id) as tx:
        work_due.schedule(tx, "archive", erasure_fixture.desk.tenant_id, erasure_fixture.desk.clock())
    return talk


def run(erasure_fixture: ErasureFixture, bucket: FakeMediaBucket | None = None) -> None:
    desk = erasure_fixture.desk
    archive_job.run_archive(
        make_memory_dependencies(desk),
        bucket or erasure_fixture.bucket,
        MemoryJob(desk.tenant_id, "archive", desk.tenant_id),
        lambda: 60.0,
    )


def lines(erasure_fixture: ErasureFixture) -> list[str]:
    return [
        json.loads(line)["body"]
        for key, data in sorted(erasure_fixture.bucket.objects.items())
        if "/archive/" in key
        for line in data.decode().splitlines()
    ]


def transcript(erasure_fixture: ErasureFixture, web_conversation: SilentConversation) -> list[str]:
    with erasure_fixture.desk.database.transaction(web_conversation.visitor) as tx:
        return [
            str(one.text)
            for one in turn_views.read_transcript(web_conversation.visitor, tx, web_conversation.session, 100)
        ]


def test_messages_of_more_than_ninety_days_ago_lie_in_the_bucket_and_the_newest_turns_stay(
    erasure_fixture: ErasureFixture, old_conversation: SilentConversation
) -> None:
    before = transcript(erasure_fixture, old_conversation)
    run(erasure_fixture)
    assert [one for one in lines(erasure_fixture) if one.startswith("Line")] == [
        f"Line {n} of the talk." for n in range(10)
    ]
    here = [
        one for (one,) in erasure_fixture.desk.query("SELECT body FROM messages WHERE body <> '' ORDER BY position")
    ]
    assert here == ["Line 10 of the talk.", "I see.", "Line 11 of the talk.", "I see."]
    assert transcript(erasure_fixture, old_conversation) == before
    assert erasure_fixture.desk.query("SELECT message_count FROM archived_messages") == [(20,)]


def test_archived_reply_keeps_the_numbers_of_its_reader(
    erasure_fixture: ErasureFixture, old_conversation: SilentConversation
) -> None:
    metadata = '{"cited_numbers": [7], "removed_citations": 1}'
    erasure_fixture.desk.query(f"UPDATE messages SET metadata = '{metadata}' WHERE direction = 'outbound' RETURNING id")
    run(erasure_fixture)
    archived = "SELECT direction, metadata FROM messages WHERE archive_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1"
    assert erasure_fixture.desk.query(archived) == [("inbound", {}), ("outbound", {"cited_numbers": [7]})]


def test_younger_messages_stay(erasure_fixture: ErasureFixture, old_conversation: SilentConversation) -> None:
    erasure_fixture.desk.clock.now -= timedelta(days=2)
    run(erasure_fixture)
    assert lines(erasure_fixture) == []
    ((again,),) = erasure_fixture.desk.query("SELECT due_at FROM work_due WHERE kind = 'archive'")
    assert again > erasure_fixture.desk.clock() + timedelta(hours=23)  # type: ignore[operator]


def test_what_broke_off_is_done_again_over_the_same_object(
    erasure_fixture: ErasureFixture, old_conversation: SilentConversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure_fixture.bucket.is_unavailable = True
    with pytest.raises(ObjectsUnavailable):
        run(erasure_fixture)
    assert erasure_fixture.desk.query("SELECT FROM messages WHERE body = ''") == []
    erasure_fixture.bucket.is_unavailable = False
    run(erasure_fixture)
    run(erasure_fixture)
    assert len(lines(erasure_fixture)) == 20
    assert erasure_fixture.desk.query("SELECT message_count FROM archived_messages") == [(20,)]


def test_a_message_that_lies_there_is_forgotten_there_and_with_its_user_all(
    erasure_fixture: ErasureFixture, old_conversation: SilentConversation
) -> None:
    run(erasure_fixture)
    ((message,),) = erasure_fixture.desk.query(
        "SELECT m.id FROM messages m JOIN context_rows r ON r.message_id = m.id WHERE r.content LIKE '%Line 3 %'"
    )
    erasure_fixture.forget("message", UUID(str(message)))
    assert "Line 3 of the talk." not in lines(erasure_fixture)
    assert "Line 4 of the talk." in lines(erasure_fixture)
    assert erasure_fixture.desk.query("SELECT message_count FROM archived_messages") == [(18,)]
    erasure_fixture.forget("user", old_conversation.user)
    assert [key for key in erasure_fixture.bucket.objects if "/archive/" in key] == []


def test_one_that_was_begun_and_never_ended_is_reached_too(
    erasure_fixture: ErasureFixture, old_conversation: SilentConversation
) -> None:
    desk, key = erasure_fixture.desk, f"tenant/{erasure_fixture.desk.tenant_id}/archive/x.jsonl"
    ((message,),) = desk.query("SELECT id FROM messages WHERE body = 'Line 3 of the talk.'")
    erasure_fixture.bucket.objects[key] = json.dumps({"id": str(message), "body": "Line 3 of the talk."}).encode()
    old_conversation.add_archive(key, UUID(str(message)))
    erasure_fixture.forget("message", UUID(str(message)))
    assert key not in erasure_fixture.bucket.objects


def test_a_new_tenants_old_messages_are_looked_at_once_there_may_be_any(conversation: ConversationHarness) -> None:
    """Whatever is remembered of anybody there: what nobody looks through grows old, too."""
    ((due, created),) = conversation.query(
        "SELECT w.due_at, t.created_at FROM work_due w JOIN tenants t ON t.tenant_id = w.id WHERE w.kind = 'archive'"
    )
    assert due == created + archive_job.ARCHIVE_AGE  # type: ignore[operator]
