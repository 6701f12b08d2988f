"""Everything a turn needs, read once when it begins: who, as whom, with what, and what was said."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.approvals import approvals, question
from parlour.conversations import (
    briefing_candidates,
    handoffs,
    journal_redaction,
    memory_writes,
    message_joining,
    store,
)
from parlour.conversations.abilities import abilities_of
from parlour.conversations.handoff_rules import HAND_OFF, hand_off_tool
from parlour.conversations.journal import FinishedCall, Journal, ModelStep
from parlour.conversations.rows import InboundMessage, Lease, OpenTurn
from parlour.conversations.turn_context import TurnContext
from parlour.inbox.service_hours import Service, persona_locale
from parlour.infra.errors import Misconfigured, NotFound
from parlour.infra.json_values import JsonObject, digest_of_texts
from parlour.infra.postgres import Transaction
from parlour.models import model_routing
from parlour.principal import Principal
from parlour.prompts.assembly import attachments, budget, tiers, turn_metadata, user_message
from parlour.prompts.assembly.assembler import is_briefing_due
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.past_turn import Message
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.prompts.assembly.tool_rounds import ToolRound
from parlour.prompts.assembly.turn_metadata import Writer
from parlour.prompts.ledger.prompt_builder import (
    PreviousPrompts,
    PromptBuilder,
    load_previous_prompts,
    load_recorded_prompts,
    model_key,
)
from parlour.prompts.ledger.prompt_record import PromptInputs
from parlour.records.linked_records import FocusRecord, LinkedRecordsCache, read_focus_record
from parlour.records.type_lines import KnownTypes
from parlour.tenancy import bindings, users
from parlour.tenancy.access import Access, identify
from parlour.tenancy.bindings import Persona
from parlour.tenancy.rows import User
from parlour.text.citation_markers import names_a_source
from parlour.text.token_counter import TokenCounter
from parlour.tools import calls, effects
from parlour.tools.builtin.definitions import ASK_A_PERSON
from parlour.tools.builtin.operations import RECORD_WRITING_ENDPOINTS
from parlour.tools.calls import UnfinishedCall
from parlour.tools.registry import parse_tools
from parlour.tools.tool_definition import Tool

_NUMBERS_AS_READ = "The user reads the sources of your last reply that cites any under other numbers: {}."


@dataclass(frozen=True, slots=True)
class LoadedTurn:
    """One turn's material.

    access                 what the user may do, computed once for the turn.
    tools                  all tools of the agent; prompts offer those that the user may use.
    journal                what the turn had done when it was begun or resumed.
    unfinished_calls       effects that were reserved or begun and have no outcome, by step and call.
    undispatched_call_ids  heavy calls whose message may never have reached the dispatcher.
    entity_id              the record that the conversation is about, if its user may see it.
    recent_user_texts      what the user wrote last, two messages at most, oldest first.
    """

    access: Access
    persona: Persona
    tools: tuple[Tool, ...]
    prompt_builder: PromptBuilder
    journal: Journal
    unfinished_calls: Mapping[tuple[int, str], UnfinishedCall]
    undispatched_call_ids: Sequence[UUID]
    entity_id: UUID | None = None
    recent_user_texts: Sequence[str] = ()

    @property
    def principal(self) -> Principal:
        """Return who talks, with the rights that their binding gives in general."""
        return self.access.principal

    def tool_rounds(self, journal: Journal) -> tuple[ToolRound, ...]:
        """Return the turn's tool calls so far, with their results.

        A step that could call no tool, or was cut, is in it with its text alone: what it asked for did not run.
        """
        rounds: list[ToolRound] = []
        for position, step in enumerate(journal.steps):
            if step.tool_requests and not journal.closing_of(position):
                joined = tuple((one.id, one.text) for one in journal.joined_messages if one.step == step.number)
                rounds.append(ToolRound(_without_empty_text(step.blocks or ()), journal.ordered_results(step), joined))
            elif step.text:
                rounds.append(ToolRound(({"type": "text", "text": step.text.rstrip()},), ()))
        return tuple(rounds)


type ReadInOwnTransaction = Callable[[Callable[[Transaction], list[Item]]], list[Item]]


def load_turn(
    tx: Transaction,
    turn_context: TurnContext,
    now: datetime,
    read_in_own_transaction: ReadInOwnTransaction,
) -> LoadedTurn:
    """Read the turn's material; what only some turns need is read in a transaction of its own.

    NotFound when the binding or the user is gone, Misconfigured when a tier is wrong.
    """
    lease, turn, dependencies = turn_context.lease, turn_context.turn, turn_context.dependencies
    persona = bindings.load_persona(tx, turn.binding_id, lease.user_id)
    if persona is None:
        raise NotFound("the session's binding is gone")
    access = users.persona_access(persona, is_by_phone=lease.is_by_phone)
    principal = access.principal
    tx.read_as(principal)
    if lease.was_handed_over and turn.is_new:
        handoffs.withhold_shown(tx, lease.id, turn.id, principal.clearance)
    hosts = persona.tenant.settings.get("tool_hosts")
    tool_hosts = [str(host) for host in hosts] if isinstance(hosts, list) else []
    all_tools = parse_tools(persona.tools_json, persona.agent.tools, tool_hosts, persona.tenant.slug)
    if persona.handoff_targets:
        all_tools = sorted([*all_tools, hand_off_tool(persona.handoff_targets)], key=lambda tool: tool.name)
    refused = _refused_tools(persona, access, all_tools)
    tools = [tool for tool in all_tools if tool.name not in refused]
    about = _load_focus_record(tx, principal, lease, persona, dependencies.linked_records_cache, now)
    read = _TurnLoader(
        tx,
        principal,
        lease,
        turn,
        turn_context.input_messages,
        persona,
        tools,
        _tier_items(persona, access, tools, refused),
        about,
        _first_model(persona, dependencies.models),
        read_in_own_transaction,
    )
    journal = read.load_journal()
    prompting = (None if turn.is_new else read.load_recorded_prompts()) or read.new_prompt_builder()
    left_open = {} if turn.is_new else {(one.step, one.call_id): one for one in calls.list_unfinished(tx, turn.id)}
    undispatched = [] if turn.is_new else calls.list_undispatched(tx, turn.id)
    return LoadedTurn(
        access,
        persona,
        tuple(all_tools),
        prompting,
        journal,
        left_open,
        undispatched,
        entity_id=about.id if about else None,
        recent_user_texts=_recent_user_texts(prompting.materials),
    )


@dataclass(slots=True)
class _TurnLoader:
    """A turn whose material is being read; `is_withheld` once something of its own calls is not told any more."""

    tx: Transaction
    principal: Principal
    lease: Lease
    turn: OpenTurn
    input_messages: Sequence[InboundMessage]
    persona: Persona
    tools: Sequence[Tool]
    tier_items: Sequence[Item]
    focus_record: FocusRecord | None
    model: str
    read_in_own_transaction: ReadInOwnTransaction
    has_withheld_results: bool = False

    def load_journal(self) -> Journal:
        """Where a turn that goes on stands. What its calls found and its reader may not be told of any more is not in
        it, and its prompts are begun anew then."""
        tx, turn = self.tx, self.turn
        new = Journal((), (), self.persona.agent.max_tool_iterations, unread_tools=_unread_tools(self.tools))
        if turn.is_new:
            return new
        steps = tuple(
            ModelStep(row.number, None if row.blocks is None else tuple(row.blocks), row.stop_reason)
            for row in store.list_steps(tx, turn.id)
        )
        finished = tuple(
            FinishedCall(row.step, row.call_id, row.result) for row in store.list_finished_calls(tx, turn.id)
        )
        joined = message_joining.joined_messages(self.input_messages)
        journal = replace(new, steps=steps, finished_calls=finished, joined_messages=joined)
        told = journal_redaction.withhold_restricted_results(
            tx, self.lease.id, journal, self._writing_tools(), self.principal.clearance
        )
        self.has_withheld_results = told is not journal
        return told

    def load_recorded_prompts(self) -> PromptBuilder | None:
        """Return the prompts of a resumed turn as they were begun: not a byte changes.

        None when no model was asked yet, and when they are to be built again: the turn was redriven, perhaps days
        later, its reader may see less by now, or something in them was deleted or restricted.
        """
        found = load_recorded_prompts(self.tx, self.lease.id, self.turn.id)
        if found is None:
            return None
        inputs, rounds, steps = found
        moment = inputs.prepared_turn.context
        is_stale = moment.at != self.turn.frozen_at or moment.clearance > self.principal.clearance
        if is_stale or self._has_restricted_sources(inputs):
            return None
        return PromptBuilder(
            inputs.materials,
            inputs.profile,
            moment,
            inputs.cache_state,
            inputs.prepared_turn,
            self._writing_tools(),
            rounds,
            steps,
            is_recorded=True,
        )

    def new_prompt_builder(self) -> PromptBuilder:
        """Return the prompts of a turn that begins."""
        before = self._previous_prompts()
        standing = before.cache_state
        changed, is_gone = briefing_candidates.find_changes_since_briefing(
            self.principal, self.tx, standing.cached_briefing
        )
        moment = AssemblyContext(
            self.turn.frozen_at,
            self.principal.clearance,
            self.model,
            _prompt_versions(self.persona, self.tools, self.tier_items, self.lease),
            has_restricted_source=is_gone or before.has_withholding_changed,
        )
        known = memory_writes.recall_memories(
            self.tx, self.lease, self.persona, before.past_turns, self.input_messages, self.turn.frozen_at
        )
        persona = self.persona
        materials = PromptMaterials(
            turn_number=self.turn.number,
            tools=tuple(tool.definition_json for tool in self.tools),
            tiers=[*self.tier_items],
            floating_instructions=tiers.floating_instructions(persona.agent),
            reminders=(
                *persona.agent.reminders,
                *_handed_back_instruction(self.lease),
                *handoffs.opening_instruction(self.input_messages),
                *self._numbers_as_read(),
            ),
            turn_metadata=self._turn_metadata(TokenCounter(before.cache_state.token_factors)),
            user_messages=[
                Message(text, Source("messages", str(one.id)))
                for one in self.input_messages
                if one.joined_step is None and (text := user_message.effective_text(one))
            ],
            record_handle=self.focus_record.linked_records.handle if self.focus_record else "",
            briefing_candidates=briefing_candidates.record_candidates(self.focus_record, self.tools),
            past_turns=before.past_turns,
            summary=before.summary,
            is_summary_pending=before.is_summary_pending,
            tail_candidates=[
                *changed,
                *known.items,
                *handoffs.brief_items(self.tx, self.lease, self.turn.id),
                *self._open_question_items(),
            ],
            attachments=self._attachment_items(),
            acting_tools=_acting_tools(self.tools),
        )
        prompting = PromptBuilder(
            materials,
            self._budget_profile(),
            moment,
            standing,
            writing_tools=self._writing_tools(),
            max_episodes=known.max_episodes,
            is_summary_requested=before.is_summary_requested,
        )
        if is_briefing_due(materials, standing, moment):
            prompting.materials = replace(
                materials, briefing_candidates=[*materials.briefing_candidates, *self._surrounding_candidates(self.tx)]
            )
        else:
            prompting.read_surrounding = lambda: self.read_in_own_transaction(self._surrounding_candidates)
        return prompting

    def _turn_metadata(self, counter: TokenCounter) -> str:
        user, binding, now = self.persona.user, self.persona.binding, self.turn.frozen_at
        return turn_metadata.render_turn_metadata(
            counter,
            now.astimezone(persona_locale(self.persona).zone),
            self.input_messages[-1].channel,
            user.locale if user else None,
            _writer(user, self.principal),
            Service.parse(binding.inbox).describe_duty(now),
        )

    def _previous_prompts(self) -> PreviousPrompts:
        return load_previous_prompts(
            self.tx, self.lease.id, self.turn.number, self.model, self.principal.clearance, self.turn.frozen_at
        )

    def _has_restricted_sources(self, inputs: PromptInputs) -> bool:
        """Whether something that the turn's prompts tell of was deleted or closed to their reader since."""
        told = [*inputs.materials.attachments, *inputs.materials.tail_candidates]
        return (
            self.has_withheld_results
            or self._previous_prompts().has_withholding_changed
            or briefing_candidates.find_changes_since_briefing(
                self.principal, self.tx, inputs.prepared_turn.cache_state.cached_briefing
            )[1]
            or journal_redaction.has_restricted_source(self.tx, self.lease.id, told, self.principal.clearance)
        )

    def _surrounding_candidates(self, tx: Transaction) -> list[Item]:
        """Return the candidates further around the record, for a briefing that is rendered: it is cached for long."""
        tx.read_as(self.principal)
        return briefing_candidates.surrounding_candidates(
            self.principal, tx, self.focus_record, self.persona, self.tools, self.turn.frozen_at
        )

    def _open_question_items(self) -> list[Item]:
        """Return what the prompt says of the questions that wait for an answer; the calls are in the history."""
        if not self.lease.has_open_questions:
            return []
        clearance = self.principal.clearance
        open_approvals = approvals.list_open(self.tx, self.lease.id)
        ordered = sorted(
            open_approvals, key=lambda approval: approval.approver != "user"
        )  # numbered as the user reads them
        own = [approval.posted_at for approval in open_approvals if approval.approver == "user"]
        is_unanswered = any(
            message.kind == "text" and bool(own) and message.received_at > max(own) for message in self.input_messages
        )
        texts = (
            question.approved_calls_text(approvals.list_approved(self.tx, self.lease.id), clearance),
            question.open_questions_text(ordered, clearance, persona_locale(self.persona), is_unanswered=is_unanswered),
        )
        source = Source("approvals", str(self.lease.id))
        return [Item(SourceKind.STATE, text, source, score=1.0, title="open questions") for text in texts if text]

    def _numbers_as_read(self) -> tuple[str, ...]:
        """Return the session's numbers of the sources that the user read under others, where a message names one."""
        if not any(names_a_source(message.body) for message in self.input_messages):
            return ()
        cited_numbers = store.find_last_cited_numbers(self.tx, self.lease.id)
        renumbered = [f"{read} is [{number}]" for read, number in enumerate(cited_numbers, 1) if read != number]
        return (_NUMBERS_AS_READ.format(", ".join(renumbered)),) if renumbered else ()

    def _attachment_items(self) -> tuple[Item, ...]:
        rows = [row for one in self.input_messages for row in one.attachments or []]
        return attachments.attachment_items(rows, self.principal.clearance)

    def _writing_tools(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools if tool.writes)

    def _budget_profile(self) -> budget.BudgetProfile:
        """Return the agent's budget; its record type's takes precedence."""
        return budget.resolve_profile(
            self.persona.agent.budget, self.focus_record.budget_override if self.focus_record else None
        )


