"""`python layers/preflight.py STACK SIZE [PARAMETER=VALUE ...]`: whether this account and region can take the stack.

The first step of `make deploy`. Prints the parameters to deploy with: those of the size, those given, and what the
account's quota demands. Says on the error output what will be different from what somebody expects, and stops with
what to do where the deployment would fail. What the credentials may not ask is said, and deployed all the same.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

#: What a stack holds: concurrent workers, and the database's capacity for them (docs/tasks/deploy.md has the table).
SIZES: dict[str, dict[str, int]] = {
    "S": {
        "TurnConcurrency": 50,
        "OrchestratorConcurrency": 100,
        "ApiConcurrency": 100,
        "StreamConcurrency": 50,
        "InboundConcurrency": 20,
        "BackgroundConcurrency": 5,
        "MaxTenantTurns": 20,
        "DatabaseCapacity": 4,
    },
    "M": {
        "TurnConcurrency": 150,
        "OrchestratorConcurrency": 300,
        "ApiConcurrency": 200,
        "StreamConcurrency": 150,
        "InboundConcurrency": 40,
        "BackgroundConcurrency": 15,
        "MaxTenantTurns": 50,
        "DatabaseCapacity": 16,
    },
    "L": {
        "TurnConcurrency": 300,
        "OrchestratorConcurrency": 600,
        "ApiConcurrency": 300,
        "StreamConcurrency": 300,
        "InboundConcurrency": 80,
        "BackgroundConcurrency": 30,
        "MaxTenantTurns": 100,
        "DatabaseCapacity": 32,
    },
}

#: Characters of a stack's name: with a longer one the variables of the largest functions exceed Lambda's 4 KB.
MAX_STACK_NAME = 39

#: Concurrent executions below which functions starve each other, whatever is reserved.
_MIN_CONCURRENCY = 100

_QUOTA_PAGE = "https://console.aws.amazon.com/servicequotas/home/services/{}/quotas/{}"
_CONCURRENCY_QUOTA = ("lambda", "L-B99A9384")
_ADDRESS_QUOTA = ("ec2", "L-0263D0A3")
_NETWORK_QUOTA = ("vpc", "L-F678F1CE")

_TEMPLATE = Path(__file__).resolve().parent.parent / "template.yaml"

type Client = Any
type MakeClient = Callable[[str], Client]


class Unfit(Exception):
    """The deployment would fail; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """An AWS account in one region, as it is asked before a deployment.

    client  makes a client of a service by its name.
    """

    region: str
    client: MakeClient

    def check_stack(self, name: str) -> bool:
        """Return whether the stack is there, in a state that can be updated. Deletes one whose creation failed."""
        if len(name) > MAX_STACK_NAME:
            raise Unfit(f"the stack's name has {len(name)} characters: choose one of {MAX_STACK_NAME} at most")
        stacks = self.client("cloudformation")
        try:
            (described,) = stacks.describe_stacks(StackName=name)["Stacks"]
        except ClientError as error:
            if "does not exist" in str(error):
                return False
            raise
        status = described["StackStatus"]
        if status in {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"}:
            _say(f"the first deployment of {name} failed; deleting what is left of it")
            stacks.delete_stack(StackName=name)
            stacks.get_waiter("stack_delete_complete").wait(StackName=name)
            return False
        if status == "UPDATE_ROLLBACK_FAILED":
            _say(f"the last deployment of {name} was not rolled back; finishing that")
            stacks.continue_update_rollback(StackName=name)
            stacks.get_waiter("stack_rollback_complete").wait(StackName=name)
        elif status.endswith("_IN_PROGRESS"):
            raise Unfit(f"{name} is being deployed by somebody else ({status}): wait until that has ended")
        return True

    def check_concurrency(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters that the quota of concurrent executions demands."""
        quota = self.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
        page = _QUOTA_PAGE.format(*_CONCURRENCY_QUOTA)
        if quota < _MIN_CONCURRENCY:
            raise Unfit(
                f"the account allows {quota} concurrent Lambda executions, {_MIN_CONCURRENCY} are the least:"
                f" ask for {needed_concurrency(parameters)} at {page}, which takes hours to days"
            )
        if quota >= (needed := needed_concurrency(parameters)) or parameters.get("ReserveConcurrency") == "false":
            return {}
        _say(
            f"the account allows {quota} concurrent Lambda executions of the {needed} that this size wants:"
            f" deploying with ReserveConcurrency=false, so a flood of one kind of requests can starve others."
            f" Ask for more at {page}"
        )
        return {"ReserveConcurrency": "false"}

    def check_network(self) -> None:
        """Check that a network and its address are left, for a stack that is created."""
        for what, (service, code), operation, key in (
            ("virtual networks", _NETWORK_QUOTA, "describe_vpcs", "Vpcs"),
            ("elastic addresses", _ADDRESS_QUOTA, "describe_addresses", "Addresses"),
        ):
            used = getattr(self.client("ec2"), operation)()[key]
            found = self.client("service-quotas").get_service_quota(ServiceCode=service, QuotaCode=code)
            if len(used) >= (limit := int(found["Quota"]["Value"])):
                raise Unfit(
                    f"all {limit} {what} of {self.region} are in use: delete one, or ask for more at"
                    f" {_QUOTA_PAGE.format(service, code)}"
                )

    def check_database(self, parameters: Mapping[str, str]) -> None:
        """Check that the region offers the database's version."""
        (default,) = re.findall(r'^  EngineVersion:\n.*\n    Default: "(.+)"$', _TEMPLATE.read_text(), re.MULTILINE)
        version = parameters.get("EngineVersion", default)
        rds = self.client("rds")
        family = {"Engine": "aurora-postgresql", "DBParameterGroupFamily": "aurora-postgresql16"}
        offered = [entry["EngineVersion"] for entry in rds.describe_db_engine_versions(**family)["DBEngineVersions"]]
        if version not in offered:
            raise Unfit(
                f"{self.region} has no Aurora PostgreSQL {version}: deploy with PARAMETERS=EngineVersion= one of"
                f" {', '.join(offered)}"
            )

    def check_models(self, parameters: Mapping[str, str]) -> None:
        """Check that the region has the embedding model, and that Claude through Bedrock was subscribed to."""
        if not parameters.get("EmbeddingUrl"):
            model = parameters.get("EmbeddingModel") or "amazon.titan-embed-text-v2:0"
            if self._availability(model, "regionAvailability") != "AVAILABLE":
                raise Unfit(
                    f"{self.region} has no embedding model {model}: choose another region, another EmbeddingModel,"
                    " or an endpoint of your own with EmbeddingUrl"
                )
        if parameters.get("BedrockClaude") == "true":
            models = self.client("bedrock").list_foundation_models(byProvider="anthropic")["modelSummaries"]
            if "AUTHORIZED" not in {self._availability(model["modelId"], "authorizationStatus") for model in models}:
                _say(
                    "this account has not subscribed to Claude in Bedrock: call it once as an administrator and fill in"
                    " Anthropic's form (Bedrock console, Model catalog), or agents on Bedrock answer AccessDenied"
                )

    def check_mail(self, parameters: Mapping[str, str]) -> None:
        """Check that SES sends from the address of notifications, and to whom."""
        if not parameters.get("MailFrom"):
            return
        ses = self.client("sesv2")
        identity = parameters.get("MailIdentity") or parameters["MailFrom"]
        try:
            is_verified = ses.get_email_identity(EmailIdentity=identity)["VerifiedForSendingStatus"]
        except ses.exceptions.NotFoundException:
            is_verified = False
        if not is_verified:
            raise Unfit(
                f"{identity} is no verified identity of SES in {self.region}: verify it there, or leave MailFrom out"
            )
        if not ses.get_account()["ProductionAccessEnabled"]:
            _say("SES is in its sandbox here: it delivers to verified addresses only. Ask for production access.")

    def _availability(self, model: str, key: str) -> str:
        try:
            return str(self.client("bedrock").get_foundation_model_availability(modelId=model)[key])
        except ClientError as error:
            if error.response["Error"]["Code"] in {"ResourceNotFoundException", "ValidationException"}:
                return "NOT_AVAILABLE"
            raise


def needed_concurrency(parameters: Mapping[str, str]) -> int:
    """Return the concurrent executions that the parameters reserve, and that the other workers need beside."""
    reserved = sum(
        int(parameters[f"{function}Concurrency"]) for function in ("Inbound", "Orchestrator", "Api", "Stream")
    )
    workers = 3 * int(parameters["TurnConcurrency"]) + 5 * int(parameters["BackgroundConcurrency"]) + 2
    return max(500, reserved + max(100, workers))


def preflight(account: Account, stack: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters to deploy with. Raises Unfit; what may not be asked is said and taken for well."""
    is_there = account.check_stack(stack)
    changed: dict[str, str] = {}
    for what, check in _checks(account, parameters, is_new=not is_there):
        try:
            changed |= check() or {}
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if "AccessDenied" not in code and "Unauthorized" not in code:
                raise
            _say(f"these credentials may not ask for {what}: not checked")
    return {**parameters, **changed}


def _checks(
    account: Account, parameters: Mapping[str, str], *, is_new: bool
) -> Iterator[tuple[str, Callable[[], dict[str, str] | None]]]:
    yield "the quota of concurrent executions", partial(account.check_concurrency, parameters)
    yield "versions of the database", partial(account.check_database, parameters)
    yield "models", partial(account.check_models, parameters)
    yield "mail", partial(account.check_mail, parameters)
    if is_new:
        yield "quotas of the network", account.check_network


def _say(line: str) -> None:
    sys.stderr.write(f"parlour: {line}\n")


def main(arguments: Sequence[str]) -> int:
    """Return the exit status."""
    if len(arguments) < 2 or arguments[1] not in SIZES:
        sys.stderr.write(f"usage: python layers/preflight.py STACK {'|'.join(SIZES)} [PARAMETER=VALUE ...]\n")
        return 2
    stack, size, *given = arguments
    chosen = dict(word.partition("=")[::2] for word in given)
    parameters = {**{name: str(value) for name, value in SIZES[size].items()}, **chosen}
    session: Any = boto3.Session()
    try:
        deployed = preflight(Account(session.region_name or "no region", session.client), stack, parameters)
    except Unfit as problem:
        _say(f"not deployed: {problem}")
        return 1
    except (ClientError, BotoCoreError) as problem:
        _say(f"not deployed: AWS cannot be asked: {problem}")
        return 1
    sys.stdout.write("".join(f"{name}={value}\n" for name, value in deployed.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
