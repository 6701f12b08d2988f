"""What lies in object storage is told, gone through and held against as if it were here."""

from datetime import timedelta
from uuid import UUID

import pytest

from local.database import Cluster
from parlour.infra.errors import ObjectsUnavailable
from parlour.jobs import work_due
from parlour.memory.archiving import archive, lines
from parlour.memory.archiving.lines import OldMessage
from parlour.memory.extracting import store as conversations
from parlour.memory.known import read as known
from parlour.memory.order import Order
from parlour.memory.summary import store as summaries
from tests.desk import Desk, says
from tests.integration.forgetting.aviary import Aviary, Room
from tests.integration.memory.silent import Silent, services
from tests.post import MediaBucket


@pytest.fixture
def aviary(desk: Desk, cluster: Cluster, database_name: str) -> Aviary:
    return Aviary(Room(desk), cluster, database_name)


def grow_old(aviary: Aviary) -> None:
    """Everything has its searchable row; ninety days go by."""
    aviary.embed()
    aviary.desk.clock.now += archive.AFTER + timedelta(days=1)
    with aviary.desk.database.transaction(aviary.desk.tenant_id) as tx:
        work_due.schedule(tx, "archive", aviary.desk.tenant_id, aviary.desk.clock())


def run(aviary: Aviary, bucket: MediaBucket | None = None, seconds: float = 60.0) -> None:
    desk = aviary.desk
    order = Order(desk.tenant_id, "archive", desk.tenant_id)
    archive.run(services(desk), bucket or aviary.bucket, order, lambda: seconds)


def here(desk: Desk) -> list[object]:
    return [one for (one,) in desk.rows("SELECT body FROM messages WHERE body <> '' ORDER BY position")]


def lying(bucket: MediaBucket) -> str:
    return "".join(data.decode() for key, data in bucket.kept.items() if "/archive/" in key)


def of(desk: Desk, text: str) -> UUID:
    ((found,),) = desk.rows(
        "SELECT m.id FROM messages m LEFT JOIN context_rows r ON r.message_id = m.id"
        f" WHERE m.direction = 'inbound' AND '{text}' IN (m.body, substr(r.content, (r.metadata->>'lead')::int + 1))"
    )
    return UUID(str(found))


def test_a_short_conversation_that_has_been_silent_as_long_is_archived_whole(aviary: Aviary) -> None:
    Silent(aviary.desk, 3)
    grow_old(aviary)
    run(aviary)
    assert here(aviary.desk) == []
    assert "Line 2 of the talk." in lying(aviary.bucket)


def test_of_one_in_which_somebody_spoke_since_the_newest_turns_stay(aviary: Aviary) -> None:
    talk = Silent(aviary.desk, 3)
    grow_old(aviary)
    talk.say("I am back.")
    run(aviary)
    assert "Line 0 of the talk." in here(aviary.desk)


def test_whoever_comes_back_finds_the_conversation_as_it_was(aviary: Aviary) -> None:
    talk = Silent(aviary.desk, 3)
    grow_old(aviary)
    run(aviary)
    prompt = talk.prompt("And now?")
    assert [f"Line {number} of the talk." in prompt for number in range(3)] == [True] * 3


def test_what_lies_there_is_summed_up_gone_through_and_shown_like_any_other_words(aviary: Aviary) -> None:
    desk = aviary.desk
    talk = Silent(desk)
    said = talk.say("I like the sea at Alibag.", says("So do I."))
    talk.fact("Alibag", said, key="preference.sea")
    grow_old(aviary)
    run(aviary)
    assert here(desk) == []
    with desk.database.transaction(desk.admin) as tx:
        turns = summaries.turns_after(tx, talk.session, 0, 10, 3)
        heard = conversations.new_turns(tx, talk.session, 0, 1, 3)
        memory = known.of(desk.admin, tx, talk.user)
    assert "I like the sea at Alibag." in str(turns)
    assert [one.body for one in heard] == ["I like the sea at Alibag.", "So do I."]
    assert "I like the sea at Alibag." in str(memory.facts)


def test_a_fact_that_an_archived_message_says_as_well_stays(aviary: Aviary) -> None:
    desk = aviary.desk
    talk = Silent(desk)
    first = talk.say("Pune it is, as it were.", says("Nice."))
    grow_old(aviary)
    run(aviary)
    second = talk.say("In Pune it rains.", says("Yes."))
    fact = talk.fact("Pune", first, second, key="preference.town")
    aviary.forget("message", second)
    assert desk.rows(f"SELECT value, messages FROM facts WHERE id = '{fact}'") == [("Pune", [first])]


def test_what_is_forgotten_before_it_is_moved_is_not_taken_along(aviary: Aviary) -> None:
    """The first message of an archive that was begun: the place is the next one's, and none is left behind."""
    desk = aviary.desk
    Silent(desk, 4)
    grow_old(aviary)
    aviary.bucket.away = True
    with pytest.raises(ObjectsUnavailable):
        run(aviary)
    aviary.bucket.away = False
    aviary.forget("message", of(desk, "Line 0 of the talk."))
    desk.clock.now += timedelta(minutes=11)
    run(aviary)
    assert "Line 0 of the talk." not in lying(aviary.bucket)
    assert "Line 1 of the talk." in lying(aviary.bucket)
    assert desk.rows("SELECT messages FROM archived_messages") == [(6,)]


def test_whoever_forgets_something_puts_the_moving_off(aviary: Aviary) -> None:
    Silent(aviary.desk, 4)
    grow_old(aviary)
    aviary.forget("message", of(aviary.desk, "Line 0 of the talk."))
    run(aviary)
    assert lying(aviary.bucket) == ""
    aviary.desk.clock.now += timedelta(minutes=11)
    run(aviary)
    assert "Line 1 of the talk." in lying(aviary.bucket)


def test_one_bad_conversation_keeps_no_other_from_its_archive(aviary: Aviary, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = sorted((Silent(aviary.desk, 2) for _ in range(2)), key=lambda one: one.session)
    first.say("A bad one.")
    second.say("A good one.")
    grow_old(aviary)
    written = lines.written

    def failing(messages: list[OldMessage]) -> bytes:
        if any(one.body == "A bad one." for one in messages):
            raise ValueError
        return written(messages)

    monkeypatch.setattr(lines, "written", failing)
    run(aviary)
    assert "A good one." in lying(aviary.bucket)
    assert "A bad one." in here(aviary.desk)
    assert aviary.desk.rows("SELECT held_until FROM work_due WHERE kind = 'archive'") == [(None,)]
