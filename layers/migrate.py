"""`python layers/migrate.py STACK`: what a deployed stack's database needs after the release was deployed.

The last step of `make deploy`. The stack has migrated the database itself, before its functions changed (the resource
`Schema`). What is left is too slow for a deployment or not for CloudFormation to do: the indexes over vectors, and
the cluster's protection against deletion, which would keep a first deployment that fails from rolling back.
"""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_lambda import LambdaClient

#: Longer than the function's timeout, and once only: the client must not give up and call a second time.
_PATIENT = Config(read_timeout=930, retries={"total_max_attempts": 1})


class MigrationFailed(Exception):
    """The function ran and did not succeed; the message is what it said."""


def migrate(client: "LambdaClient", function: str) -> list[str]:
    """Run the stack's function; returns a line for each migration and index that it made. Raises MigrationFailed."""
    answer = client.invoke(FunctionName=function, Payload=b"{}")
    payload = json.loads(answer["Payload"].read())
    if answer.get("FunctionError"):
        raise MigrationFailed(f"{payload.get('errorType', 'Error')}: {payload.get('errorMessage', payload)}")
    applied = [f"applied {name}" for name in payload["applied"]]
    return [*applied, *(f"indexed the vectors of {space}" for space in payload["indexed"])]


def protect_from_deletion(cloudformation: "CloudFormationClient", rds: Any, stack: str) -> None:
    """Switch on the protection of the stack's database cluster against deletion."""
    (described,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    (cluster,) = [output["OutputValue"] for output in described["Outputs"] if output["OutputKey"] == "ClusterId"]
    rds.modify_db_cluster(DBClusterIdentifier=cluster, DeletionProtection=True, ApplyImmediately=True)


def main(arguments: Sequence[str]) -> int:
    """Return the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python layers/migrate.py STACK\n")
        return 2
    (stack,) = arguments
    try:
        done = migrate(boto3.client("lambda", config=_PATIENT), f"{stack}-migrate")
        protect_from_deletion(boto3.client("cloudformation"), boto3.client("rds"), stack)
    except (MigrationFailed, ClientError, BotoCoreError) as problem:
        sys.stderr.write(f"parlour: deployed, but the database is not finished: {problem}. Run `make deploy` again.\n")
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in done))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
