"""Asking a person before a call runs: which calls ask, and the question as the turn's reply."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.approvals import approvals, bound_call, grants, policy, question
from parlour.approvals.approvals import AskedCall
from parlour.approvals.rows import Approval
from parlour.approvals.typed_answer import button_id
from parlour.conversations import store, untrusted_text
from parlour.conversations.journal import ToolRequest
from parlour.conversations.loaded_turn import LoadedTurn
from parlour.conversations.outgoing_links import filter_links
from parlour.conversations.shown_level import read_shown_level
from parlour.conversations.turn_context import TurnContext
from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly.user_message import TOOL_RESULT_KIND
from parlour.records import crud
from parlour.records.record import Record
from parlour.text.literal_text import escape_markdown, show_invisible
from parlour.tools.builtin.operations import Action, read_operations
from parlour.tools.calls import UnfinishedCall
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """What the reply has to ask: its text, and the buttons of a single question."""

    text: str = ""
    buttons: Sequence[JsonObject] = ()


NO_QUESTIONS = OpenQuestions()
"""Nothing to ask."""

_LINK_CHAR = re.compile(r"\.(?=\w)|:(?=\S)")


def must_ask(running: TurnContext, loaded: LoadedTurn, tool: Tool, arguments: JsonObject) -> bool:
    """Return whether a person has to agree to the call first.

    The tool's or the binding's policy says so and no grant covers it; or the turn has read untrusted text, and the call
    changes what others see. A grant does not cover the second: it was given for calls that the user wanted, not for
    those that a text of others may have caused.
    """
    if tool.writes and running.has_untrusted_text and _reaches_beyond_own_records(running, loaded, tool, arguments):
        return True
    policies = (tool.needs_approval, loaded.persona.binding.needs_approval)
    if not any(policy.asks_first(one, tool, arguments) for one in policies):
        return False
    now = running.dependencies.clock()
    principal, session_id, binding_id = running.feed.principal, running.lease.id, running.turn.binding_id
    is_granted: bool = running.dependencies.database.run(
        principal, lambda tx: grants.is_granted(principal, tx, session_id, binding_id, tool.name, now)
    )
    return not is_granted


def has_untrusted_text(running: TurnContext, loaded: LoadedTurn) -> bool:
    """Return whether the turn begins with text of others than the user and the tenant."""
    materials = loaded.prompt_builder.materials
    if untrusted_text.shows_untrusted_text(
        loaded.tools,
        running.input_messages,
        loaded.journal,
        materials.past_turns,
        has_attachments=bool(materials.attachments),
    ):
        return True
    past = [UUID(turn.id) for turn in materials.past_turns if turn.tool_messages]
    cached = loaded.prompt_builder.cache_state.cached_briefing
    briefed = [one for item in materials.briefing_candidates for one in (item.source, *item.further_sources)]
    briefed += cached.sources if cached else ()
    sources = [UUID(one) for one in sorted({one.id for one in briefed if one.table in {"files", "context_rows"}})]
    return bool(past or sources) and bool(
        running.dependencies.database.run(
            running.feed.principal, lambda tx: store.has_read_text_of_others(tx, past, sources)
        )
    )


def new_approval(
    running: TurnContext,
    loaded: LoadedTurn,
    tool: Tool,
    code_version: str,
    request: ToolRequest,
    call: UnfinishedCall,
) -> Approval:
    """Return the question about a call that the model asked for. code_version: as `rehearse_call` returns it."""
    lease = running.lease
    asked = AskedCall(
        tool=tool,
        code_version=code_version,
        arguments=request.arguments,
        tool_call_id=call.id,
        session_id=lease.id,
        binding_id=running.turn.binding_id,
        user_id=lease.user_id,
        channel=running.input_messages[-1].channel,
        shown_level=read_shown_level(running, loaded),
    )
    now = running.dependencies.clock()
    made: Approval = running.dependencies.database.run(
        running.feed.principal, lambda tx: approvals.new_approval(tx, asked, now)
    )
    return made


def approval_event(approval: Approval, tool: Tool | None = None) -> JsonObject:
    """Return a question as the web's feed has it: all that a card needs."""
    rows = question.argument_rows(approval.arguments, tool.schema if tool else None)
    return {
        "approval_id": str(approval.id),
        "state": approval.state,
        "text": approval.question,
        "tool": approval.tool,
        "arguments": [{"label": row.label, "value": row.value} for row in rows],
        "options": [*approval.options],
        "approver": approval.approver,
        "expires_at": approval.expires_at.isoformat(),
    }


def add_closed_events(running: TurnContext) -> None:
    """Have the web's feed tell of the questions whose outcome this turn answers."""
    if not running.feed.is_followed or all(one.kind != TOOL_RESULT_KIND for one in running.input_messages):
        return
    closed: list[Approval] = running.dependencies.database.run(
        running.feed.principal, lambda tx: approvals.list_closed_in_turn(tx, running.turn.id)
    )
    for one in closed:
        running.feed.add_event("approval", approval_event(one))


