"""Renting databases: never two at once to the same one, and no more kept than wanted."""

import asyncio
import threading
from contextlib import nullcontext

import pytest

from parlour.api.database_pool import DatabasePool, close_after_responses
from parlour.infra.postgres import Connection, Database


class Opened(Database):
    """A database that notes that it was closed."""

    def __init__(self) -> None:
        super().__init__(_never)
        self.closed = False

    def close(self) -> None:
        self.closed = True


def _never(seconds: float) -> Connection:
    raise AssertionError


def test_the_one_that_came_back_last_goes_out_first() -> None:
    connections = DatabasePool(Opened)
    with connections.borrow() as first, connections.borrow() as second:
        assert first is not second
    with connections.borrow() as third:
        assert third is first


def test_what_is_beyond_the_number_kept_is_closed() -> None:
    opened: list[Opened] = []

    def open_one() -> Opened:
        opened.append(Opened())
        return opened[-1]

    connections = DatabasePool(open_one, max_idle=1)
    with connections.borrow(), connections.borrow(), connections.borrow():
        pass
    assert [one.closed for one in opened].count(False) == 1
    connections.close()
    assert all(one.closed for one in opened)


def test_where_the_database_is_to_pause_nothing_stays_open() -> None:
    connections = DatabasePool(Opened, max_idle=0)
    with connections.borrow() as database:
        pass
    assert isinstance(database, Opened)
    assert database.closed


@pytest.mark.parametrize("problem", [None, ConnectionError()])
def test_a_response_uses_one_connection_which_is_closed_after_it(problem: Exception | None) -> None:
    opened: list[Opened] = []

    def open_one() -> Opened:
        opened.append(Opened())
        return opened[-1]

    connections = DatabasePool(open_one, max_idle=1)

    async def respond(*_asgi: object) -> None:
        for _look in range(3):
            with connections.borrow() as database:
                assert database is opened[-1]
        assert not opened[-1].closed
        if problem:
            raise problem

    application = close_after_responses(respond, connections)
    for count in (1, 2):
        with nullcontext() if problem is None else pytest.raises(ConnectionError):
            asyncio.run(application({}, None, None))  # type: ignore[arg-type]
        assert [one.closed for one in opened] == [True] * count


def test_one_that_failed_comes_back_too() -> None:
    connections = DatabasePool(Opened)
    with pytest.raises(ValueError, match="work"), connections.borrow() as first:
        raise ValueError("work")
    with connections.borrow() as second:
        assert second is first


def test_no_two_threads_have_the_same_one() -> None:
    connections = DatabasePool(Opened, max_idle=4)
    using: set[Database] = set()
    clashes: list[Database] = []

    def work() -> None:
        for _ in range(300):
            with connections.borrow() as database:
                if database in using:
                    clashes.append(database)
                using.add(database)
                using.discard(database)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clashes == []
