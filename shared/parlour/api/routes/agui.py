"""AG-UI 1.0: the same conversation for clients of that protocol. One run is one message, and the answer to it.

The history is ours: what a client sends of it beyond its newest message is not read, nor are its state, tools and
context.
"""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Annotated
from uuid import UUID

import anyio
from ag_ui.core import BaseEvent, Message, ResumeEntry, RunAgentInput, TextPart, UserMessage
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter, Path, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from parlour.api import agui_events
from parlour.api.agui_events import AguiRun
from parlour.api.approval_answers import give_answer
from parlour.api.approval_schemas import InterruptAnswer
from parlour.api.authorization import AnyCaller, Caller
from parlour.api.event_stream import (
    KEEP_ALIVE_FRAME,
    LIVE_TIMING,
    EventStreamResponse,
    StreamTiming,
    is_response_buffered,
)
from parlour.api.feed_watch import get_feed_watch
from parlour.api.middleware import MAX_RUN_BYTES
from parlour.api.schemas import NewMessage
from parlour.approvals import approvals
from parlour.approvals.approvals import Answer
from parlour.approvals.rows import Approval
from parlour.conversations import answer_follower, inbound_messages
from parlour.conversations.answer_follower import AnswerFollower, AnswerProgress
from parlour.infra import log
from parlour.infra.errors import Forbidden, InvalidRequest, NotAcceptable, NotFound, ParlourError
from parlour.tenancy import bindings
from parlour.tenancy.rows import Session

router = APIRouter(prefix="/v1/agui", tags=["sessions"])

BindingSlug = Annotated[str, Path(max_length=63, description="the agent's slug, as sessions are opened with it")]

_ABANDONED = InterruptAnswer(approved=False, reason="The question was dismissed.")
_MAX_ANSWERS = 20
"""Answers in one `resume`: each is a transaction of its own, and a turn asks few questions."""

_IS_LATE = "The answer takes longer. It will be stored; send the same run again to follow it."


@router.post("/{binding}", response_class=EventStreamResponse, status_code=200, max_body_size=MAX_RUN_BYTES)
def run_agent(request: Request, binding: BindingSlug, given: RunAgentInput, caller: AnyCaller) -> EventStreamResponse:
    """Run an agent over AG-UI 1.0: store the newest user message, and stream the turn that answers it.

    `threadId` is the session's id, and the credentials are the session's. Sending a message with the same id again
    streams the same answer again. `resume` answers the questions of an interrupted run. Each stream ends with exactly
    one RUN_FINISHED or RUN_ERROR.
    """
    if is_response_buffered(request):
        raise NotAcceptable("responses are not streamed here; use POST and GET /v1/sessions/{session_id}/...")
    session = _own_session(caller, given.thread_id, binding)
    answers = _parse_answers(given.resume or ())
    is_new = bool(given.messages) and isinstance(given.messages[-1], UserMessage)
    position = _find_message(given.messages) if is_new or not given.resume else None
    text = _message_text(given.messages[position]) if position is not None else ""
    caller.require_message_tokens()
    caller.require_stream_tokens()
    run = agui_events.new_run(given, given.messages if position is None else given.messages[: position + 1])
    wait_after = partial(get_feed_watch(request).wait, caller.principal.tenant_id, session.id)
    with ExitStack() as opened:
        opened.callback(caller.open_stream())
        call_ids = _answer_questions(caller, session.id, answers)
        message_id = (
            _store_message(caller, session.id, given.messages[position].id, text) if position is not None else None
        )
        if answers:
            with caller.transaction() as tx:
                run.asked_calls |= answer_follower.list_asked_calls(tx, session.id, [one for one, _ in answers])
        follower = AnswerFollower(session.id, message_id, call_ids)
        stream = _Stream(caller, follower, run, wait_after, restates=position is not None and not is_new)
        return EventStreamResponse(stream.frames(LIVE_TIMING), opened.pop_all().close)


@dataclass(frozen=True, slots=True)
class _Stream:
    """A run on its way to the client."""

    caller: Caller
    follower: AnswerFollower
    run: AguiRun
    wait_after: Callable[[int, float], Awaitable[int]]
    restates: bool

    async def frames(self, timing: StreamTiming, clock: Callable[[], float] = anyio.current_time) -> AsyncIterator[str]:
        """Yield the run's text. It ends with one terminal event, whatever happens."""
        yield _to_frames(self.run.begin(restates=self.restates))
        begun = quiet_since = clock()
        newest = 0
        while not self.run.is_over:
            number = self.follower.number
            try:
                frames = await run_in_threadpool(self._read_frames)
            except ParlourError as problem:
                log.warning("stream_ended", code=problem.code)
                frames = _to_frames(self.run.fail(problem.code, _IS_LATE))
            except Exception as problem:  # noqa: BLE001 - a stream without an end would be read as a short answer
                log.error("run_failed", problem)
                frames = _to_frames(self.run.fail("internal", _IS_LATE))
            if not frames and clock() - begun >= timing.max_seconds:
                frames = _to_frames(self.run.fail("answer_pending", _IS_LATE))
            if frames:
                quiet_since = clock()
                yield frames
            elif clock() - quiet_since >= timing.keep_alive:
                quiet_since = clock()
                yield KEEP_ALIVE_FRAME
            if not self.run.is_over:
                # After an empty read, all up to `newest` is hidden from this reader or of another answer.
                seen = max(self.follower.number or 0, newest if self.follower.number == number else 0)
                newest = await self.wait_after(seen, timing.max_wait)

    def _read_frames(self) -> str:
        """Return what is new, and the end when it has come.

        A run ends at once where people have the thread: no turn begins before they hand it back.
        """
        with self.caller.transaction() as tx:
            # Before the events: of a turn that has ended, the last ones are seen then.
            is_left_to_people = answer_follower.is_left_to_people(tx, self.follower.session_id)
            if self.follower.message_id is None and not self.follower.call_ids:
                progress = AnswerProgress(is_over=True)  # nothing was answered that a turn would follow
            else:
                progress = self.follower.read_new(self.caller.principal, tx)
                if is_left_to_people and not progress.events:
                    progress = AnswerProgress(is_over=True)
            questions: list[Approval] = []
            if progress.is_over:
                session_id = self.follower.session_id
                questions = [one for one in approvals.list_open(tx, session_id) if one.approver == "user"]
                self.run.asked_calls |= answer_follower.list_asked_calls(tx, session_id)
        return _to_frames(self._translate(progress, questions))

    def _translate(self, progress: AnswerProgress, questions: Sequence[Approval]) -> Iterator[BaseEvent]:
        for event in progress.events:
            yield from self.run.translate(event, progress.replies)
        if progress.is_over:
            yield from self.run.finish(questions)


