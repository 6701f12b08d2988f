"""Whether a turn's prompt shows text of others than the user and the tenant.

Such text may tell the model what to do: what a tool outside of Parlour answered, unless the pack trusts its results,
files that came with a message, and files and documents that others wrote. It counts as long as the history of the
prompt has the turn that read it: its reply may repeat the text.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress

from parlour.conversations.handoff_rules import HAND_OFF
from parlour.conversations.journal import Journal
from parlour.infra.errors import (
    ApprovalChanged,
    ApprovalExpired,
    ApprovalRefused,
    InvalidArguments,
    ToolNotAvailable,
    UnknownTool,
)
from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly import user_message
from parlour.prompts.assembly.call_stubs import WAITING, WAITING_FOR_USER, WITHDRAWN
from parlour.prompts.assembly.past_turn import PastTurn
from parlour.prompts.assembly.tool_rounds import ASKED
from parlour.prompts.assembly.user_message import TOOL_RESULT_KIND, ReceivedText
from parlour.search.text_of_others import WRITTEN_BY_OTHERS
from parlour.tools.builtin.builtin_tools import BUILTIN_TOOLS
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool

type OutsideCheck = Callable[[str], bool]

_BUILTIN_NAMES = frozenset({HAND_OFF, *(tool.name for tool in BUILTIN_TOOLS)})

_PARLOURS_CODES = frozenset(
    {
        ASKED,
        ApprovalChanged.code,
        ApprovalExpired.code,
        ApprovalRefused.code,
        InvalidArguments.code,
        ToolNotAvailable.code,
        UnknownTool.code,
    }
)
"""Codes of calls that never reached their tool. Other failures may quote it."""


def shows_untrusted_text(
    tools: Sequence[Tool],
    input_messages: Sequence[ReceivedText],
    journal: Journal,
    past_turns: Sequence[PastTurn],
    *,
    has_attachments: bool,
) -> bool:
    """Return whether the turn's inputs, its own tool calls so far or the history of its prompt bring such text."""
    late = [one.body for one in input_messages if one.kind == TOOL_RESULT_KIND]
    is_outside = _outside_check(tools)
    return (
        has_attachments
        or any(_is_from_outside(body, is_outside) for body in late)
        or has_outside_results(tools, journal)
        or any(_read_outside_text(turn, is_outside) for turn in past_turns)
    )


def has_outside_results(tools: Sequence[Tool], journal: Journal) -> bool:
    """Return whether a tool outside of Parlour, or one that read text of others, has answered in the turn."""
    is_outside = _outside_check(tools)
    return any(
        WRITTEN_BY_OTHERS in (result := results[request.call_id])
        or (is_outside(request.name) and _reached_tool(result))
        for step in journal.steps
        for results in (journal.results_of_step(step.number),)
        for request in step.tool_requests
        if request.call_id in results
    )


def _outside_check(tools: Sequence[Tool]) -> OutsideCheck:
    """Return what says whether a tool may answer with text of others; the pack says of which it may not.

    One that the agent does not have may be another desk's.
    """
    known = {tool.name: not (tool.trusted_results or tool.endpoint.startswith(BUILTIN_SCHEME)) for tool in tools}
    return lambda name: known.get(name, name not in _BUILTIN_NAMES)


def _reached_tool(result: JsonObject) -> bool:
    """Return whether a result may have text of the tool; Parlour's own errors all say whether to try again."""
    if result.get("ok") is not False or "retryable" not in result:
        return True
    return result.get("code") not in _PARLOURS_CODES


def _is_from_outside(late_result: str, is_outside: OutsideCheck) -> bool:
    """Return whether a tool's late result has text of the tool."""
    with suppress(ValueError, AttributeError):
        told = json.loads(late_result)
        return is_outside(str(told.get("tool", ""))) and _reached_tool(told.get("result") or {})
    return True


def _read_outside_text(turn: PastTurn, is_outside: OutsideCheck) -> bool:
    late = filter(None, (user_message.late_result_body(str(one.text)) for one in turn.user_messages))
    if turn.attachments or any(_is_from_outside(body, is_outside) for body in late):
        return True
    contents = [message.get("content") for message in turn.tool_messages]
    lists = [content for content in contents if isinstance(content, list)]
    blocks = [block for content in lists for block in content if isinstance(block, dict)]
    names = {str(block["id"]): str(block["name"]) for block in blocks if block.get("type") == "tool_use"}
    return any(
        is_outside(names.get(str(block.get("tool_use_id")), "")) and not _is_own_failure(str(block.get("content")))
        for block in blocks
        if block.get("type") == "tool_result"
    )


def _is_own_failure(stub: str) -> bool:
    """Return whether a result's line in history is of a call that never reached its tool."""
    outcome, _, failure = stub.partition(": ")
    return stub in {WAITING, WAITING_FOR_USER, WITHDRAWN} or (
        outcome == "failed" and failure.partition(": ")[0] in _PARLOURS_CODES
    )
