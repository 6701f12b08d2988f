"""Turns as an operator sees them, as JSON."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.api.schemas import CitationView, ResponseModel, UsdAmount


class TurnMessageView(ResponseModel):
    """A message that a turn answers."""

    id: UUID
    text: str
    kind: str
    at: datetime


class TurnReplyView(ResponseModel):
    """The reply that a turn wrote."""

    id: UUID
    text: str
    channel: str
    at: datetime
    citations: list[CitationView]


class ModelCallView(ResponseModel):
    """A call to a model provider; tokens as it counted them, times in milliseconds.

    prompt_tokens    the whole prompt: `input_tokens`, which no cache was used for, and those read from the cache or
                     written to it.
    tokens_by_layer  of this prompt, as the budget counts them.
    cost_usd         null when its price is not known.
    """

    provider: str
    model: str
    outcome: Literal["ok", "unavailable", "rejected", "stopped"]
    prompt_tokens: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    tokens_by_layer: dict[str, int]
    cost_usd: UsdAmount | None
    latency_ms: int
    first_token_ms: int | None


class ToolCallView(ResponseModel):
    """A tool call.

    state  unanswered: its worker stopped without an outcome, and another one finds out what became of it.
    heavy  it runs outside the turn and answers later.
    problem  why it failed: a code, and a sentence where there is one; null when it did not.
    detail  of a failed call, for the developer of the tool: status and excerpt of its answer, or the error, file and
            line of its code; else "".
    """

    id: UUID
    name: str
    ok: bool
    state: Literal["reserved", "running", "unanswered", "done", "failed", "unknown"]
    heavy: bool
    latency_ms: int | None
    problem: str | None
    detail: str


class DeliveryView(ResponseModel):
    """How far the sending of a reply is."""

    state: Literal["pending", "sending", "sent", "delivered", "read", "failed", "unknown", "held"]
    sent_at: datetime | None


class TurnView(ResponseModel):
    """A turn.

    number              its place in the session, from 1.
    binding             the slug of the agent's binding.
    frozen_at           when its inputs were fixed.
    degraded            answered without the model, or with less than it needed.
    problem             the code of what went wrong, null when nothing did.
    stage_ms            milliseconds by stage; `wait` passed before its inputs were fixed.
    total_ms            from the receipt of the first message to the stored reply; null while the turn is open.
    model_ms            of these, waiting for the model.
    delivery            null on the web, where nothing is sent.
    last_prompt_tokens  of the last answered prompt, as the provider counted them; the totals are those of all steps.
    tokens_by_layer     of the same prompt, as the budget counts them.
    cost_usd            summed over the model calls; null when none has a known price.
    """

    id: UUID
    session_id: UUID
    number: int
    state: Literal["open", "answered", "failed", "stopped"]
    binding: str
    channel: str
    frozen_at: datetime
    finished_at: datetime | None
    degraded: bool
    attempt_count: int
    problem: str | None
    stage_ms: dict[str, int]
    total_ms: int | None
    model_ms: int
    input_messages: list[TurnMessageView]
    reply: TurnReplyView | None
    model_calls: list[ModelCallView]
    tool_calls: list[ToolCallView]
    delivery: DeliveryView | None
    last_prompt_tokens: int
    total_prompt_tokens: int
    total_output_tokens: int
    tokens_by_layer: dict[str, int]
    cost_usd: UsdAmount | None


class TurnPageView(ResponseModel):
    """Some turns, newest first; `next_cursor` reads on, "" when these are the last."""

    turns: list[TurnView]
    next_cursor: str


class UndoneWriteView(ResponseModel):
    """A write of a turn; `outcome` is "undone", or says why it was left."""

    handle: str
    action: str
    outcome: str


class TurnUndoneView(ResponseModel):
    """What became of a turn's writes, the latest first."""

    writes: list[UndoneWriteView]