def changes_text(running: TurnContext, loaded: LoadedTurn) -> str:
    """Return a line about what the step that asks has changed already, unless the model answered its results."""
    position = max(at for at, step in enumerate(running.journal.steps) if running.journal.results_of_step(step.number))
    step, *later_steps = running.journal.steps[position:]
    if any(later_step.text for later_step in later_steps):
        return ""
    results = running.journal.results_of_step(step.number)
    tools = {tool.name: tool for tool in loaded.tools if tool.writes and not tool.heavy}
    done = [
        (tool, result)
        for request in step.tool_requests
        if (tool := tools.get(request.name)) and (result := results[request.call_id]).get("ok") is not False
    ]
    handles = list({operation.handle: None for tool, result in done for operation in read_operations(tool, result)})
    records = {record.handle: record for record in _find_records(running, loaded, handles)}
    lines: dict[str, None] = {}
    for tool, result in done:
        written = [
            _written_text(running, operation.action, record, result)
            for operation in read_operations(tool, result)
            if operation.action in {"create", "update"} and (record := records.get(operation.handle))
        ]
        label = question.label_text(tool.name, tool.schema)
        lines |= dict.fromkeys(written or [running.canned_texts.find("changes_done").replace("{changes}", label)])
    return "\n".join(lines)


def _find_records(running: TurnContext, loaded: LoadedTurn, handles: Sequence[str]) -> list[Record]:
    if not handles:
        return []
    principal = loaded.principal
    found: list[Record] = running.dependencies.database.run(
        principal, lambda tx: crud.find_records(principal, tx, handles)
    )
    return found


def _written_text(running: TurnContext, action: Action, record: Record, result: JsonObject) -> str:
    """Return a sentence about a record that was created or changed, and who sees it."""
    changed = result.get("changed")
    names = [question.label_text(name, None).lower() for name in changed] if isinstance(changed, dict) else []
    name = _disarm_links(escape_markdown(" ".join(show_invisible(record.name).split())), running.link_hosts)
    texts = running.canned_texts
    sentence = texts.find("record_created" if action == "create" else "record_changed")
    return (
        sentence.replace("{type}", record.type.replace("_", " "))
        .replace("{visibility}", texts.find("record_unverified") if record.unverified_by else "")
        .replace("{properties}", f" ({', '.join(names)})" if names else "")
        .replace("{name}", name)
    )


def open_questions(running: TurnContext) -> OpenQuestions:
    """Return what a reply has to ask: the open questions to the user, and news of those that others are asked."""
    asked_now = running.journal.is_question
    if not (asked_now or running.lease.has_open_questions):
        return OpenQuestions()
    found: list[Approval] = running.dependencies.database.run(
        running.feed.principal, lambda tx: approvals.list_open(tx, running.lease.id)
    )
    own = [one for one in found if one.approver == "user"]
    others = [one for one in found if one.approver != "user" and one.created_at >= running.turn.frozen_at]
    text = _effects_text(running, others) if asked_now else ""
    if not own:
        return OpenQuestions(text)
    words = running.canned_texts
    answer = words.find("question_answer" if len(own) == 1 else "questions_answer")
    how_to_answer = answer.replace("{until}", words.locale.time_text(question.first_expiry(own)))
    asking = "\n\n".join((words.find("question"), _effects_text(running, own), how_to_answer))
    text = "\n\n".join(filter(None, (text, asking)))
    if len(own) > 1:
        return OpenQuestions(text)
    yes: JsonObject = {"id": button_id(own[0].id, "approve"), "title": words.find("question_yes")}
    no: JsonObject = {"id": button_id(own[0].id, "refuse"), "title": words.find("question_no")}
    return OpenQuestions(text, [yes, no])


def _effects_text(running: TurnContext, asked: Sequence[Approval]) -> str:
    """Return the exact effects of questions as Markdown, in which no client makes a link of a foreign address."""
    return question.effects_text([_disarm_links(approval.question, running.link_hosts) for approval in asked])


def _disarm_links(text: str, allowed_hosts: Collection[str]) -> str:
    """Return the text, complete, with each line that has a foreign link written like `evil[.]example/path`."""
    lines = text.split("\n")
    return "\n".join(
        _LINK_CHAR.sub(r"[\g<0>]", line) if filter_links(line, allowed_hosts).removed_count else line for line in lines
    )


def _reaches_beyond_own_records(running: TurnContext, loaded: LoadedTurn, tool: Tool, arguments: JsonObject) -> bool:
    """Return whether the call changes something outside of Parlour, or a record that others see.

    What it creates is unverified, so nobody else sees that (`ToolContext.has_untrusted_text`).
    """
    if not tool.endpoint.startswith(BUILTIN_SCHEME):
        return True
    principal = loaded.access.principal_for(tool.name)
    if principal.write_rights != "all":
        return False
    return bool(
        running.dependencies.database.run(
            running.feed.principal, lambda tx: bound_call.names_records_of_others(tx, arguments, principal.name)
        )
    )
