"""Rows of the room. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.errors import ModelError
from parlour.infra.json_values import JsonObject

type CallState = Literal["reserved", "running", "done", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class UnfinishedCall:
    """A call of a turn that the turn itself carries out and has no outcome of."""

    id: UUID
    step: int
    call_id: str
    name: str
    arguments: JsonObject
    state: Literal["reserved", "running"]
    heavy: bool
    started_at: datetime


@dataclass(frozen=True, slots=True)
class UnfinishedHeavyCall:
    """A long call that has not ended: since when, and until when somebody is at it or its answer may come."""

    started_at: datetime
    run_until: datetime | None


@dataclass(frozen=True, slots=True)
class ClaimedCall:
    """What a call begins with.

    shown_level       the highest classification that the conversation had shown.
    approved_version  the version of the tool's code when a person was asked.
    refusal           why the call must not run.
    """

    shown_level: int = 0
    approved_version: str = ""
    refusal: ModelError | None = None


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A call that ended off the turn's path. `run` grows when it is settled anew: each run is told of once."""

    id: UUID
    turn_id: UUID
    session_id: UUID
    name: str
    arguments: JsonObject
    state: Literal["done", "failed", "unknown"]
    result: JsonObject
    run_token: int


@dataclass(frozen=True, slots=True)
class UnknownCall:
    """A call of which nobody knows whether it was done, as a person is shown it."""

    id: UUID
    turn_id: UUID
    session_id: UUID
    name: str
    arguments: JsonObject
    code: str | None
    result: JsonObject
    runs: int
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class UnansweredCall:
    """A call that began, and whose worker showed no life since `run_until`; the next one finds out what it did."""

    id: UUID
    turn_id: UUID
    session_id: UUID
    name: str
    arguments: JsonObject
    runs: int
    started_at: datetime
    run_until: datetime


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the dispatcher takes it up.

    run_until           when its worker is given up; or, once the tool accepted it (`is_accepted`), its result
    run_token           names this run; the outcome is written with it
    run_holder          the dispatcher that has it: a fresh id for every message that it works on
    user_id             whose conversation it is; clearance: theirs
    entity_id           the record that it is about, whether or not its user may still see that
    team_id             the team that answers in it
    required_clearance  what reading its session needs: who has less may not decide on it
    fencing_token       the session's lease token at this moment
    """

    id: UUID
    turn_id: UUID
    session_id: UUID
    name: str
    arguments: JsonObject
    writes: bool
    state: CallState
    idempotency_key: str
    result: JsonObject | None
    code: str | None
    run_token: int
    run_until: datetime | None
    run_holder: UUID | None
    cancelled_at: datetime | None
    started_at: datetime
    user_id: UUID
    entity_id: UUID | None
    team_id: UUID
    binding_id: UUID
    required_clearance: int
    fencing_token: int

    @property
    def is_accepted(self) -> bool:
        """Whether the tool took the call, to answer later: it is not to be made again."""
        return self.state == "running" and self.code in {ACCEPTED, OVERDUE}

    @property
    def is_awaiting_callback(self) -> bool:
        """Whether the tool may still answer: no worker is at it."""
        return self.state == "running" and self.code == ACCEPTED

    def to_ended_call(self) -> EndedCall | None:
        """Return the call as it ended, if it did."""
        if self.state not in {"done", "failed", "unknown"}:
            return None
        return EndedCall(
            self.id,
            self.turn_id,
            self.session_id,
            self.name,
            self.arguments,
            self.state,
            self.result or {},
            self.run_token,
        )


ACCEPTED = "accepted"
"""The code of a running call that the tool took and answers later."""

OVERDUE = "overdue"
"""Its code once the time for that is over, and a worker finds out what became of it."""
