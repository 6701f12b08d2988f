"""One question to a model that no turn waits for: every try's worst case is reserved before it, and what it came to is
settled and noted after, whatever came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra.errors import ProviderRejected, ProviderUnavailable, SpendRefused
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.models import background_calls, fallback, prices, spend
from parlour.models.fallback import RetryTiming
from parlour.models.model import Completion, Model, ModelAttempt, ModelRequest, TokenUsage, content_blocks
from parlour.models.model_routing import ModelChoice
from parlour.models.store import Reservation
from parlour.principal import Principal

type CompletionError = ProviderUnavailable | ProviderRejected | SpendRefused
"""Why there is no answer: nobody gave one in time, all refused, or there is no room under the tenant's cap."""

type ReservationCheck = Callable[[Transaction, Decimal, UUID, datetime], None]
"""(tx, worst case in US dollars, its reservation, now): a further condition of a try; SpendRefused when it is not met.
"""


@dataclass(frozen=True, slots=True)
class CompletionResult:
    """What came of asking: the whole answer and who gave it, or the problem.

    cost_usd  of all tries together, failed ones too.
    """

    completion: Completion | None
    choice: ModelChoice | None
    cost_usd: Decimal
    problem: CompletionError | None = None

    @property
    def text(self) -> str:
        """The answer's words; "" when there is none."""
        blocks = content_blocks({"content": list(self.completion.blocks)}) if self.completion else []
        return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text").strip()


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """What is asked, and of which models.

    input_tokens       the request's tokens, estimated.
    choices            the models in the order in which they are tried.
    purpose            as the cost report names it.
    timeout_seconds    for all attempts together.
    check_reservation  called once an attempt is reserved, by one worker at a time; None: only the tenant's cap decides.
    """

    request: ModelRequest
    input_tokens: int
    choices: Sequence[ModelChoice]
    models: Mapping[str, Model]
    purpose: str
    timeout_seconds: float
    check_reservation: ReservationCheck | None = None


@dataclass(frozen=True, slots=True)
class BackgroundCompletion:
    """What asking takes."""

    database: Database
    default_cap: Decimal
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]

    def ask(self, principal: Principal, request: CompletionRequest) -> CompletionResult:
        """Return the answer, or why there is none. Raises a RetryError only for the database."""
        return _CompletionAttempts(self, principal, request).ask()


@dataclass(slots=True)
class _CompletionAttempts:
    """One answer being asked for, with what its tries cost."""

    dependencies: BackgroundCompletion
    principal: Principal
    request: CompletionRequest
    reservation_ids: list[UUID] = field(default_factory=list)
    attempts: list[ModelAttempt] = field(default_factory=list)

    def ask(self) -> CompletionResult:
        aside, asking = self.dependencies, self.request
        completed: Completion | None = None
        problem: CompletionError | None = None
        try:
            for part in fallback.ask_with_fallback(
                asking.choices,
                asking.models,
                asking.request,
                timing=RetryTiming(seconds_left=asking.timeout_seconds, sleep=aside.sleep, jitter=aside.jitter),
                before_attempt=self._reserve,
            ):
                if isinstance(part, ModelAttempt):
                    self.attempts.append(part)
                elif isinstance(part, Completion):
                    completed = part
        except (ProviderUnavailable, ProviderRejected, SpendRefused) as failed:
            problem = failed
        except BaseException:
            self._settle(TokenUsage(0, 0))
            raise
        spent = self._settle(completed.usage if completed else TokenUsage(0, 0))
        answered = ModelChoice(self.attempts[-1].provider, self.attempts[-1].model) if completed else None
        return CompletionResult(completed, answered, spent, problem)

    def _reserve(self, choice: ModelChoice) -> None:
        aside, asking = self.dependencies, self.request
        now = aside.clock()
        amount = prices.worst_case_cost(
            choice.provider,
            choice.model,
            asking.input_tokens,
            asking.request.max_tokens + choice.thinking_tokens,
            now,
        )
        reservation, further = uuid7(now), asking.check_reservation
        self.reservation_ids.append(reservation)
        spend.reserve_in_transaction(
            aside.database,
            self.principal,
            Reservation(
                id=reservation,
                amount=amount,
                purpose=asking.purpose,
                default_cap=aside.default_cap,
                expires_at=now + timedelta(seconds=2 * asking.timeout_seconds),
            ),
            now=now,
            check_reservation=lambda tx: further(tx, amount, reservation, now) if further else None,
        )

    def _settle(self, usage: TokenUsage) -> Decimal:
        """Put what was spent in the place of what was reserved."""
        if not self.attempts:
            return Decimal()
        aside = self.dependencies
        now = aside.clock()
        calls = [self._to_call(attempt, usage, now) for attempt in self.attempts if attempt.outcome == "ok"]
        spent = sum((self._attempt_cost(attempt, usage, now) for attempt in self.attempts), Decimal())

        def commit(tx: Transaction) -> None:
            for call in calls:
                background_calls.record_call(tx, call)
            spend.settle(tx, self.reservation_ids, spent, default_cap=aside.default_cap, now=now)

        aside.database.run(self.principal, commit)
        return spent

    def _to_call(self, attempt: ModelAttempt, usage: TokenUsage, now: datetime) -> background_calls.BackgroundCall:
        return background_calls.BackgroundCall(
            uuid7(now),
            self.request.purpose,
            attempt.provider,
            attempt.model,
            usage.input_tokens,
            prices.charged_cost(attempt.provider, attempt.model, usage, now),
            attempt.latency_ms,
            now,
            usage.output_tokens,
        )

    def _attempt_cost(self, attempt: ModelAttempt, usage: TokenUsage, now: datetime) -> Decimal:
        """Return the cost of an attempt: one that broke off after it began to answer is billed for its input."""
        if attempt.outcome == "ok":
            return prices.charged_cost(attempt.provider, attempt.model, usage, now)
        if attempt.first_token_ms is None:
            return Decimal()
        return prices.worst_case_cost(attempt.provider, attempt.model, self.request.input_tokens, 0, now)
