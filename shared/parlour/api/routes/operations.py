"""What concerns the whole deployment and every tenant in it: for its operator only."""

from fastapi import APIRouter

from parlour.api import health_checks
from parlour.api.authorization import OperatorDependencies
from parlour.api.operation_schemas import DeadLetterCountsView, DeploymentHealthView, RedriveRequest, RedriveView
from parlour.infra import log

router = APIRouter(prefix="/v1/operations", tags=["operations"])


@router.get("/dead-letters")
def count_dead_letters(services: OperatorDependencies) -> DeadLetterCountsView:
    """About how many messages each queue gave up on and still keeps."""
    return DeadLetterCountsView(dead_letters={name: dead.count() for name, dead in services.dead_letters.items()})


@router.get("/health")
def check_deployment(services: OperatorDependencies) -> DeploymentHealthView:
    """Check the schema, overdue work, dead letters, the signing key, embeddings and providers; may take seconds."""
    return DeploymentHealthView(environment=services.environment, checks=health_checks.run_checks(services))


@router.post("/redrive")
def redrive_dead_letters(wanted: RedriveRequest, services: OperatorDependencies) -> RedriveView:
    """Move a queue's dead letters back to it, oldest first; what is left takes another call."""
    done = services.dead_letters[wanted.queue].redrive(wanted.limit)
    log.info("dead_letters_redriven", queue=wanted.queue, moved=done.moved_count, left=done.remaining_count)
    return RedriveView(queue=wanted.queue, moved=done.moved_count, remaining=done.remaining_count)
