"""Structured logs and metrics: a constant action, ids and numbers. Never a payload, never a secret."""

import functools
import logging
from uuid import UUID

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

type Loggable = str | int | float | bool | UUID | None

_STACK_LEVEL = 3
"""How far up the stack the line that logs is: through this module and the library."""

_RESERVED_NAMES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

_MAX_CHARS = 120
"""Longer text is not an id or a code; it is cut so that no message body can slip into a log."""


def info(action: str, /, **ids: Loggable) -> None:
    """Something happened as it should."""
    _logger().info(action, stacklevel=_STACK_LEVEL, extra=_to_fields(action, ids))


def warning(action: str, /, **ids: Loggable) -> None:
    """Something was refused or will be tried again."""
    _logger().warning(action, stacklevel=_STACK_LEVEL, extra=_to_fields(action, ids))


def error(action: str, /, problem: BaseException | None = None, **ids: Loggable) -> None:
    """Somebody has to look. The exception's class and place are logged, not its message: that may quote a payload."""
    _logger().error(action, stacklevel=_STACK_LEVEL, extra=_to_fields(action, {**ids, **_error_fields(problem)}))


def count(metric: str, /, **dimensions: str) -> None:
    """Add one to a CloudWatch metric of the namespace Parlour (embedded metric format); alarms watch these."""
    metrics = Metrics(namespace="Parlour")
    for name, value in dimensions.items():
        metrics.add_dimension(name, value)
    metrics.add_metric(metric, MetricUnit.Count, 1)
    metrics.flush_metrics()


@functools.cache
def _logger() -> Logger:
    return Logger(use_rfc3339=True, log_uncaught_exceptions=False)


def _to_fields(action: str, ids: dict[str, Loggable]) -> dict[str, object]:
    fields: dict[str, object] = {"action": action}
    for name, value in ids.items():
        plain = str(value) if isinstance(value, UUID) else value
        field = f"{name}_" if name in _RESERVED_NAMES else name
        fields[field] = plain[:_MAX_CHARS] if isinstance(plain, str) else plain
    return fields


def _error_fields(problem: BaseException | None) -> dict[str, Loggable]:
    if problem is None:
        return {}
    trace = problem.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else "unknown"
    cause = type(problem.__cause__).__name__ if problem.__cause__ else None
    return {"error": type(problem).__name__, "cause": cause, "place": place}