def _to_frames(events: Iterator[BaseEvent]) -> str:
    encoder = EventEncoder()
    return "".join(encoder.encode(event) for event in events)


def _own_session(caller: Caller, thread_id: str, binding: str) -> Session:
    """Return the thread's session; NotFound when it is another's, or with another agent."""
    if caller.principal.kind != "user":
        raise Forbidden("only the visitor who owns the session may write in it")
    try:
        session_id = UUID(thread_id)
    except ValueError:
        raise NotFound("threadId: no such session; use the session_id of POST /v1/sessions") from None
    with caller.transaction() as tx:
        session = caller.get_session(tx, session_id)
        found = bindings.find_binding_by_slug(tx, binding)
    if found is None or found.id != session.binding_id:
        raise NotFound("the session is with another agent; use the slug that it was opened with")
    return session


def _find_message(messages: Sequence[Message]) -> int:
    """Return where the newest message of the user is."""
    for position in range(len(messages) - 1, -1, -1):
        if isinstance(messages[position], UserMessage):
            return position
    raise InvalidRequest("messages: send at least one message with the role `user`, or `resume`")


def _message_text(message: Message) -> str:
    """Return what the user wrote; other parts than text are not read."""
    content = message.content if isinstance(message, UserMessage) else ""
    parts = [content] if isinstance(content, str) else [one.text for one in content if isinstance(one, TextPart)]
    try:
        return NewMessage(text="\n\n".join(parts)).text
    except ValidationError as problem:
        raise InvalidRequest(f"messages: the newest user message: {problem.errors()[0]['msg']}") from None


def _store_message(caller: Caller, session_id: UUID, message_id: str, text: str) -> UUID:
    """Store the message, once by its id, and wake its turn; return our id of it."""
    services = caller.dependencies
    client_id = hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with services.databases.borrow() as database:
        return inbound_messages.receive_web_message(
            caller.principal,
            database,
            services.turns_web_queue,
            services.wakeup_queue,
            inbound_messages.WebMessage(session_id, text, client_id, address=caller.address),
            caller.now,
        )


def _parse_answers(entries: Sequence[ResumeEntry]) -> list[tuple[UUID, InterruptAnswer]]:
    """Return the answers by question, the first to each. InvalidRequest for a payload that is none, or too many."""
    if len(entries) > _MAX_ANSWERS:
        raise InvalidRequest(f"resume: at most {_MAX_ANSWERS} answers; send the others with the next run")
    parsed: dict[UUID, InterruptAnswer] = {}
    for entry in entries:
        try:
            answer = _ABANDONED if entry.status == "cancelled" else InterruptAnswer.model_validate(entry.payload)
        except ValidationError as problem:
            raise InvalidRequest(f"resume: payload: {problem.errors()[0]['msg']}") from None
        try:
            parsed.setdefault(UUID(entry.interrupt_id), answer)
        except ValueError:
            log.warning("unknown_interrupt")
    return [*parsed.items()]


def _answer_questions(caller: Caller, session_id: UUID, answers: Sequence[tuple[UUID, InterruptAnswer]]) -> list[UUID]:
    """Answer the questions, and return the calls whose outcomes the conversation is told of.

    A question that is not the user's, or not of this session, is left out, as the protocol says. One that was answered
    before is followed again.
    """
    call_ids: list[UUID] = []
    for approval_id, given in answers:
        try:
            _require_question(caller, session_id, approval_id)
            answer = Answer("approve" if given.approved else "refuse", given.reason, given.edited_arguments)
            outcome = give_answer(caller, approval_id, answer)
        except (NotFound, Forbidden):
            log.warning("unknown_interrupt")
            continue
        if outcome.ended or outcome.approval.state not in {"asked", "superseded"}:
            call_ids.append(outcome.approval.tool_call_id)
    return call_ids


def _require_question(caller: Caller, session_id: UUID, approval_id: UUID) -> None:
    with caller.transaction() as tx:
        asked = approvals.get_approval(caller.principal, tx, approval_id)
    if asked.session_id != session_id:
        raise NotFound