def _writer(user: User | None, principal: Principal) -> Writer:
    """Return who writes, with the highest of their roles here."""
    if user is None:
        return Writer("user")
    name = user.display_name or ""
    match identify(user):
        case "member":
            role = next((role for role in ("admin", "editor", "viewer") if role in principal.roles), "")
            return Writer("member", role, name)
        case "verified":
            return Writer("user", "verified phone", name)
    return Writer("visitor", "not signed in", name)


def _acting_tools(tools: Sequence[Tool]) -> tuple[str, ...]:
    """Return the tools whose calls do something, also where no record changes: made again, they do it twice."""
    return tuple(tool.name for tool in tools if tool.writes or tool.heavy or tool.name in {HAND_OFF, ASK_A_PERSON.name})


def _unread_tools(tools: Sequence[Tool]) -> frozenset[str]:
    """Return the tools of whose outcome the runtime tells the user where the model does not read it."""
    own_words = {HAND_OFF, ASK_A_PERSON.name}
    return frozenset(tool.name for tool in tools if tool.endpoint in RECORD_WRITING_ENDPOINTS or tool.name in own_words)


def _prompt_versions(persona: Persona, tools: Sequence[Tool], tier_items: Sequence[Item], lease: Lease) -> JsonObject:
    """Return what a cached prompt depends on; another desk than the door's is named, as versions do not tell it.

    The text of the tiers also depends on the record types and on the user's rights.
    """
    desk: JsonObject = {"desk": persona.binding.slug} if lease.was_handed_over else {}
    text = digest_of_texts(tuple(item.text for item in tier_items))
    return {**persona.versions, **desk, "tool_names": [tool.name for tool in tools], "tiers": text}


