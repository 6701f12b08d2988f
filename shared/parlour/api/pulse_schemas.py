"""Pulses as they go out as JSON: what one says, what it said before, why, and what all of them cost."""

from dataclasses import asdict
from datetime import date, datetime
from typing import Literal, Self
from uuid import UUID

from pydantic import AliasPath, Field

from parlour.api.schemas import Clearance, ResponseModel, UsdAmount
from parlour.prompts.assembly.ledger_entries import OmissionReason
from parlour.prompts.assembly.segment import LayerName, SourceKind
from parlour.pulse.reading.refresh_requests import QuestionAnswer
from parlour.records.staleness import StaleCause


class PulseStatementView(ResponseModel):
    """One statement of a Pulse, and the numbers of the citations that it rests on."""

    text: str
    sources: list[int]


class PulseSourceView(ResponseModel):
    """What `[number]` in a Pulse stands for.

    locator  where in the source: heading, page, sheet; "" for the whole.
    table    the source's row is `table/id`; "" for counts, which have no row.
    level    its classification when the Pulse was written.
    """

    number: int
    title: str
    locator: str
    table: str
    id: str
    level: Clearance


class PulseCitationView(PulseSourceView):
    """A citation with the console's address of its source; null where that was deleted."""

    link: str | None


class PulseTextView(ResponseModel):
    """The text of a Pulse.

    level            readers with this clearance see it.
    markdown         the statements, each followed by its `[number]`.
    sources_read_at  when its sources were read; `checked_at`: when they were last found to be unchanged.
    """

    level: Clearance
    version: int
    markdown: str
    statements: list[PulseStatementView]
    citations: list[PulseCitationView]
    generated_at: datetime
    sources_read_at: datetime
    checked_at: datetime
    model: str
    cost_usd: UsdAmount
    fingerprint: str


class StaleMarkView(ResponseModel):
    """Why a Pulse is stale, and since when."""

    cause: StaleCause
    since: datetime


class RecordPulseView(ResponseModel):
    """A record's Pulse for its reader.

    pulse         null before the first, or while it is withheld.
    is_withheld   a source of it was restricted; it waits to be written again.
    causes        why it is stale, as far as the reader may know; `changes` counts the changes after it.
    changes_text  the changes after it in one line, which no model wrote.
    due_at        when it is checked again.
    waiting_for   what holds it back.
    problem       the code of the last failure, `failures` in a row.
    is_given_up   it is tried once a day only, until somebody refreshes it.
    """

    record: str = Field(validation_alias="handle")
    name: str
    pulse: PulseTextView | None
    is_withheld: bool
    stale_since: datetime | None
    causes: list[StaleMarkView] = Field(validation_alias="stale_marks")
    changes_text: str
    changes: dict[StaleCause, int] = Field(validation_alias="change_counts")
    due_at: datetime | None
    waiting_for: Literal["budget", "backoff"] | None
    problem: str | None
    problem_at: datetime | None
    failures: int
    is_given_up: bool


class PulseRefreshView(ResponseModel):
    """A refresh that was requested; `question_id` is where the answer to its question is read."""

    record: str
    question_id: UUID | None


class QuestionAnswerView(ResponseModel):
    """A question of the caller's own, and its answer once `answered_at` is set.

    problem      the code of why there is no answer.
    is_withheld  the answer rests on something that the caller may not see any more.
    """

    id: UUID
    question: str
    asked_at: datetime
    answered_at: datetime | None
    markdown: str
    citations: list[PulseCitationView]
    model: str
    cost_usd: UsdAmount
    problem: str | None
    is_withheld: bool

    @classmethod
    def from_answer(cls, found: QuestionAnswer) -> Self:
        """Return the question's row with links to what its answer cites."""
        return cls.model_validate({**asdict(found.row), "citations": found.citations})


class PulseVersionReference(ResponseModel):
    """A text of a Pulse by its number."""

    version: int
    generated_at: datetime


