"""How a stream of events is paced, when it ends, and what is on the wire."""

import asyncio
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from parlour.api.event_schemas import Event
from parlour.api.event_stream import EventReader, StreamTiming, stream_events, to_sse_frame
from parlour.infra.errors import DatabaseUnavailable
from parlour.infra.json_values import JsonObject

TURN = uuid.UUID(int=1)
AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
QUICK = StreamTiming(keep_alive=15, max_seconds=300)


@dataclass(frozen=True)
class Happening:
    number: int
    kind: str = "text_delta"
    payload: JsonObject = field(default_factory=lambda: {"text": "", "message_id": str(TURN), "turn_id": str(TURN)})
    turn_id: uuid.UUID = TURN
    at: datetime = AT


def reader(read: Callable[[int], Sequence[Event]], number: int = 0, *, is_turn_open: bool = True) -> EventReader:
    async def wait_after(number: int, _seconds: float) -> int:
        return number + 1

    return EventReader(read, number, lambda: is_turn_open, wait_after)


def looks(*batches: Sequence[Event]) -> Callable[[int], Sequence[Event]]:
    """A feed that has these batches, one per look, and then nothing."""
    left = list(batches)
    return lambda _number: left.pop(0) if left else []


def ticking(seconds: float) -> Callable[[], float]:
    """A clock that is `seconds` on whenever it is read."""
    times = iter(range(1_000_000))
    return lambda: next(times) * seconds


def text(tail: EventReader, pace: StreamTiming = QUICK, clock: Callable[[], float] = lambda: 0.0) -> str:
    async def read() -> str:
        return "".join([part async for part in stream_events(tail, pace, clock)])

    return asyncio.run(read())


def test_it_ends_when_nothing_follows_a_turn_that_is_done() -> None:
    tail = reader(looks([Happening(1)], [], [Happening(2, "done")], [Happening(3)], [Happening(4, "done")], []), 0)
    assert [line for line in text(tail).splitlines() if line.startswith("id:")] == ["id: 1", "id: 2", "id: 3", "id: 4"]


def test_a_reader_who_fell_behind_gets_the_newest_state_of_each_record_and_everything_else() -> None:
    states: list[JsonObject] = [{"entity_id": "a", "version": 1}, {"entity_id": "b"}, {"entity_id": "a", "version": 2}]
    first, other, newest = (Happening(at, "entity_patch", state) for at, state in zip((2, 4, 6), states, strict=True))
    rest = Happening(1), Happening(3, "operation", states[0]), Happening(5, "tool_result"), Happening(7, "done")
    tail = reader(looks([rest[0], first, rest[1], other, rest[2], newest, rest[3]], []), 0)
    assert [event.number for event in tail.read_new()] == [1, 3, 4, 5, 6, 7]
    assert tail.number == 7


def test_a_reader_who_fell_behind_gets_the_newest_progress_and_all_of_the_text() -> None:
    kinds = ("agent_state", "text_delta", "context_usage", "agent_state", "text_delta", "context_usage", "tool_call")
    events = [Happening(number, kind) for number, kind in enumerate(kinds, start=1)]
    assert [event.number for event in reader(looks(events), 0).read_new()] == [2, 4, 5, 6, 7]


def test_it_asks_for_what_comes_after_the_last_event_it_told() -> None:
    asked: list[int] = []
    batches = looks([Happening(5), Happening(6)], [Happening(7, "done")])

    def read(number: int) -> Sequence[Event]:
        asked.append(number)
        return batches(number)

    text(reader(read, 4))
    assert asked == [4, 6, 7]


def test_it_waits_for_a_turn_that_has_not_begun_until_its_time_is_over() -> None:
    tail = reader(looks(), 9)
    assert text(tail, StreamTiming(keep_alive=1000, max_seconds=300), ticking(10)) == "retry: 1000\n\n"
    assert not tail.is_finished


def test_a_silent_stream_ends_without_an_open_turn_and_lasts_while_one_is_open() -> None:
    pace, second = replace(QUICK, max_idle=20), ticking(0.5)
    assert text(reader(looks([Happening(1)]), is_turn_open=False), pace, second).count(": still here") == 1
    ended = second()
    assert 20 <= ended < 40
    assert text(reader(looks(), is_turn_open=True), pace, second).count(": still here") > 10
    assert second() - ended >= 300


def test_silence_is_filled_with_a_comment() -> None:
    told = text(reader(looks(), 0), StreamTiming(keep_alive=15, max_seconds=100), ticking(5))
    assert told.count(": still here\n\n") >= 3
    assert "data:" not in told


def test_it_ends_quietly_when_the_database_goes_away() -> None:
    def gone(_number: int) -> Sequence[Event]:
        raise DatabaseUnavailable

    assert text(reader(gone, 0)) == "retry: 1000\n\n"


def test_an_event_is_three_lines_whatever_its_text() -> None:
    wire = to_sse_frame(Happening(7, payload={"text": "a\n\nid: 9\r\ndata: नमस्ते"}))
    lines = wire.split("\n")
    assert lines[:2] == ["id: 7", "event: text_delta"]
    assert lines[3:] == ["", ""]
    told = json.loads(lines[2].removeprefix("data: "))
    assert told["payload"] == {"text": "a\n\nid: 9\r\ndata: नमस्ते", "block": 1}
    assert (told["number"], told["at"]) == (7, "2026-03-02T09:30:00Z")
