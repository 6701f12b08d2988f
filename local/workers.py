"""Lambda's workers, small: a function's handler in a process of its own, forked in milliseconds.

A server that has imported every handler, and is connected to nothing, forks the workers (`local.preload`). A worker
is what Lambda calls an execution environment: it takes one event after the other, keeps its connections in between,
and may be killed at any moment.
"""

import functools
import importlib
import multiprocessing
import os
import signal
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, Protocol, cast

type Outcome = Literal["answered", "raised", "killed", "timed_out"]


class InvocationWrapper(Protocol):
    """Put around a handler's call, inside the worker: has to survive pickling. What it returns is the answer."""

    @property
    def needs_cold_worker(self) -> bool:
        """Whether it needs a worker that has connected to nothing yet."""

    def __call__(self, call: Callable[[], Any], /) -> Any: ...


@dataclass(frozen=True, slots=True)
class InvocationResult:
    """How an invocation ended. `answer` is the handler's (or the wrap's), or what was raised, in words."""

    outcome: Outcome
    answer: Any
    seconds: float


class LambdaContext:
    """What Lambda tells a handler about its invocation."""

    def __init__(self, function: str, seconds: float) -> None:
        self.function_name = function
        self.function_version = "$LATEST"
        self.memory_limit_in_mb = 512
        self.invoked_function_arn = f"arn:aws:lambda:us-east-1:000000000000:function:{function}"
        self.aws_request_id = str(uuid.uuid4())
        self._deadline = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """Never below zero, as Lambda's."""
        return max(0, round((self._deadline - time.monotonic()) * 1000))


class Worker:
    """One process for one function, from its start until it is killed, dies or is let go."""

    def __init__(self, function: str, environment: Mapping[str, str], log: Path) -> None:
        context = _fork_context()
        self.function = function
        self._pipe, theirs = context.Pipe()
        arguments = (function, dict(environment), str(log), theirs)
        self._process = context.Process(target=_worker_main, args=arguments, daemon=True)
        with _START_LOCK:
            self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        pid = self._process.pid
        assert pid is not None  # it was started
        return pid

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def invoke(self, event: Any, seconds: float, wrap: InvocationWrapper | None = None) -> InvocationResult:
        """Give it an event and wait for the end; after `seconds` it is killed, as Lambda does."""
        begun = time.monotonic()
        self.begin(event, seconds, wrap)
        return self.end(begun + seconds, begun)

    def begin(self, event: Any, seconds: float, wrap: InvocationWrapper | None = None) -> None:
        """Hand the event over and do not wait."""
        with suppress(BrokenPipeError):  # it is dead already; `end` says so
            self._pipe.send((event, seconds, wrap))

    def end(self, deadline: float, begun: float) -> InvocationResult:
        """Wait for the end of what was begun, until `deadline` by the monotonic clock."""
        try:
            if self._pipe.poll(max(0.0, deadline - time.monotonic())):
                how, answer = self._pipe.recv()
                return InvocationResult(how, answer, time.monotonic() - begun)
        except (EOFError, ConnectionResetError):
            self._process.join()
            return InvocationResult("killed", self._process.exitcode, time.monotonic() - begun)
        self.kill()
        return InvocationResult("timed_out", None, time.monotonic() - begun)

    def kill_process(self) -> None:
        """Kill the process and nothing else; whoever waits for its answer is told."""
        self._process.kill()

    def kill(self) -> None:
        """End the process at once, whatever it is at."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def suspend(self) -> None:
        """Stop the process where it is, until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on as if no time had passed."""
        os.kill(self.pid, signal.SIGCONT)


class WorkerPool:
    """The workers of one deployment: started as they are needed, kept for the next event, killed at the end.

    environment   what every function is given; each reads only its own variables.
    folder        one log per function is written there.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment = environment
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._idle: dict[str, list[Worker]] = {}
        self._all: list[Worker] = []
        self._lock = threading.Lock()

    def start(self, function: str) -> Worker:
        """A new worker, cold: it has connected to nothing yet."""
        worker = Worker(function, self._environment, self._folder / f"{function}.log")
        with self._lock:
            self._all.append(worker)
        return worker

    def invoke(
        self, function: str, event: Any, seconds: float, wrap: InvocationWrapper | None = None
    ) -> InvocationResult:
        """Have a worker handle the event: one that is free, or a new one."""
        worker = self.start(function) if wrap and wrap.needs_cold_worker else self._get_worker(function)
        ended = worker.invoke(event, seconds, wrap)
        with self._lock:
            idle = self._idle.setdefault(function, [])
            is_kept = ended.outcome in {"answered", "raised"} and len(idle) < _MAX_IDLE
            if is_kept:
                idle.append(worker)
            elif worker in self._all:
                self._all.remove(worker)
        if not is_kept:
            worker.kill()
        return ended

    def list_busy(self) -> list[Worker]:
        """Return the workers that are at something."""
        with self._lock:
            idle = {id(worker) for workers in self._idle.values() for worker in workers}
            return [worker for worker in self._all if id(worker) not in idle and worker.is_alive]

    def stop(self) -> None:
        """Kill them all."""
        with self._lock:
            stopping, self._all, self._idle = self._all, [], {}
        for worker in stopping:
            worker.kill()

    def _get_worker(self, function: str) -> Worker:
        with self._lock:
            idle = self._idle.get(function)
            if idle:
                return idle.pop()
        return self.start(function)


_MAX_IDLE = 10
"""Idle workers of a function that are kept: each has 200 MB."""

_START_LOCK = threading.Lock()
"""Processes are started one at a time: what a start remembers is not made for several threads."""


@functools.cache
def _fork_context() -> multiprocessing.context.ForkServerContext:
    """Where workers are forked from: a process without threads, which has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["local.preload"])
    return context


def _worker_main(function: str, environment: dict[str, str], log: str, pipe: Connection) -> None:
    """A worker's life: events in, answers out, until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever runs us, who then ends us
    os.environ.clear()  # noqa: TID251 - a launcher decides what its children see
    os.environ.update(environment)  # noqa: TID251
    descriptor = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    handler = importlib.import_module(f"functions.{function}.handler").handler
    while True:
        try:
            event, seconds, wrap = cast("tuple[Any, float, InvocationWrapper | None]", pipe.recv())
        except (EOFError, OSError):
            return
        pipe.send(_run_handler(functools.partial(handler, event, LambdaContext(function, seconds)), wrap))


def _run_handler(call: Callable[[], Any], wrap: InvocationWrapper | None) -> tuple[Outcome, Any]:
    try:
        return "answered", wrap(call) if wrap else call()
    except Exception as error:  # noqa: BLE001 - whatever it is, Lambda reports it and goes on
        return "raised", f"{type(error).__name__}: {error}"
