"""Dead letters and re-embedding as they go in and out as JSON."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from parlour.api.schemas import RequestModel, ResponseModel, SingleLine


class EmbeddingModelChoice(RequestModel):
    """An embedding model that the deployment names: its name, or its space (`name@dimensions`)."""

    model: SingleLine


class RedriveRequest(RequestModel):
    """Which queue's dead letters go back, and how many at most."""

    queue: Literal["intake", "turns-messaging", "turns-web", "tools", "outbox", "ingest"]
    limit: Annotated[int, Field(ge=1, le=300)] = 100


class DeadLetterCountsView(ResponseModel):
    """About how many messages each queue gave up on and still keeps, by the queue's name."""

    dead_letters: dict[str, int]


class RedriveView(ResponseModel):
    """How many dead letters went back to a queue, and how many remain."""

    queue: str
    moved: int
    remaining: int


class HealthCheckView(ResponseModel):
    """One check of the deployment.

    status      ok; warning: it works, and somebody should look; failed: something does not work.
    found       what was found.
    what_to_do  empty when the check is ok.
    """

    name: str
    status: Literal["ok", "warning", "failed"]
    found: str
    what_to_do: str


class DeploymentHealthView(ResponseModel):
    """What the deployment finds out about itself."""

    environment: str
    checks: list[HealthCheckView]


class ReembeddingView(ResponseModel):
    """A move to another embedding model.

    done, total  rows.
    finished_at  since when searches use the new space; null while the move runs.
    cleared_at   since when the vectors of the old space are deleted.
    """

    space: str
    done: int
    total: int
    started_at: datetime
    finished_at: datetime | None
    cleared_at: datetime | None
