"""Erasures as they go out as JSON."""

from datetime import datetime
from uuid import UUID

from parlour.api.schemas import ResponseModel
from parlour.erasure.report import ErasableKind, RowAction


class ActionCountsView(ResponseModel):
    """How many rows were deleted, redacted, restored to what they said before, or kept."""

    deleted: int = 0
    redacted: int = 0
    restored: int = 0
    kept: int = 0


class ErasedRowsView(ResponseModel):
    """Rows of one table with one action. `ids` are the first of `count`; `reason` says why rows are kept."""

    table: str
    action: RowAction
    reason: str
    count: int
    ids: list[str]


class OutOfReachView(ResponseModel):
    """A place that the erasure does not reach, and what can be done about it."""

    where: str
    explanation: str


class ErasureView(ResponseModel):
    """An erasure in a list. `counts` is null until it is finished."""

    id: UUID
    kind: ErasableKind
    target_id: UUID
    requested_by: str
    at: datetime
    finished: bool
    counts: ActionCountsView | None


class ErasurePageView(ResponseModel):
    """Some erasures, latest first; `next_cursor` reads on, "" when these are the last."""

    erasures: list[ErasureView]
    next_cursor: str


class ErasureReportView(ResponseModel):
    """The report of an erasure.

    dry_run       nothing was changed; the report says what would be.
    finished      nothing is left to erase; until then the same request continues it.
    object_keys   keys of the files that were deleted from the buckets.
    dead_letters  how many dead letters were deleted, by queue.
    recreated     what is written again from what remains, as `kind/id`.
    """

    id: UUID
    kind: ErasableKind
    target_id: UUID
    requested_by: str
    at: datetime
    dry_run: bool
    finished: bool
    counts: ActionCountsView
    rows: list[ErasedRowsView]
    object_keys: list[str]
    dead_letters: dict[str, int]
    recreated: list[str]
    out_of_reach: list[OutOfReachView]
