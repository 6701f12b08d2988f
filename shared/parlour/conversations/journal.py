"""What a turn has done so far, and what it does next. Pure: resuming a turn is the same code as starting one."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from parlour.conversations.handoff_rules import HAND_OFF
from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly.reminder import Closing
from parlour.prompts.assembly.tool_rounds import is_waiting
from parlour.text.sentences import complete_part
from parlour.tools.builtin.definitions import ASK_A_PERSON

STOPPED = "stopped"
"""The stop reason of a step that somebody stopped; its text is what the model had said by then."""

MAX_ANNOUNCEMENT_CHARS = 100
"""Text beside calls that is no longer than this only says what the model is about to do ("Let me look")."""

_PASSING_TOOLS = frozenset({HAND_OFF, ASK_A_PERSON.name})
"""The tools after which the agent no longer answers: words beside such a call are the reply."""

_FINAL_STOP_REASONS = frozenset({STOPPED, "refusal"})
"""Stop reasons of steps without text that are not asked once more."""


@dataclass(frozen=True, slots=True)
class ModelStep:
    """One model inference; `blocks` is None while its answer has not been committed."""

    number: int
    blocks: tuple[JsonObject, ...] | None
    stop_reason: str | None

    @property
    def text(self) -> str:
        """What the model said in words: runs of text blocks, with a blank line where something stands between.

        Of a text that the limit of its tokens cut, the complete sentences and table rows, with the white space behind.
        """
        runs = itertools.groupby(self.blocks or (), key=lambda block: block.get("type") == "text")
        texts = ["".join(str(block["text"]) for block in run) for is_text, run in runs if is_text]
        return complete_part("\n\n".join(texts)) if self.is_cut else join_texts(texts)

    @property
    def is_cut(self) -> bool:
        """Whether the limit of its tokens ended the step in the middle of a text."""
        return self.stop_reason == "max_tokens" and not self.tool_requests and _has_text(self.blocks or ())

    @property
    def tool_requests(self) -> tuple["ToolRequest", ...]:
        """The tool calls the model asked for."""
        return tuple(
            ToolRequest(str(block["id"]), str(block["name"]), _parse_arguments(block))
            for block in self.blocks or ()
            if block.get("type") == "tool_use"
        )


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call as the model asked for it, by the id the model gave it."""

    call_id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A tool call that has its result."""

    step: int
    call_id: str
    result: JsonObject


@dataclass(frozen=True, slots=True)
class Journal:
    """The committed steps and finished tool calls of one turn, in order.

    joined_messages  what the user wrote while the turn ran and it reads.
    unread_tools     the tools whose successful result the model need not read: the runtime tells the user of it.
    """

    steps: tuple[ModelStep, ...]
    finished_calls: tuple[FinishedCall, ...]
    max_tool_iterations: int
    joined_messages: tuple["JoinedMessage", ...] = ()
    unread_tools: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """What the model said in all steps, in order. A step that is not committed has no text.

        What goes on with a text that was cut belongs to its paragraph.
        """
        paragraphs: list[str] = []
        was_cut = False
        for step in self.steps:
            if was_cut:
                paragraphs[-1] += step.text.lstrip()
            else:
                paragraphs.append(step.text)
            was_cut = step.is_cut
        return join_texts(paragraphs)

    @property
    def is_question(self) -> bool:
        """Whether a person is asked about a call of the turn."""
        return any(is_waiting(call.result) for call in self.finished_calls)

    def closing_of(self, position: int) -> Closing:
        """Return why the step at a position, from 0, may call no tool; "" where it may."""
        previous = self.steps[position - 1] if position else None
        if previous and previous.is_cut:
            return "continue"
        if previous and any(map(is_waiting, self.results_of_step(previous.number).values())):
            return "question"
        if sum(1 for step in self.steps[:position] if step.tool_requests) >= self.max_tool_iterations:
            return "limit"
        return "answer" if previous and not previous.tool_requests else ""

    def results_of_step(self, step: int) -> dict[str, JsonObject]:
        """Return the results of a step's tool calls, by call id."""
        return {call.call_id: call.result for call in self.finished_calls if call.step == step}

    def has_unread_results(self, step: ModelStep) -> bool:
        """Return whether a step's calls have results that the model has to read: failures, and what was looked up."""
        results = self.results_of_step(step.number)
        return any(
            not is_waiting(result) and (request.name not in self.unread_tools or result.get("ok") is False)
            for request in step.tool_requests
            if (result := results.get(request.call_id)) is not None
        )

    def ordered_results(self, step: ModelStep) -> tuple[tuple[str, JsonObject], ...]:
        """Return the results of a step's calls in the order in which the model asked for them."""
        found = self.results_of_step(step.number)
        return tuple((one.call_id, found[one.call_id]) for one in step.tool_requests if one.call_id in found)


