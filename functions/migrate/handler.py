"""Brings the database to this release's schema, before the stack's other functions change and after they did."""

from typing import Any

from parlour.bootstrap.migrate import answer_cloudformation, build_schema_owner


def handler(event: dict[str, Any], context: Any) -> dict[str, list[str]]:
    """Migrate for CloudFormation's resource `Schema`; invoked by `make deploy` afterwards, also index the vectors.

    Returns the names of the migrations that were applied just now, and the spaces of vectors that got an index.
    """

    def seconds_left() -> float:
        return float(context.get_remaining_time_in_millis() / 1000)

    if "RequestType" in event:
        answer_cloudformation(event, seconds_left)
        return {}
    owner = build_schema_owner()
    return {"applied": owner.migrate(seconds_left), "indexed": owner.build_indexes()}
