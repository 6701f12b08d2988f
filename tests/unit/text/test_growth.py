"""Functions that read texts of others take linear time: 64 KB at most three times as long as 32 KB.

A rule holds Python's lock while it reads. One that takes quadratic time lets a single message stop a worker. Every
public function of a pure module that takes nothing but texts is measured, without being listed; `READERS` has others.
"""

import importlib
import inspect
import multiprocessing
import os
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from uuid import UUID

import pytest

import parlour
from parlour.approvals import typed_answer
from parlour.conversations import citations, outgoing_links, stop_words, turn_openings
from parlour.infra.errors import ParlourError
from parlour.infra.json_values import JsonObject
from parlour.memory.extraction import extraction_window
from parlour.memory.extraction.extraction_window import ExtractionWindow, MessageLine
from parlour.memory.facts import explicit_facts
from parlour.memory.facts.fact import UserMessage
from parlour.models import offline_quotes
from parlour.prompts.assembly import recap, segment
from parlour.text import document_sections, quotable_sentences, token_counter
from parlour.text.email_headers import EmailOrigin

type Reader = Callable[[str], object]

CHARS = 65_536

MAX_GROWTH = 3.0
"""Times as long as for half the text; twice is linear."""

CLEAR_GROWTH = 2.4
"""Times as long that are clearly not quadratic, which is four times: nothing is measured again."""

FLOOR_SECONDS = 0.25
"""Processor time for 64 KB below which growth does not matter: a quadratic 0.25 s are 4 ms for a message of 8,000."""

STOP_SECONDS = 10

ROOMS = frozenset(
    {"approvals", "channels", "conversations", "erasure", "memory", "models", "prompts", "search", "text"}
)

HOSTILE_UNITS = (
    *("\n", " ", "\t", "[", "(", "*", "_", "7", ".", "@", '"', "'", ">", "a", "\u200b", "🙂"),
    *("a \n", "a@", "1,", "[a](", "**a ", "> \n", "```\n", "Rs 1 ", "'a "),
)

NO_READERS = frozenset({"models.demo_scenes.compile_pattern"})
"""Functions that take a pack's text and no one else's."""

_MESSAGE_ID, _NOW = UUID(int=1), datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_INBOX: JsonObject = {"words": {"en": ["human being", "a person"]}}


def _stream_links(text: str) -> None:
    links = outgoing_links.LinkFilter()
    for start in range(0, len(text), 512):
        links.add(text[start : start + 512])
    links.finish()


def _quote_document(text: str) -> object:
    return offline_quotes.choose_quotes("What is the budget?", [{"n": 1, "title": "Plan", "text": text}])


READERS: dict[str, Reader] = {
    "typed_answer": lambda text: [typed_answer.read_typed_answers(text, count) for count in (1, 3)],
    "filter_links": lambda text: outgoing_links.filter_links(text, ()),
    "LinkFilter": _stream_links,
    "check_citations": lambda text: citations.check_citations(text, {1, 7}),
    "names_a_person": lambda text: turn_openings.names_a_person([text], _INBOX),
    "is_stop_word": lambda text: stop_words.is_stop_word(text, {}),
    "find_explicit_facts": lambda text: explicit_facts.find_explicit_facts([UserMessage(_MESSAGE_ID, text, _NOW)]),
    "render_transcript": lambda text: extraction_window.render_transcript(
        ExtractionWindow((MessageLine(1, _MESSAGE_ID, "inbound", text, _NOW),), 1), "Asha"
    ),
    "recap_message": recap.recap_message,
    "escape_untrusted": segment.escape_untrusted,
    "split_sections": lambda text: document_sections.split_sections(text, EmailOrigin("", "")),
    "count_plain_tokens": token_counter.count_plain_tokens,
    "offline question": lambda text: offline_quotes.choose_quotes(text, [{"n": 1, "title": "", "text": "A 5."}]),
    "offline document": _quote_document,
    "offline sentences": quotable_sentences.quotable_sentences,
}