NOTHING_DONE = Journal((), (), 0)
"""The journal of a turn whose material was not read yet."""


@dataclass(frozen=True, slots=True)
class JoinedMessage:
    """A message that joined the turn after a step: its id, and its text as the model reads it."""

    step: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model; the answer becomes step `step_number`.

    is_retry  an earlier attempt at it was cut short.
    closing   why it may call no tool: now only words count.
    """

    step_number: int
    is_retry: bool
    closing: Closing = ""


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run what step `number` asked for and has no result yet."""

    step_number: int
    requests: tuple[ToolRequest, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """The turn is over.

    text       the words of all its steps, "" for none.
    is_answer  False when the model kept asking for tools, or said no more than what it was about to do.
    is_cut     whether it ends before its end, at the limit of its tokens.
    """

    text: str
    is_answer: bool
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class AskPerson:
    """The turn is over: a person is asked about what the model wants to do.

    text    the words of all its steps.
    is_cut  whether they end before their end, at the limit of their tokens.
    """

    text: str
    is_cut: bool = False


type NextStep = CallModel | RunTools | Reply | AskPerson


def next_step(journal: Journal) -> NextStep:
    """Return what the turn does next, from what is committed alone.

    The model may ask for tools `max_tool_iterations` times; the step after that is asked without tools, and so is the
    one after a step without words and calls. Where such a step has no words, or asks for tools all the same, one more
    is asked; that one ends the turn. A text that its limit cut goes on once. A call about which a person is asked ends
    the turn as well; where the same step has results that the model has to read, one step without tools comes first.
    So do words beside calls after which another desk or a person answers.
    """
    if not journal.steps:
        return CallModel(1, is_retry=False, closing=journal.closing_of(0))
    last, position = journal.steps[-1], len(journal.steps) - 1
    closing = journal.closing_of(position)
    if last.blocks is None:
        return CallModel(last.number, is_retry=True, closing=closing)
    if last.tool_requests and not closing:
        return _after_calls(journal, last)
    if closing == "continue":
        return _end(journal, is_answer=True, is_cut=last.is_cut or not last.text)
    is_over = (
        closing == "question"
        or last.stop_reason in _FINAL_STOP_REASONS
        or (position > 0 and _is_unanswered(journal, position - 1))
    )
    if not last.is_cut and (is_over or not _is_unanswered(journal, position)):
        return _end(journal, is_answer=bool(last.text) or len(journal.text) > MAX_ANNOUNCEMENT_CHARS)
    return CallModel(last.number + 1, is_retry=False, closing=journal.closing_of(position + 1))


def _end(journal: Journal, *, is_answer: bool, is_cut: bool = False) -> NextStep:
    """Return the end of the turn, with the question about a call if there is one."""
    if journal.is_question:
        return AskPerson(journal.text, is_cut)
    return Reply(journal.text, is_answer=is_answer, is_cut=is_cut)


def _is_unanswered(journal: Journal, position: int) -> bool:
    """Return whether a step had no words, or asked for tools where it could call none."""
    step = journal.steps[position]
    return bool(journal.closing_of(position)) if step.tool_requests else not step.text


def _after_calls(journal: Journal, last: ModelStep) -> NextStep:
    """Return what follows a step that asked for tools."""
    results = journal.results_of_step(last.number)
    missing = tuple(request for request in last.tool_requests if request.call_id not in results)
    if missing:
        return RunTools(last.number, missing)
    if journal.is_question and not journal.has_unread_results(last):
        return AskPerson(journal.text)
    if last.text and all(
        request.name in _PASSING_TOOLS and results[request.call_id].get("ok") is not False
        for request in last.tool_requests
    ):
        return Reply(journal.text, is_answer=True)
    return CallModel(last.number + 1, is_retry=False, closing=journal.closing_of(len(journal.steps)))


def join_texts(texts: Iterable[str]) -> str:
    """Return the texts as paragraphs, without those of white space only."""
    return "\n\n".join(filter(None, (text.strip() for text in texts)))


def _has_text(blocks: Iterable[JsonObject]) -> bool:
    return any(block.get("type") == "text" and str(block.get("text", "")).strip() for block in blocks)


def _parse_arguments(block: JsonObject) -> JsonObject:
    given = block.get("input")
    return given if isinstance(given, dict) else {}