def link_hosts(settings: JsonObject) -> frozenset[str]:
    """Return the hosts that links of a tenant's replies may lead to: those that it names, its own, its records'."""
    lists = (settings.get(name) for name in ("link_hosts", "own_hosts"))
    return frozenset(str(host) for hosts in lists if isinstance(hosts, list) for host in hosts)


def _first_model(persona: Persona, providers: Collection[str]) -> str:
    """Which model will be asked first; "" when none can be: whoever asks is told why."""
    with suppress(Misconfigured):
        first = model_routing.filter_available(
            model_routing.choose_models(persona.agent.model_routing, "default"), providers
        )[0]
        return model_key(first.provider, first.model)
    return ""


def _handed_back_instruction(lease: Lease) -> tuple[str, ...]:
    """Return what a person told the agent when handing the conversation back, as the operator's word."""
    if not lease.instruction:
        return ()
    return (f"A person of the team answered here and handed back to you, with this instruction: {lease.instruction}",)


def _refused_tools(persona: Persona, access: Access, tools: Sequence[Tool]) -> list[str]:
    """Return the names of the tools that the user has no rights for.

    An agent that may not act has none: it explains what it would do with its tools.
    """
    if not persona.agent.can_act:
        return []
    return [tool.name for tool in tools if not effects.has_write_rights(access.principal_for(tool.name), tool)]


