"""One step of a turn: the model is asked. The request is committed before, the answer after."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.conversations import store
from parlour.conversations.journal import STOPPED, CallModel, Journal, ModelStep
from parlour.conversations.loaded_turn import LoadedTurn
from parlour.conversations.rows import LlmCall, StepRow
from parlour.conversations.tool_execution import plan_effects, reserve_effect, tell_of_calls
from parlour.conversations.turn_context import COMMIT_RESERVE_SECONDS, TurnContext
from parlour.infra import log
from parlour.infra.errors import ProviderRejected, ProviderUnavailable, SpendRefused, TurnStopped
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models import fallback, images, model_routing, prices, spend
from parlour.models.fallback import RetryTiming
from parlour.models.model import (
    Completion,
    ModelAttempt,
    ModelRequest,
    ReasoningDelta,
    StreamReset,
    TextDelta,
    TokenUsage,
    Waiting,
)
from parlour.models.model_routing import ModelChoice
from parlour.models.spend import Reservation
from parlour.prompts.assembly.assembler import AssembledPrompt
from parlour.prompts.assembly.reminder import Closing
from parlour.prompts.assembly.tiers import MAX_REPLY_TOKENS
from parlour.prompts.ledger import store as prompts
from parlour.prompts.ledger.prompt_builder import PromptBuilder, model_key
from parlour.prompts.ledger.store import StepRequest
from parlour.text.token_counter import TokenCounter

_NOTHING = TokenUsage(0, 0, 0, 0)


def ask_model(running: TurnContext, loaded: LoadedTurn, journal: Journal, step: CallModel) -> Journal:
    """Ask the model, streaming to the feed; commits the request before, the answer and every try after.

    The worst case of every try is reserved against the tenant's daily cap before it is made, and settled with the
    answer. SpendRefused when the cap leaves no room, ProviderUnavailable or ProviderRejected when the whole chain is
    exhausted (its tries are committed), PromptOverflow when the prompt cannot be made to fit, TurnStopped when somebody
    stops the turn: what the model had said is committed as the step's answer.
    """
    choices = model_routing.filter_available(
        model_routing.choose_models(loaded.persona.agent.model_routing, "default"), running.dependencies.models
    )
    prompt_builder = loaded.prompt_builder
    with running.stage_timer.measure("assemble"):
        assembled = prompt_builder.next_prompt(
            step.step_number,
            loaded.tool_rounds(journal),
            model_key(choices[0].provider, choices[0].model),
            step.closing,
        )
    cut_step = journal.steps[-1 - step.is_retry] if step.closing == "continue" else None
    asking = _ModelRequest(running, step.step_number, prompt_builder, assembled, step.closing, cut_step)
    asking.request(choices[0], again=step.is_retry)
    try:
        completed = asking.stream(choices)
    except TurnStopped:
        return asking.complete_stopped(journal)
    except Exception:
        asking.give_up()
        raise
    asking.complete(loaded, completed)
    return _with_step(journal, ModelStep(step.step_number, completed.blocks, completed.stop_reason))


def _with_step(journal: Journal, step: ModelStep) -> Journal:
    return replace(journal, steps=(*(one for one in journal.steps if one.number != step.number), step))


@dataclass(slots=True)
class _ModelRequest:
    """One step being asked for: its tries so far, what was reserved for them, text and reasoning of the present one.

    cut_step  the step whose cut text it goes on with, in the same block of the stream.
    """

    running: TurnContext
    number: int
    prompt_builder: PromptBuilder
    assembled: AssembledPrompt
    closing: Closing
    cut_step: ModelStep | None = None
    attempts: list[ModelAttempt] = field(default_factory=list)
    reserved: list[UUID] = field(default_factory=list)
    streamed: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    _is_first: bool = True
    _thinking_tokens: int = 0

    def request(self, choice: ModelChoice, *, again: bool) -> None:
        """Commit that the model is about to be asked, together with the reservation of the first try."""
        running, services = self.running, self.running.dependencies
        if again:
            self._reset_text()
        running.feed.set_state("thinking")
        running.feed.add_event("context_usage", self.prompt_builder.usage_json(self.number, self.assembled))
        now = services.clock()
        deadline = now + timedelta(seconds=running.seconds_left())
        reservation, worst_case = self._new_reservation(), self._worst_case(choice)
        asking = StepRequest(running.lease.id, running.turn.id, choice.provider, choice.model, now)
        prompt = self.prompt_builder.plan_prompt_writes(asking, self.number, self.assembled, self.closing)

        def commit(tx: Transaction) -> None:
            prompts.insert_prompt_record(tx, prompt)
            if prompt.refused is not None:
                prompts.mark_omitted_attachments(tx, running.turn.id, prompt.refused)
            spend.reserve(
                tx,
                Reservation(
                    id=reservation,
                    amount=worst_case,
                    purpose="turn",
                    default_cap=services.default_cap_usd,
                    expires_at=deadline,
                    anonymous_share=self._anonymous_share(),
                    address=running.lease.address,
                ),
                now=now,
            )

        try:
            running.feed.commit(commit)
        except SpendRefused:
            self._take(reservation, choice)  # is refused again, in a transaction of its own that tells people
            raise
        self.prompt_builder.mark_sent(self.number, self.assembled)

    def stream(self, choices: list[ModelChoice]) -> Completion:
        """Return the model's answer and stream its text to the feed.

        A prompt that any model refused with its images is sent again without them, if none answered: a broken image
        must not end its conversation.
        """
        prompt = self.assembled.prompt
        request = ModelRequest(
            choices[0].model,
            MAX_REPLY_TOKENS,
            prompt.tools,
            prompt.system,
            prompt.messages,
            tool_choice="none" if self.closing else "auto",
        )
        if not images.has_images(request):
            return self._ask(choices, request)
        with self.running.stage_timer.measure("pictures"):
            shown = self.running.dependencies.images.resolve_images(request)
        try:
            return self._ask(choices, shown)
        except (ProviderRejected, ProviderUnavailable):
            if not any(one.outcome == "rejected" for one in self.attempts):
                raise
            log.warning("images_left_out", turn_id=self.running.turn.id, step=self.number)
            return self._ask(choices, images.replace_with_placeholders(shown))

    def _ask(self, choices: list[ModelChoice], request: ModelRequest) -> Completion:
        services = self.running.dependencies
        with self.running.stage_timer.measure("model"):
            parts = fallback.ask_with_fallback(
                choices,
                services.models,
                request,
                timing=RetryTiming(
                    seconds_left=self.running.seconds_left() - COMMIT_RESERVE_SECONDS,
                    sleep=lambda seconds: self.running.stop.sleep(seconds, services.sleep),
                    jitter=services.jitter,
                    is_stopped=self.running.stop.is_requested,
                ),
                before_attempt=self._admit,
            )
            for part in parts:
                match part:
                    case TextDelta(text):
                        has_begun = not self.cut_step or any(map(str.strip, self.streamed))
                        self.streamed.append(text)
                        self.running.feed.stream_text(text if has_begun else text.lstrip(), self._block)
                    case ReasoningDelta(text):
                        self.reasoning.append(text)
                        self.running.feed.stream_reasoning(text, self._block)
                    case Waiting():
                        self.running.feed.flush_due_text()
                    case StreamReset():
                        self.streamed.clear()
                        self.reasoning.clear()
                        self._reset_text()
                    case ModelAttempt():
                        self.attempts.append(part)
                        # Say why a try failed: a status and a kind of error, never what was asked.
                        if part.outcome not in {"ok", "stopped"}:
                            log.warning(
                                "model_call_failed",
                                turn_id=self.running.turn.id,
                                provider=part.provider,
                                model=part.model,
                                outcome=part.outcome,
                                reason=part.problem,
                            )
                    case Completion():
                        self.running.feed.finish_text()
                        return part
        raise AssertionError("a stream ends with Completed or an error")

    def give_up(self) -> None:
        """Commit the tries that led to nothing, and what they may have cost."""
        services = self.running.dependencies
        llm_calls = self._calls(_NOTHING)
        spent, now = self._spent(llm_calls), services.clock()

        def commit(tx: Transaction) -> None:
            store.insert_llm_calls(tx, llm_calls)
            spend.settle(tx, self.reserved, spent, default_cap=services.default_cap_usd, now=now)

        self.running.feed.commit(commit)

    def complete_stopped(self, journal: Journal) -> Journal:
        """Commit what the model had said when the turn was stopped as the answer of the step, with its cost."""
        running, services, turn_id = self.running, self.running.dependencies, self.running.turn.id
        running.feed.finish_text()
        text = "".join(self.streamed).strip()
        blocks: tuple[JsonObject, ...] = ({"type": "text", "text": text},) if text else ()
        row = StepRow(self.number, list(blocks), STOPPED)
        llm_calls = self._calls(_NOTHING)
        spent, now = self._spent(llm_calls), services.clock()
        asked = self.attempts[-1] if self.attempts else None

        def commit(tx: Transaction) -> None:
            if asked is not None:
                store.complete_step(tx, turn_id, row, provider=asked.provider, model=asked.model, now=now)
            store.insert_llm_calls(tx, llm_calls)
            spend.settle(tx, self.reserved, spent, default_cap=services.default_cap_usd, now=now)

        running.feed.commit(commit)
        return _with_step(journal, ModelStep(self.number, blocks, STOPPED))

    def complete(self, loaded: LoadedTurn, completed: Completion) -> None:
        """Commit the answer with its tries and cost; the effects that it asks for are reserved with it."""
        running, services, turn_id = self.running, self.running.dependencies, self.running.turn.id
        answered, usage = self.attempts[-1], completed.usage
        row = StepRow(self.number, list(completed.blocks), completed.stop_reason)
        answer = ModelStep(self.number, completed.blocks, completed.stop_reason)
        if answer.is_cut:
            self._reset_text(answer.text.lstrip())
        requests = () if self.closing else answer.tool_requests
        effects = plan_effects(running, loaded, self.number, requests)
        tell_of_calls(running, loaded, requests)
        running.unfinished_calls.update({(self.number, effect.call.call_id): effect.call for effect in effects})
        llm_calls = self._calls(usage)
        spent, now = self._spent(llm_calls), services.clock()
        factor = None
        if self.number == 1:  # one report in a turn is enough
            reported = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            factor = self.prompt_builder.learned_factor(self.assembled, answered.provider, reported)

        def commit(tx: Transaction) -> None:
            store.complete_step(tx, turn_id, row, provider=answered.provider, model=answered.model, now=now)
            for effect in effects:
                reserve_effect(tx, turn_id, effect)
            if factor is not None:
                prompts.update_token_factor(tx, model_key(answered.provider, answered.model), *factor)
            store.insert_llm_calls(tx, llm_calls)
            # Last: it locks the tenant's day until the commit.
            spend.settle(tx, self.reserved, spent, default_cap=services.default_cap_usd, now=now)

        running.feed.commit(commit)

    @property
    def _block(self) -> int:
        """The block of the stream that shows its text."""
        return self.cut_step.number if self.cut_step else self.number

    def _reset_text(self, text: str = "") -> None:
        """Take back what was streamed; show `text` in its place, after the text that it goes on with."""
        feed = self.running.feed
        feed.add_event("text_reset", {"step": self._block})
        if shown := (self.cut_step.text if self.cut_step else "") + text:
            feed.stream_text(shown, self._block)
            feed.finish_text()

    def _admit(self, choice: ModelChoice) -> None:
        """Reserve an attempt; the first was reserved with the request."""
        self._thinking_tokens = choice.thinking_tokens
        if self._is_first:
            self._is_first = False
        else:
            if self.running.stop.cause:
                raise TurnStopped
            self._take(self._new_reservation(), choice)

    def _take(self, reservation: UUID, choice: ModelChoice) -> None:
        services, now = self.running.dependencies, self.running.dependencies.clock()
        spend.reserve_in_transaction(
            services.database,
            self.running.feed.principal,
            Reservation(
                id=reservation,
                amount=self._worst_case(choice),
                purpose="turn",
                default_cap=services.default_cap_usd,
                expires_at=now + timedelta(seconds=self.running.seconds_left()),
                anonymous_share=self._anonymous_share(),
                address=self.running.lease.address,
            ),
            now=now,
        )

    def _anonymous_share(self) -> Decimal | None:
        access = self.running.access
        return access.limits.anonymous_part if access and access.identification == "anonymous" else None

    def _new_reservation(self) -> UUID:
        self.reserved.append(uuid7(self.running.dependencies.clock()))
        return self.reserved[-1]

    def _worst_case(self, choice: ModelChoice) -> Decimal:
        read = sum(self.assembled.tokens_by_layer.values())
        return prices.worst_case_cost(
            choice.provider,
            choice.model,
            read,
            MAX_REPLY_TOKENS + choice.thinking_tokens,
            self.running.dependencies.clock(),
        )

    def _spent(self, llm_calls: list[LlmCall]) -> Decimal:
        """Return what all tries cost, in US dollars.

        One that broke off after it began to answer is billed for its input, a stopped one also for what it had written.
        """
        spent = Decimal()
        for attempt, call in zip(self.attempts, llm_calls, strict=True):
            if attempt.outcome == "stopped" or (attempt.outcome != "ok" and attempt.first_token_ms is not None):
                read = sum(self.assembled.tokens_by_layer.values())
                spent += prices.worst_case_cost(attempt.provider, attempt.model, read, call.output_tokens, call.at)
            else:
                usage = TokenUsage(
                    call.input_tokens, call.output_tokens, call.cache_read_tokens, call.cache_write_tokens
                )
                spent += prices.charged_cost(attempt.provider, attempt.model, usage, call.at)
        return spent

    def _miss(self, attempt: ModelAttempt, now: datetime) -> JsonObject | None:
        """Return what of the previous prompt was not read from the cache, and what that cost beyond a cache hit."""
        miss = self.assembled.ledger.cache_miss
        if miss is None:
            return None
        anew = prices.known_cost(attempt.provider, attempt.model, TokenUsage(miss.tokens, 0), now)
        cached = prices.known_cost(
            attempt.provider, attempt.model, TokenUsage(0, 0, cache_read_tokens=miss.tokens), now
        )
        lost = None if anew is None or cached is None else format(anew - cached, "f")
        return {"layer": miss.layer.name.lower(), "cause": miss.cause, "tokens": miss.tokens, "cost_usd": lost}

    def _calls(self, usage: TokenUsage) -> list[LlmCall]:
        return [self._call(attempt, self._usage(attempt, usage)) for attempt in self.attempts]

    def _usage(self, attempt: ModelAttempt, reported: TokenUsage) -> TokenUsage:
        """Return an attempt's tokens: what was reported of the answer, and an estimate for a stopped one.

        What streams of its thinking is a summary; the provider bills all of it, so the most that it may think counts.
        """
        if attempt.outcome == "stopped":
            counter = TokenCounter(self.prompt_builder.cache_state.token_factors)
            thought = max(counter.count("".join(self.reasoning)), self._thinking_tokens) if self.reasoning else 0
            output = thought + counter.count("".join(self.streamed))
            return TokenUsage(sum(self.assembled.tokens_by_layer.values()), output)
        return reported if attempt.outcome == "ok" else _NOTHING

    def _call(self, attempt: ModelAttempt, usage: TokenUsage) -> LlmCall:
        running, now = self.running, self.running.dependencies.clock()
        return LlmCall(
            id=uuid7(now),
            session_id=running.lease.id,
            turn_id=running.turn.id,
            step=self.number,
            binding_id=running.turn.binding_id,
            provider=attempt.provider,
            model=attempt.model,
            outcome=attempt.outcome,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            tokens_by_layer=dict(self.assembled.tokens_by_layer),
            cost_usd=prices.known_cost(attempt.provider, attempt.model, usage, now),
            cache_miss=self._miss(attempt, now) if attempt.outcome == "ok" else None,
            first_token_ms=attempt.first_token_ms,
            latency_ms=attempt.latency_ms,
            at=now,
        )
