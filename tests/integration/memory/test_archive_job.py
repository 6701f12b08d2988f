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
def aviary(desk: ConversationHarness, cluster: Cluster, database_name: str) -> ErasureFixture:
    return ErasureFixture(ErasureHarness(desk), cluster, database_name)


@pytest.fixture
def old(aviary: ErasureFixture, monkeypatch: pytest.MonkeyPatch) -> SilentConversation:
    """A conversation of twelve turns of long ago, of which the newest two stay: somebody has just looked in again."""
    monkeypatch.setattr(archive_job, "MIN_KEPT_TURNS", 2)
    talk = SilentConversation(aviary.desk, 12)
    aviary.embed()
    aviary.desk.clock.now += archive_job.ARCHIVE_AGE + timedelta(days=1)
    aviary.desk.query(f"UPDATE sessions SET last_active_at = '{aviary.desk.clock()}' RETURNING 1")
    with aviary.desk.database.transaction(aviary.desk.tenant_id) as tx:
        work_due.schedule(tx, "archive", aviary.desk.tenant_id, aviary.desk.clock())
    return talk


def run(aviary: ErasureFixture, bucket: FakeMediaBucket | None = None) -> None:
    desk = aviary.desk
    archive_job.run_archive(
        make_memory_dependencies(desk),
        bucket or aviary.bucket,
        MemoryJob(desk.tenant_id, "archive", desk.tenant_id),
        lambda: 60.0,
    )


def lines(aviary: ErasureFixture) -> list[str]:
    return [
        json.loads(line)["body"]
        for key, data in sorted(aviary.bucket.objects.items()) if "/archive/" in key
        for line in data.decode().splitlines()
    ]  # fmt: skip


def transcript(aviary: ErasureFixture, talk: SilentConversation) -> list[str]:
    with aviary.desk.database.transaction(talk.visitor) as tx:
        return [str(one.text) for one in turn_views.read_transcript(talk.visitor, tx, talk.session, 100)]


def test_messages_of_more_than_ninety_days_ago_lie_in_the_bucket_and_the_newest_turns_stay(
    aviary: ErasureFixture, old: SilentConversation
) -> None:
    before = transcript(aviary, old)
    run(aviary)
    assert [one for one in lines(aviary) if one.startswith("Line")] == [f"Line {n} of the talk." for n in range(10)]
    here = [one for (one,) in aviary.desk.query("SELECT body FROM messages WHERE body <> '' ORDER BY position")]
    assert here == ["Line 10 of the talk.", "I see.", "Line 11 of the talk.", "I see."]
    assert transcript(aviary, old) == before
    assert aviary.desk.query("SELECT messages FROM archived_messages") == [(20,)]


def test_younger_messages_stay(aviary: ErasureFixture, old: SilentConversation) -> None:
    aviary.desk.clock.now -= timedelta(days=2)
    run(aviary)
    assert lines(aviary) == []
    ((again,),) = aviary.desk.query("SELECT due_at FROM work_due WHERE kind = 'archive'")
    assert again > aviary.desk.clock() + timedelta(hours=23)  # type: ignore[operator]


def test_what_broke_off_is_done_again_over_the_same_object(
    aviary: ErasureFixture, old: SilentConversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    aviary.bucket.is_unavailable = True
    with pytest.raises(ObjectsUnavailable):
        run(aviary)
    assert aviary.desk.query("SELECT FROM messages WHERE body = ''") == []
    aviary.bucket.is_unavailable = False
    run(aviary)
    run(aviary)
    assert len(lines(aviary)) == 20
    assert aviary.desk.query("SELECT messages FROM archived_messages") == [(20,)]


def test_a_message_that_lies_there_is_forgotten_there_and_with_its_user_all(
    aviary: ErasureFixture, old: SilentConversation
) -> None:
    run(aviary)
    ((message,),) = aviary.desk.query(
        "SELECT m.id FROM messages m JOIN context_rows r ON r.message_id = m.id WHERE r.content LIKE '%Line 3 %'"
    )
    aviary.forget("message", UUID(str(message)))
    assert "Line 3 of the talk." not in lines(aviary)
    assert "Line 4 of the talk." in lines(aviary)
    assert aviary.desk.query("SELECT messages FROM archived_messages") == [(18,)]
    aviary.forget("user", old.user)
    assert [key for key in aviary.bucket.objects if "/archive/" in key] == []


def test_one_that_was_begun_and_never_ended_is_reached_too(aviary: ErasureFixture, old: SilentConversation) -> None:
    desk, key = aviary.desk, f"tenant/{aviary.desk.tenant_id}/archive/x.jsonl"
    ((message,),) = desk.query("SELECT id FROM messages WHERE body = 'Line 3 of the talk.'")
    aviary.bucket.objects[key] = json.dumps({"id": str(message), "body": "Line 3 of the talk."}).encode()
    old.add_archive(key, UUID(str(message)))
    aviary.forget("message", UUID(str(message)))
    assert key not in aviary.bucket.objects


def test_a_new_tenants_old_messages_are_looked_at_once_there_may_be_any(desk: ConversationHarness) -> None:
    """Whatever is remembered of anybody there: what nobody looks through grows old, too."""
    ((due, created),) = desk.query(
        "SELECT w.due_at, t.created_at FROM work_due w JOIN tenants t ON t.tenant_id = w.id WHERE w.kind = 'archive'"
    )
    assert due == created + archive_job.ARCHIVE_AGE  # type: ignore[operator]