def _tier_items(persona: Persona, access: Access, tools: Sequence[Tool], refused_tools: Sequence[str]) -> list[Item]:
    """Return layer 1, a section for each tier: the same bytes for all users with the same rights."""
    abilities = abilities_of(
        {tool.name: tool.writes for tool in tools},
        KnownTypes.parse(persona.record_types_json),
        is_unverified=access.principal.write_rights == "own",
        refused_tools=refused_tools,
        handoff_targets=persona.handoff_targets,
    )
    parts = tiers.render_tier_texts(persona.human, persona.team, persona.agent, abilities)
    human, team, agent = persona.human, persona.team, persona.agent
    rows = (
        (SourceKind.HUMAN, Source("humans", str(human.id), human.version), human.display_name),
        (SourceKind.TEAM, Source("teams", str(team.id), team.version), team.display_name),
        (SourceKind.AGENT, Source("agents", str(agent.id), agent.version), agent.display_name),
    )
    return [Item(lot, text, source, title=name) for text, (lot, source, name) in zip(parts, rows, strict=True) if text]


def _recent_user_texts(materials: PromptMaterials) -> list[str]:
    written = [message.text for turn in materials.past_turns for message in turn.user_messages]
    texts = [*written, *(message.text for message in materials.user_messages)]
    return [text for text in texts if not user_message.late_result_body(text)][-2:]


def _load_focus_record(
    tx: Transaction, principal: Principal, lease: Lease, persona: Persona, links: LinkedRecordsCache, now: datetime
) -> FocusRecord | None:
    """Return the session's record as its user may see it now; without one nothing is read."""
    if lease.entity_id is None:
        return None
    return read_focus_record(
        principal,
        tx,
        lease.entity_id,
        team_id=persona.team.id,
        cache=None if persona.user and persona.user.has_unverified else links,
        last_write=persona.last_record_write,
        now=now,
    )


def _without_empty_text(blocks: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """Models do answer with empty text beside a tool call, and refuse to read it back."""
    return tuple(block for block in blocks if block.get("type") != "text" or str(block.get("text", "")).strip())
