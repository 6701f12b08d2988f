"""Something is forgotten while it is being moved to object storage."""

import threading
from collections.abc import Callable
from uuid import UUID

import pytest

from parlour.erasure import execution
from parlour.erasure.execution import ErasureDependencies, ErasureRequest
from parlour.erasure.report import ErasableKind, ErasureTarget
from parlour.infra.postgres import Database
from tests.inbound_media import FakeMediaBucket
from tests.integration.erasure.erasure_fixture import ErasureFixture, ErasureHarness
from tests.integration.memory.silent_conversation import SilentConversation
from tests.integration.memory.test_archived_text import erasure_fixture, grow_old, here, lying, of, run

__all__ = ["erasure_fixture"]

type Open = Callable[[], Database]


class ErasureDuringWrite(FakeMediaBucket):
    """Somebody forgets something at the moment at which an archive's bytes arrive."""

    def __init__(self, room: ErasureHarness, open_database: Open) -> None:
        super().__init__()
        self.room, self.database = room, open_database()
        self.thread: threading.Thread | None = None
        self.wish: ErasureRequest | None = None
        self.problems: list[BaseException] = []

    def asked(self, kind: ErasableKind, target: UUID) -> None:
        self.wish = ErasureRequest(ErasureTarget(kind, target))

    def put(self, key: str, data: bytes, content_type: str, /) -> None:
        if self.wish and self.thread is None:
            self.thread = threading.Thread(target=self.forget, args=(self.wish,))
            self.thread.start()
            self.thread.join(2)
        super().put(key, data, content_type)

    def forget(self, wish: ErasureRequest) -> None:
        desk = self.room.desk
        given = ErasureDependencies(self.database, self, self.room.files, {}, desk.clock)
        try:
            execution.erase(desk.admin, given, wish, lambda: 60.0)
        except BaseException as problem:  # noqa: BLE001 - told by whoever waits
            self.problems.append(problem)

    def wait(self) -> None:
        assert self.thread
        self.thread.join(30)
        assert not self.thread.is_alive()
        assert not self.problems


@pytest.mark.parametrize("kind", ["user", "message"])
def test_what_is_forgotten_while_it_is_moved_lies_nowhere(
    erasure_fixture: ErasureFixture, open_database: Open, kind: ErasableKind
) -> None:
    talk = SilentConversation(erasure_fixture.desk, 4)
    grow_old(erasure_fixture)
    bucket = ErasureDuringWrite(erasure_fixture.room, open_database)
    bucket.asked(kind, talk.user if kind == "user" else of(erasure_fixture.desk, "Line 0 of the talk."))
    run(erasure_fixture, bucket)
    bucket.wait()
    assert "Line 0 of the talk." not in lying(bucket)
    assert ("Line 2 of the talk." in lying(bucket)) == (kind == "message")
    assert "Line 0 of the talk." not in here(erasure_fixture.desk)