class PulseVersionView(PulseVersionReference):
    """A text that a Pulse had. `causes` and `mark_count` say what it was written for; null for readers who may not see
    everything."""

    markdown: str
    citations: list[PulseSourceView]
    model: str
    cost_usd: UsdAmount
    causes: list[StaleMarkView] | None
    mark_count: int | None


class PulseHistoryView(ResponseModel):
    """Some texts of a record's Pulse, the newest first; `next_cursor` reads on, "" when these are the last."""

    record: str
    level: Clearance | None
    versions: list[PulseVersionView]
    next_cursor: str


class ChangedStatementView(ResponseModel):
    """A statement that says the same thing otherwise."""

    before: str
    after: str


class PulseDiffView(ResponseModel):
    """Two texts of a Pulse compared, statement by statement; `before` is null for the first text."""

    record: str
    before: PulseVersionReference | None
    after: PulseVersionReference
    added: list[str] = Field(validation_alias=AliasPath("text", "added"))
    removed: list[str] = Field(validation_alias=AliasPath("text", "removed"))
    changed: list[ChangedStatementView] = Field(validation_alias=AliasPath("text", "changed"))
    unchanged: list[str] = Field(validation_alias=AliasPath("text", "unchanged"))


class PulseLayerView(ResponseModel):
    """The tokens of a layer of a Pulse's prompt."""

    layer: LayerName
    tokens: int


class PulseCandidateView(ResponseModel):
    """A candidate for a Pulse's prompt. `reason` says why it was left out; null: it is in. `source` is `table/id`."""

    title: str
    source: str
    kind: SourceKind
    level: Clearance
    tokens: int
    score: float
    reason: OmissionReason | None
    is_shortened: bool
    text: str


class PulsePromptView(ResponseModel):
    """The prompt behind a Pulse.

    version       the text that it led to; null when it led to none.
    outcome       `written`, or the code of why not.
    tokens        of the whole prompt, as the budget counts them.
    is_identical  the rebuilt prompt has the bytes that were sent; `prompt` is its canonical JSON.
    is_erased     texts of it were erased, so that it cannot be rebuilt.
    """

    record: str
    level: Clearance
    version: int | None
    at: datetime
    model: str
    outcome: str
    prompt_hash: str
    tokens: int
    budget: int
    layers: list[PulseLayerView]
    candidates: list[PulseCandidateView]
    is_erased: bool
    is_identical: bool
    prompt: str | None


class PulseTotalsView(ResponseModel):
    """What became of Pulses.

    regenerated    Pulses that a model wrote; `skipped`: checks that found nothing to write.
    coalesced      changes that needed no writing of their own.
    stale_reads    reads while a change was not reflected yet. `average_staleness_seconds` is the age of the oldest such
                   change, over all reads.
    """

    regenerated: int
    skipped: int
    coalesced: int
    failed: int
    reads: int
    stale_reads: int
    average_staleness_seconds: float
    max_staleness_seconds: float
    cost_usd: UsdAmount


class PulseDayView(PulseTotalsView):
    """What became of the Pulses of so many records on one day (UTC)."""

    day: date
    record_count: int


class CurrentPulsesView(ResponseModel):
    """The state of all Pulses of a tenant. `has_own_cap`: the budget is the tenant's, not the deployment's."""

    spent_usd: UsdAmount
    cap_usd: UsdAmount
    has_own_cap: bool
    record_count: int
    due_count: int
    due_since: datetime | None
    over_budget_count: int
    backing_off_count: int
    given_up_count: int


class ExpensiveRecordView(ResponseModel):
    """A record whose Pulses cost most."""

    record: str = Field(validation_alias="handle")
    name: str
    regenerated: int
    skipped: int
    reads: int
    cost_usd: UsdAmount


class PulseStatisticsView(ResponseModel):
    """Pulse statistics; `most_expensive` is empty for readers who may not see everything."""

    now: CurrentPulsesView
    total: PulseTotalsView
    days: list[PulseDayView]
    most_expensive: list[ExpensiveRecordView]
