"""One question to a model that no turn waits for: every try's worst case is reserved before it, and what it came to is
settled and noted after, whatever came of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra.errors import ProviderRejected, ProviderUnavailable, SpendRefused
from parlour.infra.ids import NewId
from parlour.infra.postgres import Database, Transaction
from parlour.models import background, fallback, prices, spend
from parlour.models.request import Attempt, Completed, Model, ModelRequest, Usage, blocks_of
from parlour.models.route import Choice
from parlour.principal import Principal

type Problem = ProviderUnavailable | ProviderRejected | SpendRefused
"""Why there is no answer: nobody gave one in time, all refused, or there is no room under the tenant's cap."""

type Admit = Callable[[Transaction, Decimal, UUID, datetime], None]
"""(tx, worst case in US dollars, its reservation, now): a further condition of a try; SpendRefused when it is not met.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of asking: the whole answer and who gave it, or the problem.

    cost_usd  of all tries together, failed ones too.
    """

    completed: Completed | None
    choice: Choice | None
    cost_usd: Decimal
    problem: Problem | None = None

    @property
    def text(self) -> str:
        """The answer's words; "" when there is none."""
        blocks = blocks_of({"content": list(self.completed.blocks)}) if self.completed else []
        return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text").strip()


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked, and of whom.

    read     the request's tokens, as near as they can be counted.
    choices  the models in the order in which they are tried.
    purpose  as the report of costs calls it.
    seconds  for all tries together.
    admit    looked at as a try is reserved, by one at a time; None: the tenant's cap alone decides.
    """

    request: ModelRequest
    read: int
    choices: Sequence[Choice]
    models: Mapping[str, Model]
    purpose: str
    seconds: float
    admit: Admit | None = None


@dataclass(frozen=True, slots=True)
class Aside:
    """What asking takes."""

    database: Database
    default_cap: Decimal
    clock: Callable[[], datetime]
    new_id: NewId
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]

    def ask(self, principal: Principal, asking: Asking) -> Answer:
        """The answer, or why there is none. Raises a RetryError only for the database."""
        return _Tries(self, principal, asking).ask()


@dataclass(slots=True)
class _Tries:
    """One answer being asked for, with what its tries cost."""

    aside: Aside
    principal: Principal
    asking: Asking
    reserved: list[UUID] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)

    def ask(self) -> Answer:
        aside, asking = self.aside, self.asking
        completed: Completed | None = None
        problem: Problem | None = None
        try:
            for part in fallback.ask(
                asking.choices, asking.models, asking.request, seconds_left=asking.seconds, sleep=aside.sleep,
                jitter=aside.jitter, admit=self._admit,
            ):  # fmt: skip
                if isinstance(part, Attempt):
                    self.attempts.append(part)
                elif isinstance(part, Completed):
                    completed = part
        except (ProviderUnavailable, ProviderRejected, SpendRefused) as failed:
            problem = failed
        except BaseException:
            self._settle(Usage(0, 0))
            raise
        spent = self._settle(completed.usage if completed else Usage(0, 0))
        answered = Choice(self.attempts[-1].provider, self.attempts[-1].model) if completed else None
        return Answer(completed, answered, spent, problem)

    def _admit(self, choice: Choice) -> None:
        aside, asking = self.aside, self.asking
        now = aside.clock()
        amount = prices.worst_case(choice.provider, choice.model, asking.read, asking.request.max_tokens, now)
        reservation, further = aside.new_id(now), asking.admit
        self.reserved.append(reservation)
        spend.take(
            aside.database, self.principal, reservation_id=reservation, amount=amount, purpose=asking.purpose,
            default_cap=aside.default_cap, expires_at=now + timedelta(seconds=2 * asking.seconds), now=now,
            also=lambda tx: further(tx, amount, reservation, now) if further else None,
        )  # fmt: skip

    def _settle(self, usage: Usage) -> Decimal:
        """Put what was spent in the place of what was reserved."""
        if not self.attempts:
            return Decimal()
        aside = self.aside
        now = aside.clock()
        calls = [self._noted(attempt, usage, now) for attempt in self.attempts if attempt.outcome == "ok"]
        spent = sum((self._charged(attempt, usage, now) for attempt in self.attempts), Decimal())

        def commit(tx: Transaction) -> None:
            for call in calls:
                background.note(tx, call)
            spend.settle(tx, self.reserved, spent, default_cap=aside.default_cap, now=now)

        aside.database.run(self.principal, commit)
        return spent

    def _noted(self, attempt: Attempt, usage: Usage, now: datetime) -> background.Call:
        return background.Call(
            self.aside.new_id(now), self.asking.purpose, attempt.provider, attempt.model, usage.input_tokens,
            prices.charged(attempt.provider, attempt.model, usage, now), attempt.latency_ms, now, usage.output_tokens,
        )  # fmt: skip

    def _charged(self, attempt: Attempt, usage: Usage, now: datetime) -> Decimal:
        """A try that broke off after it had begun to answer is billed for what it read; one that never began is not."""
        if attempt.outcome == "ok":
            return prices.charged(attempt.provider, attempt.model, usage, now)
        if attempt.first_token_ms is None:
            return Decimal()
        return prices.worst_case(attempt.provider, attempt.model, self.asking.read, 0, now)