SLOW_READERS: dict[str, Reader] = {
    "quadratic": lambda text: re.search(r"\n\s*>", text[: CHARS // 4 if len(text) == CHARS else CHARS // 8]),
    "stopped": lambda text: re.search(r"(?m)^\s*(?:a|\s*b)>", text),
}
"""What the test has to notice."""


def find_readers() -> dict[str, Reader]:
    """Return every reader by its name; a function with several texts is one for each of them, the others short."""
    return dict(_find_pure_readers()) | READERS


def _find_pure_readers() -> Iterator[tuple[str, Reader]]:
    for module in map(importlib.import_module, _room_modules()):
        if "Pure" not in (module.__doc__ or ""):
            continue
        for name, function in inspect.getmembers(module, inspect.isroutine):
            if getattr(function, "__module__", "") != module.__name__ or name.startswith("_"):
                continue
            parameters = inspect.signature(inspect.unwrap(function), eval_str=True).parameters.values()
            required = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
            path = f"{module.__name__.removeprefix('parlour.')}.{name}"
            if required and all(one.annotation is str for one in required) and path not in NO_READERS:
                for place, parameter in enumerate(required):
                    yield f"{path}({parameter.name})", _give_text(function, place, len(required))


def _room_modules() -> list[str]:
    found = [module.name for module in pkgutil.walk_packages(parlour.__path__, "parlour.")]
    return [name for name in found if name.split(".")[1] in ROOMS]


def _give_text(function: Callable[..., object], place: int, count: int) -> Reader:
    def read(text: str) -> object:
        return function(*(text if at == place else text[:300] for at in range(count)))

    return read


def _measure(name: str, results: Connection) -> None:
    """Send each hostile unit before it is tried, and what is too slow. A try of 10 seconds ends the process at once:
    no handler of Python's would run while a pattern matches."""
    reader = (find_readers() | SLOW_READERS)[name]
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for unit in HOSTILE_UNITS:
        results.send((unit, ""))
        signal.setitimer(signal.ITIMER_PROF, STOP_SECONDS)
        large = _seconds(reader, unit, CHARS)
        if large > FLOOR_SECONDS:
            signal.setitimer(signal.ITIMER_PROF, 4 * STOP_SECONDS)
            if large < CLEAR_GROWTH * min(_seconds(reader, unit, CHARS // 2, end) for end in "ij"):
                continue
            large = min(large, *(_seconds(reader, unit, CHARS, end) for end in "bcd"))
            small = min(_seconds(reader, unit, CHARS // 2, end) for end in "efgh")
            if large > max(FLOOR_SECONDS, MAX_GROWTH * small):
                results.send((unit, f"{small:.2f} s for 32 KB, {large:.2f} s for 64 KB"))


def _seconds(reader: Reader, unit: str, chars: int, end: str = "a") -> float:
    text = "a" + (unit * (chars // len(unit) + 1))[: chars - 2] + end
    begun = time.process_time()
    try:
        found = reader(text)
        if inspect.isgenerator(found):
            list(found)
    except (ParlourError, ValueError):
        pass  # a refusal
    return time.process_time() - begun


def find_problems(name: str) -> list[str]:
    """Return what is too slow in a reader, measured in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *_room_modules()])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(name, sender))
    process.start()
    sender.close()
    problems, unit = [], ""
    try:
        while True:
            unit, problem = receiver.recv()
            problems += [f"{name}: {unit!r}: {problem}"] if problem else []
    except EOFError:
        process.join()
    if process.exitcode:
        stopped = process.exitcode == -signal.SIGPROF
        problems.append(f"{name}: {unit!r}: {f'over {STOP_SECONDS} s' if stopped else f'exit {process.exitcode}'}")
    return problems


def test_every_reader_of_texts_takes_linear_time() -> None:
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        problems = [line for lines in pool.map(find_problems, find_readers()) for line in lines]
    assert problems == []


@pytest.mark.parametrize("name", SLOW_READERS)
def test_a_slow_reader_is_noticed(name: str) -> None:
    assert find_problems(name)
