"""`python layers/migrate.py STACK`: bring a deployed stack's database to the release that was just deployed.

The last step of `make deploy`. It is not part of the stack, because a stack that fails is rolled back and a
migration is not: a failure here leaves the new code deployed and says what to mend.
"""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_PATIENT = Config(read_timeout=930, retries={"total_max_attempts": 1})
"""Longer than the function's timeout, and once only: the client must not give up and call a second time."""


class MigrationFailed(Exception):
    """The function ran and did not succeed; the message is what it said."""


def migrate(client: "LambdaClient", function: str) -> list[str]:
    """Run the stack's migrations; returns the names of those applied. Raises MigrationFailed."""
    answer = client.invoke(FunctionName=function, Payload=b"{}")
    payload = json.loads(answer["Payload"].read())
    if answer.get("FunctionError"):
        raise MigrationFailed(f"{payload.get('errorType', 'Error')}: {payload.get('errorMessage', payload)}")
    return [str(name) for name in payload["applied"]]


def main(arguments: Sequence[str]) -> int:
    """Return the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python layers/migrate.py STACK\n")
        return 2
    try:
        applied = migrate(boto3.client("lambda", config=_PATIENT), f"{arguments[0]}-migrate")
    except (MigrationFailed, ClientError, BotoCoreError) as problem:
        sys.stderr.write(f"parlour: the database was not migrated: {problem}\n")
        return 1
    sys.stdout.write("\n".join(f"applied {name}" for name in applied) + "\n" if applied else "nothing to migrate\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
