from parlour.infra.json_values import Json, JsonObject
from parlour.models.model import ModelRequest
from parlour.models.simulated_cache import SimulatedCache

MARK: JsonObject = {"cache_control": {"type": "ephemeral"}}
LONG = "word " * 400


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def block(text: str, *, is_breakpoint: bool = False) -> JsonObject:
    return {"type": "text", "text": text, **(MARK if is_breakpoint else {})}


def request(system: JsonObject, *blocks: Json) -> ModelRequest:
    return ModelRequest("m", 10, (), (system,), ({"role": "user", "content": [*blocks]},))


def test_a_prefix_is_written_once_and_read_afterwards() -> None:
    cache = SimulatedCache(Clock())
    fresh, read, written = cache.count(request(block(LONG, is_breakpoint=True), block("hello")))
    assert (read, written > 400, fresh > 0) == (0, True, True)
    assert cache.count(request(block(LONG, is_breakpoint=True), block("goodbye")))[1:] == (written, 0)


def test_a_longer_prompt_reads_the_prefix_without_its_old_breakpoint() -> None:
    cache = SimulatedCache(Clock())
    _, _, first = cache.count(request(block(LONG, is_breakpoint=True)))
    _, read, written = cache.count(request(block(LONG), block(LONG, is_breakpoint=True)))
    assert (read, written > 400) == (first, True)


def test_a_changed_prefix_is_not_read() -> None:
    cache = SimulatedCache(Clock())
    cache.count(request(block(LONG, is_breakpoint=True)))
    assert cache.count(request(block(f"{LONG}!", is_breakpoint=True)))[1] == 0


def test_a_prefix_is_kept_for_five_minutes_after_its_last_use() -> None:
    clock = Clock()
    cache, same = SimulatedCache(clock), request(block(LONG, is_breakpoint=True))
    cache.count(same)
    for clock.now in (290.0, 580.0):
        assert cache.count(same)[1] > 0
    clock.now = 881.0
    assert cache.count(same)[1] == 0


def test_a_prompt_without_breakpoints_is_not_cached() -> None:
    cache = SimulatedCache(Clock())
    cache.count(request(block(LONG)))
    assert cache.count(request(block(LONG)))[1:] == (0, 0)
